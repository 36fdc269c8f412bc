/** Records in the segments of a commit log, as they lie there. */
import { existsSync, readFileSync } from "node:fs"
import { headerBytes, readHeader, recordAlign, type RecordHeader } from "@muniment/engine/log/logFormat"
import { listSegments, segmentPath } from "@muniment/engine/log/segmentFiles"

export interface LoggedRecord {
  readonly path: string
  readonly at: number
  readonly header: RecordHeader
}

/** Of which a record says that they are synced, of which another says the same. */
export const safeRecords = (directory: string): ReadonlyArray<LoggedRecord> => {
  const records = listSegments(directory).flatMap((segment) => recordsIn(segmentPath(directory, segment)))
  const synced = (through: number) =>
    records.reduce(
      (most, { header: { ordinal, unsynced } }) => (ordinal <= through ? Math.max(most, ordinal - unsynced - 1) : most),
      0
    )
  const through = synced(synced(Infinity))
  return records.filter(({ header }) => header.ordinal <= through)
}

export const recordsIn = (path: string): ReadonlyArray<LoggedRecord> => {
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
  const records: Array<LoggedRecord> = []
  for (let at = 0; at + headerBytes <= bytes.length;) {
    const header = readHeader(bytes, at)
    if (header !== undefined) records.push({ path, at, header })
    at += Math.max(recordAlign, header?.length ?? 0)
  }
  return records
}
