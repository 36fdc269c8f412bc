/**
 * The one index a namespace sees: an arena, the exact engine over it, and a graph once there are
 * enough vectors to need one. Which engine answers is the planner's choice, search by search.
 *
 * Owned by the namespace actor, which calls `work` from a background fiber until it returns 0, and
 * `discardSnapshot` after every commit that removed or replaced a vector.
 */
import type { Bitmap } from "./Bitmap.ts"
import { ExactIndex } from "./ExactIndex.ts"
import { HnswIndex, type RestoreOutcome, type WriteOutcome } from "./HnswIndex.ts"
import type { HnswlibModule } from "./Hnswlib.ts"
import { graphBuildMin, graphKeepMin, type IndexPin, type Plan, plan } from "./Planner.ts"
import type { SnapshotKey } from "./Snapshot.ts"
import { VectorArena } from "./VectorArena.ts"
import type { IndexStats, SearchHits, VectorIndex } from "./VectorIndex.ts"

export interface PlannedIndexOptions {
  readonly dims: number
  /** Undefined where the optional dependency is missing: every search is exact then. */
  readonly hnswlib: HnswlibModule | undefined
  readonly pin: IndexPin
}

export class PlannedIndex implements VectorIndex {
  readonly kind = "planned"
  private readonly options: PlannedIndexOptions
  private readonly arena: VectorArena
  private readonly exact: ExactIndex
  private graph: HnswIndex | undefined
  private isClosed = false

  constructor(options: PlannedIndexOptions) {
    this.options = options
    this.arena = new VectorArena(options.dims)
    this.exact = new ExactIndex(this.arena)
  }

  get size(): number {
    return this.arena.size
  }

  upsert(slot: number, vector: Float32Array, seq: number): void {
    const writer = this.graph ?? this.exact
    writer.upsert(slot, vector, seq)
  }

  remove(slot: number, seq: number): void {
    const writer = this.graph ?? this.exact
    writer.remove(slot, seq)
  }

  search(query: Float32Array, k: number, allowed: Bitmap | undefined): SearchHits {
    return this.searchExplained(query, k, allowed).hits
  }

  /** A search, and the plan it followed. */
  searchExplained(
    query: Float32Array,
    k: number,
    allowed: Bitmap | undefined
  ): { readonly hits: SearchHits; readonly plan: Plan } {
    const chosen = this.plan(k, allowed)
    // A filter that lets everything through would cost a call back for every element of the walk.
    const restricting = allowed === undefined || this.isWhole(allowed) ? undefined : allowed
    const hits =
      chosen.engine === "hnsw" && this.graph !== undefined
        ? this.graph.search(query, k, restricting, chosen.ef)
        : this.exact.search(query, k, restricting)
    return { hits, plan: chosen }
  }

  /** Inner product of one slot's vector with the query; undefined where the slot has none. */
  scoreOf(slot: number, query: Float32Array): number | undefined {
    return this.arena.live.has(slot) ? this.arena.dot(slot, query) : undefined
  }

  /** A copy of one slot's vector; undefined where the slot has none. */
  vectorOf(slot: number): Float32Array | undefined {
    return this.arena.live.has(slot) ? this.arena.copyOf(slot) : undefined
  }

  plan(k: number, allowed: Bitmap | undefined): Plan {
    return plan({
      k,
      live: this.arena.size,
      allowed: allowed === undefined ? this.arena.size : this.arena.live.countAnd(allowed),
      graph: this.graph === undefined ? undefined : { pending: this.graph.pendingWithin(allowed) },
      pin: this.options.pin
    })
  }

  /**
   * Builds the graph for about `budgetMillis` and returns how many vectors are still to add; 0 when
   * there is nothing to do until the next change. `now` is a clock in milliseconds.
   */
  work(budgetMillis: number, now: () => number): number {
    const graph = this.graphWanted()
    return graph === undefined ? 0 : graph.work(budgetMillis, now)
  }

  /** Has `work` rebuild a graph with stale elements, so that a snapshot of it may be written. */
  requestRebuild(): void {
    this.graph?.requestRebuild()
  }

  /** Vectors that a graph is wanted for and does not hold yet. */
  get backlog(): number {
    if (!this.wantsGraph) return 0
    return this.graph === undefined ? this.arena.size : this.graph.stats().pending
  }

  stats(): IndexStats {
    return (this.graph ?? this.exact).stats()
  }

  close(): void {
    this.isClosed = true
    this.dropGraph()
  }

  async writeSnapshot(path: string, key: SnapshotKey): Promise<WriteOutcome> {
    return this.graph === undefined
      ? { written: false, reason: "there is no graph" }
      : this.graph.writeSnapshot(path, key)
  }

  /** To be called once, after every live vector was upserted; see `HnswIndex.restore`. */
  async restore(path: string, key: SnapshotKey): Promise<RestoreOutcome> {
    const graph = this.graphWanted()
    return graph === undefined ? { restored: false, reason: "no graph is wanted" } : graph.restore(path, key)
  }

  private isWhole(allowed: Bitmap): boolean {
    return this.arena.live.countAnd(allowed) === this.arena.size
  }

  private get wantsGraph(): boolean {
    const { hnswlib, pin } = this.options
    const liveMin = pin === "hnsw" ? 1 : this.graph === undefined ? graphBuildMin : graphKeepMin
    return hnswlib !== undefined && pin !== "exact" && !this.isClosed && this.arena.size >= liveMin
  }

  private graphWanted(): HnswIndex | undefined {
    const { hnswlib } = this.options
    if (hnswlib === undefined || !this.wantsGraph) this.dropGraph()
    else this.graph ??= new HnswIndex(hnswlib, this.arena)
    return this.graph
  }

  private dropGraph(): void {
    this.graph?.close()
    this.graph = undefined
  }
}
