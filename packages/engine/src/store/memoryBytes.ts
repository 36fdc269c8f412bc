/** Bytes that a memory takes (contract: Quotas), as the triggers of its file count them. */
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord } from "@muniment/domain/Memory"

/** What few memories have. */
export type Extras = Pick<MemoryRecord, "changedAt">

/** As the file has it, JSON; undefined: nothing. */
export const extrasText = ({ changedAt }: Extras): string | undefined =>
  changedAt === undefined ? undefined : JSON.stringify({ changedAt } satisfies Extras)

export const memoryBytes = (record: Pick<MemoryRecord, "data" | "tags"> & Extras): number =>
  Buffer.byteLength(JSON.stringify(record.data)) +
  tagBytes(record.tags) +
  Buffer.byteLength(extrasText(record) ?? "") +
  Limits.memoryOverheadBytes

export const tagBytes = (tags: ReadonlyArray<string>): number => Buffer.byteLength(JSON.stringify(tags))
