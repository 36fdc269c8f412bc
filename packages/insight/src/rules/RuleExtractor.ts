/**
 * Implements `Extractor` without a language model: English rules on a worker thread with a capped heap, a bounded
 * queue and a bound of processor time after which the thread is ended. Accounts take turns, so one account's slow
 * conversations delay another's by at most one deadline. A lost thread is started anew at once. A background reading
 * begins when no other is under way or waits. It costs no model budget.
 */
import { Effect, Latch, Layer, PartitionedSemaphore, type Scope } from "effect"
import { openWorkerThread, type WorkerFailure } from "@muniment/worker/WorkerThread"
import { ModelFailure } from "@muniment/models/llm/ModelFailure"
import { type ExtractionRequest, Extractor, type Turn } from "../extraction/Extractor.ts"
import { type RulesAnswer, rulesLimits, type RulesTask } from "./RulesProtocol.ts"

type LimitName =
  | "cpuMillisMax"
  | "deadlineMillis"
  | "queueMax"
  | "queuePerAccountMax"
  | "waitMillisMax"
  | "heapMegabytesMax"
export type RulesLimits = { readonly [Name in LimitName]: number }

/** Closing the scope ends the thread; requests under way fail. */
export const makeRuleExtractor = Effect.fn("RuleExtractor.make")(function* (
  limits: RulesLimits = rulesLimits
): Effect.fn.Return<Extractor["Service"], never, Scope.Scope> {
  const scope = yield* Effect.scope
  const { heapMegabytesMax } = limits
  const { idleMillis, stackMegabytes, youngHeapMegabytesMax } = rulesLimits
  const thread = yield* openWorkerThread<RulesTask, RulesAnswer>({
    name: "rules",
    entry: new URL("./RulesWorker.ts", import.meta.url),
    concurrency: 1,
    // Accounts wait for their turn below.
    queueMax: 0,
    heapMegabytesMax,
    youngHeapMegabytesMax,
    stackMegabytes,
    idleMillis,
    endsIfAbandoned: true
  })
  const turns = PartitionedSemaphore.makeUnsafe<string>({ permits: 1 })
  const count = readingCount()

  const { cpuMillisMax, deadlineMillis } = limits
  const read = (request: ExtractionRequest) =>
    thread.ask(taskOf(request), { cpuMillisMax, deadlineMillis }).pipe(
      // The next conversation finds a thread that is warm, or warms up already.
      Effect.onError(() => Effect.forkIn(Effect.ignore(thread.start), scope)),
      Effect.catchTag("WorkerFailure", (failure) => (failure.reason === "starved" ? starved : failureOf(failure)))
    )
  const turnMillisOf = ({ turnMillisMax = limits.waitMillisMax }: ExtractionRequest) =>
    Math.min(turnMillisMax, limits.waitMillisMax)
  const inTurn = (request: ExtractionRequest) =>
    Effect.uninterruptibleMask((restore) =>
      restore(
        turns
          .take(request.account, 1)
          .pipe(Effect.timeoutOrElse({ duration: turnMillisOf(request), orElse: () => overloaded }))
      ).pipe(Effect.andThen(restore(read(request)).pipe(Effect.ensuring(turns.release(1)))))
    )

  const extract = Effect.fn("RuleExtractor.extract")(function* (request: ExtractionRequest) {
    const { account } = request
    if (request.messages.length === 0) return { candidates: [], dropped: [], summary: request.summary }
    // One runs, the others wait.
    if (count.underWay() > limits.queueMax || count.of(account) > limits.queuePerAccountMax) return yield* overloaded
    return yield* count.during(account, inTurn(request))
  })
  // Counts as a reading: others find the thread busy while it starts.
  const ready = (account: string) => count.during(account, Effect.ignore(thread.start))
  return {
    name: "rules",
    problem: Effect.undefined,
    extract,
    extractAtOnce: undefined,
    estimate: () => Effect.undefined,
    ready,
    underWay: () => Effect.sync(count.underWay),
    untilFree: count.untilFree
  }
})

/** Readings that are under way or wait for their turn, and of which accounts. */
const readingCount = () => {
  const waiting = new Map<string, number>()
  const free = Latch.makeUnsafe(true)
  let underWay = 0
  const enter = (account: string, step: 1 | -1) =>
    Effect.sync(() => {
      underWay += step
      if (underWay === 0) free.openUnsafe()
      else free.closeUnsafe()
      const own = (waiting.get(account) ?? 0) + step
      if (own === 0) waiting.delete(account)
      else waiting.set(account, own)
    })
  return {
    underWay: () => underWay,
    of: (account: string) => waiting.get(account) ?? 0,
    during: <A, E, R>(account: string, reading: Effect.Effect<A, E, R>) =>
      Effect.acquireUseRelease(
        enter(account, 1),
        () => reading,
        () => enter(account, -1)
      ),
    // Another may have come between the signal and its receipt.
    untilFree: () => Effect.whileLoop({ while: () => underWay > 0, body: () => free.await, step: () => undefined })
  }
}

export const RuleExtractor = { layer: Layer.effect(Extractor, makeRuleExtractor()) } as const

const failure = (reason: ModelFailure["reason"], message: string, retryAfterSeconds?: number): ModelFailure =>
  new ModelFailure({ by: "rules", reason, message, retryAfterSeconds })

const overloaded = Effect.fail(failure("overloaded", "too many conversations are being read", 1))

/** The machine gave the thread no time: nothing is known of the conversation. */
const starved = Effect.fail(failure("overloaded", "the machine is too busy to read it now", 1))

/** Only what the rules need travels to the thread. */
const taskOf = ({
  context,
  conversationDate,
  kinds,
  messages,
  speakerName,
  summary
}: ExtractionRequest): RulesTask => ({
  kinds: kinds.map(({ description, name, schema, uniqueOn }) => ({ name, description, schema, uniqueOn })),
  messages: messages.map(turnOf),
  context: context.slice(-rulesLimits.contextMessagesMax).map(turnOf),
  summary,
  speakerName,
  conversationDate
})

const turnOf = ({ content, name, role, sentAt }: Turn): Turn => ({ role, content, name, sentAt })

const failureOf = ({ reason }: WorkerFailure): ModelFailure => {
  switch (reason) {
    case "deadline":
      return failure("timeout", "the rules took too long")
    case "failed":
      return failure("malformed", "the rules failed on this conversation")
    default:
      return failure("timeout", "the rules ran out of memory or were stopped")
  }
}
