/**
 * What went wrong once when conversations were read under attack (contract: Conversations): clients that go away,
 * erasure while a model reads, what ends and must not live on, answers starved by a large memory.
 */
import { setTimeout as pause } from "node:timers/promises"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { accountCalls, fact, schemaText, text, type MemoryCalls } from "../support/MemoryCalls.ts"
import { ModelServer, type ModelRequest } from "../support/ModelServer.ts"
import { answer, status, type ModelReply } from "../support/ModelServerReplies.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"

let model: ModelServer
let server: TestServer
let alice: MemoryCalls
beforeAll(async () => {
  model = await ModelServer.start()
  server = await startServer({
    environment: {
      MUNIMENT_EMBEDDING_MODEL: "none",
      MUNIMENT_LLM_PROVIDER: "openai-compatible",
      MUNIMENT_LLM_BASE_URL: model.baseUrl("openai-compatible"),
      MUNIMENT_LLM_MODEL: "scripted"
    }
  })
  alice = await accountCalls(server, "alice")
})
beforeEach(() => {
  model.requests.length = 0
  model.otherwise = () => extraction()
})
afterAll(async () => {
  await server.stop()
  await model.close()
})

const said = (id: string, content: string) => ({ id, role: "user", content })
const home = { subject: "Alice", fact: "Alice lives in Quimper" }

const extraction = (data?: object, quote = "live in Quimper", summary = "", kind = "factual_memory"): ModelReply =>
  answer({
    memories: data === undefined ? [] : [{ kind, data, confidence: 0.9, sources: [1], quote }],
    summary
  })

const later = (millis: number, reply: ModelReply): ModelReply => ({ kind: "slow", millis, then: reply })

const extract = (agentId: string, content: string, rest: object = {}, headers: Record<string, string> = {}) =>
  alice.post(
    "/v1/memories",
    { agentId, remember: "extracted", conversation: [said(content, content)], ...rest },
    headers
  )

const untilAsked = async () => {
  while (model.requests.length === 0) await pause(5)
}

const spent = async () => 1_000_000 - (await alice.call("GET", "/v1/credits")).body.allowance.credits

/** A model that sums up whatever it is shown of Quimper. */
const echo = ({ prompt }: ModelRequest): ModelReply =>
  extraction(undefined, "", prompt.includes("Quimper") ? "Somebody lives in Quimper." : "Nothing is known.")

describe("a conversation", () => {
  it("whose client goes away is answered again under its key, also where a stored memory said it before", async () => {
    const schema = schemaText({ who: text, city: text }, { required: ["who", "city"] })
    await alice.post("/v1/schemas", { name: "Home", description: "Where somebody lives", schema, uniqueOn: ["who"] })
    const lives = extraction({ who: "Alice", city: "Quimper" }, "live in Quimper", "", "Home")
    model.otherwise = () => lives
    const { body } = await extract("gone", "I am Alice and live in Quimper.")
    model.requests.length = 0
    model.otherwise = () => later(300, lives)
    const spentBefore = await spent()
    const conversation = [said("again", "I still live in Quimper, says Alice.")]
    const client = new AbortController()
    const lost = fetch(`${server.url}/v1/memories`, {
      method: "POST",
      headers: { authorization: `Bearer ${alice.key}`, "content-type": "application/json", "idempotency-key": "lost" },
      body: JSON.stringify({ agentId: "gone", conversation }),
      signal: client.signal
    })
    await untilAsked()
    client.abort()
    await expect(lost).rejects.toThrow("aborted")
    const retried = await alice.post("/v1/memories", { agentId: "gone", conversation }, { "idempotency-key": "lost" })
    expect(retried.body, JSON.stringify(retried.body)).toMatchObject({
      created: [],
      rejected: [{ reason: "duplicate", duplicateOf: body.created[0].id }]
    })
    expect([model.requests.length, (await spent()) - spentBefore]).toEqual([1, 5])
  })

  it("sent many times at once is read by the model once, and charged once", async () => {
    model.otherwise = () => later(200, extraction(home))
    const spentBefore = await spent()
    const all = await Promise.all(Array.from({ length: 6 }, () => extract("many", "I am Alice and live in Quimper.")))
    expect(all.map(({ body }) => body.created.length).toSorted()).toEqual([0, 0, 0, 0, 0, 1])
    expect([model.requests.length, (await spent()) - spentBefore]).toEqual([1, 5])
  })

  it("that fails to be read leaves no agent behind", async () => {
    model.otherwise = () => status(400)
    expect((await extract("ghost", "I live in Quimper.")).status).toBe(503)
    const { agents } = (await alice.call("GET", "/v1/account")).body
    expect(agents.map(({ agentId }: { readonly agentId: string }) => agentId)).not.toContain("ghost")
  })

  it("that is read again is not its own context", async () => {
    await extract("forced", "I live in Quimper.")
    await extract("forced", "I live in Quimper.", { force: true })
    expect(model.requests[1]!.prompt.split("Quimper")).toHaveLength(2)
  })
})

