/**
 * Carries the segments of an index to the file of its namespace, and back when it is opened.
 *
 * A segment is taken up only when it is whole, of the index's own format, and holds exactly the slots that
 * have a vector; the vectors of all others are read. Saving is one transaction a segment with turns for
 * other fibers in between, given up as soon as a commit comes in between.
 */
import { Clock, Effect } from "effect"
import { segmentShift, slotsPerSegment, type SegmentedIndex } from "./index/Segments.ts"
import type { SlotRange, StoreError } from "./store/NamespaceStore.ts"
import type { StoredSegments } from "./store/StoredSegments.ts"

/** Vectors from which segments are worth their bytes: the rows of fewer are read as fast. */
export const segmentedFrom = slotsPerSegment

/** Slots that an index took up, by segment. */
export type TakenSegments = ReadonlyMap<number, ReadonlyArray<number>>

/**
 * Has an empty index take up what is stored of these segments; those it does not take are deleted.
 * Undefined when one that it took does not hold what it must: the index is spoilt then, and all are deleted.
 */
export const takeUpSegments = Effect.fnUntraced(function* (
  segments: StoredSegments,
  stored: ReadonlyArray<number>,
  model: string,
  index: SegmentedIndex
) {
  const taken = new Map<number, ReadonlyArray<number>>()
  const refused: Array<number> = []
  for (const segment of stored) {
    const data = yield* segments.read(segment, model)
    const held = data === undefined ? undefined : index.adoptSegment(segment, data)
    if (held === undefined) refused.push(segment)
    else {
      const slots = yield* segments.slots(segment, model)
      if (!isSame(slots, held)) return yield* Effect.as(discardSegments(segments, stored), undefined)
      taken.set(segment, slots)
    }
    yield* Effect.yieldNow
  }
  if (refused.length > 0) yield* discardSegments(segments, refused)
  return taken
}) satisfies (
  ...parameters: readonly [StoredSegments, ReadonlyArray<number>, string, SegmentedIndex]
) => Effect.Effect<TakenSegments | undefined, StoreError>

/** Slots outside of these segments, as ranges. */
export const slotsBeside = (taken: TakenSegments): ReadonlyArray<SlotRange> => {
  const ranges: Array<SlotRange> = []
  let from = 0
  for (const segment of [...taken.keys()].toSorted((left, right) => left - right)) {
    const start = segment << segmentShift
    if (start > from) ranges.push({ from, to: start })
    from = start + slotsPerSegment
  }
  return [...ranges, { from, to: Number.MAX_SAFE_INTEGER }]
}

/** An index whose vectors are those committed up to `seq`. */
export interface SegmentSource {
  readonly model: string
  readonly index: SegmentedIndex
  readonly seq: number
  /** Slots in use are below this. */
  readonly slotCount: number
}

/**
 * Saves what changed since it was last saved or read. True when all is stored; false when a commit came in
 * between or `untilMillis` has passed: the rest is for the next time.
 */
export const saveSegments = Effect.fnUntraced(function* (
  segments: StoredSegments,
  { index, model, seq, slotCount }: SegmentSource,
  untilMillis: number
) {
  const stored = new Set(yield* segments.stored)
  const due = new Set(index.changedSegments())
  for (let segment = 0; segment << segmentShift < slotCount; segment++) if (!stored.has(segment)) due.add(segment)
  for (const segment of due) {
    if ((yield* Clock.currentTimeMillis) >= untilMillis) return false
    const data = index.encodeSegment(segment)
    if (data !== undefined && !(yield* segments.save(seq, segment, model, data))) return false
    yield* Effect.yieldNow
  }
  return true
}) satisfies (...parameters: readonly [StoredSegments, SegmentSource, number]) => Effect.Effect<boolean, StoreError>

/** Deletes what is doubtful. Never in the way of an open, not even on a full disk: what stays is doubted again. */
export const discardSegments = (segments: StoredSegments, doubtful: ReadonlyArray<number>): Effect.Effect<void> =>
  Effect.logWarning("segments of an index are not used", { count: doubtful.length }).pipe(
    Effect.andThen(segments.discard(doubtful)),
    Effect.catch((error) =>
      Effect.logWarning("unused segments of an index could not be deleted", { error: error._tag })
    )
  )

const isSame = (slots: ReadonlyArray<number>, held: Int32Array): boolean =>
  slots.length === held.length && slots.every((slot, at) => slot === held[at])
