/** Answers of the configured language model, over real HTTP in the wire formats of both providers. */
import { describe, expect } from "vitest"
import { Effect, Schema } from "effect"
import type { ModelRequest, Refused } from "../../../support/ModelServer.ts"
import { answer, type ModelReply, status, text } from "../../../support/ModelServerReplies.ts"
import { Facts, formats, liveWith, request, secretKey, secretPrompt, tea, withModel } from "./ModelHarness.ts"
import { it } from "../../../support/it.ts"

const wrong = { facts: [{ text: "likes tea", confidence: "high" }] }

describe.each(formats)("a structured answer over %s", (format) => {
  const live = liveWith(format)
  live("is decoded with the schema that was asked for", {}, function* ({ model, server }) {
    server.script(answer(tea))
    expect(yield* model.generate(request)).toEqual(tea)
    expect(model.name).toBe("test-model")
    expect(server.requests).toHaveLength(1)
  })

  live(
    "is asked for once, unstreamed, at temperature 0, with its schema and its greatest length",
    {},
    function* ({ model, server }) {
      server.script(answer(tea))
      yield* model.generate(request)
      const [asked] = server.requests
      expect(asked).toMatchObject({ turns: [{ role: "user", content: secretPrompt }] })
      expect(asked?.system).toMatch(/^Extract facts\./)
      expect(asked?.schema).toMatchObject({ type: "object", required: ["facts"], additionalProperties: false })
      expect(asked?.body).toMatchObject({ model: "test-model", max_tokens: 100, temperature: 0, stream: false })
    }
  )

  live("may stand in a code fence, after a thought or between sentences", {}, function* ({ model, server }) {
    const json = JSON.stringify(tea)
    const written = [
      `\`\`\`json\n${JSON.stringify(tea, null, 2)}\n\`\`\``,
      `<think>A fact {perhaps}.</think>\n${json}`,
      `Here is what I found for {you}:\n${json}\nAnything else?`,
      `  ${json}\n`
    ]
    server.script(...written.map(text))
    for (const _ of written) expect(yield* model.generate(request)).toEqual(tea)
    expect(server.requests).toHaveLength(written.length)
  })

  live("that does not match is shown to the model once, with what is wrong with it", {}, function* ({ model, server }) {
    server.script(answer(wrong), answer(tea))
    expect(yield* model.generate(request)).toEqual(tea)
    const repair = server.requests[1]!
    expect(repair.turns.map(({ role }) => role)).toEqual(["user", "assistant", "user"])
    expect(repair.turns[1]?.content).toBe(JSON.stringify(wrong))
    expect(repair.prompt).toContain("confidence")
    expect(repair.schema).toEqual(server.requests[0]?.schema)
  })

  const unfit: ReadonlyArray<readonly [string, ModelReply]> = [
    ["is no JSON", text("I found nothing of note.")],
    ["is broken JSON", text('{"facts":[{"text":"likes')],
    ["is empty", text("")],
    ["has another shape", answer({ memories: [] })],
    ["breaks a rule of the schema", answer({ facts: [{ text: "", confidence: 1 }] })]
  ]
  it.live.each(unfit)("that %s twice is malformed", ([, reply]) =>
    withModel(format, {}, function* ({ entries, model, server }) {
      server.script(reply, reply)
      expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "malformed" })
      expect(server.requests).toHaveLength(2)
      expect(entries.map(({ used }) => used?.outputTokens)).toEqual([7, 7])
    })
  )

  live(
    "may be asked for with half a surrogate pair in the prompt, which is sent as well-formed text",
    {},
    function* ({ model, server }) {
      server.script(answer(tea))
      yield* model.generate({ ...request, prompt: "cut \ud83d" })
      expect(server.requests[0]?.prompt).toBe("cut \ufffd")
    }
  )

  live(
    "that was cut at its greatest length is truncated and not repaired, even if it could be read",
    {},
    function* ({ model, server }) {
      for (const written of ['{"facts":[', JSON.stringify(tea)]) {
        server.script({ kind: "length", text: written })
        expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "truncated" })
      }
      expect(server.requests).toHaveLength(2)
    }
  )

  live("that the model or a filter withholds is refused and not asked for again", {}, function* ({ model, server }) {
    for (const kind of ["refusal", "filtered"] as const) {
      server.script({ kind })
      expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "refused" })
    }
    expect(server.requests).toHaveLength(2)
  })

  live(
    "in whose place a web page is sent is rejected, and is nobody's tokens",
    {},
    function* ({ entries, model, server }) {
      server.script({ kind: "not_json" })
      expect(yield* Effect.flip(model.generate(request))).toMatchObject({
        reason: "rejected",
        message: "the language model cannot be asked: a web page is at its address"
      })
      expect(server.requests).toHaveLength(1)
      expect(entries[0]?.used).toMatchObject({ inputTokens: 0, outputTokens: 0 })
    }
  )

  it.live.each<ModelReply>([
    { kind: "half_json", value: tea },
    { kind: "empty" },
    { kind: "status", status: 200, headers: { "content-type": "text/event-stream" }, body: "data: [DONE]" }
  ])("whose envelope cannot be read is malformed: $kind", (reply) =>
    withModel(format, {}, function* ({ entries, model, server }) {
      server.script(reply)
      expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "malformed" })
      expect(server.requests).toHaveLength(1)
      // It was made, so somebody bills it; nobody says how much.
      expect(entries[0]?.used).toEqual(entries[0]?.estimate)
    })
  )

  live("of endless size is dropped at a bound", {}, function* ({ model, server }) {
    server.script({ kind: "huge", bytes: 8_000_000 })
    expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "malformed" })
    // Read to its end it would be an unfit answer, and asked for again.
    expect(server.requests).toHaveLength(1)
    yield* server.untilIdle
    server.script(answer(tea))
    expect(yield* model.generate(request)).toEqual(tea)
  })

  live("may hold records and optional fields in their plain shape", {}, function* ({ model, server }) {
    const schema = Schema.Struct({
      memories: Schema.Array(
        Schema.Struct({ data: Schema.Record(Schema.String, Schema.Unknown), when: Schema.optionalKey(Schema.String) })
      )
    })
    const value = { memories: [{ data: { city: "Seattle", since: 2020 } }] }
    server.script(answer(value))
    expect(yield* model.generate({ ...request, schema })).toEqual(value)
  })

  live("cannot be asked for with a schema that has no object at its root", {}, function* ({ entries, model, server }) {
    const failure = yield* Effect.flip(model.generate({ ...request, schema: Schema.Array(Schema.String) }))
    expect(failure).toMatchObject({ reason: "rejected" })
    expect(server.requests).toHaveLength(0)
    expect(entries).toHaveLength(0)
  })

  live(
    "fails without the key, the prompt, the answer or the server's words in the failure",
    {},
    function* ({ model, server }) {
      const replies: ReadonlyArray<ModelReply> = [
        { kind: "status", status: 400, body: `{"error":{"message":"bad: ${secretPrompt} ${secretKey}"}}` },
        { kind: "status", status: 401, body: `{"error":{"message":"bad key ${secretKey}"}}` },
        { kind: "refusal" },
        { kind: "length", text: secretPrompt },
        { kind: "not_json" }
      ]
      for (const reply of replies) {
        server.otherwise = () => reply
        const failure = yield* Effect.flip(model.generate(request))
        const told = `${failure.message} ${String(failure)} ${JSON.stringify(failure)} ${failure.stack}`
        for (const secret of [secretKey, secretPrompt, "diary", "gateway"]) expect(told).not.toContain(secret)
      }
    }
  )
})

