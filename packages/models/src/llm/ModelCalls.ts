/**
 * Implements `StructuredModel`: one call from its turn to its value, with circuit breaker, one repair round, retries.
 *
 * Invariants: one deadline covers the whole call, and every wait is bounded by what is left of it; an answer that does
 * not match is shown to the model once, with the findings; text of the model or its server never enters a failure or
 * a log.
 */
import { Cause, Clock, Context, Effect, Exit, Option, Random } from "effect"
import type { Prompt } from "effect/ai"
import { HttpClient } from "effect/http"
import { CircuitBreaker } from "effect/persistence"
import { type CircuitState, makeCallSlots, makeCircuits } from "./CallSlots.ts"
import {
  callSettings,
  deadlineOf,
  type LanguageModelConfig,
  type ModelPurpose,
  type StructuredRequest
} from "./LanguageModelConfig.ts"
import {
  type AttemptRequest,
  type CallFacts,
  countCall,
  countRepair,
  countRetry,
  makeModelAttempts,
  type ModelAttempt,
  showCircuit,
  showOpenCalls,
  type UnfitAnswer
} from "./ModelAttempt.ts"
import { ModelBudget } from "./ModelBudget.ts"
import { makeModelExchange } from "./ModelExchange.ts"
import { ModelFailure, type ModelFailureReason, type ModelProblem, remedies } from "./ModelFailure.ts"
import { makeProviderModel } from "./ProviderModel.ts"
import { wireFormats } from "./WireFormats.ts"

const { ignored, success } = CircuitBreaker
const failed = CircuitBreaker.failure()

/** After the first attempt. */
const retriesMax = 2
/** Doubles with each retry; jitter multiplies it by 0.5 to 1.5. */
const retryBaseMillis = 250
/** A failure that repeats itself is a line of the log this often; the metric counts each. */
const toldEachMillis = 60_000
/** A server that asks for more is not waited for: its caller and the turn are given up. */
const retryAfterMillisMax = 5_000
/** With less than this left of the deadline no server answers; the failure so far is returned. */
const usefulMillisMin = 50
/** Bounds of what the model is shown of its answer, and of the findings. */
const shownAnswerCharactersMax = 16_000
const shownFindingsCharactersMax = 2_000

/** Implementation of `StructuredModel`. */
export const makeModelCalls = Effect.fnUntraced(function* (config: LanguageModelConfig) {
  const settings = callSettings(config)
  const exchange = makeModelExchange(yield* HttpClient.HttpClient, config, wireFormats[config.provider])
  const model = yield* makeProviderModel(config.model, exchange)
  const { afford, attempt } = makeModelAttempts(config, model, yield* ModelBudget)
  const { untilIdle, withTurn } = makeCallSlots<ModelFailure>({
    concurrency: settings.concurrency,
    waitingMax: settings.waitingCallsMax,
    refuse: () => overloaded,
    show: showOpenCalls
  })
  const bounds = { failuresMax: settings.circuitFailuresMax, coolDownMillis: settings.circuitCoolDownMillis }
  const ofServer = yield* makeCircuits<ModelFailure>({
    ...bounds,
    signOf: ({ reason, status }) => (isForAll(status) ? failed : signs[reason]),
    refuse: circuitOpen,
    onChange: circuitChanged()
  })
  // Calls that time out may be the fault of what they ask, so they suspend the calls of their own account only.
  const ofAccounts = yield* makeCircuits<ModelFailure>({
    ...bounds,
    signOf: ({ reason }) => (reason === "timeout" ? failed : signs[reason] === ignored ? ignored : success),
    refuse: circuitOpen,
    onChange: (state) =>
      state === "Open" ? Effect.logInfo("language model timed out for an account several times in a row") : Effect.void
  })
  yield* showCircuit("Closed")
  const beginToWait = yield* ModelWait
  const leftAlone = makeLeftAlone()
  const problems = makeProblems()

  return {
    name: config.model,
    afford,
    problem: problems.current,
    generate: Effect.fn("StructuredModel.generate")(function* <A>(request: StructuredRequest<A>) {
      if (request.purpose === "consolidation") yield* untilIdle
      const startedMillis = yield* Clock.currentTimeMillis
      const deadlineMillis = startedMillis + deadlineOf(config, request.purpose)
      const turn = { account: request.account, deadlineMillis }
      // A turn that comes too late for an answer is no sign against the server.
      const call = whileUseful(
        deadlineMillis,
        inRounds(attempt, request, deadlineMillis).pipe(
          ofServer.through(config.model),
          ofAccounts.through(request.account)
        )
      )
      const checks = [leftAlone.check, ofAccounts.check(request.account), ofServer.check(config.model)]
      return yield* Effect.all(checks, { discard: true }).pipe(
        Effect.andThen(beginToWait),
        Effect.andThen(Effect.tapError(withTurn(turn, call), leftAlone.failed)),
        Effect.tap(leftAlone.answered),
        Effect.tap(problems.answered),
        Effect.tapError((failure) => problems.failed(request.purpose, failure)),
        Effect.onExit((exit) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) =>
            countCall({ purpose: request.purpose, outcome: outcomeOf(exit), millis: now - startedMillis })
          )
        )
      )
    })
  }
})

