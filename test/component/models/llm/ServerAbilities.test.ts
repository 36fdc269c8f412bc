/** What a server can do, found out by short requests: formats of a schema, thinking, speed; and how each fault is told. */
import { layerNodeHttp } from "@effect/platform-node/NodeHttpClient"
import { describe, expect } from "vitest"
import { Effect, Redacted } from "effect"
import { serverAbilities } from "@muniment/models/llm/ServerListing"
import { type ModelRequest, type ModelServer, modelServer, type Refused } from "../../../support/ModelServer.ts"
import { answer, type ModelFormat, type ModelReply, status, text } from "../../../support/ModelServerReplies.ts"
import { it } from "../../../support/it.ts"

const sky = { colour: "blue", suns: 1 }

/** A form where JSON is asked for in a way that this server heeds, else words. */
const answering =
  (heeds: (request: ModelRequest) => boolean) =>
  (request: ModelRequest): ModelReply =>
    heeds(request) ? answer(sky) : text("The sky is blue, with one sun.")

const formatOf = ({ body }: ModelRequest) => (body["response_format"] as { readonly type: string } | undefined)?.type
const isSchemaTold = ({ system }: ModelRequest) => system.includes("JSON Schema")
const isForm = (request: ModelRequest) => request.prompt.includes("sky")

const abilitiesOf = (prepare: (server: ModelServer) => void, format: ModelFormat = "openai-compatible") =>
  Effect.gen(function* () {
    const server = yield* modelServer
    prepare(server)
    const config = {
      provider: format,
      baseUrl: server.baseUrl(format),
      model: "m",
      apiKey: Redacted.make("sk-1"),
      timeoutMillis: 2_000
    }
    return { abilities: yield* Effect.result(serverAbilities(config)), requests: server.requests }
  }).pipe(Effect.scoped, Effect.provide(layerNodeHttp))

it.live("a schema at which a server fails without a word is left out", function* () {
  const { abilities } = yield* abilitiesOf((server) => {
    server.otherwise = (request) =>
      formatOf(request) === "json_schema" ? status(500) : answering(isSchemaTold)(request)
  })
  expect(abilities).toMatchObject({ _tag: "Success", success: { schemaBy: "json_object" } })
})

describe("a schema", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<Refused>, (request: ModelRequest) => boolean, string]> = [
    [
      "is imposed as json_schema",
      [],
      (request) => formatOf(request) === "json_schema" || isSchemaTold(request),
      "json_schema"
    ],
    ["is imposed as json_object where json_schema is refused", ["json_schema"], isSchemaTold, "json_object"],
    ["stands in the prompt where both are refused", ["json_schema", "json_object"], isSchemaTold, "prompt"],
    ["is said as json_object where json_schema is taken and not heeded", [], isSchemaTold, "json_object"],
    [
      "stands in the prompt where both are taken and not heeded",
      [],
      (request) => isSchemaTold(request) && formatOf(request) === undefined,
      "prompt"
    ]
  ]
  it.live.each(cases)("%s", function* ([, refused, heeds, schemaBy]) {
    const { abilities } = yield* abilitiesOf((server) => {
      for (const word of refused) server.refused.add(word)
      server.otherwise = answering(heeds)
    })
    expect(abilities).toMatchObject({ _tag: "Success", success: { schemaBy } })
  })

  it.live("is the input of a forced tool at Anthropic", function* () {
    const { abilities } = yield* abilitiesOf((server) => (server.otherwise = () => answer(sky)), "anthropic")
    expect(abilities).toMatchObject({ success: { schemaBy: "json_schema", thinking: "none" } })
  })
})

