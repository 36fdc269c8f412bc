/** The middleware and the tools with the AI SDK's own functions over a model of its test kit, and the real service. */
import assert from "node:assert/strict"
import process from "node:process"
import { test } from "node:test"
import { Muniment } from "@muniment/client"
import { memoryMiddleware, memoryTools } from "@muniment/ai-sdk"
import { generateText, simulateReadableStream, streamText, wrapLanguageModel } from "ai"
import { MockLanguageModelV4 } from "ai/test"

const { MUNIMENT_API_KEY = "", MUNIMENT_URL = "" } = process.env
const client = new Muniment({ baseUrl: MUNIMENT_URL, apiKey: MUNIMENT_API_KEY })
const scopeOf = (name: string) => ({ agentId: `ai-sdk-${crypto.randomUUID()}`, subjectId: name })

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined }
}
const stop = { unified: "stop", raw: undefined } as const
/** Says `words`; its prompts are in `doGenerateCalls` and `doStreamCalls`. */
const speaker = (words: string): MockLanguageModelV4 =>
  new MockLanguageModelV4({
    doGenerate: async () => ({
      content: [{ type: "text", text: words }],
      finishReason: stop,
      usage,
      warnings: []
    }),
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: "text-start", id: "1" },
          ...words.split(/(?= )/).map((delta) => ({ type: "text-delta", id: "1", delta }) as const),
          { type: "text-end", id: "1" },
          { type: "finish", finishReason: stop, usage }
        ]
      })
    })
  })

test("what was said is stored, and comes before the prompt of a later conversation of the same user only", async () => {
  const scope = scopeOf("ann")
  const chat = (threadId: string, model: MockLanguageModelV4, subjectId = scope.subjectId) =>
    wrapLanguageModel({ model, middleware: memoryMiddleware(client, { ...scope, subjectId, threadId }) })
  await generateText({ model: chat("one", speaker("Lovely city!")), prompt: "My home is in Lisbon." })
  const { memories } = await client.list({ ...scope, threadId: "one", kind: "conversation_message", order: "asc" })
  assert.deepEqual(
    memories.map(({ data }) => `${data["role"]}: ${data["text"]}`),
    ["user: My home is in Lisbon.", "assistant: Lovely city!"]
  )

  const asked = { prompt: "Where do I live?", instructions: "Be brief." }
  // Nothing but their meaning leads from the question to the words, and a vector may follow the answer.
  while ((await client.search({ ...scope, query: asked.prompt })).memories.length === 0);
  const later = speaker("Lisbon.")
  const result = streamText({ model: chat("two", later), ...asked })
  assert.equal(await result.text, "Lisbon.")
  const [instructions, remembered, question] = later.doStreamCalls[0]!.prompt
  assert.equal(instructions?.content, "Be brief.")
  assert.match(
    String(remembered?.content),
    /^What is remembered from earlier\.[^]*User: My home is in Lisbon\.\nAssistant: Lovely city!/
  )
  assert.equal(question?.role, "user")
  const stored = await client.list({ ...scope, threadId: "two", kind: "conversation_message" })
  assert.equal(stored.total, 2)

  const stranger = speaker("I do not know.")
  await generateText({ model: chat("three", stranger, "bob"), ...asked })
  assert.deepEqual(
    stranger.doGenerateCalls[0]!.prompt.map(({ role }) => role),
    ["system", "user"]
  )
})

test("a user who says the same twice has said it twice", async () => {
  const scope = scopeOf("ann")
  const middleware = memoryMiddleware(client, { ...scope, threadId: "same" })
  const model = wrapLanguageModel({ model: speaker("Yes."), middleware })
  for (const prompt of ["Again?", "Again?"]) await generateText({ model, prompt })
  assert.equal((await client.list({ ...scope, kind: "conversation_message" })).total, 4)
})

test("what is longer than a message is stored as several, and searched for by its beginning", async () => {
  const scope = scopeOf("ann")
  const model = wrapLanguageModel({
    model: speaker("A long story."),
    middleware: memoryMiddleware(client, { ...scope, threadId: "long" })
  })
  const prompt = "🏠 ".repeat(35_000)
  await generateText({ model, prompt })
  const { memories } = await client.list({ ...scope, kind: "conversation_message", order: "asc" })
  const said = memories.filter(({ data }) => data["role"] === "user").map(({ data }) => data["text"])
  assert.equal(said.length, 3)
  assert.equal(said.join(""), prompt)
})

test("without a thread nothing is stored", async () => {
  const scope = scopeOf("ann")
  const model = wrapLanguageModel({ model: speaker("Yes."), middleware: memoryMiddleware(client, scope) })
  await generateText({ model, prompt: "Is it?" })
  assert.equal((await client.list(scope)).total, 0)
})

test("a service that cannot be reached fails the call, or is told to `onError`", async () => {
  const absent = new Muniment({ baseUrl: "http://127.0.0.1:1", apiKey: "mun_x", retries: 0 })
  const scope = { ...scopeOf("ann"), threadId: "t" }
  const failing = wrapLanguageModel({ model: speaker("Hi"), middleware: memoryMiddleware(absent, scope) })
  await assert.rejects(generateText({ model: failing, prompt: "Hello", maxRetries: 0 }))
  const errors: Array<unknown> = []
  const onError = (error: unknown): void => void errors.push(error)
  const middleware = memoryMiddleware(absent, { ...scope, onError })
  const { text } = await generateText({
    model: wrapLanguageModel({ model: speaker("Hi"), middleware }),
    prompt: "Hello"
  })
  assert.equal(text, "Hi")
  assert.equal(errors.length, 2)
})

test("a model searches, remembers and forgets by tools, within its scope", async () => {
  const scope = scopeOf("ann")
  const tools = memoryTools(client, scope)
  const call = (toolName: string, input: unknown): MockLanguageModelV4 =>
    new MockLanguageModelV4({
      doGenerate: async () => ({
        content: [{ type: "tool-call", toolCallId: "c", toolName, input: JSON.stringify(input) }],
        finishReason: { unified: "tool-calls", raw: undefined },
        usage,
        warnings: []
      })
    })
  const outcome = async (toolName: string, input: unknown, given = tools): Promise<unknown> => {
    const { toolResults } = await generateText({ model: call(toolName, input), tools: given, prompt: "Go on." })
    return toolResults[0]?.output
  }
  const fact = { subject: "Ann", fact: "Ann drinks green tea" }
  const { id } = (await outcome("rememberFact", fact)) as { readonly id: string }
  assert.deepEqual(await outcome("rememberFact", fact), { id })
  const found = (await outcome("searchMemories", { query: "What does she drink?" })) as ReadonlyArray<object>
  assert.deepEqual(
    found.map((hit) => ({ ...hit, relevance: 1 })),
    [{ id, text: "Ann drinks green tea", relevance: 1 }]
  )
  assert.deepEqual(await outcome("forgetMemory", { id }, memoryTools(client, { ...scope, subjectId: "bob" })), {
    forgotten: false
  })
  assert.deepEqual(await outcome("forgetMemory", { id }), { forgotten: true })
  assert.deepEqual(await outcome("searchMemories", { query: "tea" }), [])
})
