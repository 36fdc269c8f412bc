/**
 * A namespace in memory: the table of rows, the lexical index, one vector index per embedding model.
 * The image of the committed file and nothing more: it is loaded from it, changed only after a
 * commit, in one synchronous step, and thrown away on any doubt.
 */
import { Effect } from "effect"
import type { HnswlibModule } from "./index/Hnswlib.ts"
import { PlannedIndex } from "./index/PlannedIndex.ts"
import type { IndexPin } from "./index/Planner.ts"
import { LexicalIndex } from "./recall/LexicalIndex.ts"
import { DamagedColumn, rowOfRecord } from "./store/memoryColumns.ts"
import type { Change, MemoryVector, OpenNamespace, StoreError } from "./store/NamespaceStore.ts"
import { MemoryTable } from "./table/MemoryTable.ts"

export interface IndexSettings {
  readonly hnswlib: HnswlibModule | undefined
  readonly pin: IndexPin
}

export class NamespaceState {
  readonly table = new MemoryTable()
  readonly lexical: LexicalIndex
  readonly #settings: IndexSettings
  readonly #vectors = new Map<string, PlannedIndex>()
  readonly #modelOf = new Map<number, string>()
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
    yield* store.eachRow((row) => {
      for (; state.#nextSlot < row.slot; state.#nextSlot++) state.#freeSlots.push(state.#nextSlot)
      state.#nextSlot = row.slot + 1
      state.table.insert(row)
    })
    yield* store.eachVector(({ slot, seq, model, values }) => {
      try {
        state.#embed(slot, seq, { model, values })
      } catch (cause) {
        throw new DamagedColumn(`the vector of slot ${slot} is none of ${model}`, { cause })
      }
    })
    for (const [model, index] of state.#vectors) {
      const key = { modelId: model, seq: state.lastSeq }
      const outcome = yield* Effect.promise(() => index.restore(snapshotPath(store, model), key))
      if (outcome.restored && outcome.stale === 0 && outcome.indexed === index.size) state.#onDisk.set(model, key.seq)
    }
    return state
  }) satisfies (store: OpenNamespace, settings: IndexSettings) => Effect.Effect<NamespaceState, StoreError>

  /** Whether the snapshot that was read holds all there is: it need not be written again. */
  isOnDisk(model: string): boolean {
    return this.#onDisk.get(model) === this.lastSeq
  }

  get models(): ReadonlyArray<string> {
    return [...this.#vectors.keys()]
  }

  index(model: string): PlannedIndex | undefined {
    return this.#vectors.get(model)
  }

  /** The embedding model of a slot's vector. */
  modelOf(slot: number): string | undefined {
    return this.#modelOf.get(slot)
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

  #embed(slot: number, seq: number, vector: MemoryVector): void {
    if (this.#modelOf.get(slot) !== vector.model) this.#forget(slot, seq)
    let index = this.#vectors.get(vector.model)
    if (index === undefined) {
      index = new PlannedIndex({ dims: vector.values.length, ...this.#settings })
      this.#vectors.set(vector.model, index)
    }
    index.upsert(slot, vector.values, seq)
    this.#modelOf.set(slot, vector.model)
  }

  #forget(slot: number, seq: number): void {
    const model = this.#modelOf.get(slot)
    if (model === undefined) return
    const index = this.#vectors.get(model)
    index?.remove(slot, seq)
    this.#modelOf.delete(slot)
    if (index?.size === 0) {
      index.close()
      this.#vectors.delete(model)
    }
  }
}

/** Where the graph of one model is kept. */
export const snapshotPath = (store: OpenNamespace, model: string): string =>
  `${store.snapshotPath}.${encodeURIComponent(model)}`
