/**
 * The thread's side of `WorkerThread`. The entry module of a thread prepares itself (dictionaries, warm-up) and
 * then calls `serve` with the function that answers a request.
 *
 * Invariant: `answer` is called in the order of the requests, each with its turn of the thread's event loop; only
 * an `answer` that returns a promise lets the next one begin before it has ended.
 */
import { constants, getPriority, setPriority } from "node:os"
import { type MessagePort, workerData } from "node:worker_threads"

export interface ServeOptions<Reply> {
  /** Buffers of a reply that are handed over instead of copied. */
  readonly transfer?: (reply: Reply) => ReadonlyArray<ArrayBuffer>
  /** Runs when the thread is asked to end, after the last reply. */
  readonly onClose?: () => Promise<void>
}

/** `WorkerOptions.settings` of this thread. */
export const settingsOf = <Settings>(): Settings => threadData().settings as Settings

export const serve = <Request, Reply>(
  answer: (request: Request) => Reply | Promise<Reply>,
  { onClose, transfer }: ServeOptions<Reply> = {}
): void => {
  const { begun, niceness, port } = threadData()
  giveWay(niceness)
  const underWay = new Set<Promise<void>>()
  const say = (message: FromThread<Reply>, buffers: ReadonlyArray<ArrayBuffer> = []) =>
    port.postMessage(message, [...buffers])

  const respond = async (id: number, request: Request): Promise<void> => {
    try {
      const reply = await answer(request)
      say({ id, reply }, transfer?.(reply))
    } catch (cause) {
      say({ id, error: cause instanceof Error ? cause.message : String(cause) })
    }
  }
  const close = async (): Promise<void> => {
    await Promise.allSettled(underWay)
    await onClose?.()
    port.close()
  }
  port.on("message", (message: ToThread<Request>) => {
    if (message === "close") return void close()
    const { system, user } = process.threadCpuUsage()
    Atomics.store(begun, 1, BigInt(system + user))
    Atomics.store(begun, 0, BigInt(message.id))
    const response = respond(message.id, message.request)
    underWay.add(response)
    void response.finally(() => underWay.delete(response))
  })
  say("ready")
}

/** On Linux priorities are those of threads; elsewhere the whole process would give way. */
const giveWay = (niceness: number): void => {
  if (niceness === 0 || process.platform !== "linux") return
  setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + niceness))
}

const threadData = (): ThreadData => {
  const data: ThreadData | null | undefined = workerData
  if (data?.port === undefined)
    throw new Error("this module is the entry of a worker thread; start it with WorkerThread")
  return data
}

/**
 * Messages between a worker thread and the service. A request and its reply carry the same `id`. The thread
 * says "ready" once its module is evaluated; "close" asks it to finish what is under way and to end.
 */
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
