/**
 * Graph engine: an HNSW graph that is built in the background, and an exact scan of the vectors that it lacks, so that
 * a search sees every committed write.
 *
 * `upsert` and `remove` never change the graph's links. `work` adds missing vectors in slices; above `staleShareMax` it
 * builds a new graph while the old one serves. Candidates are scored again from the arena, so a stale or damaged graph
 * never yields a wrong score.
 */
import type { Bitmap } from "../../bitmap/Bitmap.ts"
import { HnswGraph, type HnswlibModule } from "./HnswGraph.ts"
import { discardSnapshot, readSnapshot, SnapshotDoubt, type SnapshotKey, writeSnapshot } from "./Snapshot.ts"
import type { VectorArena } from "../arena/VectorArena.ts"
import type { IndexStats, SearchHits, VectorIndex } from "../VectorIndex.ts"

/** A larger share of stale elements causes a rebuild. */
export const staleShareMax = 0.2

/** Least width of the walk: recall of .98 or more at k 10 and k 100 on real vectors. */
const efMin = 128
const efPerResult = 4
/** A filter hides part of the neighbourhood, so the walk is widened by up to this factor. */
const efFilterFactorMax = 2

/** Candidates beyond k: float32 sums in another order may swap the last ones. */
const rescoreMargin = 8

/** Elements that a filtered walk may visit (about 6 ms); beyond, the allowed rows are scanned instead. */
const filterVisitsMax = 10_000

export type WriteOutcome = { readonly written: true } | { readonly written: false; readonly reason: string }
export type RestoreOutcome =
  | { readonly restored: true; readonly indexed: number; readonly stale: number }
  | { readonly restored: false; readonly reason: string }

export class HnswIndex implements VectorIndex {
  readonly kind = "hnsw"
  readonly #module: HnswlibModule
  readonly #arena: VectorArena
  #serving: HnswGraph
  #next: HnswGraph | undefined
  #rebuildRequested = false
  #isWriting = false
  #isClosed = false

  /** All that the arena holds is pending. */
  constructor(module: HnswlibModule, arena: VectorArena) {
    this.#module = module
    this.#arena = arena
    this.#serving = HnswGraph.empty(module, arena)
  }

  get size(): number {
    return this.#arena.size
  }

