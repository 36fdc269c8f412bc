/**
 * Messages between a worker thread and the service. A request and its reply carry the same `id`. The thread
 * says "ready" once its module is evaluated; "close" asks it to finish what is under way and to end.
 */
import type { MessagePort } from "node:worker_threads"

export type ToThread<Request> = { readonly id: number; readonly request: Request } | "close"

/** `error`: the message of what the thread's function threw; a class does not survive the way between threads. */
export type FromThread<Reply> =
  | { readonly id: number; readonly reply: Reply }
  | { readonly id: number; readonly error: string }
  | "ready"

/** `workerData` of every thread. */
export interface ThreadData {
  /** The id of the request that the thread began last, and the thread's processor time then, in microseconds. */
  readonly begun: BigInt64Array
  readonly port: MessagePort
  readonly settings: unknown
  readonly niceness: number
}
