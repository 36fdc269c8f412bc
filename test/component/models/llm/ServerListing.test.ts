/** What a model's server says about itself: each product by its own answers, on any port. */
import { layerNodeHttp } from "@effect/platform-node/NodeHttpClient"
import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { serverListing } from "@muniment/models/llm/ServerListing"
import { modelServer } from "../../../support/ModelServer.ts"
import { startWireServer } from "../../client/WireServer.ts"

const listed = (...models: ReadonlyArray<object>) => ({ object: "list", data: models })

const servers: ReadonlyArray<readonly [string, Readonly<Record<string, object>>, object]> = [
  [
    "Ollama, with the context that the loaded model has",
    {
      "/v1/models": listed({ id: "qwen3:8b", object: "model", owned_by: "library" }, { id: "nomic-embed-text:latest" }),
      "/api/version": { version: "0.12.3" },
      "/api/ps": { models: [{ name: "qwen3:8b", model: "qwen3:8b", context_length: 4096 }] }
    },
    { product: "Ollama", models: ["qwen3:8b"], contextTokens: new Map([["qwen3:8b", 4096]]), slots: undefined }
  ],
  [
    "llama.cpp, with the context of one slot",
    {
      "/v1/models": listed({ id: "qwen", object: "model", owned_by: "llamacpp", meta: { n_ctx_train: 32768 } }),
      "/props": { default_generation_settings: { n_ctx: 8192 }, total_slots: 2, model_path: "/models/qwen.gguf" }
    },
    { product: "llama.cpp", models: ["qwen"], contextTokens: new Map([["qwen", 8192]]), slots: 2 }
  ],
  [
    "llama.cpp that keeps its settings to itself",
    { "/v1/models": listed({ id: "qwen", owned_by: "llamacpp" }) },
    { product: "llama.cpp", models: ["qwen"], contextTokens: new Map(), slots: undefined }
  ],
  [
    "LM Studio, the loaded model first",
    {
      "/v1/models": listed({ id: "gemma", owned_by: "organization_owner" }, { id: "qwen" }, { id: "vectors" }),
      "/api/v0/models": listed(
        { id: "gemma", type: "llm", state: "not-loaded", max_context_length: 8192 },
        { id: "qwen", type: "llm", state: "loaded", max_context_length: 32768, loaded_context_length: 4096 },
        { id: "vectors", type: "embeddings", state: "loaded" }
      )
    },
    { product: "LM Studio", models: ["qwen", "gemma"], contextTokens: new Map([["qwen", 4096]]), slots: undefined }
  ],
  [
    "vLLM",
    { "/v1/models": listed({ id: "Qwen/Qwen3-8B", owned_by: "vllm", max_model_len: 40960 }) },
    { product: "vLLM", models: ["Qwen/Qwen3-8B"], contextTokens: new Map([["Qwen/Qwen3-8B", 40960]]), slots: undefined }
  ],
  [
    "another one of the same format",
    { "/v1/models": listed({ id: "gpt-4.1-mini", owned_by: "system" }) },
    { product: undefined, models: ["gpt-4.1-mini"], contextTokens: new Map(), slots: undefined }
  ]
]

it.live.each(servers)("the listing of %s", ([, pages, expected]) =>
  Effect.gen(function* () {
    const server = yield* modelServer
    for (const [path, page] of Object.entries(pages)) server.pages.set(path, page)
    const place = {
      provider: "openai-compatible",
      baseUrl: server.baseUrl("openai-compatible"),
      apiKey: undefined
    } as const
    expect(yield* serverListing(place)).toEqual(expected)
  }).pipe(Effect.scoped, Effect.provide(layerNodeHttp))
)

it.live("the models of Anthropic are asked for with its headers", () =>
  Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.promise(() =>
        startWireServer(() => ({
          status: 200,
          body: { data: [{ id: "claude-haiku-4-5", max_input_tokens: 200_000 }] }
        }))
      ),
      (open) => Effect.promise(() => open[Symbol.asyncDispose]())
    )
    const place = { provider: "anthropic", baseUrl: `${server.url}/v1/`, apiKey: Redacted.make("sk-1") } as const
    expect(yield* serverListing(place)).toMatchObject({ models: ["claude-haiku-4-5"] })
    expect(server.requests.map(({ url }) => url)).toEqual(["/v1/models"])
    expect(server.requests[0]?.headers).toMatchObject({ "x-api-key": "sk-1", "anthropic-version": "2023-06-01" })
  }).pipe(Effect.scoped, Effect.provide(layerNodeHttp))
)

it.live.each<readonly [string, (url: string) => { readonly status: number; readonly body: unknown } | undefined]>([
  ["a page for browsers", () => ({ status: 200, body: "<html></html>" })],
  ["JSON of another kind", () => ({ status: 200, body: { data: [1, 2] } })],
  ["a refusal", () => ({ status: 401, body: { data: [{ id: "secret" }] } })],
  ["a cut connection", () => undefined]
])("%s is no listing", ([, answer]) =>
  Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.promise(() => startWireServer(({ url }) => answer(url))),
      (open) => Effect.promise(() => open[Symbol.asyncDispose]())
    )
    const place = { provider: "openai-compatible", baseUrl: server.url, apiKey: undefined } as const
    expect(yield* serverListing(place)).toBeUndefined()
  }).pipe(Effect.scoped, Effect.provide(layerNodeHttp))
)