describe("thinking", () => {
  const isTold = ({ body }: ModelRequest) =>
    body["reasoning_effort"] !== undefined || body["chat_template_kwargs"] !== undefined
  const thinking = (thinks: (request: ModelRequest) => boolean) =>
    abilitiesOf((server) => {
      server.otherwise = (request) =>
        isForm(request) ? answer(sky) : { kind: "text", text: "51", ...(thinks(request) && { thoughts: "Let me see" }) }
    })

  it.live("can be switched off where the model thinks unless it is told not to", function* () {
    const { abilities } = yield* thinking((request) => !isTold(request))
    expect(abilities).toMatchObject({ success: { thinking: "switched_off" } })
  })

  it.live("stays on where the model thinks all the same", function* () {
    expect((yield* thinking(() => true)).abilities).toMatchObject({ success: { thinking: "stays_on" } })
  })

  it.live("is none where the model never does; an empty pair of tags is no thought", function* () {
    const { abilities } = yield* abilitiesOf((server) => {
      server.otherwise = (request) => (isForm(request) ? answer(sky) : text("<think>\n\n</think>\n\n51"))
    })
    expect(abilities).toMatchObject({ success: { thinking: "none" } })
  })
})

it.live("speed is counted in tokens of an answer, as the server says", function* () {
  const { abilities } = yield* abilitiesOf((server) => {
    server.otherwise = (request) =>
      isForm(request)
        ? answer(sky)
        : { kind: "slow", millis: 200, then: { kind: "text", text: "one two", usage: { input: 20, output: 40 } } }
  })
  const speed = abilities._tag === "Success" ? abilities.success.tokensPerSecond : 0
  expect(speed).toBeGreaterThan(0)
  expect(speed).toBeLessThanOrEqual(200)
})

const answerCutText = "the language model failed: the connection ended before the answer was complete"

describe("a server that cannot be used", () => {
  const faults: ReadonlyArray<readonly [string, ModelReply, object]> = [
    ["wants a key", status(401), { reason: "rejected", status: 401 }],
    ["knows no such model", status(404), { reason: "rejected", status: 404 }],
    [
      "takes no more requests",
      status(429, { "retry-after": "30" }),
      { reason: "rate_limited", status: 429, retryAfterSeconds: 30 }
    ],
    ["fails", status(500), { reason: "unreachable", status: 500 }],
    ["redirects", status(302, { location: "https://example.org" }), { reason: "rejected", status: 302 }],
    ["answers in prose", text("The sky is blue."), { reason: "malformed", message: expect.stringContaining("prose") }],
    [
      "answers in another form",
      answer({ sky: "blue" }),
      { reason: "malformed", message: expect.stringContaining("JSON Schema") }
    ],
    ["does not end", { kind: "length", text: '{"colour": "blue blue' }, { reason: "truncated" }],
    [
      "thinks to the end",
      { kind: "length", text: "<think>What is a sky" },
      { reason: "truncated", message: expect.stringContaining("thinking") }
    ],
    ["refuses", { kind: "refusal" }, { reason: "refused" }],
    [
      "is no model's server",
      { kind: "not_json" },
      { reason: "rejected", message: expect.stringContaining("web page") }
    ],
    ["answers nothing", text(""), { reason: "malformed", message: expect.stringContaining("nothing") }],
    ["breaks its answers off", { kind: "cut", value: sky }, { reason: "unreachable", message: answerCutText }],
    ["never answers", { kind: "hang" }, { reason: "timeout" }]
  ]
  it.live.each(faults)("%s", function* ([, reply, failure]) {
    const { abilities } = yield* abilitiesOf((server) => (server.otherwise = () => reply))
    expect(abilities).toMatchObject({ _tag: "Failure", failure })
  })

  it.live("refuses the connection", () =>
    Effect.gen(function* () {
      const gone = yield* Effect.scoped(Effect.map(modelServer, (server) => server.baseUrl("openai-compatible")))
      const config = { provider: "openai-compatible", baseUrl: gone, model: "m", apiKey: undefined } as const
      expect(yield* Effect.flip(serverAbilities(config))).toMatchObject({
        reason: "unreachable",
        message: expect.stringContaining("refused")
      })
    }).pipe(Effect.provide(layerNodeHttp))
  )
})
