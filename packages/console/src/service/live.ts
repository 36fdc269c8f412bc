/**
 * What happens now: calls, asked for again and again, and the stream of an account's events; neither has any content.
 *
 * Invariant: what ended while the page was paused or without a connection comes afterwards, once.
 */
import type { AccountEvent } from "@muniment/domain/Events"
import type { RequestRecord } from "@muniment/domain/Operations"
import { useEffect, useRef, useState } from "preact/hooks"
import { type ApiError, call, callStream } from "./api.ts"
import { after, every, now } from "./browser.ts"
import { asApiError } from "./load.ts"
import type { Parameters } from "./route.ts"

/** Of a tail; older ones go. */
const rowsMax = 500
const askMillis = 2_000
const caughtUpMax = 1_000

export interface Tail<A> {
  /** Undefined: not known yet. Newest first, or the slowest. */
  readonly rows: ReadonlyArray<A> | undefined
  /** Why nothing comes at the moment; it is tried again. */
  readonly problem: ApiError | undefined
}

const callsOf = async (query: Parameters & { readonly limit: string }, signal: AbortSignal) =>
  (await call("GET", "/admin/requests", { query, signal })).requests

/** Calls that pass the filters. */
export const useCalls = (filters: Parameters, isPaused: boolean): Tail<RequestRecord> => {
  const [rows, setRows] = useState<ReadonlyArray<RequestRecord> | undefined>(undefined)
  const [problem, setProblem] = useState<ApiError | undefined>(undefined)
  const known = useRef<ReadonlyArray<RequestRecord> | undefined>(undefined)
  const key = JSON.stringify(filters)
  useEffect(() => {
    known.current = undefined
  }, [key])
  useEffect(() => {
    if (isPaused) return
    const controller = new AbortController()
    const { signal } = controller
    let isAsking = false
    const ask = async (): Promise<void> => {
      if (isAsking) return
      isAsking = true
      const earlier = known.current
      const isTail = filters["order"] !== "slowest" && earlier !== undefined
      const newest = isTail ? String(earlier[0]?.id ?? 0) : undefined
      try {
        const limit = isTail ? caughtUpMax : rowsMax
        const found = await callsOf({ ...filters, after: newest, limit: String(limit) }, signal)
        if (signal.aborted) return
        const isGap = found.length === limit
        known.current = (isTail && !isGap ? [...found, ...earlier] : found).slice(0, rowsMax)
        setRows(known.current)
        setProblem(undefined)
      } catch (cause) {
        if (!signal.aborted) setProblem(asApiError(cause))
      } finally {
        isAsking = false
      }
    }
    void ask()
    const end = every(askMillis, () => void ask())
    return () => {
      controller.abort()
      end()
    }
  }, [key, isPaused])
  return { rows, problem }
}

/** An event and when it arrived here, which names its row. */
export interface Told {
  readonly event: AccountEvent
  readonly id: string
}

/** The service says something every ten seconds; a stream that is silent for longer is gone. */
const silentMillis = 25_000
const againMillisMin = 1_000
const againMillisMax = 10_000

const isForGood = ({ status }: ApiError): boolean => status >= 400 && status < 500 && status !== 429

/** Events of the account, newest first: a stream that ends is begun again behind the last event that came. */
export const useEvents = (
  { agentId, from }: { readonly agentId: string; readonly from: string },
  isPaused: boolean
): Tail<Told> & { readonly isOpen: boolean } => {
  const [rows, setRows] = useState<ReadonlyArray<Told>>([])
  const [problem, setProblem] = useState<ApiError | undefined>(undefined)
  const [isOpen, setOpen] = useState(false)
  const last = useRef("")
  useEffect(() => {
    last.current = ""
    setRows([])
  }, [agentId, from])
  useEffect(() => {
    if (isPaused) return
    let isEnded = false
    let wait = againMillisMin
    let controller = new AbortController()
    let cancel = (): void => undefined
    const take = (frame: Frame): void => {
      if (frame.id !== undefined) last.current = frame.id
      if (frame.data === undefined) return
      const told = { event: JSON.parse(frame.data) as AccountEvent, id: last.current }
      setRows((earlier) => [told, ...earlier].slice(0, rowsMax))
    }
    const run = async (): Promise<void> => {
      controller = new AbortController()
      let heardAt = now()
      const quiet = every(againMillisMin, () => now() - heardAt > silentMillis && controller.abort())
      try {
        const headers = { accept: "text/event-stream", ...(last.current !== "" && { "last-event-id": last.current }) }
        const query = { agentId, from: last.current === "" ? from : undefined }
        const response = await callStream("/v1/events", { query, headers, signal: controller.signal })
        setOpen(true)
        setProblem(undefined)
        wait = againMillisMin
        for await (const frame of framesOf(response, () => (heardAt = now()))) if (!isEnded) take(frame)
      } catch (cause) {
        if (isEnded) return
        const error = asApiError(cause)
        if (!controller.signal.aborted) setProblem(error)
        if (isForGood(error)) return
      } finally {
        quiet()
        if (!isEnded) setOpen(false)
      }
      if (isEnded) return
      cancel = after(wait, () => void run())
      wait = Math.min(2 * wait, againMillisMax)
    }
    void run()
    return () => {
      isEnded = true
      setOpen(false)
      cancel()
      controller.abort()
    }
  }, [agentId, from, isPaused])
  return { rows, problem, isOpen }
}

interface Frame {
  readonly id: string | undefined
  readonly data: string | undefined
}

/**
 * Frames of server-sent events, as this service writes them: a line for each field. One may be a position alone, which a
 * reader by the standard keeps to itself.
 */
async function* framesOf(response: Response, hear: () => void): AsyncGenerator<Frame> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ""
  for (;;) {
    const part = await reader?.read()
    if (part === undefined || part.done) return
    hear()
    text += part.value
    const frames = text.split("\n\n")
    text = frames.pop() ?? ""
    for (const frame of frames) yield { id: fieldOf("id", frame), data: fieldOf("data", frame) }
  }
}

const fieldOf = (name: string, frame: string): string | undefined =>
  frame
    .split("\n")
    .find((line) => line.startsWith(`${name}: `))
    ?.slice(name.length + 2)
