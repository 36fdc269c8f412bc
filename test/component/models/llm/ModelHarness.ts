/** A structured model over a scripted server on a loopback port, with a budget that keeps its books open. */
import { Effect, Layer, Redacted, Schema, type Scope } from "effect"
import type { LanguageModelConfig, StructuredRequest } from "@muniment/models/llm/LanguageModelConfig"
import type { BudgetHold, ModelSpend } from "@muniment/domain/ModelSpend"
import { ModelBudget } from "@muniment/models/llm/ModelBudget"
import { StructuredModel } from "@muniment/models/llm/StructuredModel"
import { type ModelServer, modelServer } from "../../../support/ModelServer.ts"
import type { ModelFormat } from "../../../support/ModelServerReplies.ts"
import { effectOf, it, type Steps } from "../../../support/it.ts"

export const formats: ReadonlyArray<ModelFormat> = ["openai-compatible", "anthropic"]

export const Facts = Schema.Struct({
  facts: Schema.Array(Schema.Struct({ text: Schema.NonEmptyString, confidence: Schema.Finite }))
})
export const tea = { facts: [{ text: "likes tea", confidence: 0.9 }] }
export const secretKey = "sk-very-secret"
export const secretPrompt = "my diary of the 3rd of May"

export const request: StructuredRequest<typeof Facts.Type> = {
  account: "alice",
  purpose: "extraction",
  system: "Extract facts.",
  prompt: secretPrompt,
  schema: Facts,
  schemaName: "facts",
  outputTokensMax: 100
}

/** One entry per exchange; `used` is `undefined` until it is settled. */
export interface BudgetEntry {
  readonly account: string
  readonly estimate: ModelSpend
  used: ModelSpend | undefined
}

export interface Harness {
  readonly server: ModelServer
  readonly model: StructuredModel["Service"]
  readonly entries: ReadonlyArray<BudgetEntry>
}

/** Deadlines are short, but long enough for a busy machine; what is tested for speed says its own. */
const settings = { timeoutMillis: 2_000, deadlineMillis: 4_000 }

export const withModel = <A>(
  format: ModelFormat,
  config: Partial<LanguageModelConfig>,
  use: (harness: Harness) => Steps<Scope.Scope, A>
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* modelServer
      const entries: Array<BudgetEntry> = []
      const layer = StructuredModel.layer({
        provider: format,
        baseUrl: server.baseUrl(format),
        model: "test-model",
        apiKey: Redacted.make(secretKey),
        ...settings,
        ...config
      }).pipe(Layer.provide(openBudget(entries)))
      return yield* StructuredModel.use((model) => effectOf(use({ server, model, entries }))).pipe(
        Effect.provide(layer)
      )
    })
  )

/** Tests with a model of the format. */
export const liveWith =
  (format: ModelFormat) =>
  (name: string, config: Partial<LanguageModelConfig>, use: (harness: Harness) => Steps<Scope.Scope>): void =>
    it.live(name, () => withModel(format, config, use))

const openBudget = (entries: Array<BudgetEntry>) => {
  const held = new Map<BudgetHold, BudgetEntry>()
  return Layer.succeed(ModelBudget, {
    reserve: (account, estimate, { tokensPerDay = Infinity }) =>
      Effect.sync(() => {
        const tokens = entries.reduce((sum, entry) => sum + tokensOf(entry.used ?? entry.estimate), 0)
        if (tokens + tokensOf(estimate) > tokensPerDay) return undefined
        const hold = { account, day: "2026-01-01", estimate }
        const entry: BudgetEntry = { account, estimate, used: undefined }
        entries.push(entry)
        held.set(hold, entry)
        return hold
      }),
    settle: (hold, used) =>
      Effect.sync(() => {
        const entry = held.get(hold)
        if (entry?.used !== undefined || entry === undefined) throw new Error("a hold is settled once")
        entry.used = used
      })
  })
}

const tokensOf = ({ inputTokens, outputTokens }: ModelSpend): number => inputTokens + outputTokens