  upsert(slot: number, vector: Float32Array, seq: number): void {
    if (this.#arena.set(slot, vector, seq)) this.sync(slot)
  }

  remove(slot: number, seq: number): void {
    if (this.#arena.clear(slot, seq)) this.sync(slot)
  }

  /** Call it after every change of the arena. */
  sync(slot: number): void {
    this.#serving.retire(slot)
    this.#next?.retire(slot)
  }

  search(query: Float32Array, k: number, allowed: Bitmap | undefined, ef = this.efFor(k, allowed)): SearchHits {
    const prepared = this.#arena.prepare(query)
    const wanted = k + rescoreMargin
    const candidates = this.#serving.candidates(prepared, wanted, ef, allowed, filterVisitsMax)
    const isComplete =
      candidates !== undefined && (candidates.length >= wanted || candidates.length >= this.#indexedWithin(allowed))
    // Otherwise the walk ran too long, or did not reach everything it could have returned.
    if (!isComplete) return this.#arena.scan(prepared, k, this.#arena.uploadMask(this.#arena.live, allowed))
    // The candidates, and the missing slots within the filter.
    const among = this.#serving.missing.clone()
    if (allowed !== undefined) among.and(allowed)
    for (const slot of candidates) among.set(slot)
    return this.#arena.scan(prepared, k, this.#arena.uploadMask(among, undefined))
  }

  /**
   * Adds elements for about `budgetMillis`, at least one; returns the backlog (0: nothing to do). `now` is a clock in
   * milliseconds.
   */
  work(budgetMillis: number, now: () => number): number {
    if (this.#isClosed) return 0
    // Another thread reads the graph's memory while it writes the file.
    if (this.#isWriting) return this.#backlog()
    if (this.#next === undefined && this.#needsRebuild()) {
      this.#rebuildRequested = false
      this.#next = HnswGraph.empty(this.#module, this.#arena)
    }
    const target = this.#next ?? this.#serving
    const deadline = now() + budgetMillis
    for (let slot = target.missing.next(0); slot !== -1; slot = target.missing.next(slot)) {
      target.add(slot)
      if (now() >= deadline) break
    }
    // The new graph serves as soon as it lacks no more vectors than the old one, even under churn.
    if (this.#next !== undefined && this.#next.missing.count() <= this.#serving.missing.count()) {
      this.#serving = this.#next
      this.#next = undefined
    }
    return this.#backlog()
  }

  /** Makes `work` build a new graph if any element is stale, so that a snapshot can be written. */
  requestRebuild(): void {
    this.#rebuildRequested = this.#next === undefined && this.#serving.stale > 0
  }

  /** Pending slots within `allowed`, which a search scans beside the graph. */
  pendingWithin(allowed: Bitmap | undefined): number {
    return allowed === undefined ? this.#serving.missing.count() : this.#serving.missing.countAnd(allowed)
  }

  stats(): IndexStats {
    return {
      live: this.#arena.size,
      pending: this.#serving.missing.count(),
      stale: this.#serving.stale,
      rebuilding: this.#next !== undefined
    }
  }

  close(): void {
    this.#isClosed = true
    this.#next = undefined
  }

  /**
   * Writes the graph and its labels. Refused if an element is stale, or becomes so while writing: the graph then holds
   * the vector of a memory that was deleted or replaced.
   */
  async writeSnapshot(path: string, key: SnapshotKey): Promise<WriteOutcome> {
    const graph = this.#serving
    const mayKeep = () => !this.#isClosed && graph === this.#serving && graph.stale === 0 && graph.indexed > 0
    if (this.#isWriting) return { written: false, reason: "another snapshot is being written" }
    if (!mayKeep()) return { written: false, reason: "the graph is empty or holds vectors that were removed" }
    this.#isWriting = true
    try {
      const kept = await writeSnapshot(path, key, this.#arena.width, graph, mayKeep)
      return kept ? { written: true } : { written: false, reason: "the graph changed while it was written" }
    } catch (cause) {
      return { written: false, reason: cause instanceof Error ? cause.message : String(cause) }
    } finally {
      this.#isWriting = false
    }
  }

  /**
   * Loads a snapshot, once the arena holds every live vector. Labels are checked against their slots' current sequence
   * numbers; slots without one are pending. A file that fails a check, or holds the vector of a removed memory, is
   * deleted.
   */
  async restore(path: string, key: SnapshotKey): Promise<RestoreOutcome> {
    try {
      const { native, labels } = await readSnapshot(path, key, this.#arena.width, this.#module)
      const graph = HnswGraph.attach(native, this.#arena, labels)
      if (graph.stale > 0) await discardSnapshot(path)
      if (this.#isClosed || graph.indexed <= this.#serving.indexed)
        return { restored: false, reason: "the graph in memory holds more" }
      this.#serving = graph
      return { restored: true, indexed: graph.indexed, stale: graph.stale }
    } catch (cause) {
      if (!(cause instanceof SnapshotDoubt)) throw cause
      await discardSnapshot(path)
      return { restored: false, reason: cause.message }
    }
  }

  /** Width of the walk for k results within `allowed`. */
  efFor(k: number, allowed: Bitmap | undefined): number {
    const share =
      allowed === undefined || this.#arena.size === 0 ? 1 : this.#arena.live.countAnd(allowed) / this.#arena.size
    return efFor(k, share)
  }

  #indexedWithin(allowed: Bitmap | undefined): number {
    return allowed === undefined
      ? this.#serving.indexed
      : this.#arena.live.countAnd(allowed) - this.pendingWithin(allowed)
  }

  #needsRebuild(): boolean {
    return this.#rebuildRequested || this.#serving.staleShare > staleShareMax
  }

  #backlog(): number {
    if (this.#next !== undefined) return this.#next.missing.count()
    return this.#needsRebuild() ? Math.max(1, this.#arena.size) : this.#serving.missing.count()
  }
}

/** Width of the walk for k results when `share` (0..1) of the live slots is allowed. */
export const efFor = (k: number, share: number): number => {
  const widening = Math.min(efFilterFactorMax, 1 / Math.sqrt(Math.max(share, Number.EPSILON)))
  return Math.ceil(Math.max(efMin, k * efPerResult) * widening)
}
