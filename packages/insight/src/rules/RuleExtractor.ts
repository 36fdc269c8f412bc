/**
 * The port `Extractor` without a model: English rules in a thread of their own, with a capped heap, a
 * bounded queue and a deadline after which the thread is killed. It spends nobody's budget.
 */
import { Deferred, Effect, Layer, type Scope } from "effect"
import { Piscina } from "piscina"
import { ModelFailure } from "@muniment/models/llm/StructuredModel"
import { type ExtractionRequest, Extractor } from "../extraction/Extractor.ts"
import { type RulesAnswer, rulesLimits, type RulesTask } from "./RulesProtocol.ts"

export type RulesLimits = { readonly [Name in "deadlineMillis" | "queueMax" | "heapMegabytesMax"]: number }

/** A scope that closes kills the thread; requests under way fail. */
export const makeRuleExtractor = Effect.fn("RuleExtractor.make")(function* (
  limits: RulesLimits = rulesLimits
): Effect.fn.Return<Extractor["Service"], never, Scope.Scope> {
  const pool = yield* Effect.acquireRelease(
    Effect.sync(() => startPool(limits)),
    (started) => Effect.promise(() => started.destroy())
  )
  const run = (task: RulesTask) =>
    // The signal of an interrupted attempt makes the pool end the thread that works on it.
    Effect.tryPromise({ try: (signal) => pool.run(task, { signal }), catch: failureOf })
  // A thread takes a second to load its dictionaries: it does so before the first conversation comes.
  const ready = yield* Deferred.make<void>()
  yield* run(nothingToRead).pipe(Effect.ignore, Effect.andThen(Deferred.succeed(ready, undefined)), Effect.forkScoped)
  let underWay = 0
  const extract = Effect.fn("RuleExtractor.extract")(function* (request: ExtractionRequest) {
    if (request.messages.length === 0) return { candidates: [], dropped: [], summary: request.summary }
    // One is read, the others wait.
    if (underWay > limits.queueMax) return yield* overloaded
    underWay++
    // A deadline that strikes while the thread still loads must not kill it: the next one would load as long.
    return yield* Deferred.await(ready).pipe(
      Effect.andThen(run(taskOf(request))),
      Effect.timeoutOrElse({ duration: limits.deadlineMillis, orElse: () => tooSlow }),
      Effect.ensuring(Effect.sync(() => underWay--))
    )
  })
  return { name: "rules", extract }
})

export const RuleExtractor = { layer: Layer.effect(Extractor, makeRuleExtractor()) } as const

const nothingToRead: RulesTask = {
  kinds: [],
  messages: [{ role: "user", content: "My name is Ada." }],
  context: [],
  summary: undefined,
  conversationDate: "2000-01-01"
}

const startPool = (limits: RulesLimits): Piscina<RulesTask, RulesAnswer> =>
  new Piscina<RulesTask, RulesAnswer>({
    filename: new URL("./RulesWorker.ts", import.meta.url).href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: rulesLimits.idleMillis,
    maxQueue: limits.queueMax + 1,
    env: {},
    execArgv: [],
    resourceLimits: {
      maxOldGenerationSizeMb: limits.heapMegabytesMax,
      maxYoungGenerationSizeMb: rulesLimits.youngHeapMegabytesMax,
      stackSizeMb: rulesLimits.stackMegabytes
    }
  })

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
