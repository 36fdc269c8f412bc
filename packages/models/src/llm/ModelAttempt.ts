/**
 * One attempt: an estimate reserved, one exchange with the server inside its time, what was used settled,
 * and the answer decoded. What went wrong is said in this service's own words.
 *
 * Invariants: no exchange without a hold in the budget; each hold is settled, however the attempt ends.
 */
import { Clock, Data, Duration, Effect, type Schema } from "effect"
import type { AiError, LanguageModel, Prompt } from "effect/ai"
import { dayMillis } from "@muniment/domain/CalendarDay"
import type { BudgetHold, ModelSpend } from "@muniment/domain/ModelSpend"
import { callSettings, type LanguageModelConfig } from "./LanguageModelConfig.ts"
import type { ModelBudget } from "./ModelBudget.ts"
import { ModelFailure } from "./ModelFailure.ts"
import { countTokens } from "./ModelMetrics.ts"
import { CurrentCall, type ModelCall, newCall } from "./ProviderModel.ts"
import type { StructuredRequest } from "./StructuredModel.ts"
import { costMicroUsd, estimatedTokens, type TokenCount } from "./TokenCount.ts"
import { jsonSchemaOf } from "./WireSchema.ts"

/** Decoding found fault with an answer; both fields are for the model's eyes only. */
export class UnfitAnswer extends Data.TaggedError("UnfitAnswer")<{
  readonly answer: string
  readonly findings: string
}> {}

/** A request with all that its texts are: instructions, data and, in a repair, the bad answer. */
export interface AttemptRequest<A> {
  readonly request: StructuredRequest<A>
  readonly messages: ReadonlyArray<Prompt.MessageEncoded>
  readonly texts: ReadonlyArray<string>
  /** Of the whole call, milliseconds since the epoch. */
  readonly deadlineMillis: number
}

export type ModelAttempt = <A>(attempt: AttemptRequest<A>) => Effect.Effect<A, ModelFailure | UnfitAnswer>

export const makeModelAttempt = (
  config: LanguageModelConfig,
  model: LanguageModel.LanguageModel,
  budget: ModelBudget["Service"]
): ModelAttempt => {
  const { timeoutMillis } = callSettings(config)
  const priced = (count: TokenCount): ModelSpend => ({ ...count, costMicroUsd: costMicroUsd(count, config) })

  const reserve = Effect.fnUntraced(function* (account: string, estimate: ModelSpend) {
    const hold = yield* Effect.catchTag(budget.reserve(account, estimate, config), "InsufficientStorage", () =>
      Effect.fail(new ModelFailure({ reason: "overloaded", message: "the disk is full; its use cannot be counted" }))
    )
    return hold ?? (yield* exhausted(yield* Clock.currentTimeMillis))
  })

  const settle = (hold: BudgetHold, { spent }: ModelCall) => {
    const used = spent === "nothing" ? nothing : spent === "unknown" ? hold.estimate : priced(spent)
    return budget.settle(hold, used).pipe(
      Effect.catchTag("InsufficientStorage", () =>
        Effect.logWarning("the disk is full: an estimate stays in the place of what a model used")
      ),
      Effect.andThen(countTokens(used))
    )
  }

  return Effect.fnUntraced(function* <A>({ deadlineMillis, messages, request, texts }: AttemptRequest<A>) {
    const left = deadlineMillis - (yield* Clock.currentTimeMillis)
    if (left <= 0) return yield* timedOut
    const call = newCall(request.outputTokensMax)
    const schema = yield* Effect.try({
      try: () => JSON.stringify(jsonSchemaOf(request.schema)),
      catch: () => unsupported
    })
    const inputTokens = estimatedTokens([...texts, schema])
    const estimate = priced({ inputTokens, outputTokens: request.outputTokensMax })
    const ask = model
      // The encoded form is an object, or `wireCodec` refuses the schema.
      .generateObject({
        prompt: messages,
        objectName: request.schemaName,
        schema: request.schema as Schema.Codec<A, Record<string, unknown>>
      })
      .pipe(
        Effect.map(({ value }) => value),
        Effect.provideService(CurrentCall, call),
        Effect.mapError((error) => failureOf(error, call)),
        Effect.timeoutOrElse({
          duration: Duration.millis(Math.min(timeoutMillis, left)),
          orElse: () => Effect.fail(timedOut)
        })
      )
    return yield* Effect.acquireUseRelease(
      reserve(request.account, estimate),
      () => ask,
      (hold) => settle(hold, call)
    )
  })
}

const nothing: ModelSpend = { inputTokens: 0, outputTokens: 0, costMicroUsd: 0 }

const exhausted = (nowMillis: number): ModelFailure =>
  new ModelFailure({
    reason: "budget_exhausted",
    message: "the account's budget for the language model is used up until midnight UTC",
    retryAfterSeconds: Math.ceil((dayMillis - (nowMillis % dayMillis)) / 1_000)
  })

const timedOut = new ModelFailure({ reason: "timeout", message: "the language model gave no answer in time" })

const unsupported = new ModelFailure({
  reason: "rejected",
  message: "the language model cannot be asked for an answer of this schema"
})

const failureOf = ({ reason }: AiError.AiError, call: ModelCall): ModelFailure | UnfitAnswer => {
  const fail = (kind: ModelFailure["reason"], message: string, retryAfterMillis?: number) =>
    new ModelFailure({
      reason: kind,
      message: `the language model ${message}`,
      retryAfterSeconds: retryAfterMillis === undefined ? undefined : Math.ceil(retryAfterMillis / 1_000)
    })
  if (call.isTruncated) return fail("truncated", "had not finished its answer at the greatest length it may have")
  switch (reason._tag) {
    case "StructuredOutputError":
      return new UnfitAnswer({ answer: reason.responseText, findings: reason.description })
    case "RateLimitError":
      return fail(
        "rate_limited",
        "takes no more requests now",
        reason.retryAfter === undefined ? undefined : Duration.toMillis(reason.retryAfter)
      )
    case "ContentPolicyError":
      return fail("refused", "refused to answer")
    case "InvalidResponseError":
      return fail("malformed", `gave no answer that can be read: ${reason.description}`)
    case "AuthenticationError":
      return fail("rejected", `takes no request with this key: ${reason.description ?? ""}`)
    case "InvalidRequestError":
      return fail("rejected", `does not take the request: ${reason.description ?? ""}`)
    case "InternalProviderError":
      return fail("unreachable", `cannot answer: ${reason.description}`, hintOf(reason.metadata))
    case "NetworkError":
      return fail("unreachable", `cannot be reached: ${reason.description ?? ""}`)
    default:
      return fail("malformed", "gave no answer that can be read")
  }
}

const hintOf = (metadata: AiError.InternalProviderErrorMetadata): number | undefined => {
  const hint = metadata["retryAfterMillis"]
  return typeof hint === "number" ? hint : undefined
}