describe("the dialect of an OpenAI-compatible server", () => {
  const format = "openai-compatible"
  const live = liveWith(format)
  const sentFormats = (requests: ReadonlyArray<{ readonly body: Readonly<Record<string, unknown>> }>) =>
    requests.map(({ body }) => (body["response_format"] as { readonly type: string } | undefined)?.type ?? "none")

  live("leaves a schema out that the server fails at with 500", {}, function* ({ model, server }) {
    server.otherwise = () => answer(tea)
    server.script({ kind: "status", status: 500, body: '{"error":"failed to parse grammar"}' })
    expect(yield* model.generate(request)).toEqual(tea)
    expect(sentFormats(server.requests)).toEqual(["json_schema", "json_object"])
  })

  live("leaves a schema out where the server fails with 500 and does not say why", {}, function* ({ model, server }) {
    server.otherwise = ({ schema }) => (schema === undefined ? answer(tea) : status(500))
    for (let call = 0; call < 3; call++) expect(yield* model.generate(request)).toEqual(tea)
    const helped = ["json_schema", "json_object"]
    expect(sentFormats(server.requests)).toEqual([...helped, ...helped, "json_object"])
  })

  live("keeps a schema that a server has imposed, or for which it failed once", {}, function* ({ model, server }) {
    server.otherwise = () => answer(tea)
    server.script(status(500))
    for (let call = 0; call < 2; call++) yield* model.generate(request)
    server.script(status(500))
    yield* model.generate(request)
    const kept = "json_schema"
    expect(sentFormats(server.requests)).toEqual([kept, "json_object", kept, kept, kept])
  })

  it.live.each([
    "The model `m` does not exist",
    "m is not a valid model ID",
    "Invalid model name passed in model=m",
    '{"code":"model_not_found"}'
  ])("is not looked for where the server knows no such model: %s", (message) =>
    withModel(format, {}, function* ({ model, server }) {
      server.otherwise = () => status(400, {}, JSON.stringify({ error: { message } }))
      expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "rejected", status: 400 })
      expect(server.requests).toHaveLength(1)
    })
  )

  live(
    "falls from json_schema to json_object to the prompt alone, and is remembered",
    {},
    function* ({ model, server }) {
      server.refused.add("json_schema").add("json_object")
      server.otherwise = () => answer(tea)
      expect(yield* model.generate(request)).toEqual(tea)
      expect(yield* model.generate(request)).toEqual(tea)
      expect(sentFormats(server.requests)).toEqual(["json_schema", "json_object", "none", "none"])
      const [imposed, ...told] = server.requests
      expect(imposed!.system).toBe(request.system)
      for (const { system } of told) expect(system).toContain('"confidence"')
    }
  )

  live(
    "says max_completion_tokens and leaves temperature out where they are asked for so",
    {},
    function* ({ model, server }) {
      server.refused.add("max_tokens").add("temperature")
      server.otherwise = () => answer(tea)
      yield* model.generate(request)
      yield* model.generate(request)
      const { body } = server.requests.at(-1)!
      expect(server.requests).toHaveLength(4)
      expect(body).toMatchObject({ max_completion_tokens: 100, response_format: { type: "json_schema" } })
      expect(body).not.toHaveProperty("temperature")
      expect(body).not.toHaveProperty("max_tokens")
    }
  )

  // As Ollama, and vLLM and llama.cpp, serve `qwen3:8b`: unless told otherwise it thinks until its tokens are used up.
  it.live.each([
    { server: "Ollama", isTold: (body: ModelRequest["body"]) => body["reasoning_effort"] === "none" },
    {
      server: "vLLM",
      isTold: ({ chat_template_kwargs: told }: ModelRequest["body"]) =>
        JSON.stringify(told) === '{"enable_thinking":false}'
    }
  ])("turns thinking off as $server reads it", ({ isTold }) =>
    withModel(format, {}, function* ({ model, server }) {
      server.otherwise = ({ body }) => (isTold(body) ? answer(tea) : { kind: "length", text: "" })
      expect(yield* model.generate(request)).toEqual(tea)
      expect(server.requests).toHaveLength(1)
    })
  )

  it.live("leaves out what a server does not know about thinking, or takes the effort that it offers", function* () {
    const asked = (...refused: ReadonlyArray<Refused>) =>
      withModel(format, {}, function* ({ model, server }) {
        for (const word of refused) server.refused.add(word)
        server.otherwise = () => answer(tea)
        yield* model.generate(request)
        yield* model.generate(request)
        return server.requests.map(({ body }) => [body["reasoning_effort"], "chat_template_kwargs" in body])
      })
    const first = ["none", true]
    expect(yield* asked("chat_template_kwargs")).toEqual([first, ["none", false], ["none", false]])
    expect(yield* asked("reasoning_effort")).toEqual([first, [undefined, true], [undefined, true]])
    expect(yield* asked("no_effort")).toEqual([first, ["low", true], ["low", true]])
    expect((yield* asked("no_effort", "chat_template_kwargs", "max_tokens", "temperature")).at(-1)).toEqual([
      "low",
      false
    ])
  })

  live(
    "keeps thinking off where only the format is refused, and gives it up where nothing is named",
    {},
    function* ({ model, server }) {
      server.refused.add("json_schema")
      server.otherwise = () => answer(tea)
      yield* model.generate(request)
      server.script({ kind: "status", status: 422, body: '{"detail":"extra fields"}' })
      yield* model.generate(request)
      expect(server.requests.map(({ body }) => body["reasoning_effort"])).toEqual(["none", "none", "none", undefined])
    }
  )

  live("is not unlearned by a refusal that no dialect mends", {}, function* ({ entries, model, server }) {
    const tooLong = '{"error":{"message":"maximum context length is 4096 tokens","code":"context_length_exceeded"}}'
    server.script({ kind: "status", status: 400, body: tooLong })
    expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "rejected" })
    server.script(...Array.from({ length: 4 }, () => ({ kind: "status", status: 400 }) as const))
    expect(yield* Effect.flip(model.generate(request))).toMatchObject({ reason: "rejected" })
    server.script(answer(tea))
    yield* model.generate(request)
    expect(sentFormats(server.requests)).toEqual([
      "json_schema",
      "json_schema",
      // Without a word about thinking.
      "json_schema",
      "json_object",
      "none",
      "json_schema"
    ])
    expect(entries.slice(0, 2).map(({ used }) => used?.inputTokens)).toEqual([0, 0])
  })

  live("is strict exactly for schemas that strict mode takes", {}, function* ({ model, server }) {
    const isStrict = (index: number) =>
      (server.requests[index]!.body["response_format"] as { readonly json_schema: { readonly strict: boolean } })
        .json_schema.strict
    const closed = Schema.Struct({ names: Schema.Array(Schema.String), age: Schema.NullOr(Schema.Finite) })
    const optional = Schema.Struct({ name: Schema.optionalKey(Schema.String) })
    const open = Schema.Struct({ data: Schema.Record(Schema.String, Schema.String) })
    server.script(answer({ names: [], age: null }), answer({}), answer({ data: {} }))
    for (const schema of [closed, optional, open]) yield* model.generate<unknown>({ ...request, schema })
    expect([isStrict(0), isStrict(1), isStrict(2)]).toEqual([true, false, false])
  })

  live("sends no key where none is configured", { apiKey: undefined }, function* ({ model, server }) {
    server.script(answer(tea))
    yield* model.generate(request)
    expect(server.requests[0]?.headers).not.toHaveProperty("authorization")
  })

  live("sends the key as a bearer token, and no trace headers", {}, function* ({ model, server }) {
    server.script(answer(tea))
    yield* model.generate(request)
    expect(server.requests[0]?.headers).toMatchObject({ authorization: `Bearer ${secretKey}` })
    expect(server.requests[0]?.headers).not.toHaveProperty("traceparent")
  })
})

