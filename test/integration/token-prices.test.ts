/** Tokens of the language model priced beyond the call (contract: Credits). */
import { expect, it } from "vitest"
import { sectionOf } from "../support/FencedPrompt.ts"
import { accountCalls, fact, type MemoryCalls } from "../support/MemoryCalls.ts"
import { useModel } from "../support/ModelServer.ts"
import { answer, status, text } from "../support/ModelServerReplies.ts"
import { refusalOf } from "../support/TestServer.ts"
import { told } from "../support/ToldMemory.ts"
import { useServer } from "../support/useServer.ts"

const model = useModel()
const server = useServer(() => ({
  environment: {
    MUNIMENT_EMBEDDING_MODEL: "none",
    MUNIMENT_MONTHLY_ALLOWANCE: "100",
    ...model.environment(),
    MUNIMENT_LLM_TIMEOUT_MILLIS: "20000",
    MUNIMENT_LLM_INPUT_CREDITS_PER_1000: "2",
    MUNIMENT_LLM_OUTPUT_CREDITS_PER_1000: "3"
  }
}))

const talk = (calls: MemoryCalls, rest: object = {}) =>
  calls.post("/v1/memories", {
    agentId: "a",
    conversation: [{ role: "user", content: "I live in Quimper." }],
    remember: "extracted",
    ...rest
  })
const linesOf = async (calls: MemoryCalls): Promise<ReadonlyArray<{ operation?: string; credits: number }>> =>
  (await calls.call("GET", "/v1/credits/transactions")).body.transactions.filter(
    ({ kind }: { readonly kind: string }) => kind === "charge"
  )
const expectProven = async () => {
  const { body } = await server.asOperator("GET", "/admin/ledger/check")
  expect([body.ok, body.problems]).toEqual([true, []])
}

it("charges the tokens that were used, on a line that names them", async () => {
  const calls = await accountCalls(server, "alice")
  model.otherwise = () => answer({ memories: [] })
  const answered = await talk(calls)
  expect(answered.status).toBe(200)
  const lines = await linesOf(calls)
  const tokens = lines.find(({ operation }) => operation?.startsWith("model: ") === true)!
  const [input, output] = tokens.operation!.match(/\d+/g)!.map(Number) as [number, number]
  expect(input).toBeGreaterThan(0)
  expect(-tokens.credits).toBeCloseTo((input * 2 + output * 3) / 1_000, 6)
  expect(Number(answered.headers.get("x-credits-charged"))).toBeCloseTo(5 - tokens.credits, 6)
  const { body } = await calls.call("GET", "/v1/credits")
  expect(body.allowance.credits).toBeCloseTo(100 - 5 + tokens.credits, 6)
  await expectProven()
})

it("charges a second call in which a reading is corrected", async () => {
  const calls = await accountCalls(server, "frida")
  model.requests.length = 0
  const [faulty, corrected] = [4711, 12].map((count) => told(`Alice has ${count} hens`, "12 hens now"))
  model.otherwise = ({ prompt }) => answer({ memories: [sectionOf(prompt, "FAULTS").length > 0 ? corrected : faulty] })
  const { body, headers } = await talk(calls, { conversation: [{ role: "user", content: "12 hens now, says Alice." }] })
  expect(body.created).toMatchObject([{ data: { fact: "Alice has 12 hens" } }])
  expect([body.rejected, model.requests.length]).toEqual([[], 2])
  const tokens = (await linesOf(calls)).filter(({ operation }) => operation?.startsWith("model: ") === true)
  expect(tokens).toMatchObject([{ operation: "model: 11 input and 7 output tokens", calls: 2 }])
  expect(Number(headers.get("x-credits-charged"))).toBeCloseTo(5 - tokens[0]!.credits, 6)
  await expectProven()
})

it("charges nothing for a call that the model refused unread", async () => {
  const calls = await accountCalls(server, "bob")
  model.otherwise = () => status(401)
  expect((await talk(calls)).status).toBe(503)
  expect(await linesOf(calls)).toEqual([])
  await expectProven()
})

