/**
 * Loads the segments of a vector index when a namespace opens, and saves them.
 *
 * A segment is adopted only if its bytes are whole, of the index's format, and hold exactly the slots that have a
 * vector; the vectors of all other slots are read. A save is one transaction per segment and yields in between; it
 * ends as soon as a commit intervenes.
 */
import { Clock, Effect } from "effect"
import { segmentShift, slotsPerSegment } from "../bitmap/slotsPerSegment.ts"
import type { SlotRange } from "../store/NamespaceStore.ts"
import type { StoredSegments } from "../store/StoredSegments.ts"
import type { StoreError } from "../store/StoreError.ts"
import type { SegmentedIndex } from "../vectors/SegmentedIndex.ts"

/** Vectors from which segments are saved; below, reading the rows takes as long. */
export const segmentedVectorsMin = slotsPerSegment

/** The slots of each adopted segment. */
export type AdoptedSegments = ReadonlyMap<number, ReadonlyArray<number>>

/**
 * Adopts stored segments into an empty index, and deletes those that it refuses. Undefined if an adopted segment does
 * not hold its slots: the index is unusable then, and all segments are deleted.
 */
export const adoptSegments = Effect.fnUntraced(function* (
  segments: StoredSegments,
  stored: ReadonlyArray<number>,
  model: string,
  index: SegmentedIndex
) {
  const adopted = new Map<number, ReadonlyArray<number>>()
  const refused: Array<number> = []
  for (const segment of stored) {
    const data = yield* segments.read(segment, model)
    const held = data === undefined ? undefined : index.adoptSegment(segment, data)
    if (held === undefined) refused.push(segment)
    else {
      const slots = yield* segments.slots(segment, model)
      if (!isSame(slots, held)) return yield* Effect.as(discardSegments(segments, stored), undefined)
      adopted.set(segment, slots)
    }
    yield* Effect.yieldNow
  }
  if (refused.length > 0) yield* discardSegments(segments, refused)
  return adopted
}) satisfies (
  ...parameters: readonly [StoredSegments, ReadonlyArray<number>, string, SegmentedIndex]
) => Effect.Effect<AdoptedSegments | undefined, StoreError>

/** The ranges of slots that no adopted segment covers. */
export const slotsOutside = (adopted: AdoptedSegments): ReadonlyArray<SlotRange> => {
  const ranges: Array<SlotRange> = []
  let from = 0
  for (const segment of [...adopted.keys()].toSorted((left, right) => left - right)) {
    const start = segment << segmentShift
    if (start > from) ranges.push({ from, to: start })
    from = start + slotsPerSegment
  }
  return [...ranges, { from, to: Number.MAX_SAFE_INTEGER }]
}

/** An index that holds the vectors committed up to `seq`. */
export interface SegmentSource {
  readonly model: string
  readonly index: SegmentedIndex
  readonly seq: number
  /** All slots in use are smaller. */
  readonly slotCount: number
}

/**
 * Saves the segments that changed since they were saved or read. True when all are stored; false when a commit
 * intervened or `untilMillis` has passed: the rest is left to the next save.
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

/** Deletes refused segments. A failure does not fail the open: the next open refuses them again. */
export const discardSegments = (segments: StoredSegments, refused: ReadonlyArray<number>): Effect.Effect<void> =>
  Effect.logWarning("index segments refused; their vectors are read instead", { count: refused.length }).pipe(
    Effect.andThen(segments.discard(refused)),
    Effect.catch((error) => Effect.logWarning("refused index segments not deleted", { error: error._tag }))
  )

const isSame = (slots: ReadonlyArray<number>, held: Int32Array): boolean =>
  slots.length === held.length && slots.every((slot, at) => slot === held[at])
