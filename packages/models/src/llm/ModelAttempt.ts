/**
 * One attempt: reserves an estimate, makes one exchange with the server within its time, settles what was used, decodes
 * the answer. Failures are described in this service's words.
 *
 * Invariants: no exchange without a hold in the budget; each hold is settled, however the attempt ends.
 */
import { Clock, Data, Duration, Effect, Metric, type Schema } from "effect"
import type { AiError, LanguageModel, Prompt } from "effect/ai"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { type BudgetHold, type ModelSpend, noSpend } from "@muniment/domain/ModelSpend"
import {
  type LanguageModelConfig,
  type ModelPurpose,
  type StructuredRequest,
  timeoutOf
} from "./LanguageModelConfig.ts"
import { costMicroUsd, estimatedTokens, type ModelBudget, type TokenCount } from "./ModelBudget.ts"
import { ModelFailure, type ModelFailureReason } from "./ModelFailure.ts"
import { CurrentCall, type ModelCall, newCall } from "./ProviderModel.ts"
import { jsonSchemaOf } from "./WireFormat.ts"
import type { CircuitState } from "./CallSlots.ts"

/** The answer does not match the schema. Both fields may be shown to the model only. */
export class UnfitAnswer extends Data.TaggedError("UnfitAnswer")<{
  readonly answer: string
  readonly findings: string
}> {}

/** A request with all its texts: instructions, data and, in the repair round, the first answer. */
export interface AttemptRequest<A> {
  readonly request: StructuredRequest<A>
  readonly messages: ReadonlyArray<Prompt.MessageEncoded>
  readonly texts: ReadonlyArray<string>
  /** Deadline of the whole call, milliseconds since the epoch. */
  readonly deadlineMillis: number
}

export type ModelAttempt = <A>(attempt: AttemptRequest<A>) => Effect.Effect<A, ModelFailure | UnfitAnswer>

interface ModelAttempts {
  readonly attempt: ModelAttempt
  /**
   * Fails where an account's credits do not cover these requests together; asks nothing, takes nothing. Of the budget of
   * the day each request holds its own, when it is asked.
   */
  readonly afford: (requests: ReadonlyArray<StructuredRequest<unknown>>) => Effect.Effect<void, ModelFailure>
}

export const makeModelAttempts = (
  config: LanguageModelConfig,
  model: LanguageModel.LanguageModel,
  budget: ModelBudget["Service"]
): ModelAttempts => {
  const holds = makeHolds(config, budget)
  return { attempt: makeAttempt(config, model, holds), afford: makeAfford(holds) }
}

type Holds = ReturnType<typeof makeHolds>

/** Estimates, and their holds in the budget. */
const makeHolds = (config: LanguageModelConfig, budget: ModelBudget["Service"]) => {
  const priced = (count: TokenCount): ModelSpend => ({ ...count, costMicroUsd: costMicroUsd(count, config) })

  const estimateOf = <A>({ outputTokensMax, schema }: StructuredRequest<A>, texts: ReadonlyArray<string>) =>
    Effect.map(
      Effect.try({ try: () => JSON.stringify(jsonSchemaOf(schema)), catch: () => unsupported }),
      (schemaText) => priced({ inputTokens: estimatedTokens([...texts, schemaText]), outputTokens: outputTokensMax })
    )

  /** Undefined: the budget of the day is used up. */
  const paidFor = Effect.fnUntraced(function* (
    { account, purpose }: Pick<StructuredRequest<unknown>, "account" | "purpose">,
    estimate: ModelSpend
  ) {
    const { consolidationTokensPerDay: tokensPerDay } = config
    const share =
      purpose === "consolidation" && tokensPerDay !== undefined ? { name: purpose, tokensPerDay } : undefined
    const hold = yield* Effect.mapError(
      budget.reserve(account, estimate, { ...config, share }),
      ({ error }) =>
        new ModelFailure({ reason: "overloaded", message: `use of the language model cannot be counted: ${error}` })
    )
    return hold === "unpaid" ? yield* unpaid : hold
  })

  const reserve = Effect.fnUntraced(function* <A>(request: StructuredRequest<A>, estimate: ModelSpend) {
    return (yield* paidFor(request, estimate)) ?? (yield* exhausted(yield* Clock.currentTimeMillis))
  })

  const settle = (hold: BudgetHold, { spent }: ModelCall) => {
    const used = spent === "nothing" ? noSpend : spent === "unknown" ? hold.estimate : priced(spent)
    return budget.settle(hold, used).pipe(
      Effect.catch(({ code }) => Effect.logWarning("model use not recorded; the estimate stays", { code })),
      Effect.andThen(countTokens(used))
    )
  }

  return { estimateOf, paidFor, reserve, settle }
}

