/** Tokens of the language model priced beyond the call (contract: Credits). */
import { afterAll, beforeAll, expect, it } from "vitest"
import { accountCalls, type MemoryCalls } from "../support/MemoryCalls.ts"
import { ModelServer } from "../support/ModelServer.ts"
import { answer, status, text } from "../support/ModelServerReplies.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"

let model: ModelServer
let server: TestServer
beforeAll(async () => {
  model = await ModelServer.start()
  server = await startServer({
    environment: {
      MUNIMENT_EMBEDDING_MODEL: "none",
      MUNIMENT_MONTHLY_ALLOWANCE: "100",
      MUNIMENT_LLM_PROVIDER: "openai-compatible",
      MUNIMENT_LLM_BASE_URL: model.baseUrl("openai-compatible"),
      MUNIMENT_LLM_MODEL: "scripted",
      MUNIMENT_LLM_TIMEOUT_MILLIS: "20000",
      MUNIMENT_LLM_INPUT_CREDITS_PER_1000: "2",
      MUNIMENT_LLM_OUTPUT_CREDITS_PER_1000: "3"
    }
  })
})
afterAll(async () => {
  await server.stop()
  await model.close()
})

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
  const { body } = await server.call("GET", "/admin/ledger/check", { key: server.operatorToken })
  expect([body.ok, body.problems]).toEqual([true, []])
}

it("charges the tokens that were used, on a line that names them", async () => {
  const calls = await accountCalls(server, "alice")
  model.otherwise = () => answer({ memories: [], summary: "s" })
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

it("asks no model for an account whose credits do not cover it", async () => {
  const calls = await accountCalls(server, "carol")
  for (let spent = 0; spent < 19; spent++) {
    const memories = [{ kind: "factual_memory", data: { subject: "a", fact: `b ${spent}` } }]
    expect((await calls.post("/v1/memories", { agentId: "b", memories })).status).toBe(200)
  }
  model.requests.length = 0
  const refused = await talk(calls)
  expect([refused.status, refused.body.code], JSON.stringify(refused.body)).toEqual([403, "insufficient_credits"])
  expect(model.requests).toEqual([])
  expect((await calls.call("GET", "/v1/credits")).body.allowance.credits).toBe(5)
  await expectProven()
})
