/**
 * One embedding thread as a scoped resource: requests become effects, replies are matched by
 * number, and a thread that ends for whatever reason fails every request that was waiting and each
 * one that comes after. It never restarts itself; `ModelLoader` decides that.
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { once } from "node:events"
import { setTimeout as pause } from "node:timers/promises"
import { Worker } from "node:worker_threads"
import { closeRequest } from "./EmbeddingProtocol.ts"
import type { Numbered, ThreadReply, ThreadRequest, ThreadSettings } from "./EmbeddingProtocol.ts"

/** The thread is gone, or refused this one request (`isDead` tells which). */
export class ThreadFailed extends Data.TaggedError("ThreadFailed")<{
  readonly reason: string
  readonly isDead: boolean
}> {}

export interface EmbeddingThread {
  readonly request: (request: ThreadRequest) => Effect.Effect<ThreadReply, ThreadFailed>
  /** Suspends until the thread is dead; gives the reason. */
  readonly died: Effect.Effect<string>
  /** Gives the thread up at once; its end is waited for when the scope closes. */
  readonly kill: (reason: string) => Effect.Effect<void>
}

/** Loading the slowest model takes a tenth of this on an idle machine. */
const closeMillisMax = 10_000

export const openThread = (
  entry: URL,
  settings: ThreadSettings,
  /** Called once, before the requests that wait are failed. */
  onDeath: (reason: string) => void
): Effect.Effect<EmbeddingThread, never, Scope.Scope> =>
  Effect.gen(function* () {
    const died = yield* Deferred.make<string>()
    const waiting = new Map<number, Deferred.Deferred<ThreadReply, ThreadFailed>>()
    let requestCount = 0
    let deathReason: string | undefined

    const die = (reason: string) => {
      if (deathReason !== undefined) return
      deathReason = reason
      onDeath(reason)
      const failure = Effect.fail(new ThreadFailed({ reason, isDead: true }))
      for (const reply of waiting.values()) Deferred.doneUnsafe(reply, failure)
      waiting.clear()
      Deferred.doneUnsafe(died, Effect.succeed(reason))
    }

    const worker = yield* Effect.acquireRelease(
      // No flags of the parent: a test runner's or a debugger's would be inherited.
      Effect.sync(() => new Worker(entry, { workerData: settings, execArgv: [] })),
      (worker) =>
        Effect.promise(async () => {
          die("the embedding thread was closed")
          await ended(worker)
        })
    )
    worker.on("error", (cause) => die(cause instanceof Error ? cause.message : String(cause)))
    worker.on("exit", (code) => die(`the embedding thread ended with code ${code}`))
    worker.on("message", (reply: ThreadReply) => {
      const waiter = waiting.get(reply.requestId)
      // A reply to a request whose asker was interrupted has no reader.
      if (waiter === undefined) return
      waiting.delete(reply.requestId)
      Deferred.doneUnsafe(
        waiter,
        reply.type === "failed"
          ? Effect.fail(new ThreadFailed({ reason: reply.reason, isDead: false }))
          : Effect.succeed(reply)
      )
    })

    return {
      died: Deferred.await(died),
      kill: (reason) => Effect.sync(() => die(reason)),
      request: (request) =>
        Effect.suspend(() => {
          if (deathReason !== undefined) {
            return Effect.fail(new ThreadFailed({ reason: deathReason, isDead: true }))
          }
          const requestId = requestCount++
          const reply = Deferred.makeUnsafe<ThreadReply, ThreadFailed>()
          waiting.set(requestId, reply)
          const numbered: Numbered<ThreadRequest> = { ...request, requestId }
          worker.postMessage(numbered)
          return Deferred.await(reply).pipe(Effect.onInterrupt(() => Effect.sync(() => waiting.delete(requestId))))
        })
    } satisfies EmbeddingThread
  })

/** Ends a thread: asked first, because terminating it inside a native call aborts the process. */
const ended = async (worker: Worker): Promise<void> => {
  if (worker.threadId === -1) return
  const exit = once(worker, "exit")
  worker.postMessage(closeRequest)
  const isLate = await Promise.race([exit.then(() => false), pause(closeMillisMax, true, { ref: false })])
  if (isLate) await worker.terminate()
}
