/**
 * The approximate engine: a graph that is built in the background, and an exact scan of what it
 * does not hold yet, so that a search sees every committed write at once.
 *
 * `upsert` and `remove` never touch the graph's links; `work` adds what is missing in slices, and
 * once too many elements are stale it builds a fresh graph while the old one serves. Candidates
 * are scored again from the arena, so a score never comes from a stale or damaged graph.
 */
import type { Bitmap } from "./Bitmap.ts"
import { HnswGraph } from "./HnswGraph.ts"
import type { HnswlibModule } from "./Hnswlib.ts"
import { discardSnapshot, readSnapshot, SnapshotDoubt, type SnapshotKey, writeSnapshot } from "./Snapshot.ts"
import type { VectorArena } from "./VectorArena.ts"
import type { IndexStats, SearchHits, VectorIndex } from "./VectorIndex.ts"

/** Above this share of stale elements the graph is rebuilt. */
export const staleShareMax = 0.2

/** Width of the walk: recall of at least .98 at 10 and at 100 on real vectors (bench/index/README.md). */
export const efMin = 128
const efPerResult = 4
/** A filter hides part of the walk's neighbourhood: at most this much wider for the rarest filters. */
const efFilterFactorMax = 2

/** Candidates asked beyond k: float32 sums in another order may swap neighbours at the border. */
const rescoreMargin = 8

/** Elements a filtered walk may visit (about 6 ms) before the allowed set is scanned instead. */
const filterVisitsMax = 10_000

export type WriteOutcome = { readonly written: true } | { readonly written: false; readonly reason: string }
export type RestoreOutcome =
  | { readonly restored: true; readonly indexed: number; readonly stale: number }
  | { readonly restored: false; readonly reason: string }

export class HnswIndex implements VectorIndex {
  readonly kind = "hnsw"
  private readonly module: HnswlibModule
  private readonly arena: VectorArena
  private serving: HnswGraph
  private next: HnswGraph | undefined
  private rebuildRequested = false
  private isWriting = false
  private isClosed = false

  /** Takes over what the arena holds: all of it is pending. */
  constructor(module: HnswlibModule, arena: VectorArena) {
    this.module = module
    this.arena = arena
    this.serving = HnswGraph.empty(module, arena)
  }

  get size(): number {
    return this.arena.size
  }

  upsert(slot: number, vector: Float32Array, seq: number): void {
    if (this.arena.set(slot, vector, seq)) this.follow(slot)
  }

  remove(slot: number, seq: number): void {
    if (this.arena.clear(slot, seq)) this.follow(slot)
  }

  /** To be called after every change of the arena. */
  follow(slot: number): void {
    this.serving.retire(slot)
    this.next?.retire(slot)
  }

  search(query: Float32Array, k: number, allowed: Bitmap | undefined, ef = this.efFor(k, allowed)): SearchHits {
    const prepared = this.arena.prepare(query)
    const wanted = k + rescoreMargin
    const candidates = this.serving.candidates(prepared, wanted, ef, allowed, filterVisitsMax)
    const isComplete =
      candidates !== undefined && (candidates.length >= wanted || candidates.length >= this.indexedWithin(allowed))
    // Otherwise the walk ran too long, or did not reach everything it could have returned.
    if (!isComplete) return this.arena.best(prepared, k, this.arena.lay(this.arena.live, allowed))
    // Beside the candidates the tail, within the filter.
    const among = this.serving.missing.clone()
    if (allowed !== undefined) among.and(allowed)
    for (const slot of candidates) among.set(slot)
    return this.arena.best(prepared, k, this.arena.lay(among, undefined))
  }