it("charges a call whose answer is of no use, and not the conversation", async () => {
  const calls = await accountCalls(server, "dora")
  model.otherwise = () => text("no JSON at all")
  expect((await talk(calls)).status).toBe(503)
  const lines = await linesOf(calls)
  expect(lines.length).toBeGreaterThan(0)
  for (const { credits, operation } of lines) {
    expect(operation).toMatch(/^model: \d+ input and \d+ output tokens$/)
    expect(credits).toBeLessThan(0)
  }
  await expectProven()
})

it("takes nothing from an account in whose place an operator asks or stores", async () => {
  const calls = await accountCalls(server, "served")
  await calls.post("/v1/memories", { agentId: "a", memories: [fact("tea", "jasmine")] })
  const before = (await calls.call("GET", "/v1/credits")).body
  const headers = { "x-account": server.nameOf("served") }
  const act = (path: string, body: object) => server.call("POST", path, { key: server.operatorToken, headers, body })
  model.requests.length = 0
  model.otherwise = () => answer({ reply: "jasmine" })
  const messages = [{ role: "user", content: "Which tea?" }]
  expect((await act("/v1/chat", { agentId: "a", messages })).body.reply).toBe("jasmine")
  model.otherwise = () => answer({ memories: [] })
  const conversation = [{ role: "user", content: "I live in Quimper." }]
  expect((await act("/v1/memories", { agentId: "a", conversation, remember: "extracted" })).status).toBe(200)
  expect(model.requests).toHaveLength(2)
  expect((await calls.call("GET", "/v1/credits")).body).toEqual(before)
  await expectProven()
})

it("asks no model for an account whose credits do not cover it", async () => {
  const calls = await accountCalls(server, "carol")
  for (let spent = 0; spent < 19; spent++) {
    const memories = [{ kind: "factual_memory", data: { subject: "a", fact: `b ${spent}` } }]
    expect((await calls.post("/v1/memories", { agentId: "b", memories })).status).toBe(200)
  }
  model.requests.length = 0
  expect(refusalOf(await talk(calls))).toEqual([403, "insufficient_credits"])
  expect(model.requests).toEqual([])
  expect((await calls.call("GET", "/v1/credits")).body.allowance.credits).toBe(5)
  await expectProven()
})

const left = async (calls: MemoryCalls): Promise<number> =>
  (await calls.call("GET", "/v1/credits")).body.allowance.credits
/** Leaves fewer than five credits more than these, by calls of five. */
const spendDownTo = async (calls: MemoryCalls, credits: number) => {
  for (let spent = 0; (await left(calls)) - 5 >= credits; spent++) {
    const memories = [{ kind: "factual_memory", data: { subject: "a", fact: `c ${spent}` } }]
    expect((await calls.post("/v1/memories", { agentId: "b", memories })).status).toBe(200)
  }
}
const say = (calls: MemoryCalls, text: string) =>
  calls.post("/v1/memories", { agentId: "a", conversation: [{ role: "user", content: text }] })
/** Text of about this many characters: a token for every four. */
const long = (text: string, length: number) => text.repeat(Math.ceil(length / text.length))
const tokenLines = async (calls: MemoryCalls) =>
  (await linesOf(calls)).filter(({ operation }) => operation?.startsWith("model: ") === true)

