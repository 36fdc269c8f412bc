/**
 * Reads all segments at the start: sums of all records, where each lies, and what is not whole.
 *
 * A hole is a record that is not whole, or ordinals that are missing. It is damage if any later record says that it
 * was synced; otherwise it begins the torn tail, which was never acknowledged, and all behind it is dropped.
 */
import { readFileSync } from "node:fs"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { LogEntry } from "./CommitLog.ts"
import { LogIndex } from "./LogIndex.ts"
import {
  headerBytes,
  isBodyWhole,
  isErased,
  readHeader,
  recordAlign,
  recordKinds,
  type RecordHeader
} from "./logFormat.ts"
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
  /** Segments without anything but zeros. */
  readonly emptySegments: ReadonlyArray<number>
  /** Records of erasures whose bodies may still be there. */
  readonly unfinishedErasures: ReadonlyArray<LogEntry>
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
  readonly #emptySegments: Array<number> = []
  /** Ordinals of records whose bodies are zeros. */
  readonly #erased = new Set<number>()
  /** Records before this one were dropped. */
  #firstKept = 1
  /** Highest ordinal that any record says was synced. */
  #synced = 0
  /** Where the bytes begin that are no record. */
  #strayAt: { readonly segment: number; readonly offset: number } | undefined

  read(segment: number, bytes: Buffer): void {
    let isEmpty = true
    for (let at = 0; at + headerBytes <= bytes.length;) {
      const header = readHeader(bytes, at)
      if (header !== undefined && header.ordinal >= (this.#expected ?? 0)) {
        isEmpty = false
        if (isErased(header) && areZeros(bytes, at + headerBytes, at + header.length)) this.#erased.add(header.ordinal)
        this.#record(header, isBodyWhole(bytes, at, header), segment, at)
        at += Math.max(header.length, headerBytes)
      } else {
        if (!areZeros(bytes, at, at + recordAlign)) {
          isEmpty = false
          this.#strayAt ??= { segment, offset: at }
        }
        at += recordAlign
      }
    }
    if (isEmpty) this.#emptySegments.push(segment)
  }

  end(lastSegment: number): LogScanned {
    const [first] = this.#index.segments
    if (first !== undefined && first.firstOrdinal > this.#firstKept) {
      const hole = { from: this.#firstKept, to: first.firstOrdinal - 1, segment: first.segment, offset: 0 }
      this.#holes.unshift({ ...hole, tag: undefined })
    }
    const damage = this.#holes.filter(({ from }) => from <= this.#synced)
    const torn = this.#holes.find(({ from }) => from > this.#synced)
    if (torn !== undefined) this.#index.cut(torn.from)
    return {
      index: this.#index,
      damage,
      nextOrdinal: torn?.from ?? this.#expected ?? 1,
      lastSegment,
      emptySegments: this.#emptySegments,
      unfinishedErasures: this.#unfinishedErasures(),
      tornAt: torn ?? this.#strayAt
    }
  }

  #unfinishedErasures(): ReadonlyArray<LogEntry> {
    return [...this.#index.erasures].flatMap(([tag, throughOrdinal]) =>
      this.#index.commitsOf(tag, 0).filter(({ ordinal }) => ordinal <= throughOrdinal && !this.#erased.has(ordinal))
    )
  }

  #record(header: RecordHeader, isWhole: boolean, segment: number, offset: number): void {
    const { fromSeq, kind, length, ordinal, tag, unsynced } = header
    const expected = this.#expected ?? ordinal
    this.#synced = Math.max(this.#synced, ordinal - unsynced - 1)
    if (ordinal > expected) {
      const from = this.#strayAt ?? { segment, offset }
      this.#holes.push({ from: expected, to: ordinal - 1, ...from, tag: undefined })
    }
    this.#strayAt = undefined
    if (isWhole) this.#index.add(header, { segment, offset, length })
    if (isWhole && kind === recordKinds.rebased) this.#firstKept = Math.max(this.#firstKept, fromSeq)
    if (!isWhole) this.#holes.push({ from: ordinal, to: ordinal, segment, offset, tag })
    this.#expected = ordinal + 1
  }
}

const areZeros = (bytes: Buffer, from: number, to: number): boolean => {
  for (let at = from; at < to; at += recordAlign)
    if (zeroBlock.compare(bytes, at, Math.min(at + recordAlign, to)) !== 0) return false
  return true
}

const zeroBlock = Buffer.alloc(recordAlign)