describe("what was erased or has ended", () => {
  it("while a model reads a thread is not learned again from what the model was shown", async () => {
    model.otherwise = () => extraction(home, "live in Quimper", "Alice lives in Quimper.")
    const { body } = await extract("erased", "I am Alice and live in Quimper.")
    model.requests.length = 0
    model.otherwise = (request) => later(300, echo(request))
    const reading = extract("erased", "I like tea.")
    await untilAsked()
    expect((await alice.call("DELETE", `/v1/memories/${body.created[0].id}`)).status).toBe(200)
    expect((await reading).status).toBe(200)
    model.requests.length = 0
    await extract("erased", "I like cake.")
    expect(model.requests[0]!.prompt).toContain("I like tea.")
    expect(model.requests[0]!.prompt).not.toContain("Quimper")
  })

  it("does not live on in a summary or beside a memory that stay", async () => {
    model.otherwise = echo
    await extract("ended", "My hideout is in Quimper, near the weathervane.", { ttl: "1s" })
    model.otherwise = (request) => {
      const { value } = echo(request) as Extract<ModelReply, { readonly kind: "answer" }>
      const tea = { subject: "user", fact: "likes tea" }
      return answer({
        ...(value as object),
        memories: [{ kind: "factual_memory", data: tea, confidence: 0.9, sources: [1], quote: "I like tea" }]
      })
    }
    expect((await extract("ended", "I like tea.")).body.created).toHaveLength(1)
    await pause(1_000)
    model.requests.length = 0
    model.otherwise = echo
    await extract("ended", "I like cake.")
    expect(model.requests[0]!.prompt).toContain("I like tea.")
    expect(model.requests[0]!.prompt).not.toContain("Quimper")
    const [kept] = await alice.search({ query: "weathervane", agentId: "ended", explain: "true" })
    expect(kept?.explain.lexical ?? 0).toBe(0)
  })

  it("keeps out nothing that was told to be remembered for longer", async () => {
    model.otherwise = () => extraction(home)
    await extract("brief", "I am Alice and live in Quimper.", { ttl: "1s" })
    const { body } = await extract("brief", "As I said, I, Alice, live in Quimper.")
    expect([body.created.length, body.rejected], JSON.stringify(body)).toEqual([1, []])
    await pause(1_000)
    expect(await alice.search({ query: "Quimper", agentId: "brief" })).toHaveLength(1)
    const again = await extract("brief", "And I, Alice, live in Quimper.", { ttl: "1h" })
    expect(again.body.rejected).toMatchObject([{ reason: "duplicate" }])
  })
})

it("a memory too large for a prompt does not hide the ones after it from the answer", async () => {
  const notes = Array.from({ length: 40 }, () => "Where does Ann live? ".repeat(45))
  await alice.create("large", [
    { kind: "factual_memory", data: { subject: "Ann", fact: "where Ann does live", notes } },
    fact("Ann", "Ann lives in Oslo")
  ])
  model.otherwise = ({ prompt }) => {
    const line = prompt.split("\n").find((each) => each.includes("Ann lives in Oslo")) ?? ""
    const number = Number(/"n":(\d+)/.exec(line)?.[1] ?? "0")
    return answer({ known: "yes", sentences: [{ text: "Ann lives in Oslo.", citations: [number] }] })
  }
  const { body } = await alice.call("GET", "/v1/memories/search?query=Where+does+Ann+live&mode=answer&agentId=large")
  expect(body).toMatchObject({ answer: "Ann lives in Oslo.", memories: [{ data: { fact: "Ann lives in Oslo" } }] })
  expect(body.citations).toEqual([body.memories[0].id])
})
