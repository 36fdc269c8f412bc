/** What `/metrics` tells of the language model, and what logs and spans do not tell. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, Metric, References, Tracer } from "effect"
import { answer, status } from "../../../support/ModelServerReplies.ts"
import { formats, liveWith, request, secretKey, secretPrompt, tea, withModel } from "./ModelHarness.ts"

/** Metrics are the process's; a test sees what it added. */
const valuesOf = Effect.map(Metric.snapshot, (metrics) => {
  const values = new Map<string, number>()
  for (const { attributes, id, state } of metrics) {
    if (!id.startsWith("llm_")) continue
    const labels = Object.entries(attributes ?? {}).map(([name, value]) => `${name}=${value}`)
    const key = [id, ...labels.toSorted()].join(" ")
    if ("count" in state) values.set(key, Number(state.count))
    if ("value" in state) values.set(key, Number(state.value))
  }
  return values
})

describe.each(formats)("the metrics of a model over %s", (format) => {
  const live = liveWith(format)
  live(
    "count calls by outcome, tokens, retries and repairs, and show the circuit",
    { circuitFailuresMax: 1 },
    function* ({ model, server }) {
      const before = yield* valuesOf
      server.script(status(503), answer({ wrong: true }), answer(tea))
      yield* model.generate(request)
      server.script(status(403))
      yield* Effect.flip(model.generate({ ...request, purpose: "answer" }))
      const after = yield* valuesOf
      const added = (key: string) => (after.get(key) ?? 0) - (before.get(key) ?? 0)
      expect(added("llm_calls_total outcome=answered purpose=extraction")).toBe(1)
      expect(added("llm_calls_total outcome=rejected purpose=answer")).toBe(1)
      expect(added("llm_call_seconds purpose=extraction")).toBe(1)
      expect(added("llm_tokens_total direction=input")).toBe(22)
      expect(added("llm_tokens_total direction=output")).toBe(14)
      expect([added("llm_retries_total"), added("llm_repairs_total")]).toEqual([1, 1])
      expect(after.get("llm_circuit_state")).toBe(0)
      server.otherwise = () => status(500, { "retry-after": "60" })
      yield* Effect.flip(model.generate(request))
      expect((yield* valuesOf).get("llm_circuit_state")).toBe(2)
    }
  )

  it.live("and the log says once a minute of each kind of failure what to do", () => {
    const told: Array<unknown> = []
    const logger = Logger.make(({ logLevel, message }) => void (logLevel === "Warn" && told.push(message)))
    return withModel(format, {}, function* ({ model, server }) {
      server.script(status(404), status(404), answer(tea), status(401), status(429, { "retry-after": "60" }))
      for (let call = 0; call < 5; call++) yield* Effect.exit(model.generate(request))
      expect(told).toEqual([
        [
          expect.stringMatching(/^the language model rejects the request: .* 404: look at MUNIMENT_LLM_MODEL/),
          { purpose: "extraction", reason: "rejected", status: 404 }
        ],
        [
          expect.stringContaining("lower MUNIMENT_LLM_CONCURRENCY"),
          { purpose: "extraction", reason: "rate_limited", status: 429 }
        ]
      ])
    }).pipe(Effect.provide(Logger.layer([logger])))
  })

  it.live("and logs and spans hold no key, no prompt and no answer", () => {
    const told: Array<string> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        told.push(options.name)
        span.attribute = (key, value) => void told.push(`${key}=${String(value)}`)
        return span
      }
    })
    const logger = Logger.make(({ message }) => void told.push(JSON.stringify(message)))
    return withModel(format, { circuitFailuresMax: 1 }, function* ({ model, server }) {
      server.script(answer({ diary: "likes tea" }), answer(tea))
      yield* model.generate(request)
      server.script(status(500, { "retry-after": "60" }, `{"error":{"message":"${secretPrompt}"}}`))
      yield* Effect.flip(model.generate(request))
      expect(told.join("\n")).toContain("circuit")
      expect(told.join("\n")).toContain("StructuredModel.generate")
      for (const secret of [secretKey, secretPrompt, "likes tea", "diary"]) {
        expect(told.join("\n")).not.toContain(secret)
      }
    }).pipe(
      Effect.provide(Logger.layer([logger])),
      Effect.provideService(Tracer.Tracer, tracer),
      Effect.provideService(References.MinimumLogLevel, "All")
    )
  })
})
