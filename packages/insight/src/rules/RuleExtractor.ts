/**
 * The port `Extractor` without a model: English rules in a thread of their own, with a capped heap, a
 * bounded queue and a deadline after which the thread is killed. Accounts take turns, so that one's slow
 * conversations delay another's by one deadline at most. It spends nobody's budget.
 */
import { Effect, Fiber, Layer, PartitionedSemaphore, Scope } from "effect"
import { ModelFailure } from "@muniment/models/llm/StructuredModel"
import { type ExtractionRequest, Extractor } from "../extraction/Extractor.ts"
import { openWorkerThread } from "../WorkerThread.ts"
import { type RulesAnswer, rulesLimits, type RulesTask } from "./RulesProtocol.ts"

type LimitName = "deadlineMillis" | "queueMax" | "queuePerAccountMax" | "waitMillisMax" | "heapMegabytesMax"
export type RulesLimits = { readonly [Name in LimitName]: number }

/** A scope that closes kills the thread; requests under way fail. */
export const makeRuleExtractor = Effect.fn("RuleExtractor.make")(function* (
  limits: RulesLimits = rulesLimits
): Effect.fn.Return<Extractor["Service"], never, Scope.Scope> {
  const scope = yield* Scope.Scope
  const pool = yield* openWorkerThread<RulesTask, RulesAnswer>({
    ...rulesLimits,
    ...limits,
    entry: new URL("./RulesWorker.ts", import.meta.url)
  })
  const run = (task: RulesTask) =>
    // The signal of an interrupted attempt makes the pool end the thread that works on it.
    Effect.tryPromise({ try: (signal) => pool.run(task, { signal }), catch: failureOf })
  const turns = PartitionedSemaphore.makeUnsafe<string>({ permits: 1 })
  const waiting = new Map<string, number>()
  let underWay = 0
  let isLoaded = false

  // A thread takes a second or more to load its dictionaries. That is nobody's deadline, and a client
  // that goes away meanwhile does not make the next one wait for another thread.
  const load = Effect.suspend(() =>
    isLoaded && pool.threads.length > 0
      ? Effect.void
      : run(nothingToRead).pipe(
          Effect.timeoutOrElse({ duration: rulesLimits.startMillisMax, orElse: () => tooSlow }),
          Effect.tap(() => Effect.sync(() => (isLoaded = true))),
          Effect.forkIn(scope),
          Effect.flatMap(Fiber.join)
        )
  )
  const read = (request: ExtractionRequest) =>
    run(taskOf(request)).pipe(
      Effect.timeoutOrElse({ duration: limits.deadlineMillis, orElse: () => tooSlow }),
      Effect.onExit((exit) => Effect.sync(() => (isLoaded = exit._tag === "Success")))
    )
  const inTurn = (request: ExtractionRequest) =>
    Effect.uninterruptibleMask((restore) =>
      restore(
        turns
          .take(request.account, 1)
          .pipe(Effect.timeoutOrElse({ duration: limits.waitMillisMax, orElse: () => overloaded }))
      ).pipe(Effect.andThen(restore(Effect.andThen(load, read(request))).pipe(Effect.ensuring(turns.release(1)))))
    )
  yield* turns.withPermit("")(load).pipe(Effect.ignore, Effect.forkScoped)

  const enter = (account: string, step: 1 | -1) =>
    Effect.sync(() => {
      underWay += step
      const own = (waiting.get(account) ?? 0) + step
      if (own === 0) waiting.delete(account)
      else waiting.set(account, own)
    })
  const extract = Effect.fn("RuleExtractor.extract")(function* (request: ExtractionRequest) {
    const { account } = request
    if (request.messages.length === 0) return { candidates: [], dropped: [], summary: request.summary }
    // One is read, the others wait.
    if (underWay > limits.queueMax || (waiting.get(account) ?? 0) > limits.queuePerAccountMax) return yield* overloaded
    return yield* Effect.acquireUseRelease(
      enter(account, 1),
      () => inTurn(request),
      () => enter(account, -1)
    )
  })
  return { name: "rules", extract }
})

export const RuleExtractor = { layer: Layer.effect(Extractor, makeRuleExtractor()) } as const

/** Loads every dictionary. */
const nothingToRead: RulesTask = {
  kinds: [],
  messages: [{ role: "user", content: "My name is Ada." }],
  context: [],
  summary: undefined,
  conversationDate: "2000-01-01"
}

const tooSlow = Effect.fail(new ModelFailure({ reason: "timeout", message: "the rules took too long" }))

const overloaded = Effect.fail(
  new ModelFailure({ reason: "overloaded", message: "too many conversations are being read", retryAfterSeconds: 1 })
)

/** Without what the rules have no use for: whose budget, and schemas' uniqueness. */
const taskOf = ({ context, conversationDate, kinds, messages, summary }: ExtractionRequest): RulesTask => ({
  kinds: kinds.map(({ description, name, schema }) => ({ name, description, schema })),
  messages: messages.map(({ content, role }) => ({ role, content })),
  context: context.slice(-rulesLimits.contextMessagesMax).map(({ content, role }) => ({ role, content })),
  summary,
  conversationDate
})

const failureOf = (cause: unknown): ModelFailure => {
  const detail = cause instanceof Error ? cause : new Error(String(cause))
  const code = "code" in detail ? detail.code : undefined
  if (code === "ERR_WORKER_OUT_OF_MEMORY" || /terminating worker/i.test(detail.message)) {
    return new ModelFailure({ reason: "timeout", message: "the rules ran out of memory or were stopped" })
  }
  return new ModelFailure({ reason: "malformed", message: "the rules failed on this conversation" })
}