/** Failures that an operator can mend: each told to the log once in a while, the last one kept until a call is answered. */
const makeProblems = () => {
  const toldAt = new Map<ModelFailureReason, number>()
  let problem: ModelProblem | undefined
  return {
    current: Effect.sync(() => problem),
    answered: Effect.sync(() => {
      problem = undefined
    }),
    failed: Effect.fnUntraced(function* (purpose: ModelPurpose, { message, reason, status }: ModelFailure) {
      const remedy = remedies[reason]
      if (remedy === undefined) return
      const now = yield* Clock.currentTimeMillis
      problem = { message, remedy, since: problem?.since ?? now }
      if (now - (toldAt.get(reason) ?? -Infinity) < toldEachMillis) return
      toldAt.set(reason, now)
      yield* Effect.logWarning(`${message}: ${remedy}`, { purpose, reason, ...(status !== undefined && { status }) })
    })
  }
}

/** The server knows no such key (401) or model (404): it will refuse every call until a setting is another. */
const isForAll = (status: number | undefined): boolean => status === 401 || status === 404

/**
 * For the shared circuit: beside `isForAll` only a server that is not reached opens it. An exhausted budget says nothing
 * about the server, and neither does a time-out: what an account asks may take too long while others are answered.
 */
const signs: Readonly<Record<ModelFailureReason, CircuitBreaker.Outcome>> = {
  unreachable: failed,
  timeout: ignored,
  rejected: success,
  rate_limited: success,
  truncated: success,
  refused: success,
  malformed: success,
  circuit_open: ignored,
  overloaded: ignored,
  too_long: ignored,
  budget_exhausted: ignored,
  unpaid: ignored
}

const overloaded = new ModelFailure({
  reason: "overloaded",
  message: "too many calls of the language model are waiting; retry with a delay"
})

const whileUseful = <A>(deadlineMillis: number, call: Effect.Effect<A, ModelFailure>): Effect.Effect<A, ModelFailure> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    deadlineMillis - now < usefulMillisMin ? Effect.fail(overloaded) : call
  )

const circuitOpen = (retryAfterMillis: number, { message }: ModelFailure): ModelFailure =>
  new ModelFailure({
    reason: "circuit_open",
    message: `${message}, several times in a row; calls are suspended for a while`,
    retryAfterSeconds: Math.ceil(retryAfterMillis / 1_000)
  })

/** Told at the first of the probes that fail, and at the one that is answered. */
const circuitChanged = () => {
  let isTold = false
  const told = (state: CircuitState): Effect.Effect<void> => {
    if (state === "HalfOpen" || isTold === (state === "Open")) return Effect.void
    isTold = state === "Open"
    return isTold
      ? Effect.logInfo("the circuit of the language model is open: it is asked once in a while only, until it answers")
      : Effect.logInfo("the language model answers again")
  }
  return (state: CircuitState): Effect.Effect<void> => Effect.andThen(showCircuit(state), told(state))
}

const outcomeOf = <A>(exit: Exit.Exit<A, ModelFailure>): CallFacts["outcome"] => {
  if (Exit.isSuccess(exit)) return "answered"
  const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  return failure?.reason ?? (Cause.hasInterruptsOnly(exit.cause) ? "interrupted" : "defect")
}

