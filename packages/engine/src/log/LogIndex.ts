/**
 * Index of where the records of each namespace lie: three numbers for each commit, by segment and tag.
 *
 * Invariant: ordinals ascend within a segment and from one segment to the next.
 */
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { LogEntry, RecordPlace } from "./CommitLog.ts"
import { processTag, recordAlign, type RecordFields, recordFlags, recordKinds, removesAll } from "./logFormat.ts"

/** Records of one segment. */
export interface SegmentIndex {
  readonly segment: number
  readonly firstOrdinal: number
  lastOrdinal: number
  /** Times of the first and the last record, milliseconds. */
  readonly firstMillis: number
  lastMillis: number
  /** Where its last record ends. */
  bytes: number
  /** Ordinal, offset and length of each commit, the last two in units of `recordAlign`. */
  readonly commits: Map<NamespaceTag, Array<number>>
}

interface Removal {
  readonly ordinal: number
  readonly through: number
}

export class LogIndex {
  /** Oldest first. */
  readonly #segments: Array<SegmentIndex> = []
  readonly #refused = new Map<NamespaceTag, Set<number>>()
  readonly #erasedThrough = new Map<NamespaceTag, number>()
  /** The last two of each namespace: the last one may not be synced yet. */
  readonly #removals = new Map<NamespaceTag, ReadonlyArray<Removal>>()
  #firstKept = 1

  get segments(): ReadonlyArray<SegmentIndex> {
    return this.#segments
  }

  /** Records before this one were dropped. */
  get firstKept(): number {
    return this.#firstKept
  }

  add({ atMillis, changes, flags, fromSeq, kind, ordinal, tag }: RecordFields, place: RecordPlace): void {
    const index = this.#indexOf(place.segment, ordinal, atMillis)
    index.lastOrdinal = ordinal
    index.lastMillis = atMillis
    index.bytes = place.offset + place.length
    switch (kind) {
      case recordKinds.control:
      case recordKinds.commit: {
        const commits = index.commits.get(tag) ?? []
        commits.push(ordinal, place.offset / recordAlign, place.length / recordAlign)
        index.commits.set(tag, commits)
        if ((flags & recordFlags.erased) !== 0) this.#noteErased(tag, ordinal)
        return
      }
      case recordKinds.refused: {
        const refused = this.#refused.get(tag) ?? new Set()
        this.#refused.set(tag, refused.add(fromSeq))
        return
      }
      case recordKinds.mark:
      case recordKinds.rebased:
        this.#firstKept = Math.max(this.#firstKept, fromSeq)
        return
      case recordKinds.erased:
        if (changes === removesAll) {
          const before = this.#removals.get(tag)?.slice(-1) ?? []
          this.#removals.set(tag, [...before, { ordinal, through: fromSeq }])
        }
        return this.#noteErased(tag, fromSeq)
    }
  }

  /** Commits of the namespace behind an ordinal, oldest first; also those that were refused or erased. */
  commitsOf(tag: NamespaceTag, afterOrdinal: number): ReadonlyArray<LogEntry> {
    const entries: Array<LogEntry> = []
    for (const { commits, lastOrdinal, segment } of this.#segments) {
      const found = (lastOrdinal > afterOrdinal ? commits.get(tag) : undefined) ?? []
      for (let at = 0; at < found.length; at += 3) {
        const [ordinal, offset, length] = [found[at]!, found[at + 1]! * recordAlign, found[at + 2]! * recordAlign]
        if (ordinal > afterOrdinal) entries.push({ ordinal, place: { segment, offset, length } })
      }
    }
    return entries
  }

  /** Where in a segment the last commit lies that is not later than an ordinal; 0: its begin. */
  offsetBefore({ commits }: SegmentIndex, ordinal: number): number {
    let offset = 0
    for (const found of commits.values()) {
      let at = found.length - 3
      while (at >= 0 && found[at]! > ordinal) at -= 3
      if (at >= 0) offset = Math.max(offset, found[at + 1]! * recordAlign)
    }
    return offset
  }

