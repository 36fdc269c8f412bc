/**
 * One validation thread: a heap cap and a deadline for each request. It answers one request at a time; a lost
 * thread takes only that request with it.
 */
import { openWorkerThread, type WorkerFailure } from "@muniment/worker/WorkerThread"
import { Effect, type Scope } from "effect"
import {
  validationCpuMillisMax,
  validationDeadlineMillis,
  type ValidationReply,
  type ValidationRequest
} from "./ValidationProtocol.ts"

export interface ValidationThread {
  /** Starts the thread if it is not running; succeeds when it is warm. */
  readonly start: Effect.Effect<void, WorkerFailure>
  readonly validate: (request: ValidationRequest) => Effect.Effect<ValidationReply, WorkerFailure>
}

export const threadLimits = {
  cpuMillisMax: validationCpuMillisMax,
  deadlineMillis: validationDeadlineMillis,
  heapMegabytesMax: 128,
  youngHeapMegabytesMax: 32,
  stackMegabytes: 4
} as const
export type ThreadLimits = { readonly [Name in keyof typeof threadLimits]: number }

/** A thread takes some 25 MB of memory; the first validation after a rest waits for its start. */
const idleMillis = 60_000

export const openValidationThread = Effect.fn("ValidationThread.open")(function* ({
  cpuMillisMax,
  deadlineMillis,
  ...memory
}: ThreadLimits = threadLimits): Effect.fn.Return<ValidationThread, never, Scope.Scope> {
  const thread = yield* openWorkerThread<ValidationRequest, ValidationReply>({
    ...memory,
    name: "validation",
    entry: new URL("./ValidationWorker.ts", import.meta.url),
    concurrency: 1,
    idleMillis,
    // Tenants wait for their turn in `ValidationLane`.
    queueMax: 0
  })
  return { start: thread.start, validate: (request) => thread.ask(request, { cpuMillisMax, deadlineMillis }) }
})