const makeAfford = ({ estimateOf, paidFor, settle }: Holds): ModelAttempts["afford"] =>
  Effect.fnUntraced(function* (requests: ReadonlyArray<StructuredRequest<unknown>>) {
    const [first] = requests
    if (first === undefined) return
    const estimates = yield* Effect.forEach(requests, (request) =>
      estimateOf(request, [request.system, request.prompt])
    )
    const together = estimates.reduce((sum, one) => ({
      inputTokens: sum.inputTokens + one.inputTokens,
      outputTokens: sum.outputTokens + one.outputTokens,
      costMicroUsd: sum.costMicroUsd + one.costMicroUsd
    }))
    const unasked = newCall(0)
    yield* Effect.acquireUseRelease(
      paidFor(first, together),
      () => Effect.void,
      (hold) => (hold === undefined ? Effect.void : settle(hold, unasked))
    )
  })

const makeAttempt = (config: LanguageModelConfig, model: LanguageModel.LanguageModel, holds: Holds): ModelAttempt => {
  const { estimateOf, reserve, settle } = holds
  return Effect.fnUntraced(function* <A>({ deadlineMillis, messages, request, texts }: AttemptRequest<A>) {
    const left = deadlineMillis - (yield* Clock.currentTimeMillis)
    if (left <= 0) return yield* timedOut
    const call = newCall(request.outputTokensMax)
    const estimate = yield* estimateOf(request, texts)
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
          duration: Duration.millis(Math.min(timeoutOf(config, request.purpose), left)),
          orElse: () => Effect.fail(timedOut)
        })
      )
    return yield* Effect.acquireUseRelease(
      reserve(request, estimate),
      () => ask,
      (hold) => settle(hold, call)
    )
  })
}

const exhausted = (nowMillis: number): ModelFailure =>
  new ModelFailure({
    reason: "budget_exhausted",
    message:
      "the language model budget of the account, or of the service, for this UTC day is used up; retry after midnight UTC",
    retryAfterSeconds: Math.ceil((dayMillis - (nowMillis % dayMillis)) / 1_000)
  })

const unpaid = new ModelFailure({
  reason: "unpaid",
  message: "the allowance of this month and the balance do not cover the tokens of the language model"
})

const timedOut = new ModelFailure({ reason: "timeout", message: "the language model did not answer in time" })

const unsupported = new ModelFailure({
  reason: "rejected",
  message: "the language model does not support answers of this schema"
})

const failureOf = (error: AiError.AiError, call: ModelCall): ModelFailure | UnfitAnswer => {
  const { reason } = error
  if (call.isTruncated) return truncated
  return reason._tag === "StructuredOutputError"
    ? new UnfitAnswer({ answer: reason.responseText, findings: reason.description })
    : exchangeFailure(error)
}

export const truncated = new ModelFailure({
  reason: "truncated",
  message: "the language model reached the maximum length before its answer was complete"
})

