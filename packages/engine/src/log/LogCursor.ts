/**
 * Reads all records in their order, of every kind, as bytes: for archives and restores. Needs no more than the files,
 * so it runs in any thread.
 */
import { closeSync, openSync, readSync } from "node:fs"
import { LogDamaged } from "./LogError.ts"
import {
  bodyOf,
  headerBytes,
  isBodyWhole,
  isErased,
  processTag,
  readHeader,
  type RecordBody,
  type RecordFields,
  type RecordHeader,
  recordKinds
} from "./logFormat.ts"
import { segmentPath } from "./segmentFiles.ts"

export interface RawRecord {
  readonly header: RecordHeader
  /** Header and body. */
  readonly bytes: Buffer
}

/** What one call of the kernel reads: some hundred records. */
const blockBytes = 262_144

/**
 * The records of a segment with ordinals from `fromOrdinal` to `toOrdinal`, both included. Throws `LogDamaged` at one
 * that is not whole. Erased ones are among them, without their bodies. `at`: where some record lies that is not later than
 * the first of them.
 */
export const recordsOf = function* (
  directory: string,
  segment: number,
  { at = 0, fromOrdinal, toOrdinal }: { readonly at?: number; readonly fromOrdinal: number; readonly toOrdinal: number }
): Generator<RawRecord, void, void> {
  const blocks = new BlockReader(segmentPath(directory, segment))
  try {
    for (let next = at, isLast = false; !isLast;) {
      const header = readHeader(blocks.read(next, headerBytes), 0)
      if (header === undefined) throw damaged(segment, next)
      if (header.ordinal > toOrdinal) return
      if (header.ordinal >= fromOrdinal) {
        const bytes = blocks.read(next, header.length)
        if (!isBodyWhole(bytes, 0, header)) throw damaged(segment, next)
        yield { header, bytes }
      }
      isLast = header.ordinal === toOrdinal
      next += header.length
    }
  } finally {
    blocks.close()
  }
}

const damaged = (segment: number, at: number): LogDamaged =>
  new LogDamaged({ reason: `segment ${segment} of the log is damaged at byte ${at}` })

/** What it has handed out stays as it is: each block has a buffer of its own. */
class BlockReader {
  readonly #file: number
  #block = Buffer.alloc(0)
  #at = 0

  constructor(path: string) {
    this.#file = openSync(path, "r")
  }

  /** Fewer bytes at the end of the file. */
  read(at: number, length: number): Buffer {
    if (at < this.#at || at + length > this.#at + this.#block.length) {
      const bytes = Buffer.allocUnsafeSlow(Math.max(blockBytes, length))
      this.#block = bytes.subarray(0, readSync(this.#file, bytes, 0, bytes.length, at))
      this.#at = at
    }
    return this.#block.subarray(at - this.#at, at - this.#at + length)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/**
 * Records of the control database: what one of its transactions changed, as a patch set of SQLite's session extension,
 * or the note that the changes before a number are not here: then only a copy of the database that has reached this number
 * can follow. Numbers count from 1 on, without gaps.
 *
 * Invariant: the header alone says the numbers, so that they stay known when the body is erased.
 */
export interface LoggedChange {
  /** The database's number after it. */
  readonly number: number
  /** Version of the database's tables. */
  readonly version: number
  readonly atMillis: number
  /** The patch set; `base`: only a copy that is at `number` can follow; `erased`: it was there. */
  readonly changes: Uint8Array | "base" | "erased"
}

/** A change to be appended. */
export type NewLoggedChange = LoggedChange & { readonly changes: Uint8Array | "base" }

/** What the log writes of a change. */
export const changeFields = ({
  atMillis,
  changes,
  number,
  version
}: NewLoggedChange): Omit<RecordFields, "ordinal" | "unsynced"> & { readonly body: RecordBody } => {
  const isBase = changes === "base"
  return {
    kind: recordKinds.control,
    flags: 0,
    tag: processTag,
    epoch: version,
    changes: isBase ? 0 : 1,
    fromSeq: isBase ? number : number - 1,
    atMillis,
    body: isBase ? { text: "[]", vectors: [] } : { text: JSON.stringify([changes.length]), vectors: [changes] }
  }
}

/** The change of a record of kind `control`. */
export const changeOf = ({ bytes, header }: RawRecord): LoggedChange => {
  const { atMillis, changes, epoch: version, fromSeq } = header
  const said = { number: fromSeq + changes, version, atMillis }
  if (changes === 0) return { ...said, changes: "base" }
  if (isErased(header)) return { ...said, changes: "erased" }
  const { text, vectors } = bodyOf(bytes, 0, header)
  const [length] = JSON.parse(text) as readonly [length: number]
  return { ...said, changes: vectors.subarray(0, length) }
}