/** The first round and, if its answer does not match, one repair round. */
const inRounds = <A>(
  attempt: ModelAttempt,
  request: StructuredRequest<A>,
  deadlineMillis: number
): Effect.Effect<A, ModelFailure> => {
  const round = (later: ReadonlyArray<Prompt.MessageEncoded>, laterTexts: ReadonlyArray<string>) =>
    withRetries(attempt, {
      request,
      messages: [{ role: "system", content: request.system }, userTurn(request.prompt), ...later],
      texts: [request.system, request.prompt, ...laterTexts],
      deadlineMillis
    })
  return round([], []).pipe(
    Effect.catchTag("UnfitAnswer", (unfit) => {
      const answer = unfit.answer.slice(0, shownAnswerCharactersMax) || "(empty)"
      const complaint = repairPrompt(unfit)
      const messages = [{ role: "assistant", content: [{ type: "text", text: answer }] }, userTurn(complaint)] as const
      return Effect.andThen(countRepair, round(messages, [answer, complaint]))
    }),
    Effect.catchTag("UnfitAnswer", () =>
      Effect.fail(
        new ModelFailure({
          reason: "malformed",
          message: "the language model's answer did not match the schema, and neither did its corrected answer"
        })
      )
    )
  )
}

const userTurn = (text: string) => ({ role: "user", content: [{ type: "text", text }] }) as const

const repairPrompt = ({ findings }: UnfitAnswer): string =>
  [
    "Your answer does not match the JSON Schema:",
    findings.slice(0, shownFindingsCharactersMax),
    "Give the whole answer again, corrected, as one JSON value that matches the schema, and nothing else."
  ].join("\n\n")

/** Retries temporary failures while the deadline leaves room for the wait and an answer. */
const withRetries = Effect.fnUntraced(function* <A>(
  attempt: ModelAttempt,
  request: AttemptRequest<A>
): Effect.fn.Return<A, ModelFailure | UnfitAnswer> {
  for (let retried = 0; ; retried += 1) {
    const result = yield* Effect.result(attempt(request))
    if (result._tag === "Success") return result.success
    const { failure } = result
    if (failure._tag === "UnfitAnswer" || retried >= retriesMax || !retriedReasons.has(failure.reason)) {
      return yield* Effect.fail(failure)
    }
    const askedMillis = (failure.retryAfterSeconds ?? 0) * 1_000
    if (askedMillis > retryAfterMillisMax) return yield* failure
    const waitMillis = Math.max(retryBaseMillis * 2 ** retried * (yield* Random.nextBetween(0.5, 1.5)), askedMillis)
    const leftMillis = request.deadlineMillis - (yield* Clock.currentTimeMillis)
    if (waitMillis + usefulMillisMin > leftMillis) return yield* failure
    yield* countRetry
    yield* Effect.sleep(waitMillis)
  }
})

const retriedReasons: ReadonlySet<ModelFailureReason> = new Set(["unreachable", "rate_limited"])

const askedForMillisMax = 3_600_000
const pauseMillisMin = 1_000
const pauseMillisMax = 60_000

interface LeftAlone {
  /** Fails while the server is left alone. */
  readonly check: Effect.Effect<void, ModelFailure>
  /** A call was answered. */
  readonly answered: Effect.Effect<void>
  readonly failed: (failure: ModelFailure) => Effect.Effect<void>
}

/**
 * How long a server that takes no more requests is left alone, by all accounts: as long as it asks for, an hour at most;
 * where it does not say, a second, then twice as long each time, up to a minute.
 */
const makeLeftAlone = (): LeftAlone => {
  let untilMillis = 0
  let pauseMillis = pauseMillisMin
  return {
    check: Effect.flatMap(Clock.currentTimeMillis, (now) =>
      now < untilMillis ? Effect.fail(leftAloneFor(untilMillis - now)) : Effect.void
    ),
    answered: Effect.sync(() => {
      pauseMillis = pauseMillisMin
    }),
    failed: ({ reason, retryAfterSeconds }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        if (reason !== "rate_limited") return
        if (retryAfterSeconds !== undefined) {
          untilMillis = Math.max(untilMillis, now + Math.min(retryAfterSeconds * 1_000, askedForMillisMax))
        } else if (now >= untilMillis) {
          // Calls that were under way at the same time count once.
          untilMillis = now + pauseMillis
          pauseMillis = Math.min(pauseMillis * 2, pauseMillisMax)
        }
      })
  }
}

const leftAloneFor = (millis: number): ModelFailure =>
  new ModelFailure({
    reason: "rate_limited",
    message: "the language model accepts no more requests at the moment",
    retryAfterSeconds: Math.ceil(millis / 1_000)
  })

/**
 * Runs when a call begins to wait for the language model: the server gives the place of the request up, since turns at
 * the model have bounds of their own (`CallSlots.ts`).
 */
export const ModelWait = Context.Reference<Effect.Effect<void>>("muniment/models/ModelWait", {
  defaultValue: () => Effect.void
})