/** The failure of one exchange with the server, in this service's words. */
export const exchangeFailure = ({ reason }: AiError.AiError): ModelFailure => {
  const fail = (kind: ModelFailure["reason"], message: string, retryAfterMillis?: number) =>
    new ModelFailure({
      reason: kind,
      message: `the language model ${message}`,
      retryAfterSeconds: retryAfterMillis === undefined ? undefined : Math.ceil(retryAfterMillis / 1_000),
      status: numberIn(reason, "status")
    })
  switch (reason._tag) {
    case "RateLimitError":
      return fail(
        "rate_limited",
        "accepts no more requests at the moment",
        reason.retryAfter === undefined ? undefined : Duration.toMillis(reason.retryAfter)
      )
    case "ContentPolicyError":
      return fail("refused", "refused to answer")
    case "InvalidResponseError":
      return fail("malformed", `gave an unreadable answer: ${reason.description}`)
    case "AuthenticationError":
      return fail("rejected", `rejects this key: ${reason.description ?? ""}`)
    case "InvalidRequestError":
      // Without a status nothing was refused: it could not be asked at all.
      return fail(
        "rejected",
        `${numberIn(reason, "status") === undefined ? "cannot be asked" : "rejects the request"}: ${reason.description ?? ""}`
      )
    case "InternalProviderError":
      return fail("unreachable", `failed: ${reason.description}`, numberIn(reason, "retryAfterMillis"))
    case "NetworkError":
      return fail("unreachable", `cannot be reached: ${reason.description ?? ""}`)
    default:
      return fail("malformed", "gave an unreadable answer")
  }
}

/** Number that the exchange noted beside the error. */
const numberIn = (reason: AiError.AiErrorReason, name: "status" | "retryAfterMillis"): number | undefined => {
  const noted = "metadata" in reason ? reason.metadata[name] : undefined
  return typeof noted === "number" ? noted : undefined
}

/**
 * Metrics of the language model: calls by purpose and outcome, their time, retries, repair rounds, tokens, the circuit.
 */
export interface CallFacts {
  readonly purpose: ModelPurpose
  readonly outcome: "answered" | "interrupted" | "defect" | ModelFailureReason
  readonly millis: number
}

const calls = Metric.counter("llm_calls_total", {
  description: "Calls of the language model, by purpose and outcome.",
  incremental: true
})
/** Seconds, 50 ms to about 25 s. */
const seconds = Metric.histogram("llm_call_seconds", {
  description: "Time of a call with its waiting, retries and repair.",
  boundaries: Metric.exponentialBoundaries({ start: 0.05, factor: 2, count: 10 })
})
const tokens = Metric.counter("llm_tokens_total", {
  description: "Tokens that the language model used, by direction; estimated where it does not say.",
  incremental: true
})
const retries = Metric.counter("llm_retries_total", {
  description: "Exchanges with the language model that were tried again.",
  incremental: true
})
const repairs = Metric.counter("llm_repairs_total", {
  description: "Answers that did not match their schema and were asked for again.",
  incremental: true
})
const circuit = Metric.gauge("llm_circuit_state", {
  description: "0 closed, 1 half-open, 2 open: calls are refused."
})

const open = Metric.gauge("llm_calls_open", {
  description: "Calls of the language model under way or waiting for their turn."
})

const circuitLevels: Readonly<Record<CircuitState, number>> = { Closed: 0, HalfOpen: 1, Open: 2 }

export const countCall = ({ millis, outcome, purpose }: CallFacts): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(calls, { purpose, outcome }), 1),
    Metric.update(Metric.withAttributes(seconds, { purpose }), millis / 1_000)
  )

const countTokens = ({ inputTokens, outputTokens }: TokenCount): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(tokens, { direction: "input" }), inputTokens),
    Metric.update(Metric.withAttributes(tokens, { direction: "output" }), outputTokens)
  )

export const showOpenCalls = (calls: number): Effect.Effect<void> => Metric.update(open, calls)
export const countRetry: Effect.Effect<void> = Metric.update(retries, 1)
export const countRepair: Effect.Effect<void> = Metric.update(repairs, 1)
export const showCircuit = (state: CircuitState): Effect.Effect<void> => Metric.update(circuit, circuitLevels[state])
