/**
 * Reads all segments at the start: sums of all records, where each lies, and what is not whole.
 *
 * A hole is a record that is not whole, or ordinals that are missing. It is damage if any later record says that it
 * was synced; otherwise it begins the torn tail, which was never acknowledged, and all behind it is dropped.
 *
 * A power cut may bring back some of the segments that were deleted because nobody needed them. A gap between those is
 * no damage.
 */
import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, renameSync, rmSync, statSync } from "node:fs"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { LogEntry, RecordPlace } from "./CommitLog.ts"
import { LogIndex } from "./LogIndex.ts"
import {
  bodyOf,
  headerBytes,
  isBodyWhole,
  isErased,
  nearHeader,
  readHeader,
  recordAlign,
  type RecordFields,
  type RecordHeader,
  recordKinds
} from "./logFormat.ts"
import type { LogEnd } from "./SegmentPlaces.ts"
import { listSegments, segmentPath, sparePath, syncDirectory, writeFully } from "./segmentFiles.ts"
import { LogDamaged } from "./LogError.ts"
import { eraseBodies } from "./SegmentWriter.ts"

export interface LogScanned {
  readonly index: LogIndex
  /** Acknowledged records that are lost. */
  readonly damage: ReadonlyArray<LogHole>
  /** Records that no mark lists yet. */
  readonly unlisted: OwnerList
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
  /** Where the next record could be written once the torn tail is overwritten; undefined: there is no segment. */
  readonly end: LogEnd | undefined
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
  /** What later records say: a mark of those before it, any of the one before it; and what is left of a header. */
  readonly #owners = new Map<number, NamespaceTag>()
  readonly #unlisted = new OwnerList()
  /** Highest ordinal that any record says was synced. */
  #synced = 0
  /** Sizes of the files. */
  readonly #bytes = new Map<number, number>()
  /** Behind the last record. */
  #behind: { readonly segment: number; readonly offset: number } | undefined
  /** Bytes behind the last record that are no record. */
  #stray: Array<RecordPlace> = []

