/** What a language model's calls cost, counted in the ledger by account and day, and what they may cost. */
import { describe, expect } from "vitest"
import { Clock, Effect, Layer, Redacted } from "effect"
import type { ModelUsageDay } from "@muniment/domain/Operations"
import { ModelUsage } from "@muniment/control/accounts/ModelUsage"
import type { LanguageModelConfig } from "@muniment/models/llm/LanguageModelConfig"
import { ModelBudget } from "@muniment/models/llm/ModelBudget"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"
import { modelServer, type ModelServer } from "../../../support/ModelServer.ts"
import { answer, type ModelFormat, status } from "../../../support/ModelServerReplies.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { formats, request, secretKey, tea } from "./ModelHarness.ts"
import { it } from "../../../support/it.ts"
import { controlOf } from "../../control/MemoryLog.ts"

const prices = { inputPriceMicroUsdPerMillion: 3_000_000, outputPriceMicroUsdPerMillion: 15_000_000 }

/** One start of the process over `directory`. */
const started = (
  format: ModelFormat,
  server: ModelServer,
  directory: string,
  config: Partial<LanguageModelConfig> = {}
) =>
  StructuredModel.layer({
    provider: format,
    baseUrl: server.baseUrl(format),
    model: "test-model",
    apiKey: Redacted.make(secretKey),
    timeoutMillis: 2_000,
    ...config
  }).pipe(
    Layer.provide(Layer.effect(ModelBudget, ModelUsage)),
    Layer.provideMerge(ModelUsage.layer),
    Layer.provide(controlOf(directory)),
    Layer.fresh
  )

const generate = (account: string) => StructuredModel.use((model) => model.generate({ ...request, account }))
const usage = ModelUsage.use((ledger) => ledger.usage({ fromDay: "2000-01-01", toDay: "2999-01-01" }))
const amounts = ({ account, costMicroUsd, inputTokens, outputTokens }: ModelUsageDay) => [
  account,
  inputTokens,
  outputTokens,
  costMicroUsd
]

describe.each(formats)("the budget of calls over %s", (format) => {
  it.live("counts what the server says that it used, with its price rounded up", function* () {
    const server = yield* modelServer
    server.otherwise = () => answer(tea, { input: 1_001, output: 10 })
    const counted = Effect.andThen(Effect.andThen(generate("alice"), generate("bob")), usage)
    const rows = yield* counted.pipe(Effect.provide(started(format, server, temporaryDirectory(), prices)))
    expect(rows.map(amounts)).toEqual([
      ["alice", 1_001, 10, 3_153],
      ["bob", 1_001, 10, 3_153]
    ])
  })

  it.live("estimates from the texts where the server says nothing, and takes no nonsense for a number", function* () {
    const server = yield* modelServer
    server.script(answer(tea, null))
    const [row] = yield* Effect.andThen(generate("alice"), usage).pipe(
      Effect.provide(started(format, server, temporaryDirectory()))
    )
    expect(row?.inputTokens).toBeGreaterThan(50)
    expect(row?.outputTokens).toBeGreaterThan(10)
    expect(row?.outputTokens).toBeLessThan(100)
    server.script(answer(tea, { input: -5, output: 1e300 }))
    const [claimed] = yield* Effect.andThen(generate("alice"), usage).pipe(
      Effect.provide(started(format, server, temporaryDirectory()))
    )
    expect(claimed?.inputTokens).toBe(row?.inputTokens)
    expect(claimed?.outputTokens).toBe(10_000_000)
  })

  it.live("counts answers that were no good and their repair, and nothing for errors of the server", function* () {
    const server = yield* modelServer
    server.script(
      status(503),
      answer({ wrong: true }, { input: 10, output: 1 }),
      answer({ wrong: true }, { input: 20, output: 2 }),
      status(401),
      { kind: "refusal" }
    )
    const failing = Effect.flip(generate("alice"))
    const rows = yield* Effect.andThen(Effect.all([failing, failing, failing]), usage).pipe(
      Effect.provide(started(format, server, temporaryDirectory()))
    )
    expect(rows.map(amounts)).toEqual([["alice", 30 + 11, 3 + 7, 0]])
  })

  it.live.each([
    ["tokens", { tokensPerDay: 1_000 }],
    ["cost", { ...prices, costPerDayMicroUsd: 4_000 }]
  ] as const)(
    "refuses an account whose %s of the day are used up until midnight UTC, also after a restart",
    function* ([, config]) {
      const server = yield* modelServer
      const directory = temporaryDirectory()
      server.otherwise = () => answer(tea, { input: 900, output: 50 })
      yield* generate("alice").pipe(Effect.provide(started(format, server, directory, config)))
      yield* Effect.gen(function* () {
        const failure = yield* Effect.flip(generate("alice"))
        const now = yield* Clock.currentTimeMillis
        const untilMidnight = Math.ceil((86_400_000 - (now % 86_400_000)) / 1_000)
        expect(failure.reason).toBe("budget_exhausted")
        expect(Math.abs(failure.retryAfterSeconds! - untilMidnight)).toBeLessThanOrEqual(5)
        expect(server.requests).toHaveLength(1)
        expect(yield* generate("bob")).toEqual(tea)
      }).pipe(Effect.provide(started(format, server, directory, config)))
    }
  )

  it.live("does not let a repair pass the bound that the first answer reached", function* () {
    const server = yield* modelServer
    server.otherwise = () => answer({ wrong: true }, { input: 950, output: 50 })
    const failure = yield* Effect.flip(generate("alice")).pipe(
      Effect.provide(started(format, server, temporaryDirectory(), { tokensPerDay: 1_000 }))
    )
    expect(failure.reason).toBe("budget_exhausted")
    expect(server.requests).toHaveLength(1)
  })

  it.live("does not let calls at once pass the bound together", function* () {
    const server = yield* modelServer
    server.otherwise = () => ({ kind: "slow", millis: 100, then: answer(tea, { input: 200, output: 100 }) })
    const calls = Array.from({ length: 6 }, () => Effect.result(generate("alice")))
    const results = yield* Effect.all(calls, { concurrency: "unbounded" }).pipe(
      Effect.provide(started(format, server, temporaryDirectory(), { tokensPerDay: 600, concurrency: 6 }))
    )
    // An estimate is some 250 tokens, of which two fit.
    expect(results.filter(({ _tag }) => _tag === "Success")).toHaveLength(2)
    expect(server.requests).toHaveLength(2)
  })
})
