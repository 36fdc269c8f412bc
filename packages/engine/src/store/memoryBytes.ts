/** Bytes that a memory takes (contract: Quotas), as the triggers of its file count them. */
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord } from "@muniment/domain/Memory"

export const memoryBytes = ({ data, tags }: Pick<MemoryRecord, "data" | "tags">): number =>
  Buffer.byteLength(JSON.stringify(data)) + tagBytes(tags) + Limits.memoryOverheadBytes

export const tagBytes = (tags: ReadonlyArray<string>): number => Buffer.byteLength(JSON.stringify(tags))
