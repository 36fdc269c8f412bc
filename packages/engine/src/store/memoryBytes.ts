/** Bytes that a memory takes (contract: Quotas), as the triggers of its file count them. */
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord } from "@muniment/domain/Memory"

/** What few memories have. */
export type Extras = Pick<MemoryRecord, "changedAt" | "feedback" | "metadata" | "revision">

/** As the file has it, JSON; undefined: nothing. */
export const extrasText = ({ changedAt, feedback, metadata, revision }: Extras): string | undefined => {
  const text = JSON.stringify({ changedAt, metadata, revision, feedback } satisfies Extras)
  return text === "{}" ? undefined : text
}

type Counted = Pick<MemoryRecord, "data" | "feedback" | "metadata" | "tags">

export const memoryBytes = ({ data, feedback, metadata, tags }: Counted): number =>
  Buffer.byteLength(JSON.stringify(data)) +
  tagBytes(tags) +
  jsonBytes(metadata) +
  jsonBytes(feedback) +
  Limits.memoryOverheadBytes

export const tagBytes = (tags: ReadonlyArray<string>): number => Buffer.byteLength(JSON.stringify(tags))

export const metadataBytes = (metadata: MemoryRecord["metadata"]): number => jsonBytes(metadata)

export const feedbackBytes = (feedback: MemoryRecord["feedback"]): number => jsonBytes(feedback)

const jsonBytes = (json: MemoryRecord["feedback"] | MemoryRecord["metadata"]): number =>
  json === undefined ? 0 : Buffer.byteLength(JSON.stringify(json))