  /**
   * Builds for about `budgetMillis`, at least one element, and returns how many are still to add
   * (0: nothing to do). `now` is a clock in milliseconds.
   */
  work(budgetMillis: number, now: () => number): number {
    if (this.isClosed) return 0
    // The file being written is read from the graph's memory by another thread.
    if (this.isWriting) return this.backlog()
    if (this.next === undefined && this.needsRebuild()) {
      this.rebuildRequested = false
      this.next = HnswGraph.empty(this.module, this.arena)
    }
    const target = this.next ?? this.serving
    const deadline = now() + budgetMillis
    for (let slot = target.missing.next(0); slot !== -1; slot = target.missing.next(slot)) {
      target.add(slot)
      if (now() >= deadline) break
    }
    // As soon as the fresh graph leaves no longer a tail to scan it serves, even under churn.
    if (this.next !== undefined && this.next.missing.count() <= this.serving.missing.count()) {
      this.serving = this.next
      this.next = undefined
    }
    return this.backlog()
  }

  /** Has `work` build a fresh graph whatever the stale share is, so that a snapshot can be written. */
  requestRebuild(): void {
    this.rebuildRequested = this.next === undefined && this.serving.stale > 0
  }

  /** Pending slots within `allowed`: what a search scans beside the graph. */
  pendingWithin(allowed: Bitmap | undefined): number {
    return allowed === undefined ? this.serving.missing.count() : this.serving.missing.countAnd(allowed)
  }

  stats(): IndexStats {
    return {
      live: this.arena.size,
      pending: this.serving.missing.count(),
      stale: this.serving.stale,
      rebuilding: this.next !== undefined
    }
  }

  close(): void {
    this.isClosed = true
    this.next = undefined
  }

  /**
   * Writes the graph and its labels. Refused while any element is stale, for then the graph still
   * holds the vector of a memory that was deleted or replaced; also when that happens meanwhile.
   */
  async writeSnapshot(path: string, key: SnapshotKey): Promise<WriteOutcome> {
    const graph = this.serving
    const mayKeep = () => !this.isClosed && graph === this.serving && graph.stale === 0 && graph.indexed > 0
    if (this.isWriting) return { written: false, reason: "another snapshot is being written" }
    if (!mayKeep()) return { written: false, reason: "the graph is empty or holds vectors that were removed" }
    this.isWriting = true
    try {
      const kept = await writeSnapshot(path, key, this.arena.width, graph, mayKeep)
      return kept ? { written: true } : { written: false, reason: "the graph changed while it was written" }
    } catch (cause) {
      return { written: false, reason: cause instanceof Error ? cause.message : String(cause) }
    } finally {
      this.isWriting = false
    }
  }

  /**
   * Takes over a snapshot, once the arena holds every live vector. Each label is checked against
   * its slot's current sequence number; what is not covered is pending. A file that raises any
   * doubt, or still holds the vector of a removed memory, is deleted.
   */
  async restore(path: string, key: SnapshotKey): Promise<RestoreOutcome> {
    try {
      const { native, labels } = await readSnapshot(path, key, this.arena.width, this.module)
      const graph = HnswGraph.attach(native, this.arena, labels)
      if (graph.stale > 0) await discardSnapshot(path)
      if (this.isClosed || graph.indexed <= this.serving.indexed)
        return { restored: false, reason: "the graph in memory holds more" }
      this.serving = graph
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
      allowed === undefined || this.arena.size === 0 ? 1 : this.arena.live.countAnd(allowed) / this.arena.size
    return efFor(k, share)
  }

  private indexedWithin(allowed: Bitmap | undefined): number {
    return allowed === undefined
      ? this.serving.indexed
      : this.arena.live.countAnd(allowed) - this.pendingWithin(allowed)
  }

  private needsRebuild(): boolean {
    return this.rebuildRequested || this.serving.staleShare > staleShareMax
  }

  private backlog(): number {
    if (this.next !== undefined) return this.next.missing.count()
    return this.needsRebuild() ? Math.max(1, this.arena.size) : this.serving.missing.count()
  }
}

/** Width of the walk for k results when `share` (0..1) of the live slots is allowed. */
export const efFor = (k: number, share: number): number => {
  const widening = Math.min(efFilterFactorMax, 1 / Math.sqrt(Math.max(share, Number.EPSILON)))
  return Math.ceil(Math.max(efMin, k * efPerResult) * widening)
}
