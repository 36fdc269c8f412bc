/**
 * POST /v1/chat (contract: Context) over the model's real wire formats: what the model is handed, what it costs, who may
 * ask, and what a caller meets without a model or when it fails.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { outsideOf, sectionOf } from "../support/FencedPrompt.ts"
import { accountCalls, fact, type MemoryCalls } from "../support/MemoryCalls.ts"
import { ModelServer } from "../support/ModelServer.ts"
import { answer, type ModelFormat, status } from "../support/ModelServerReplies.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { type Answer, refusalOf, startServer, type TestServer } from "../support/TestServer.ts"

const question = "Where do I live, and what should I eat?"
const turns = [
  { role: "user", content: "Hello" },
  { role: "assistant", content: "Hello. What can I do for you?" },
  { role: "user", content: question }
]
const place = { agentId: "a", subjectId: "alice" }

const chat = (calls: MemoryCalls, more: object = {}): Promise<Answer> =>
  calls.post("/v1/chat", { ...place, messages: turns, ...more })

describe.each<ModelFormat>(["openai-compatible", "anthropic"])("a chat by the wire format %s", (provider) => {
  let model: ModelServer
  let server: TestServer
  let ann: MemoryCalls
  beforeAll(async () => {
    model = await ModelServer.start()
    server = await startServer({
      environment: {
        ...withoutModel,
        ...model.environment(provider),
        MUNIMENT_LLM_API_KEY: "sk-a-key",
        MUNIMENT_LLM_TIMEOUT_MILLIS: "20000",
        MUNIMENT_LLM_OUTPUT_CREDITS_PER_1000: "1000",
        MUNIMENT_LLM_TOKENS_PER_DAY: "40000",
        MUNIMENT_MONTHLY_ALLOWANCE: "100000"
      }
    })
    ann = await accountCalls(server, "ann")
    const memories = [fact("Alice", "lives in Uppsala"), fact("Alice", "eats no meat")]
    await ann.post("/v1/memories", { ...place, memories })
  })
  beforeEach(() => {
    model.requests.length = 0
    model.otherwise = () => answer({ reply: "  In Uppsala; a lentil soup?  " }, { input: 400, output: 20 })
  })
  afterAll(async () => {
    expect(server.output()).not.toMatch(/Uppsala|lentil|sk-a-key/)
    await server.stop()
    await model.close()
  })

  it("hands the model the context and the turns as fenced data, and answers with both", async () => {
    const { body, status: code } = await chat(ann)
    expect([code, body.reply, body.model]).toEqual([200, "In Uppsala; a lentil soup?", "scripted"])
    const context = (await ann.post("/v1/context", { ...place, messages: turns, scope: "own" })).body
    expect(body.context).toEqual({
      text: context.text,
      sources: context.sources,
      tokens: context.tokens,
      tokenizer: context.tokenizer,
      leftOut: context.leftOut
    })
    expect(body.context.text).toContain("Uppsala")
    expect(body.context.sources).toHaveLength(2)
    expect(model.requests).toHaveLength(1)
    const [asked] = model.requests
    expect(sectionOf(asked!.prompt, "REMEMBERED")).toEqual([context.text])
    expect(sectionOf(asked!.prompt, "CHAT")).toEqual(turns)
    expect(`${asked!.system}${outsideOf(asked!.prompt)}`).not.toMatch(/Uppsala|Hello/)
    expect(JSON.stringify(body)).not.toContain("sk-a-key")
  })

  it("stores nothing, and costs a context and the tokens that were used", async () => {
    const balance = async () => (await ann.call("GET", "/v1/credits")).body.allowance.credits
    const before = await balance()
    const { body, headers } = await chat(ann)
    expect([body.modelCredits, headers.get("x-credits-charged")]).toEqual([20, "22"])
    expect(before - (await balance())).toBe(22)
    expect((await ann.call("GET", "/v1/memories?include=all")).body.total).toBe(2)
    const { agents } = (await ann.call("GET", "/v1/account/costs")).body
    const { operations } = agents.find(({ agentId }: { readonly agentId: string }) => agentId === "a")
    expect(operations).toEqual(expect.arrayContaining([expect.objectContaining({ operation: "chat" })]))
  })

  it("is refused with what is wrong where the last turn is not the user's", async () => {
    for (const messages of [turns.slice(0, 2), [{ role: "system", content: "obey" }]]) {
      expect(refusalOf(await chat(ann, { messages }))).toEqual([400, "invalid_request"])
    }
    expect(refusalOf(await chat(ann, { system: "obey" }))).toEqual([400, "unknown_parameter"])
    expect(model.requests).toEqual([])
  })

  it("sees what a bound key sees alone", async () => {
    const { secret } = (await ann.post("/v1/keys", { agents: ["other"] })).body
    const answered = await server.call("POST", "/v1/chat", { key: secret, body: { messages: turns } })
    expect([answered.status, answered.body.context.text]).toEqual([200, ""])
    expect(sectionOf(model.requests[0]!.prompt, "REMEMBERED")).toEqual([])
  })

  it("costs nothing when the model fails, and says why in the service's words", async () => {
    const balance = async () => (await ann.call("GET", "/v1/credits")).body.allowance.credits
    const before = await balance()
    model.otherwise = () => status(400, {}, JSON.stringify({ error: { message: "secret of the server" } }))
    const failed = await chat(ann)
    expect(refusalOf(failed)).toEqual([503, "model_unavailable"])
    expect(JSON.stringify(failed.body)).not.toContain("secret of the server")
    expect(before - (await balance())).toBeLessThan(22)
  })

  it("keeps to the budget of the day", async () => {
    model.otherwise = () => answer({ reply: "yes" }, { input: 39_000, output: 500 })
    const answers = [await chat(ann), await chat(ann)]
    expect(answers.map(refusalOf).at(-1)).toEqual([429, "model_budget_exhausted"])
  })
})

describe("a service without a language model", () => {
  const server = useSharedServer(withoutModel)

  it("says so, and charges nothing", async () => {
    const ann = await accountCalls(server, "chatless")
    const refused = await chat(ann)
    expect(refusalOf(refused)).toEqual([409, "no_language_model"])
    expect(refused.headers.get("x-credits-charged")).toBeNull()
  })
})
