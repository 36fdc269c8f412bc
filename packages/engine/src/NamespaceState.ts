/**
 * A namespace in memory: the table of rows, the lexical index, one vector index per embedding model.
 * The image of the committed file and nothing more: it is loaded from it, changed only after a
 * commit, in one synchronous step, and thrown away on any doubt.
 */
import { Effect } from "effect"
import { PlannedIndex, type PlannedIndexOptions } from "./index/PlannedIndex.ts"
import { LexicalIndex } from "./recall/LexicalIndex.ts"
import {
  discardSegments,
  segmentedFrom,
  slotsBeside,
  takeUpSegments,
  type SegmentSource,
  type TakenSegments
} from "./SegmentKeeper.ts"
import { DamagedColumn, rowOfRecord } from "./store/memoryColumns.ts"
import type { Change, MemoryVector, OpenNamespace, StoreError } from "./store/NamespaceStore.ts"
import { MemoryTable } from "./table/MemoryTable.ts"

/** What every index of a namespace is made with, but for its width. */
export type IndexSettings = Omit<PlannedIndexOptions, "dims">

export class NamespaceState {
  readonly table = new MemoryTable()
  readonly lexical: LexicalIndex
  readonly #settings: IndexSettings
  readonly #vectors = new Map<string, PlannedIndex>()
  /** By slot. */
  readonly #modelOf: Array<string | undefined> = []
  /** Sequence number at which the whole graph of a model was read from its snapshot. */
  readonly #onDisk = new Map<string, number>()
  readonly #freeSlots: Array<number> = []
  #nextSlot = 0
  lastSeq: number

  private constructor(store: OpenNamespace, settings: IndexSettings) {
    this.lexical = new LexicalIndex(store.fullText)
    this.#settings = settings
    this.lastSeq = store.lastSeq
  }

