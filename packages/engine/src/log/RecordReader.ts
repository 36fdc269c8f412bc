/**
 * Reads records where they lie, in any thread. What is synced is in the page cache, so a record costs a call of the
 * kernel and its sums; the thread that applies commits gets places and no bytes.
 *
 * Invariant: a record is handed out only if its sums and its ordinal are right.
 */
import { closeSync, openSync, readSync } from "node:fs"
import { LRUCache } from "lru-cache"
import { LogDamaged } from "./LogError.ts"
import type { LogEntry } from "./CommitLog.ts"
import { bodyFormat, bodyOf, isBodyWhole, isErased, readHeader, type RecordHeader } from "./logFormat.ts"
import { segmentPath } from "./segmentFiles.ts"
import { type LoggedChange, changeOf } from "./LogCursor.ts"

export interface LogRecord {
  readonly header: RecordHeader
  readonly text: string
  /** Bytes of the vectors, one after the other, f32; a copy of its own. */
  readonly vectors: Buffer
}

/** A record that was read already: of a log that lies elsewhere. */
export interface ReadEntry {
  readonly ordinal: number
  readonly record: LogRecord
}

/** Segments kept open. */
const filesOpenMax = 8

/** The record that these bytes are; throws `LogDamaged` if they are not the whole record of this ordinal, or erased. */
export const recordOf = (bytes: Buffer, ordinal: number, place: string): LogRecord => {
  const header = readHeader(bytes, 0)
  const isWhole = header?.ordinal === ordinal && header.length === bytes.length && isBodyWhole(bytes, 0, header)
  if (header === undefined || !isWhole) throw new LogDamaged({ reason: `record ${ordinal} is damaged ${place}` })
  if (isErased(header)) throw new LogDamaged({ reason: `record ${ordinal} of ${header.tag} was erased` })
  if (header.format !== bodyFormat)
    throw new LogDamaged({
      reason: `record ${ordinal} has format ${header.format}, this release reads ${bodyFormat}`
    })
  return { header, ...bodyOf(bytes, 0, header) }
}

export class RecordReader {
  readonly #directory: string
  /** Segment -> descriptor. */
  readonly #files = new LRUCache<number, number>({ max: filesOpenMax, dispose: (file) => closeSync(file) })

  /** `directory`: that of the segments. */
  constructor(directory: string) {
    this.#directory = directory
  }

  /** Throws `LogDamaged` if the record is not there, not whole or erased. */
  read({ ordinal, place: { length, offset, segment } }: LogEntry): LogRecord {
    const bytes = Buffer.allocUnsafeSlow(length)
    const count = readSync(this.#fileOf(segment), bytes, 0, length, offset)
    return recordOf(bytes.subarray(0, count), ordinal, `(segment ${segment}, byte ${offset})`)
  }

  close(): void {
    this.#files.clear()
  }

  #fileOf(segment: number): number {
    const known = this.#files.get(segment)
    if (known !== undefined) return known
    const file = openSync(segmentPath(this.#directory, segment), "r")
    this.#files.set(segment, file)
    return file
  }
}

/** Changes of the control database, in order, each read when it is asked for. Throws `LogDamaged` at one that is not whole. */
export const readControl = function* (
  directory: string,
  entries: ReadonlyArray<LogEntry>
): Generator<LoggedChange, void, void> {
  for (const { ordinal, place } of entries) {
    const bytes = Buffer.allocUnsafeSlow(place.length)
    const file = openSync(segmentPath(directory, place.segment), "r")
    try {
      bytes.fill(0, readSync(file, bytes, 0, place.length, place.offset))
    } finally {
      closeSync(file)
    }
    const header = readHeader(bytes, 0)
    if (header?.ordinal !== ordinal || !isBodyWhole(bytes, 0, header))
      throw new LogDamaged({ reason: `record ${ordinal} of the control database is damaged` })
    yield changeOf({ header, bytes })
  }
}
