/**
 * The thread's side of `WorkerThread`. The entry module of a thread prepares itself (dictionaries, warm-up) and
 * then calls `serve` with the function that answers a request.
 *
 * Invariant: `answer` is called in the order of the requests, each with its turn of the thread's event loop; only
 * an `answer` that returns a promise lets the next one begin before it has ended.
 */
import { constants, getPriority, setPriority } from "node:os"
import { workerData } from "node:worker_threads"
import type { FromThread, ThreadData, ToThread } from "./WorkerProtocol.ts"

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