  /** Reads the file; gives other fibers a turn between chunks. */
  static readonly load = Effect.fn("NamespaceState.load")(function* (store: OpenNamespace, settings: IndexSettings) {
    const state = new NamespaceState(store, settings)
    yield* Effect.onError(state.#read(store), () => Effect.sync(() => state.close()))
    return state
  }) satisfies (store: OpenNamespace, settings: IndexSettings) => Effect.Effect<NamespaceState, StoreError>

  /** Whether the snapshot that was read holds all there is: it need not be written again. */
  isOnDisk(model: string): boolean {
    return this.#onDisk.get(model) === this.lastSeq
  }

  get models(): ReadonlyArray<string> {
    return [...this.#vectors.keys()]
  }

  /** What may be saved in segments; undefined while there are few vectors, or vectors of several models. */
  get segmentSource(): SegmentSource | undefined {
    const [only, ...others] = this.#vectors
    if (only === undefined || others.length > 0) return undefined
    const [model, index] = only
    if (index.size < segmentedFrom) return undefined
    return { model, index, seq: this.lastSeq, slotCount: this.#nextSlot }
  }

  index(model: string): PlannedIndex | undefined {
    return this.#vectors.get(model)
  }

  /** The embedding model of a slot's vector. */
  modelOf(slot: number): string | undefined {
    return this.#modelOf[slot]
  }

  /** A slot nobody uses; it is the caller's until a change puts it back. */
  takeSlot(): number {
    return this.#freeSlots.pop() ?? this.#nextSlot++
  }

  /** Follows a commit: `changes` in its order, the first of them numbered `firstSeq`. */
  apply(changes: ReadonlyArray<Change>, firstSeq: number): void {
    for (const [at, change] of changes.entries()) this.#applyOne(change, firstSeq + at)
    this.lastSeq = firstSeq + changes.length - 1
  }

  /** Builds graphs for about `budgetMillis`; what is left to do. */
  work(budgetMillis: number, now: () => number): number {
    let left = 0
    for (const index of this.#vectors.values()) left += index.work(budgetMillis, now)
    return left
  }

  close(): void {
    for (const index of this.#vectors.values()) index.close()
  }

  #applyOne(change: Change, seq: number): void {
    switch (change._tag) {
      case "Put":
        this.table.replace(rowOfRecord(change.slot, this.table.row(change.slot)?.createdSeq ?? seq, change.record))
        this.lexical.put(change.slot, change.columns)
        if (change.vector === undefined) this.#forget(change.slot, seq)
        else this.#embed(change.slot, seq, change.vector)
        return
      case "Patch":
        this.table.replace(rowOfRecord(change.slot, this.table.row(change.slot)?.createdSeq ?? seq, change.record))
        this.lexical.put(change.slot, change.columns)
        return
      case "Remove":
        this.table.remove(change.slot)
        this.lexical.remove(change.slot)
        this.#forget(change.slot, seq)
        this.#freeSlots.push(change.slot)
        return
      case "Embed":
        this.#embed(change.slot, seq, change.vector)
    }
  }

  #read(store: OpenNamespace): Effect.Effect<void, StoreError> {
    return Effect.gen({ self: this }, function* () {
      yield* store.eachRow((row) => {
        for (; this.#nextSlot < row.slot; this.#nextSlot++) this.#freeSlots.push(this.#nextSlot)
        this.#nextSlot = row.slot + 1
        this.table.insert(row)
      })
      const taken = yield* this.#takeUp(store)
      yield* store.eachVector(({ slot, seq, model, values }) => {
        try {
          this.#embed(slot, seq, { model, values })
        } catch (cause) {
          throw new DamagedColumn(`the vector of slot ${slot} is none of ${model}`, { cause })
        }
      }, slotsBeside(taken))
      for (const [model, index] of this.#vectors) {
        const key = { modelId: model, seq: this.lastSeq }
        const outcome = yield* Effect.promise(() => index.restore(snapshotPath(store, model), key))
        if (outcome.restored && outcome.stale === 0 && outcome.indexed === index.size) this.#onDisk.set(model, key.seq)
      }
    })
  }

  /** The segments that are as they must be; whatever is doubtful is dropped, and its vectors are read. */
  #takeUp(store: OpenNamespace): Effect.Effect<TakenSegments, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const none: TakenSegments = new Map()
      const { segments } = store
      const stored = yield* segments.stored
      if (stored.length === 0) return none
      const sole = yield* segments.soleModel
      if (sole === undefined) return yield* Effect.as(discardSegments(segments, stored), none)
      const index = this.#indexOf(sole.model, sole.dims)
      const taken = yield* takeUpSegments(segments, stored, sole.model, index)
      if (taken === undefined || taken.size === 0) {
        index.close()
        this.#vectors.delete(sole.model)
        return none
      }
      for (const slots of taken.values()) for (const slot of slots) this.#modelOf[slot] = sole.model
      return taken
    })
  }

  /** The index of a model, which is made if there is none. */
  #indexOf(model: string, dims: number): PlannedIndex {
    let index = this.#vectors.get(model)
    if (index === undefined) {
      index = new PlannedIndex({ dims, ...this.#settings })
      this.#vectors.set(model, index)
    }
    return index
  }

  #embed(slot: number, seq: number, vector: MemoryVector): void {
    if (this.#modelOf[slot] !== vector.model) this.#forget(slot, seq)
    this.#indexOf(vector.model, vector.values.length).upsert(slot, vector.values, seq)
    this.#modelOf[slot] = vector.model
  }

  #forget(slot: number, seq: number): void {
    const model = this.#modelOf[slot]
    if (model === undefined) return
    const index = this.#vectors.get(model)
    index?.remove(slot, seq)
    this.#modelOf[slot] = undefined
    if (index?.size === 0) {
      index.close()
      this.#vectors.delete(model)
    }
  }
}

/** Where the graph of one model is kept. */
export const snapshotPath = (store: OpenNamespace, model: string): string =>
  `${store.snapshotPath}.${encodeURIComponent(model)}`