it("takes the price of each conversation whose messages are stored and whose tokens are not covered, until none is left", async () => {
  const calls = await accountCalls(server, "emil")
  await spendDownTo(calls, 10)
  model.requests.length = 0
  const stored: Array<readonly [status: number, extraction: unknown, charged: string | null]> = []
  for (const city of ["Quimper", "Brest", "Brest"]) {
    const { body, headers, status } = await say(calls, long(`I live in ${city}. `, 11_000))
    stored.push([status, body.extraction, headers.get("x-credits-charged")])
  }
  // The third is the second again, which was paid for.
  expect(stored).toEqual([
    [200, "partial", "5"],
    [200, "partial", "5"],
    [200, "partial", "0"]
  ])
  expect(await left(calls)).toBe(0)
  expect(refusalOf(await say(calls, "I live in Lorient."))).toEqual([403, "insufficient_credits"])
  // Two messages, and what rules read in them, which costs no tokens.
  const { records } = (await server.asOperator("GET", "/admin/export?account=emil")).body
  const ofAgent = records.filter(({ agentId }: { readonly agentId: string }) => agentId === "a")
  const texts = ofAgent.map(({ data }: { readonly data: { readonly fact?: string } }) => data.fact ?? "message")
  expect(texts.toSorted()).toEqual(["The user lives in Brest", "The user lives in Quimper", "message", "message"])
  expect(model.requests).toEqual([])
  await expectProven()
})

it("asks nothing for a conversation of several calls that the credits do not cover together", async () => {
  const calls = await accountCalls(server, "fanny")
  await spendDownTo(calls, 40)
  model.requests.length = 0
  model.otherwise = () => answer({ memories: [] })
  const conversation = Array.from({ length: 8 }, (_, at) => ({
    role: "user",
    content: long(`I met Bob ${at} times. `, 8_000)
  }))
  const before = await left(calls)
  const { body, status } = await calls.post("/v1/memories", { agentId: "a", conversation, remember: "extracted" })
  expect([status, body.code]).toEqual([403, "insufficient_credits"])
  expect(model.requests).toEqual([])
  expect([await left(calls), await tokenLines(calls)]).toEqual([before, []])
  await expectProven()
})

it("charges the tokens of an order of hits beside the search, and asks for none that is not covered", async () => {
  const calls = await accountCalls(server, "hanna")
  await calls.create("a", [fact("tram", "The tram rusts"), fact("tram", "The tram stops at the mill")])
  model.requests.length = 0
  model.otherwise = () => ({ ...answer({ order: [2, 1] }), usage: { input: 700, output: 20 } }) as never
  const path = "/v1/memories/search?query=tram&agentId=a&rerank=model&explain=true"
  const { body, headers } = await calls.call("GET", path)
  const price = (700 * 2 + 20 * 3) / 1_000
  expect([body.reranked, body.explain.rerank.credits]).toEqual([true, price])
  expect(Number(headers.get("x-credits-charged"))).toBeCloseTo(2 + price, 6)
  const lines = await tokenLines(calls)
  expect(lines).toMatchObject([{ operation: "model: 700 input and 20 output tokens" }])
  expect(-lines[0]!.credits).toBeCloseTo(price, 6)
  await spendDownTo(calls, 4)
  // The search is covered, the tokens are not.
  while ((await left(calls)) >= 4) await calls.search({ query: "tram" })
  model.requests.length = 0
  const uncovered = await calls.call("GET", path)
  expect([uncovered.status, uncovered.body.reranked]).toEqual([200, false])
  expect(uncovered.body.rerankProblem.code).toBe("model_unpaid")
  expect(uncovered.headers.get("x-credits-charged")).toBe("2")
  expect(model.requests).toEqual([])
  await expectProven()
})

it("owes nothing when the credits end within a conversation, whatever the model says that it used", async () => {
  const calls = await accountCalls(server, "gerd")
  model.requests.length = 0
  // Of no use, so that it is asked again, which is not covered.
  model.otherwise = () => ({ ...text("no JSON at all"), usage: { input: 10_000_000, output: 10_000_000 } }) as never
  await spendDownTo(calls, 25)
  const before = await left(calls)
  const stored = await say(calls, "I live in Quimper.")
  expect([stored.status, stored.body.extraction]).toEqual([200, "partial"])
  const lines = await tokenLines(calls)
  expect([lines.length, model.requests.length]).toEqual([1, 1])
  const after = await left(calls)
  expect(after).toBeGreaterThanOrEqual(0)
  expect(before - after).toBeCloseTo(5 - lines[0]!.credits, 6)
  expect(Number(stored.headers.get("x-credits-charged"))).toBeCloseTo(before - after, 6)
  await expectProven()
})
