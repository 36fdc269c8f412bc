/**
 * Reading and answering by a real language model (contract: Conversations), SmolLM2 with 135 million parameters behind
 * llama.cpp's server: what the server takes, a reply that is cut off, a server that is killed while it reads. A model of this
 * size makes things up and does not end, so nothing that it says may be stored or claimed unless the messages say it.
 */
import { describe, expect, it, vi } from "vitest"
import { sectionOf } from "../support/FencedPrompt.ts"
import { type LocalModel, localModelsMissing, startLocalModel } from "../support/LocalModels.ts"
import { accountCalls, type MemoryCalls } from "../support/MemoryCalls.ts"
import { type ModelProxy, type ProxiedRequest, startModelProxy } from "../support/ModelProxy.ts"
import { patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"

const missing = localModelsMissing()
const modelName = "smollm2-135m"

interface Stage extends AsyncDisposable {
  readonly model: LocalModel
  /** Before the model. */
  readonly proxy: ModelProxy
  readonly server: TestServer
  readonly alice: MemoryCalls
}

const openStage = async (): Promise<Stage> => {
  await using opened = new AsyncDisposableStack()
  const model = opened.use(await startLocalModel(modelName))
  const proxy = opened.use(await startModelProxy(model.environment.MUNIMENT_LLM_BASE_URL))
  const server = await startServer({
    environment: {
      ...model.environment,
      MUNIMENT_EMBEDDING_MODEL: "none",
      MUNIMENT_LLM_BASE_URL: proxy.baseUrl,
      MUNIMENT_LLM_TIMEOUT_MILLIS: "600000"
    }
  })
  opened.defer(async () => void (await server.stop()))
  // Most readings of this model go on to their bound, and a shorter one is as good a test.
  proxy.tokensMaxOf = (request) => (shownIn(request).length > 0 ? 200 : Number.POSITIVE_INFINITY)
  const alice = await accountCalls(server, "alice")
  const all = opened.move()
  return { model, proxy, server, alice, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

const sentences = [
  "I live in Quimper.",
  "I have a sister who paints boats.",
  "My dog is called Pixel.",
  "I work as a nurse at night.",
  "I am allergic to peanuts.",
  "My bicycle is green.",
  "I play the cello on Sundays.",
  "I never drink coffee."
]

const conversationOf = (count: number) =>
  sentences.slice(0, count).map((content, at) => ({ id: `m${at + 1}`, role: "user", content }))

const send = async (alice: MemoryCalls, count: number, rest: object = {}) => {
  const answer = await alice.post("/v1/memories", {
    agentId: "a",
    threadId: "t",
    conversation: conversationOf(count),
    ...rest
  })
  expect(answer.body, JSON.stringify(answer.body)).toMatchObject({ success: true })
  return answer
}

/** Places of the sentences that a request shows as new. */
const shownIn = ({ prompt }: ProxiedRequest): ReadonlyArray<number> => {
  const section = JSON.stringify(sectionOf(prompt, "MESSAGES"))
  return sentences.flatMap((sentence, at) => (section.includes(sentence) ? [at] : []))
}

const pendingOf = async (server: TestServer): Promise<number> =>
  (await server.call("GET", "/health/ready")).body.checks.conversations.pending

/** The model was asked, and nothing is left to ask it. */
const untilRead = ({ proxy, server }: Stage) =>
  vi.waitFor(
    async () => {
      expect(proxy.exchanges.length).toBeGreaterThan(0)
      expect(proxy.underWay).toBe(0)
      expect(await pendingOf(server)).toBe(0)
    },
    { timeout: longMillis, interval: 500 }
  )

/** A reading by this model takes up to a minute on two busy cores, its halves as long again. */
const longMillis = 10 * patienceMillis

interface Stored {
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
  readonly metadata: { readonly sourceMessageIds?: ReadonlyArray<string> }
}

/** Each message once; no memory twice; none with a name or number that no message has, or from no message. */
const expectNothingFalse = async (alice: MemoryCalls, count: number): Promise<void> => {
  const { body } = await alice.call("GET", "/v1/memories?agentId=a&limit=100")
  const stored = body.memories as ReadonlyArray<Stored>
  const isMessage = ({ kind }: Stored) => kind === "conversation_message"
  expect(stored.filter(isMessage).map(({ data }) => data["text"])).toHaveLength(count)
  const extracted = stored.filter((memory) => !isMessage(memory))
  const ids = conversationOf(count).map(({ id }) => id)
  const told = sentences.slice(0, count).join(" ").toLowerCase()
  const texts = extracted.map(({ data }) => JSON.stringify(data).toLowerCase())
  expect(new Set(texts).size).toBe(texts.length)
  for (const { data, metadata } of extracted) {
    expect(ids).toEqual(expect.arrayContaining([...(metadata.sourceMessageIds ?? ["of no message"])]))
    const values = Object.values(data).filter((value) => typeof value === "string")
    const names = values.flatMap((value) => value.match(/(?<=\w )[A-Z]\w+|\d+/g) ?? [])
    expect(names.filter((name) => !told.includes(name.toLowerCase()))).toEqual([])
  }
}

const warningsOf = (server: TestServer): ReadonlyArray<string> =>
  server
    .output()
    .split("\n")
    .filter((line) => line.includes("WARN") && line.includes("language model"))

describe.skipIf(missing !== "")(`a real model of 135 million parameters${missing}`, () => {
  it("whose reply to one message does not end is asked once, counted as truncated, with one line in the log", async () => {
    await using stage = await openStage()
    const { alice, proxy, server } = stage
    proxy.tokensMaxOf = () => 4
    const { body } = await send(alice, 1, { wait: "extraction" })
    expect([body.extraction, body.extractionProblem.code]).toEqual(["partial", "model_truncated"])
    const cut = proxy.exchanges.filter(({ reply }) => reply?.finish === "length")
    expect(cut).toHaveLength(proxy.exchanges.length)
    expect(cut).toHaveLength(1)
    const metrics = String((await server.call("GET", "/metrics")).body).match(/^muniment_llm_calls_total.*$/gm)
    expect(metrics).toEqual([expect.stringMatching(/outcome="truncated".* (\d+)$/)])
    expect(Number(metrics![0]!.split(" ").at(-1))).toBe(cut.length)
    expect(warningsOf(server)).toHaveLength(1)
    await expectNothingFalse(alice, 1)
  })

  it("behind a server that takes no JSON Schema is asked in its way from then on", async () => {
    await using stage = await openStage()
    const { alice, proxy } = stage
    const formOf = ({ body }: ProxiedRequest) =>
      (body["response_format"] as { readonly type: string } | undefined)?.type
    proxy.insteadOf = (request) =>
      formOf(request) === "json_schema"
        ? { status: 400, body: { error: { message: "response_format: json_schema is not supported" } } }
        : undefined
    for (const count of [1, 2, 3]) {
      await send(alice, count)
      await untilRead(stage)
    }
    const [refused, ...others] = proxy.exchanges
    expect([formOf(refused!.request), refused!.reply?.status]).toEqual(["json_schema", 400])
    expect(others.length).toBeGreaterThanOrEqual(3)
    // Prose may take it one step further.
    for (const { request } of others) expect(["json_object", undefined]).toContain(formOf(request))
    for (const { reply } of others) expect(reply?.status).toBe(200)
    await expectNothingFalse(alice, 3)
  })

  it("is asked for halves where a reply is cut off, and for nothing again as it was", async () => {
    await using stage = await openStage()
    const { alice, proxy } = stage
    proxy.tokensMaxOf = (request) => (shownIn(request).length > 1 ? 8 : 120)
    await send(alice, 4)
    await untilRead(stage)
    const windows = proxy.exchanges.map(({ request }) => shownIn(request))
    const distinct = [...new Set(windows.map((window) => window.join(" ")))]
    expect(distinct).toEqual(["0 1 2 3", "0 1", "0", "1", "2 3", "2", "3"])
    const asked = proxy.exchanges.map(({ request }) => request.turns)
    expect(new Set(asked).size).toBe(asked.length)
    await expectNothingFalse(alice, 4)
  })

  it("has nothing stored or claimed that no message carries", async () => {
    await using stage = await openStage()
    const { alice } = stage
    await send(alice, sentences.length)
    await untilRead(stage)
    await expectNothingFalse(alice, sentences.length)
    const told = sentences.join(" ").toLowerCase()
    for (const query of ["What is my dog called?", "Who paints boats?", "Which car do I drive?", "When was I born?"]) {
      const parameters = new URLSearchParams({ agentId: "a", mode: "answer", query })
      const { body } = await alice.call("GET", `/v1/memories/search?${parameters}`)
      if (body.grounded !== true) continue
      const ids = body.memories.map(({ id }: { readonly id: string }) => id)
      expect(body.citations.length).toBeGreaterThan(0)
      expect(ids).toEqual(expect.arrayContaining(body.citations))
      const words: ReadonlyArray<string> = body.answer.toLowerCase().match(/[\p{L}\d]{4,}/gu) ?? []
      const known = `${told} ${query.toLowerCase()} your user`
      expect(words.filter((word) => !known.includes(word))).toEqual([])
    }
  })

  it("whose server is killed while it reads is asked again when it is back, at one price", async () => {
    await using stage = await openStage()
    const { alice, model, proxy, server } = stage
    const credits = async (): Promise<number> => (await alice.call("GET", "/v1/credits")).body.allowance.credits
    // Longer than a request waits: it is charged, and its reading goes on.
    proxy.delayMillis = 12_000
    const first = await send(alice, 2)
    expect([first.body.extraction, first.headers.get("x-credits-charged")]).toEqual(["pending", "5"])
    await vi.waitFor(() => expect(proxy.underWay).toBe(1), patienceMillis)
    proxy.delayMillis = 0
    await model[Symbol.asyncDispose]()
    await vi.waitFor(() => expect(warningsOf(server).length).toBeGreaterThan(0), patienceMillis)
    expect(await pendingOf(server)).toBe(1)
    await expectNothingFalse(alice, 2)
    const left = await credits()
    await using _again = await startLocalModel(modelName, model.port)
    await untilRead(stage)
    expect(await credits()).toBe(left)
    await expectNothingFalse(alice, 2)
    const second = await send(alice, 2)
    expect(second.body.extraction).not.toBe("pending")
    expect([second.body.messages, second.headers.get("x-credits-charged")]).toEqual([{ stored: 0, known: 2 }, "0"])
    await expectNothingFalse(alice, 2)
  })
})
