/**
 * Stored conversations that only rules have read, read again by a language model over its real wire format (contract:
 * Operator routes, reading again): what it takes, once each, oldest first, nothing erased, through a kill.
 */
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { runMuniment } from "../support/CliProcess.ts"
import { sectionOf } from "../support/FencedPrompt.ts"
import { type ModelRequest, useModel } from "../support/ModelServer.ts"
import { answer } from "../support/ModelServerReplies.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { patienceMillis, refusalOf, startServer, type TestServer } from "../support/TestServer.ts"
import { told } from "../support/ToldMemory.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

interface Line {
  readonly n: number
  readonly id?: string
  readonly text: string
}

const lines = ({ prompt }: ModelRequest, section: string) => sectionOf(prompt, section) as ReadonlyArray<Line>
const textsOf = (request: ModelRequest, section: string) => lines(request, section).map(({ text }) => text)

const rulesAlone = { MUNIMENT_EMBEDDING_MODEL: "none" }
const withModel = (): Readonly<Record<string, string>> => ({
  ...rulesAlone,
  ...model.environment(),
  MUNIMENT_LLM_INPUT_USD_PER_MILLION: "2",
  MUNIMENT_LLM_OUTPUT_USD_PER_MILLION: "10",
  MUNIMENT_LLM_INPUT_CREDITS_PER_1000: "1",
  MUNIMENT_LLM_TOKENS_PER_DAY: "20000"
})

const dataDirectory = temporaryDirectory()
const model = useModel()
let server: TestServer
let key: string

/** What a model makes of a message: nothing of others. */
const ofKettles = (request: ModelRequest) =>
  answer({
    memories: lines(request, "MESSAGES").flatMap(({ n, text }) => {
      const kettle = /Kettle (K\d+) leaks/.exec(text)?.[1]
      return kettle === undefined ? [] : [told(`Alice's kettle ${kettle} leaks`, `Kettle ${kettle} leaks`, { n: [n] })]
    })
  })
const kettle = (number: number) => `Kettle K${number} leaks, says Alice.`
/** A message a day. */
const said = (content: string, day: number) => ({
  id: `m${day} ${content.slice(0, 12)}`,
  role: "user",
  content,
  sentAt: new Date(Date.UTC(2026, 0, day, 12)).toISOString()
})

const call = (method: string, path: string, body?: unknown) => server.call(method, path, { key, body })
const store = async (agentId: string, threadId: string, conversation: ReadonlyArray<object>) => {
  const body = { agentId, subjectId: "s", threadId, wait: "extraction", conversation }
  const { body: stored } = await call("POST", "/v1/memories", body)
  expect([stored.success, stored.extraction]).toEqual([true, "done"])
}
const reread = (body: object = {}) => server.asOperator("POST", "/admin/reread", body)
const waiting = async (): Promise<number> => (await server.asOperator("GET", "/admin/status")).body.extraction.pending
/** The queue is counted a moment after the answer. */
const untilRead = async (calls: number) => {
  await expect.poll(() => model.requests.length, { timeout: patienceMillis }).toBeGreaterThanOrEqual(calls)
  await expect.poll(waiting, { timeout: patienceMillis }).toBe(0)
}
const kettlesOf = async (agentId: string): Promise<ReadonlyArray<string>> => {
  const { body } = await call("GET", `/v1/memories?agentId=${agentId}&include=extracted&limit=100`)
  const facts = body.memories.map(({ data }: { readonly data: { readonly fact?: string } }) => data.fact ?? "")
  return facts.filter((fact: string) => fact.startsWith("Alice's kettle")).toSorted()
}
const messageId = async (agentId: string, word: string): Promise<string> => {
  const { body } = await call("GET", `/v1/memories?agentId=${agentId}&include=messages&limit=100`)
  return body.memories.find(({ data }: { readonly data: { readonly text: string } }) => data.text.includes(word)).id
}
const byNumber = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at)
const facts = (numbers: ReadonlyArray<number>) => numbers.map((number) => `Alice's kettle K${number} leaks`).toSorted()

beforeAll(async () => {
  model.otherwise = ofKettles
  server = await startServer({ dataDirectory, environment: rulesAlone })
  key = await server.newAccount("alice")
  await store(
    "portions",
    "long",
    byNumber(10, 29).map((number) => said(kettle(number), number))
  )
  await store("portions", "short", [said(kettle(31), 1), said("Erased, the zinc kettle.", 2), said(kettle(32), 3)])
  await call("DELETE", `/v1/memories/${await messageId("portions", "zinc")}`)
  await store("order", "later", [said("I live in Quimper, says Alice.", 20)])
  await store("order", "earlier", [said("A loft in Brest has a stove, says Alice.", 10)])
  for (const number of [41, 42, 43]) await store("killed", `t${number}`, [said(kettle(number), number - 40)])
  await store("erased", "t", [said(kettle(51), 1), said(kettle(52), 2)])
})
afterAll(async () => {
  await server.stop()
})

const command = (...args: ReadonlyArray<string>) =>
  runMuniment(["reread", ...args], {
    MUNIMENT_DATA_DIR: dataDirectory,
    MUNIMENT_PORT: new URL(server.url).port
  })

it("is refused without a language model", async () => {
  expect(refusalOf(await reread())).toEqual([409, "no_language_model"])
  expect(await command("--dry-run")).toMatchObject({ code: 1, err: expect.stringContaining("MUNIMENT_LLM_PROVIDER") })
  await server.stop()
  server = await startServer({ dataDirectory, environment: withModel() })
})

