/**
 * Entry of the log thread: writes and syncs. `LogQueue` sends one message of records at a time, whose buffers are handed
 * over, not copied; its records share one sync.
 */
import { serve, settingsOf } from "@muniment/worker/WorkerEntry"
import type { LogEntry } from "./CommitLog.ts"
import { type PlacedRecord, SegmentWriter } from "./SegmentWriter.ts"

export interface LogThreadSettings {
  readonly directory: string
  readonly segmentBytes: number
}

export type LogRequest =
  /** `isSync` false: the records may wait for the next sync. */
  | { readonly _tag: "Write"; readonly records: ReadonlyArray<PlacedRecord>; readonly isSync: boolean }
  | { readonly _tag: "Erase"; readonly entries: ReadonlyArray<LogEntry> }
  | { readonly _tag: "Drop"; readonly segments: ReadonlyArray<number> }

export type LogReply =
  /** `syncs`: how many the thread has made. */
  | { readonly _tag: "Written"; readonly isSynced: boolean; readonly syncs: number }
  | { readonly _tag: "Erased"; readonly count: number }
  | { readonly _tag: "Dropped" }

interface Waiting {
  readonly request: Extract<LogRequest, { readonly _tag: "Write" }>
  readonly done: (reply: LogReply) => void
  readonly fail: (cause: unknown) => void
}

const { directory, segmentBytes } = settingsOf<LogThreadSettings>()
const writer = new SegmentWriter(directory, segmentBytes)
let waiting: Array<Waiting> = []
let syncs = 0

const answer = (request: LogRequest): LogReply | Promise<LogReply> => {
  switch (request._tag) {
    case "Write":
      return new Promise((done, fail) => {
        waiting.push({ request, done, fail })
        // Behind the messages that have arrived.
        if (waiting.length === 1) setImmediate(writeWaiting)
      })
    case "Erase":
      return { _tag: "Erased", count: writer.erase(request.entries) }
    case "Drop":
      writer.drop(request.segments)
      return { _tag: "Dropped" }
  }
}

const writeWaiting = (): void => {
  const group = waiting
  waiting = []
  try {
    const isSynced = group.some(({ request }) => request.isSync)
    writer.write(
      group.flatMap(({ request }) => request.records),
      isSynced
    )
    if (isSynced) syncs++
    free(group)
    for (const { done } of group) done({ _tag: "Written", isSynced, syncs })
  } catch (cause) {
    for (const { fail } of group) fail(cause)
  }
}

/** At once: this thread's small heap is rarely collected. */
const free = (group: ReadonlyArray<Waiting>): void => {
  for (const { request } of group) {
    for (const { bytes } of request.records) if (bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0)
  }
}

serve(answer, {
  onClose: async () => {
    writer.close()
  }
})