describe("the words of Anthropic's server", () => {
  const live = liveWith("anthropic")
  live("are its key and version headers and one forced tool", {}, function* ({ model, server }) {
    server.script(answer(tea))
    yield* model.generate(request)
    expect(server.requests[0]).toMatchObject({
      headers: { "x-api-key": secretKey, "anthropic-version": "2023-06-01" },
      system: "Extract facts.",
      body: { tool_choice: { type: "tool", name: "facts" }, tools: [{ name: "facts" }] }
    })
  })

  live("move the schema into the prompt for models that take no forced tool", {}, function* ({ model, server }) {
    server.refused.add("tool_choice").add("temperature")
    server.otherwise = () => answer(tea)
    expect(yield* model.generate(request)).toEqual(tea)
    expect(yield* model.generate(request)).toEqual(tea)
    expect(server.requests.map(({ body }) => "tools" in body)).toEqual([true, true, false, false])
    expect(server.requests.at(-1)?.system).toContain('"confidence"')
  })

  it.live("leave temperature out where the model takes none, and a base URL may end with its version", () =>
    withModel("anthropic", {}, ({ server }) =>
      withModel("anthropic", { baseUrl: `${server.baseUrl("anthropic")}/v1/` }, function* ({ model }) {
        server.refused.add("temperature")
        server.otherwise = () => answer(tea)
        yield* model.generate(request)
        yield* model.generate(request)
        expect(server.requests.map(({ body }) => "temperature" in body)).toEqual([true, false, false])
      })
    )
  )
})

/** The harness decodes with this schema; it must be one that both providers take. */
it("tests with a schema that refuses what it should", () => {
  expect(Schema.is(Facts)(tea)).toBe(true)
  expect(Schema.is(Facts)(wrong)).toBe(false)
})
