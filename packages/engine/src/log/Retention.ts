/**
 * Which segments may be deleted. A segment goes, oldest first, when every copy with a record in it holds that record
 * durably, every consumer has passed it, and it is no longer among the newest bytes and minutes that are kept to
 * repair copies while the disk has room.
 *
 * Invariant: what is not known to be held elsewhere stays.
 */
import type { NamespaceTag } from "@muniment/domain/Ids"
import { processTag } from "./logFormat.ts"
import type { SegmentIndex } from "./LogIndex.ts"

/** Kept, whichever ends first. */
const keptBytes = 67_108_864
const keptMillis = 600_000

export interface LogState {
  readonly segmentBytes: number
  readonly nowMillis: number
  /** The disk is nearly full: nothing is kept only to repair copies. */
  readonly isTight: boolean
}

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
