/**
 * Reads all segments at the start: sums of all records, where each lies, and what is not whole.
 *
 * A hole is a record that is not whole, or ordinals that are missing. It is damage if any later record says that it
 * was synced; otherwise it begins the torn tail, which was never acknowledged, and all behind it is dropped.
 */
import { readFileSync } from "node:fs"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { LogIndex } from "./LogIndex.ts"
import { headerBytes, isBodyWhole, readHeader, recordAlign, type RecordHeader } from "./logFormat.ts"
import { listSegments, segmentPath } from "./segmentFiles.ts"

/** Ordinals from `from` to `to` that cannot be read. */
export interface LogHole {
  readonly from: number
  readonly to: number
  /** Where the first of them lies, or the next record if it is missing. */
  readonly segment: number
  readonly offset: number
  /** Undefined: the header is lost, it may be any namespace. */
  readonly tag: NamespaceTag | undefined
}

export interface LogScanned {
  readonly index: LogIndex
  /** Acknowledged records that are lost. */
  readonly damage: ReadonlyArray<LogHole>
  /** Ordinal of the next record. */
  readonly nextOrdinal: number
  /** Number of the newest segment file; 0: there is none. */
  readonly lastSegment: number
  /** Where the torn tail begins. */
  readonly tornAt: { readonly segment: number; readonly offset: number } | undefined
}

export const scanLog = (directory: string): LogScanned => {
  const scan = new LogScan()
  const segments = listSegments(directory)
  for (const segment of segments) scan.read(segment, readFileSync(segmentPath(directory, segment)))
  return scan.end(segments.at(-1) ?? 0)
}

class LogScan {
  readonly #index = new LogIndex()
  readonly #holes: Array<LogHole> = []
  /** Ordinal after the last record; undefined before the first. */
  #expected: number | undefined
  /** Highest ordinal that any record says was synced. */
  #synced = 0
  /** Where the bytes begin that are no record. */
  #strayAt: { readonly segment: number; readonly offset: number } | undefined

  read(segment: number, bytes: Buffer): void {
    for (let at = 0; at + headerBytes <= bytes.length;) {
      const header = readHeader(bytes, at)
      if (header !== undefined && header.ordinal >= (this.#expected ?? 0)) {
        this.#record(header, isBodyWhole(bytes, at, header), segment, at)
        at += Math.max(header.length, headerBytes)
      } else {
        if (this.#strayAt === undefined && !isZero(bytes, at)) this.#strayAt = { segment, offset: at }
        at += recordAlign
      }
    }
  }

  end(lastSegment: number): LogScanned {
    const damage = this.#holes.filter(({ from }) => from <= this.#synced)
    const torn = this.#holes.find(({ from }) => from > this.#synced)
    if (torn !== undefined) this.#index.cut(torn.from)
    return {
      index: this.#index,
      damage,
      nextOrdinal: torn?.from ?? this.#expected ?? 1,
      lastSegment,
      tornAt: torn ?? this.#strayAt
    }
  }

  #record(header: RecordHeader, isWhole: boolean, segment: number, offset: number): void {
    const { length, ordinal, tag, unsynced } = header
    const expected = this.#expected ?? ordinal
    this.#synced = Math.max(this.#synced, ordinal - unsynced - 1)
    if (ordinal > expected) {
      const from = this.#strayAt ?? { segment, offset }
      this.#holes.push({ from: expected, to: ordinal - 1, ...from, tag: undefined })
    }
    this.#strayAt = undefined
    if (isWhole) this.#index.add(header, { segment, offset, length })
    else this.#holes.push({ from: ordinal, to: ordinal, segment, offset, tag })
    this.#expected = ordinal + 1
  }
}

const isZero = (bytes: Buffer, at: number): boolean =>
  zeroBlock.compare(bytes, at, Math.min(at + recordAlign, bytes.length)) === 0

const zeroBlock = Buffer.alloc(recordAlign)
