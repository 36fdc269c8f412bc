/**
 * One validation worker and the conversation with it: a heap cap, a deadline, and a verdict when it is
 * lost. A lane carries one request at a time and is not used again once it was lost. Closing its scope
 * terminates the thread.
 */
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads"
import { Data, Deferred, Effect, type Scope } from "effect"
import type { Outcome } from "./CompiledSchemas.ts"
import { validationDeadlineMillis, type ValidationRequest, type WorkerMessage } from "./ValidationProtocol.ts"

/** The worker is gone: too slow, over its heap, or ended by itself. */
export class LaneLost extends Data.TaggedError("LaneLost")<{
  readonly reason: "deadline" | "memory" | "crash"
  readonly detail: string
}> {}

export interface ValidationLane {
  /** Succeeds when the worker has loaded and warmed up. */
  readonly ready: Effect.Effect<void, LaneLost>
  readonly isLost: () => boolean
  readonly ask: (request: ValidationRequest) => Effect.Effect<ReadonlyArray<Outcome>, LaneLost>
}

export const laneLimits = {
  deadlineMillis: validationDeadlineMillis,
  heapMegabytesMax: 128,
  youngHeapMegabytesMax: 32,
  stackMegabytes: 4
} as const
export type LaneLimits = { readonly [Name in keyof typeof laneLimits]: number }

/** Starts a worker that ends with the scope. */
export const openLane = Effect.fn("ValidationLane.open")(function* (
  limits: LaneLimits = laneLimits
): Effect.fn.Return<ValidationLane, never, Scope.Scope> {
  const ready = yield* Deferred.make<void, LaneLost>()
  const { port1: port, port2 } = new MessageChannel()
  const worker = yield* Effect.acquireRelease(
    Effect.sync(() => startWorker(port2, limits)),
    (started) => Effect.promise(() => started.terminate()).pipe(Effect.andThen(Effect.sync(() => port.close())))
  )
  let lost: LaneLost | undefined
  let answer: ((result: Effect.Effect<ReadonlyArray<Outcome>, LaneLost>) => void) | undefined

  const hear = (message: WorkerMessage) => {
    if (message.kind === "ready") return Deferred.doneUnsafe(ready, Effect.void)
    answer?.(Effect.succeed(message.outcomes))
    answer = undefined
  }
  const lose = (loss: LaneLost) => {
    lost ??= loss
    Deferred.doneUnsafe(ready, Effect.fail(lost))
    answer?.(Effect.fail(lost))
  }
  port.on("message", hear)
  worker.on("error", (cause: Error & { readonly code?: string }) =>
    lose(
      new LaneLost({ reason: cause.code === "ERR_WORKER_OUT_OF_MEMORY" ? "memory" : "crash", detail: String(cause) })
    )
  )
  worker.on("exit", (code) => lose(new LaneLost({ reason: "crash", detail: `exit code ${code}` })))

  const exchange = (request: ValidationRequest) =>
    Effect.callback<ReadonlyArray<Outcome>, LaneLost>((resume) => {
      if (lost !== undefined) return resume(Effect.fail(lost))
      answer = resume
      port.postMessage(request)
      return Effect.sync(() => {
        answer = undefined
      })
    })
  // Timers run before messages: when this thread was busy, the answer may lie in the port unread.
  const lateAnswer = Effect.suspend(() => {
    const late: { readonly message: WorkerMessage } | undefined = receiveMessageOnPort(port)
    if (late?.message.kind === "outcomes") return Effect.succeed(late.message.outcomes)
    lost ??= new LaneLost({ reason: "deadline", detail: `no answer within ${limits.deadlineMillis} ms` })
    return Effect.fail(lost)
  })
  return {
    ready: Deferred.await(ready),
    isLost: () => lost !== undefined,
    ask: (request) =>
      exchange(request).pipe(Effect.timeoutOrElse({ duration: limits.deadlineMillis, orElse: () => lateAnswer }))
  }
})

const startWorker = (port: MessageChannel["port2"], limits: LaneLimits): Worker =>
  new Worker(new URL("./ValidationWorker.ts", import.meta.url), {
    workerData: { port },
    transferList: [port],
    env: {},
    execArgv: [],
    resourceLimits: {
      maxOldGenerationSizeMb: limits.heapMegabytesMax,
      maxYoungGenerationSizeMb: limits.youngHeapMegabytesMax,
      stackSizeMb: limits.stackMegabytes
    }
  })