  read(segment: number, bytes: Buffer): void {
    let isEmpty = true
    this.#bytes.set(segment, bytes.length)
    for (let at = 0; at + headerBytes <= bytes.length;) {
      const header = readHeader(bytes, at)
      if (header !== undefined && header.ordinal >= (this.#expected ?? 0)) {
        isEmpty = false
        if (isErased(header) && areZeros(bytes, at + headerBytes, at + header.length)) this.#erased.add(header.ordinal)
        this.#record(header, bytes, { segment, offset: at, length: header.length })
        at += Math.max(header.length, headerBytes)
        this.#behind = { segment, offset: at }
      } else if (areZeros(bytes, at, at + zeroBytes)) {
        at += zeroBytes
      } else {
        if (!areZeros(bytes, at, at + recordAlign)) {
          isEmpty = false
          this.#noteStray(segment, at)
          const near = nearHeader(bytes, at)
          if (near !== undefined) this.#owners.set(near.ordinal, near.tag)
        }
        at += recordAlign
      }
    }
    if (isEmpty) this.#emptySegments.push(segment)
  }

  end(lastSegment: number): LogScanned {
    const [first] = this.#index.segments
    const { firstKept } = this.#index
    if (first !== undefined && first.firstOrdinal > firstKept) {
      const hole = { from: firstKept, to: first.firstOrdinal - 1, segment: first.segment, offset: 0 }
      this.#holes.unshift({ ...hole, tag: undefined, places: [] })
    }
    const damage = this.#holes
      .filter(({ from, to }) => from <= this.#synced && to >= firstKept)
      .flatMap((hole) => byOwner(hole, this.#owners))
    const torn = this.#holes.find(({ from }) => from > this.#synced)
    if (torn !== undefined) this.#index.cut(torn.from)
    if (torn !== undefined) this.#unlisted.cut(torn.from)
    const tornAt = torn ?? this.#stray[0]
    const end = tornAt ?? this.#behind
    return {
      index: this.#index,
      damage,
      unlisted: this.#unlisted,
      nextOrdinal: torn?.from ?? this.#expected ?? 1,
      lastSegment,
      emptySegments: this.#emptySegments,
      unfinishedErasures: this.#unfinishedErasures(damage),
      tornAt,
      end: end && { segment: end.segment, offset: end.offset, bytes: this.#bytes.get(end.segment) ?? 0 }
    }
  }

  #unfinishedErasures(damage: ReadonlyArray<LogHole>): ReadonlyArray<LogEntry> {
    return [...this.#index.erasures].flatMap(([tag, throughOrdinal]) => [
      ...this.#index.commitsOf(tag, 0).filter(({ ordinal }) => ordinal <= throughOrdinal && !this.#erased.has(ordinal)),
      ...remainsOf(damage, tag, throughOrdinal)
    ])
  }

  #record(header: RecordHeader, bytes: Buffer, place: RecordPlace): void {
    const { kind, ordinal, previous, tag, unsynced } = header
    const { offset, segment } = place
    const isWhole = isBodyWhole(bytes, offset, header)
    const expected = this.#expected ?? ordinal
    this.#synced = Math.max(this.#synced, ordinal - unsynced - 1)
    if (ordinal > expected) {
      const places = this.#stray
      const { offset: at, segment: begin } = places[0] ?? place
      this.#holes.push({ from: expected, to: ordinal - 1, segment: begin, offset: at, tag: undefined, places })
    }
    // Also before the first record: those that were lost there are known at the end.
    if (previous !== undefined && ordinal !== this.#expected) this.#owners.set(ordinal - 1, previous)
    this.#stray = []
    if (isWhole) this.#index.add(header, place)
    else {
      const length = Math.max(headerBytes, Math.min(place.length, bytes.length - offset))
      this.#holes.push({ from: ordinal, to: ordinal, segment, offset, tag, places: [{ ...place, length }] })
    }
    if (isWhole && kind === recordKinds.mark) {
      this.#unlisted.clear()
      for (const [owned, owner] of ownersIn(header, bodyOf(bytes, offset, header).text)) this.#owners.set(owned, owner)
    }
    this.#unlisted.note(ordinal, tag)
    this.#expected = ordinal + 1
  }

  #noteStray(segment: number, offset: number): void {
    const last = this.#stray.at(-1)
    if (last?.segment === segment) this.#stray.pop()
    const from = last?.segment === segment ? last.offset : offset
    this.#stray.push({ segment, offset: from, length: offset + recordAlign - from })
  }
}

/** Multiple of `recordAlign`. Most of a segment is zeros, and each comparison costs as much as some hundred bytes. */
export const zeroBytes = 64 * recordAlign
const zeroBlock = Buffer.alloc(zeroBytes)

/** False if there are fewer bytes. */
export const areZeros = (bytes: Buffer, from: number, to: number): boolean => {
  if (to > bytes.length) return false
  for (let at = from; at < to; at += zeroBytes) {
    const end = Math.min(at + zeroBytes, to)
    if (zeroBlock.compare(bytes, at, end, 0, end - at) !== 0) return false
  }
  return true
}

/** Records after which a mark is due although the log is never quiet. */
const ownersMax = 1_024
const tagDigits = 12

/**
 * Namespaces of the records behind the last mark. The next mark lists them, so that a record whose header is lost costs
 * only the namespace that it was of.
 *
 * Invariant: the list has no gap and ends with the newest record.
 */
export class OwnerList {
  #tags: Array<NamespaceTag> = []
  #next = 0
  #last: NamespaceTag | undefined

  get isLong(): boolean {
    return this.#tags.length >= ownersMax
  }

  /** Whose the newest record is; undefined: there is none, or a torn tail has taken what says it. */
  get last(): NamespaceTag | undefined {
    return this.#last
  }

  note(ordinal: number, tag: NamespaceTag): void {
    if (ordinal !== this.#next) this.#tags = []
    this.#tags.push(tag)
    this.#next = ordinal + 1
    this.#last = tag
  }

  /** Forgets records from this ordinal on. */
  cut(fromOrdinal: number): void {
    if (this.#next <= fromOrdinal) return
    this.#tags.splice(Math.max(0, this.#tags.length - (this.#next - fromOrdinal)))
    this.#next = fromOrdinal
    this.#last = this.#tags.at(-1)
  }

  /** What a mark behind the list says: how many records, and the text of their tags. */
  get listed(): { readonly changes: number; readonly text: string } {
    return { changes: this.#tags.length, text: this.#tags.join("") }
  }

  /** A mark lists them. */
  clear(): void {
    this.#tags = []
  }
}

/** Ordinals and tags that a mark lists. */
const ownersIn = function* (
  { changes, ordinal }: RecordFields,
  text: string
): Generator<readonly [ordinal: number, tag: NamespaceTag], void, void> {
  for (let at = 0; (at + 1) * tagDigits <= text.length; at++)
    yield [ordinal - changes + at, text.slice(at * tagDigits, (at + 1) * tagDigits)]
}

/** Acknowledged records that cannot be read, ordinals from `from` to `to`: whom they concern, and where what is left lies. */
export interface LogHole {
  readonly from: number
  readonly to: number
  /** Where the first of them lies, or the next record if it is missing. */
  readonly segment: number
  readonly offset: number
  /** Undefined: neither its header nor a later record says it, it may be any namespace. */
  readonly tag: NamespaceTag | undefined
  /** Bytes that may be theirs. */
  readonly places: ReadonlyArray<RecordPlace>
}

/** The hole by tag, as far as `owners` knows whose its ordinals are. */
const byOwner = (hole: LogHole, owners: ReadonlyMap<number, NamespaceTag>): ReadonlyArray<LogHole> => {
  if (hole.tag !== undefined) return [hole]
  const parts: Array<LogHole> = []
  for (let from = hole.from, to = from; from <= hole.to; from = ++to) {
    const tag = owners.get(from)
    while (to < hole.to && owners.get(to + 1) === tag) to++
    parts.push({ ...hole, from, to, tag })
  }
  return parts
}

/** The first hole behind `afterOrdinal` that a copy of the namespace may need. */
export const holeBehind = (
  holes: ReadonlyArray<LogHole>,
  tag: NamespaceTag,
  afterOrdinal: number
): LogHole | undefined => holes.find((hole) => hole.to > afterOrdinal && (hole.tag ?? tag) === tag)

/** Bytes that may still hold text of the namespace's records up to an ordinal. */
export const remainsOf = (
  holes: ReadonlyArray<LogHole>,
  tag: NamespaceTag,
  throughOrdinal: number
): ReadonlyArray<LogEntry> =>
  holes
    .filter((hole) => hole.from <= throughOrdinal && (hole.tag ?? tag) === tag)
    .flatMap(({ from, places }) => places.map((place) => ({ ordinal: from, place })))

export const lostRecords = (hole: LogHole, tag: NamespaceTag, afterOrdinal: number): LogDamaged =>
  new LogDamaged({ reason: `${holeText(hole)}, and the copy of ${tag} ends at ${afterOrdinal}` })

export const holeText = ({ from, offset, segment, to }: LogHole): string =>
  `${from === to ? `record ${from} is` : `records ${from} to ${to} are`} damaged (segment ${segment}, byte ${offset})`

/**
 * Recovery of the log when it is opened, before anything is appended or applied: writes again and syncs what may not be
 * on the disk, overwrites a torn tail so that no text stays there, finishes erasures that were cut short, and keeps a
 * segment that was never written as the spare.
 */
export const recoverLog = (directory: string): LogScanned => {
  const scanned = scanLog(directory)
  for (const segment of scanned.emptySegments) keepOrDelete(directory, segment)
  syncDirectory(directory)
  const kept = listSegments(directory)
  // Older ones were synced before the newest was begun.
  const newest = kept.at(-1)
  if (newest !== undefined) writeAgain(segmentPath(directory, newest))
  if (scanned.tornAt !== undefined) {
    const { offset, segment } = scanned.tornAt
    overwriteFrom(segmentPath(directory, segment), offset)
    for (const later of kept.filter((one) => one > segment)) overwriteFrom(segmentPath(directory, later), 0)
  }
  eraseBodies(directory, scanned.unfinishedErasures)
  return scanned
}

/** Unit of `blocks` in what the system says of a file. */
const statBlockBytes = 512

/** A segment without a record is a spare: a full disk has no room for another one. */
const keepOrDelete = (directory: string, segment: number): void => {
  const path = segmentPath(directory, segment)
  const { blocks, size } = statSync(path)
  const isAllocated = blocks * statBlockBytes >= size
  if (isAllocated && !existsSync(sparePath(directory))) renameSync(path, sparePath(directory))
  else rmSync(path)
}

/**
 * After a sync that failed the system may hold pages for written that are not: they are read back and never written.
 * Written again they are, with the bytes that were read.
 */
const writeAgain = (path: string): void => {
  const bytes = readFileSync(path)
  let used = bytes.length
  // By blocks: a byte at a time takes 80 ms of a start, as most of a segment is zeros.
  while (used > 0 && areZeros(bytes, Math.max(0, used - zeroBytes), used)) used = Math.max(0, used - zeroBytes)
  const file = openSync(path, "r+")
  try {
    writeFully(file, bytes.subarray(0, used), 0)
    fdatasyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Writes zeros from `offset` to the end of the file, and syncs it. */
const overwriteFrom = (path: string, offset: number): void => {
  const file = openSync(path, "r+")
  try {
    const bytes = statSync(path).size - offset
    if (bytes > 0) writeFully(file, Buffer.alloc(bytes), offset)
    fdatasyncSync(file)
  } finally {
    closeSync(file)
  }
}
