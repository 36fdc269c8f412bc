/**
 * The vector indexes of one namespace: one per embedding model. A slot has a vector in at most one of them. An index
 * is made with its first vector and closed with its last.
 */
import { Clock, Effect } from "effect"
import type { MemoryVector } from "../store/Commit.ts"
import type { OpenNamespace, SlotRange, StoredSegments } from "../store/NamespaceStore.ts"
import { StoreDamaged, type StoreError } from "../store/StoreError.ts"
import { PlannedIndex, type PlannedIndexOptions } from "../vectors/planner/PlannedIndex.ts"
import { segmentShift, slotsPerSegment } from "../bitmap/Bitmap.ts"
import type { SegmentedIndex } from "../vectors/VectorIndex.ts"

/** Options of every index; the width comes with the first vector. */
export type IndexSettings = Omit<PlannedIndexOptions, "dims">

export class NamespaceVectors {
  readonly #settings: IndexSettings
  readonly #indexes = new Map<string, PlannedIndex>()
  /** By slot. */
  readonly #modelOf: Array<string | undefined> = []
  /** Sequence number at which the whole graph of a model was restored from its snapshot. */
  readonly #restoredAt = new Map<string, number>()

  constructor(settings: IndexSettings) {
    this.#settings = settings
  }

  get models(): ReadonlyArray<string> {
    return [...this.#indexes.keys()]
  }

  index(model: string): PlannedIndex | undefined {
    return this.#indexes.get(model)
  }

  /** The model of a slot's vector. */
  modelOf(slot: number): string | undefined {
    return this.#modelOf[slot]
  }

  /** Whether the snapshot on disk already holds the graph as it was at `seq`. */
  isOnDisk(model: string, seq: number): boolean {
    return this.#restoredAt.get(model) === seq
  }

  /** The index to save in segments; undefined with few vectors, or with vectors of several models. */
  segmentSource(seq: number, slotCount: number): SegmentSource | undefined {
    const [only, ...others] = this.#indexes
    if (only === undefined || others.length > 0) return undefined
    const [model, index] = only
    return index.size < segmentedVectorsMin ? undefined : { model, index, seq, slotCount }
  }

  embed(slot: number, seq: number, vector: MemoryVector): void {
    if (this.#modelOf[slot] !== vector.model) this.remove(slot, seq)
    this.#indexOf(vector.model, vector.values.length).upsert(slot, vector.values, seq)
    this.#modelOf[slot] = vector.model
  }

  remove(slot: number, seq: number): void {
    const model = this.#modelOf[slot]
    if (model === undefined) return
    const index = this.#indexes.get(model)
    index?.remove(slot, seq)
    this.#modelOf[slot] = undefined
    if (index?.size === 0) this.#close(model, index)
  }

  /** Builds lists and graphs for about `budgetMillis`; returns how much is left. `now` is a clock in milliseconds. */
  buildFor(budgetMillis: number, now: () => number): number {
    let left = 0
    for (const index of this.#indexes.values()) left += index.work(budgetMillis, now)
    return left
  }

  /** Adopts segments, reads the vectors outside of them, then restores graphs. */
  load(store: OpenNamespace): Effect.Effect<void, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const adopted = yield* this.#adopt(store)
      yield* store.whole((file) =>
        file.eachVector(({ slot, seq, model, values }) => {
          try {
            this.embed(slot, seq, { model, values })
          } catch (cause) {
            throw new StoreDamaged({
              reason: `vector of slot ${slot} does not fit the other vectors of ${model}`,
              cause
            })
          }
        }, slotsOutside(adopted))
      )
      for (const [model, index] of this.#indexes) {
        const key = { modelId: model, seq: store.lastSeq }
        const outcome = yield* Effect.promise(() => index.restore(snapshotPath(store, model), key))
        if (outcome.restored && outcome.stale === 0 && outcome.indexed === index.size)
          this.#restoredAt.set(model, key.seq)
      }
    })
  }

  close(): void {
    for (const index of this.#indexes.values()) index.close()
  }

  #adopt(store: OpenNamespace): Effect.Effect<AdoptedSegments, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const none: AdoptedSegments = new Map()
      const { segments } = store
      const stored = yield* segments.stored
      if (stored.length === 0) return none
      const sole = yield* segments.soleModel
      if (sole === undefined) return yield* Effect.as(discardSegments(segments, stored), none)
      const index = this.#indexOf(sole.model, sole.dims)
      const adopted = yield* adoptSegments(segments, stored, sole.model, index)
      if (adopted === undefined || adopted.size === 0) {
        this.#close(sole.model, index)
        return none
      }
      for (const slots of adopted.values()) for (const slot of slots) this.#modelOf[slot] = sole.model
      return adopted
    })
  }

  #indexOf(model: string, dims: number): PlannedIndex {
    let index = this.#indexes.get(model)
    if (index === undefined) {
      index = new PlannedIndex({ dims, ...this.#settings })
      this.#indexes.set(model, index)
    }
    return index
  }

  #close(model: string, index: PlannedIndex): void {
    index.close()
    this.#indexes.delete(model)
  }
}

/** Snapshot of one model's graph. */
export const snapshotPath = (store: OpenNamespace, model: string): string =>
  `${store.snapshotPath}.${encodeURIComponent(model)}`

/** Vectors from which segments are saved; below, reading the rows takes as long. */
const segmentedVectorsMin = slotsPerSegment

/** The slots of each adopted segment. */
type AdoptedSegments = ReadonlyMap<number, ReadonlyArray<number>>

/**
 * Adopts stored segments into an empty index when a namespace opens, and deletes those that it refuses: one is adopted only
 * if its bytes are whole, of the index's format, and hold exactly the slots that have a vector; the vectors of all other
 * slots are read. Undefined if an adopted segment does
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
const discardSegments = (segments: StoredSegments, refused: ReadonlyArray<number>): Effect.Effect<void> =>
  Effect.logWarning("index segments refused; their vectors are read instead", { count: refused.length }).pipe(
    Effect.andThen(segments.discard(refused)),
    Effect.catch((error) => Effect.logWarning("refused index segments not deleted", { error: error._tag }))
  )

const isSame = (slots: ReadonlyArray<number>, held: Int32Array): boolean =>
  slots.length === held.length && slots.every((slot, at) => slot === held[at])
