/** Bytes that a memory takes (contract: Quotas), as the triggers of its file count them. */
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord } from "@muniment/domain/Memory"

/** What few memories have. */
export type Extras = Pick<MemoryRecord, "changedAt" | "metadata" | "revision">

/** As the file has it, JSON; undefined: nothing. */
export const extrasText = ({ changedAt, metadata, revision }: Extras): string | undefined => {
  const text = JSON.stringify({ changedAt, metadata, revision } satisfies Extras)
  return text === "{}" ? undefined : text
}

export const memoryBytes = ({ data, metadata, tags }: Pick<MemoryRecord, "data" | "metadata" | "tags">): number =>
  Buffer.byteLength(JSON.stringify(data)) + tagBytes(tags) + metadataBytes(metadata) + Limits.memoryOverheadBytes

export const tagBytes = (tags: ReadonlyArray<string>): number => Buffer.byteLength(JSON.stringify(tags))

export const metadataBytes = (metadata: MemoryRecord["metadata"]): number =>
  metadata === undefined ? 0 : Buffer.byteLength(JSON.stringify(metadata))
