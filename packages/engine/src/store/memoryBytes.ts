/** Bytes that a memory takes (contract: Quotas), as the triggers of its file count them. */
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord } from "@muniment/domain/Memory"

/** What few memories have. */
export type Extras = Pick<MemoryRecord, "changedAt" | "metadata">

/** As the file has it, JSON; undefined: nothing. */
export const extrasText = ({ changedAt, metadata }: Extras): string | undefined => {
  const text = JSON.stringify({ changedAt, metadata } satisfies Extras)
  return text === "{}" ? undefined : text
}

export const memoryBytes = (record: Pick<MemoryRecord, "data" | "tags"> & Extras): number =>
  Buffer.byteLength(JSON.stringify(record.data)) +
  tagBytes(record.tags) +
  Buffer.byteLength(extrasText(record) ?? "") +
  Limits.memoryOverheadBytes

export const tagBytes = (tags: ReadonlyArray<string>): number => Buffer.byteLength(JSON.stringify(tags))

export const metadataBytes = (metadata: MemoryRecord["metadata"]): number =>
  Buffer.byteLength(extrasText({ metadata }) ?? "")