it("says what it takes, by account, and changes nothing", async () => {
  const { body } = await reread({ agentId: "portions", dryRun: true })
  const [work] = body.accounts
  expect(body).toMatchObject({ model: "scripted", accounts: [{ account: "alice" }] })
  expect(work).toMatchObject({ conversations: 2, messages: 22, calls: 3, outputTokens: 22 * 70 })
  expect(work.inputTokens).toBeGreaterThan(3_000)
  expect(work.usd).toBeCloseTo((work.inputTokens * 2 + work.outputTokens * 10) / 1_000_000, 6)
  expect(work.credits).toBeCloseTo(work.inputTokens / 1_000, 6)
  expect(work.days).toBe(Math.ceil((work.inputTokens + work.outputTokens) / 20_000))
  expect((await reread({ agentId: "portions", since: "2026-01-20", dryRun: true })).body.accounts).toMatchObject([
    { conversations: 1, messages: 10, calls: 1 }
  ])
  expect((await reread({ account: "nobody" })).body.code).toBe("account_not_found")
  const shown = await command("--agent", "portions", "--dry-run")
  expect(shown).toMatchObject({ code: 0, out: expect.stringMatching(/alice +2 +22 +3 /) })
  const asked = await command("--agent", "portions")
  expect(asked).toMatchObject({ code: 1, err: expect.stringContaining("Nothing was queued") })
  expect([await waiting(), model.requests.length]).toEqual([0, 0])
})

it("stores what the model finds once, oldest first, in portions with what was said before", async () => {
  const run = await command("--agent", "portions", "--yes", "--json")
  expect([run.code, JSON.parse(run.out).accounts[0].messages]).toEqual([0, 22])
  expect((await reread({ agentId: "portions" })).body.accounts).toEqual([])
  await untilRead(3)
  expect(await kettlesOf("portions")).toEqual(facts([...byNumber(10, 29), 31, 32]))
  const numbers = model.requests.map((request) =>
    textsOf(request, "MESSAGES").map((text) => Number(/K(\d+)/.exec(text)?.[1]))
  )
  expect(numbers).toEqual([[31, 32], byNumber(10, 25), byNumber(26, 29)])
  expect(textsOf(model.requests[2]!, "CONTEXT")).toEqual(byNumber(22, 25).map(kettle))
  expect(model.requests.map(({ prompt }) => prompt).join()).not.toContain("zinc")
  model.requests.length = 0
  expect((await command("--agent", "portions", "--yes")).out).toBe("Nothing is left for scripted to read.")
  expect([await waiting(), model.requests.length]).toEqual([0, 0])
})

it("leaves what was said later, and what the model read when it came", async () => {
  await reread({ agentId: "order" })
  await untilRead(2)
  const known = model.requests.map((request) => lines(request, "KNOWN").find(({ text }) => text.includes("Quimper")))
  expect(model.requests.map((request) => textsOf(request, "MESSAGES").length)).toEqual([1, 1])
  expect(known[0]).toMatchObject({ text: "The user lives in Quimper." })
  expect(known.map((line) => line?.id !== undefined)).toEqual([false, true])
  await store("order", "new", [said(kettle(61), 25)])
  expect((await reread({ agentId: "order", dryRun: true })).body.accounts).toEqual([])
})

it("reads once more what the model could not read when it came", async () => {
  const isOfKettle = (request: ModelRequest) => textsOf(request, "MESSAGES").join().includes("K71")
  model.otherwise = (request) => (isOfKettle(request) ? { kind: "length", text: "{" } : ofKettles(request))
  const conversation = [said(kettle(71), 1), said(kettle(72), 2)]
  const { body } = await call("POST", "/v1/memories", { agentId: "cut", wait: "extraction", conversation })
  expect([body.extraction, body.extractionProblem.code]).toEqual(["partial", "model_truncated"])
  expect(await kettlesOf("cut")).toEqual(facts([72]))
  model.otherwise = ofKettles
  model.requests.length = 0
  expect((await reread({ agentId: "cut" })).body.accounts).toMatchObject([{ messages: 1 }])
  await untilRead(1)
  expect(model.requests.map((request) => textsOf(request, "MESSAGES"))).toEqual([[kettle(71)]])
  expect(await kettlesOf("cut")).toEqual(facts([71, 72]))
  expect((await reread({ agentId: "cut" })).body.accounts).toEqual([])
})

it("does not learn from a message that is erased while it is read", async () => {
  model.requests.length = 0
  model.otherwise = (request) => ({ kind: "slow", millis: 5_000, then: ofKettles(request) })
  await reread({ agentId: "erased" })
  await vi.waitFor(() => expect(model.underWay).toBe(1), patienceMillis)
  await call("DELETE", `/v1/memories/${await messageId("erased", "K51")}`)
  model.otherwise = ofKettles
  await untilRead(2)
  expect(await kettlesOf("erased")).toEqual(facts([52]))
})

if (isLongRun)
  it("goes on after a kill", async () => {
    model.requests.length = 0
    const isRead = () => textsOf(model.requests.at(-1)!, "MESSAGES")[0]?.includes("K42") === true
    model.otherwise = (request) =>
      isRead() ? { kind: "slow", millis: patienceMillis, then: answer({ memories: [] }) } : ofKettles(request)
    await reread({ agentId: "killed" })
    await vi.waitFor(() => expect(isRead()).toBe(true), patienceMillis)
    await server.kill()
    model.otherwise = ofKettles
    server = await startServer({ dataDirectory, environment: withModel() })
    expect((await reread({ agentId: "killed" })).body.accounts).toEqual([])
    await expect.poll(() => kettlesOf("killed"), { timeout: patienceMillis }).toEqual(facts([41, 42, 43]))
    const read = model.requests.map((request) => textsOf(request, "MESSAGES").join())
    expect(read).toEqual([41, 42, 42, 43].map(kettle))
  })
