/** `muniment models try`, over real HTTP: what it says of a good model and a poor one, and each way in which it fails. */
import { layer as nodeServices } from "@effect/platform-node/NodeServices"
import { TrialPatience, tryModel } from "@muniment/cli/commands/tryModel"
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { runMuniment } from "../../support/CliProcess.ts"
import { ModelServer } from "../../support/ModelServer.ts"
import { type ModelReply, status, text } from "../../support/ModelServerReplies.ts"
import { trialModel } from "../../support/TrialModel.ts"

let server: ModelServer
beforeEach(async () => {
  server = await ModelServer.start()
  server.otherwise = trialModel()
})
afterEach(() => server.close())

const secretKey = "sk-a-key-that-nobody-may-see"

const tryIt = (args: ReadonlyArray<string> = [], environment: Readonly<Record<string, string>> = {}) =>
  runMuniment(["models", "try", ...args], {
    ...server.environment(),
    MUNIMENT_EMBEDDING_MODEL: "none",
    ...environment
  })

const llamaCpp = () => {
  server.pages.set("/v1/models", { object: "list", data: [{ id: "scripted", owned_by: "llamacpp" }] })
  server.pages.set("/props", { default_generation_settings: { n_ctx: 8192 }, total_slots: 2 })
}

it("a model that reads well is shown beside the rules, with the settings to use", async () => {
  llamaCpp()
  const { code, err, out } = await tryIt([], { MUNIMENT_LLM_API_KEY: secretKey, MUNIMENT_EMBEDDING_MODEL: "auto" })
  expect(code, err).toBe(0)
  expect(out).toMatch(/model +scripted at http\S+ \(llama\.cpp\)\nschema +imposed[^]*\ncontext +8192 tokens/)
  expect(out).toMatch(/^all, by the model +18 of 18 +0 +12 +0 +0 /m)
  expect(out).toMatch(/^all, by the rules +\d+ of 18 /m)
  expect(out).toContain("too short for long conversations. Start llama-server with -c 16384")
  expect(out.split("\n")).toEqual(
    expect.arrayContaining([
      "export MUNIMENT_LLM_PROVIDER=openai-compatible",
      `export MUNIMENT_LLM_BASE_URL=${server.baseUrl("openai-compatible")}`,
      "export MUNIMENT_LLM_MODEL=scripted",
      "export MUNIMENT_LLM_CONCURRENCY=2"
    ])
  )
  expect(out + err).not.toContain(secretKey)
  expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${secretKey}`)
})

it("a model that is no better than the rules, named by flags alone, should not be configured; --json is one object", async () => {
  server.otherwise = trialModel({ readsNothing: true })
  const { code, out } = await runMuniment(
    ["models", "try", "--base-url", server.baseUrl("openai-compatible"), "--model", "scripted", "--json"],
    { MUNIMENT_EMBEDDING_MODEL: "none" }
  )
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({
    model: "scripted",
    product: null,
    schemaBy: "json_schema",
    thinking: "none",
    contextTokens: null,
    conversations: [{ told: 5 }, { told: 6 }, { told: 7, wrong: [], failures: {} }],
    byModel: { told: 18, wrong: 0 },
    isBetterThanRules: false,
    settings: { MUNIMENT_LLM_PROVIDER: "none" }
  })
})

it("a model that fails at every conversation fails the command, with what went wrong", async () => {
  const reads = trialModel()
  server.otherwise = (request) =>
    request.prompt.includes("BEGIN ") ? { kind: "length", text: '{"memories": [' } : reads(request)
  const { code, err, out } = await tryIt()
  expect(code).toBe(1)
  expect(out).toMatch(/a move: reading did not end/)
  expect(err).toContain("The model scripted read none of the conversations.")
})

it("a model that does not read a conversation in time ends the trial", async () => {
  const reads = trialModel()
  server.otherwise = (request) => (request.prompt.includes("BEGIN ") ? { kind: "hang" } : reads(request))
  const settings = {
    ...server.environment(),
    MUNIMENT_EMBEDDING_MODEL: "none"
  }
  const trial = tryModel(settings, () => Effect.void).pipe(
    Effect.provideService(TrialPatience, { reading: 500, answer: 500 }),
    Effect.provide(nodeServices),
    Effect.flip
  )
  expect((await Effect.runPromise(trial)).message).toBe(
    "The model is too slow here: it did not read a conversation of 7 messages within 0.5 s. A smaller model answers sooner; MUNIMENT_LLM_TIMEOUT_MILLIS waits longer."
  )
})

describe("a server that cannot be used", () => {
  const faults: ReadonlyArray<readonly [string, ModelReply, RegExp]> = [
    ["wants a key", status(401), /wants a key \(HTTP 401\): set MUNIMENT_LLM_API_KEY\.$/],
    ["knows no such model", status(404), /has no model scripted \(HTTP 404\)\. It lists qwen3:8b\.$/],
    [
      "takes no more requests",
      status(429, { "retry-after": "30" }),
      /no more requests at the moment, for 30 s by its own word \(HTTP 429\)/
    ],
    ["fails", status(500), /failed \(HTTP 500\)\. Its log says why/],
    ["is not ready", status(503), /is not ready \(HTTP 503\)\. Try again in a moment\.$/],
    [
      "answers in prose",
      text("The sky is blue."),
      /answers in prose where JSON is asked for\. The model scripted cannot be used\.$/
    ],
    ["never ends", { kind: "length", text: "{" }, /reached the maximum length before its answer was complete/],
    ["is too slow", { kind: "hang" }, /did not answer a short question within 0\.5 s/],
    [
      "is a web page",
      { kind: "not_json" },
      /a web page is at its address\. MUNIMENT_LLM_BASE_URL is http\S+; it usually/
    ],
    ["streams", status(200, { "content-type": "text/event-stream" }, "data: [DONE]"), /the server streams it, though/],
    ["breaks off", { kind: "cut", value: {} }, /breaks its answers off: .* before the answer was complete\. Its log/],
    ["wants to be paid", status(402), /wants to be paid \(HTTP 402\): the credit of the key is used up\.$/]
  ]
  it.each(faults)("%s", async (_, reply, sentence) => {
    server.pages.set("/v1/models", { data: [{ id: "qwen3:8b" }] })
    server.otherwise = () => reply
    const { code, err, out } = await tryIt([], { MUNIMENT_LLM_TIMEOUT_MILLIS: reply.kind === "hang" ? "500" : "60000" })
    expect(code).toBe(1)
    expect(err).toMatch(sentence)
    expect(out).toBe("")
  })

  it("refuses the key", async () => {
    server.otherwise = () => status(403)
    const { code, err } = await tryIt([], { MUNIMENT_LLM_API_KEY: secretKey })
    expect(code).toBe(1)
    expect(err).toMatch(/refuses the key of MUNIMENT_LLM_API_KEY \(HTTP 403\)\.$/)
    expect(err).not.toContain(secretKey)
  })

  it("is not there", async () => {
    const gone = await ModelServer.start()
    const baseUrl = gone.baseUrl("openai-compatible")
    await gone.close()
    const { code, err } = await tryIt(["--base-url", baseUrl])
    expect(code).toBe(1)
    expect(err).toContain(`Nothing answers at ${baseUrl}`)
    expect(err).toContain("the connection was refused")
  })

  it("has no host", async () => {
    const { code, err } = await tryIt(["--base-url", "http://no-such-host.invalid/v1"])
    expect(code).toBe(1)
    expect(err).toContain("its host name is unknown")
  })
})

describe("what has to be given", () => {
  it("is a model: those that the server lists are named", async () => {
    server.pages.set("/v1/models", { data: [{ id: "qwen3:8b" }, { id: "gemma3:4b" }] })
    const { code, err } = await runMuniment(["models", "try", "--base-url", server.baseUrl("openai-compatible")])
    expect(code).toBe(1)
    expect(err).toContain("Name the model with --model or MUNIMENT_LLM_MODEL. It lists qwen3:8b, gemma3:4b.")
  })

  it("is an address", async () => {
    const { code, err } = await tryIt(["--base-url", "localhost:11434"])
    expect(code).toBe(1)
    expect(err).toContain("MUNIMENT_LLM_BASE_URL: give an http or https URL")
  })

  it("is nothing where a server answers on this machine: it is named", async () => {
    server.pages.set("/v1/models", { data: [{ id: "Qwen/Qwen3-8B", owned_by: "vllm" }] })
    const { code, err } = await runMuniment(["models", "try"], {}, [server.port])
    expect(code).toBe(1)
    const baseUrl = server.baseUrl("openai-compatible")
    expect(err).toContain(
      `vLLM answers on this machine: npm run muniment -- models try --base-url ${baseUrl} --model Qwen/Qwen3-8B`
    )
  })
})
