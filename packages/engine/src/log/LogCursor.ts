/**
 * Reads all records in their order, of every kind, as bytes: for archives and restores. Needs no more than the files,
 * so it runs in any thread.
 */
import { closeSync, openSync, readSync } from "node:fs"
import { LogDamaged } from "./LogError.ts"
import { headerBytes, isBodyWhole, readHeader, type RecordHeader } from "./logFormat.ts"
import { segmentPath } from "./segmentFiles.ts"

export interface RawRecord {
  readonly header: RecordHeader
  /** Header and body. */
  readonly bytes: Buffer
}

/**
 * The records of a segment with ordinals from `fromOrdinal` to `toOrdinal`, both included. Throws `LogDamaged` at one
 * that is not whole. Erased ones are among them, without their bodies.
 */
export const recordsOf = function* (
  directory: string,
  segment: number,
  fromOrdinal: number,
  toOrdinal: number
): Generator<RawRecord, void, void> {
  const file = openSync(segmentPath(directory, segment), "r")
  try {
    for (let at = 0, isLast = false; !isLast;) {
      const header = readHeader(read(file, at, headerBytes), 0)
      if (header === undefined) throw damaged(segment, at)
      if (header.ordinal > toOrdinal) return
      if (header.ordinal >= fromOrdinal) {
        const bytes = read(file, at, header.length)
        if (!isBodyWhole(bytes, 0, header)) throw damaged(segment, at)
        yield { header, bytes }
      }
      isLast = header.ordinal === toOrdinal
      at += header.length
    }
  } finally {
    closeSync(file)
  }
}

const damaged = (segment: number, at: number): LogDamaged =>
  new LogDamaged({ reason: `segment ${segment} of the log is damaged at byte ${at}` })

const read = (file: number, at: number, length: number): Buffer => {
  const bytes = Buffer.allocUnsafeSlow(length)
  return bytes.subarray(0, readSync(file, bytes, 0, length, at))
}