  /** Namespaces that have commits here, and of which anything is left. */
  tags(): ReadonlyArray<NamespaceTag> {
    const tags = new Set(this.#segments.flatMap(({ commits }) => [...commits.keys()]))
    return [...tags].filter((tag) => tag !== processTag && this.commitsOf(tag, this.removedThrough(tag)).length > 0)
  }

  isRefused(tag: NamespaceTag, ordinal: number): boolean {
    return this.#refused.get(tag)?.has(ordinal) === true
  }

  /** Commits up to this ordinal have lost their bodies; 0: none has. */
  erasedThrough(tag: NamespaceTag): number {
    return this.#erasedThrough.get(tag) ?? 0
  }

  /** Commits up to this ordinal were of a namespace that is gone, as the records up to `ordinal` say; 0: there were none. */
  removedThrough(tag: NamespaceTag, ordinal = Infinity): number {
    return this.#removals.get(tag)?.findLast((removal) => removal.ordinal <= ordinal)?.through ?? 0
  }

  get erasures(): Iterable<readonly [tag: NamespaceTag, throughOrdinal: number]> {
    return this.#erasedThrough
  }

  /** Forgets everything from this ordinal on, which a torn tail has lost. */
  cut(fromOrdinal: number): void {
    while ((this.#segments.at(-1)?.firstOrdinal ?? 0) >= fromOrdinal) this.#segments.pop()
    const last = this.#segments.at(-1)
    if (last === undefined || last.lastOrdinal < fromOrdinal) return
    last.lastOrdinal = fromOrdinal - 1
    for (const commits of last.commits.values()) {
      while (commits.length > 0 && commits.at(-3)! >= fromOrdinal) commits.length -= 3
    }
  }

  /** Forgets the segments whose records all lie before this ordinal; returns their numbers. */
  dropBefore(firstKept: number): ReadonlyArray<number> {
    const count = this.#segments.filter(({ lastOrdinal }) => lastOrdinal < firstKept).length
    return this.#segments.splice(0, count).map(({ segment }) => segment)
  }

  #indexOf(segment: number, firstOrdinal: number, atMillis: number): SegmentIndex {
    const last = this.#segments.at(-1)
    if (last?.segment === segment) return last
    const index: SegmentIndex = {
      segment,
      firstOrdinal,
      lastOrdinal: firstOrdinal,
      firstMillis: atMillis,
      lastMillis: atMillis,
      bytes: 0,
      commits: new Map()
    }
    this.#segments.push(index)
    return index
  }

  #noteErased(tag: NamespaceTag, throughOrdinal: number): void {
    this.#erasedThrough.set(tag, Math.max(this.erasedThrough(tag), throughOrdinal))
  }
}

/** Kept, whichever ends first. */
const keptBytes = 67_108_864
const keptMillis = 600_000

export interface LogState {
  readonly segmentBytes: number
  readonly nowMillis: number
  /** The disk is nearly full: nothing is kept only to repair copies. */
  readonly isTight: boolean
}

/**
 * Which segments may be deleted. A segment goes, oldest first, when every copy with a record in it holds that record
 * durably, every consumer has passed it, and it is no longer among the newest bytes and minutes that are kept to
 * repair copies while the disk has room.
 *
 * Invariant: what is not known to be held elsewhere stays.
 */
export class Retention {
  readonly #durable = new Map<NamespaceTag, number>()
  readonly #holds = new Map<string, number>()

  /** The copy holds everything up to `ordinal` durably. */
  rebase(tag: NamespaceTag, ordinal: number): void {
    this.#durable.set(tag, Math.max(this.#durable.get(tag) ?? 0, ordinal))
  }

  /** Keeps records from `fromOrdinal` on for a consumer, until it says another ordinal; `Infinity`: none. */
  hold(consumer: string, fromOrdinal: number): void {
    if (fromOrdinal === Infinity) this.#holds.delete(consumer)
    else this.#holds.set(consumer, fromOrdinal)
  }

  /** How many of the sealed segments, oldest first, may go. */
  droppable(sealed: ReadonlyArray<SegmentIndex>, state: LogState): number {
    const old = this.#oldOnes(sealed, state)
    const firstNeeded = old.findIndex((index) => this.#isHeld(index) || this.#needing(index).length > 0)
    return firstNeeded === -1 ? old.length : firstNeeded
  }

  /** Namespaces whose copies hold back a segment that could go otherwise; not the control database, which tells by itself. */
  holders(sealed: ReadonlyArray<SegmentIndex>, state: LogState): ReadonlyArray<NamespaceTag> {
    const tags = this.#oldOnes(sealed, state).flatMap((index) => this.#needing(index))
    return [...new Set(tags)].filter((tag) => tag !== processTag)
  }

  #oldOnes(
    sealed: ReadonlyArray<SegmentIndex>,
    { isTight, nowMillis, segmentBytes }: LogState
  ): ReadonlyArray<SegmentIndex> {
    if (isTight) return sealed
    const keptCount = Math.floor(keptBytes / segmentBytes)
    return sealed.filter(({ lastMillis }, at) => at < sealed.length - keptCount || lastMillis + keptMillis < nowMillis)
  }

  #isHeld({ lastOrdinal }: SegmentIndex): boolean {
    return [...this.#holds.values()].some((fromOrdinal) => fromOrdinal <= lastOrdinal)
  }

  #needing({ commits }: SegmentIndex): ReadonlyArray<NamespaceTag> {
    return [...commits].filter(([tag, found]) => found.at(-3)! > (this.#durable.get(tag) ?? 0)).map(([tag]) => tag)
  }
}
