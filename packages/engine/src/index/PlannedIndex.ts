/**
 * The one index a namespace sees: an arena, the exact engine over it, and our lists of codes, or a graph where
 * one is pinned, once there are enough vectors to need them. Which engine answers is the planner's choice, search
 * by search.
 *
 * Owned by the namespace actor, which calls `work` from a background fiber until it returns 0, and
 * `discardSnapshot` after every commit that removed or replaced a vector.
 */
import type { Bitmap } from "./Bitmap.ts"
import { ExactIndex } from "./ExactIndex.ts"
import { HnswIndex, type RestoreOutcome, type WriteOutcome } from "./HnswIndex.ts"
import type { HnswlibModule } from "./Hnswlib.ts"
import { type CostBook, typicalCosts } from "./IndexCosts.ts"
import { codesKeepMin, codesMin, type IndexPin, type Plan, plan } from "./Planner.ts"
import { QuantizedIndex } from "./QuantizedIndex.ts"
import type { SegmentedIndex } from "./Segments.ts"
import type { SlabPool } from "./Slab.ts"
import type { SnapshotKey } from "./Snapshot.ts"
import { type LaidSet, VectorArena } from "./VectorArena.ts"
import { VectorSegments } from "./VectorSegments.ts"
import type { IndexStats, SearchHits, VectorIndex } from "./VectorIndex.ts"

export interface PlannedIndexOptions {
  readonly dims: number
  readonly slabs: SlabPool
  /** Undefined where the optional dependency is missing: every search is exact then. */
  readonly hnswlib: HnswlibModule | undefined
  readonly pin: IndexPin
  /** What `measureCosts` found, or will find; without it, what is typical. */
  readonly costs?: Readonly<CostBook> | undefined
}

export class PlannedIndex implements VectorIndex, SegmentedIndex {
  readonly kind = "planned"
  private readonly options: PlannedIndexOptions
  private readonly arena: VectorArena
  private readonly exact: ExactIndex
  private readonly segments: VectorSegments
  private codes: QuantizedIndex | undefined
  private graph: HnswIndex | undefined
  private isClosed = false

  constructor(options: PlannedIndexOptions) {
    this.options = options
    this.arena = new VectorArena(options.dims, options.slabs.take())
    this.exact = new ExactIndex(this.arena)
    this.segments = new VectorSegments(this.arena)
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

  search(query: Float32Array, k: number, allowed: Bitmap | undefined): SearchHits {
    return this.searchExplained(query, k, allowed).hits
  }

  /** A search, and the plan it followed. */
  searchExplained(
    query: Float32Array,
    k: number,
    allowed: Bitmap | undefined
  ): { readonly hits: SearchHits; readonly plan: Plan } {
    const within = this.within(allowed)
    const chosen = this.planFor(k, within?.count ?? this.arena.size, allowed)
    // A filter that lets everything through would cost a look for each candidate.
    const isWhole = within === undefined || within.count === this.arena.size
    const hits = this.searchBy(chosen, query, k, isWhole ? undefined : allowed, isWhole ? undefined : within)
    return { hits, plan: chosen }
  }

  /** Inner products of the slots' vectors with the query; not a number where a slot has none. */
  scoresOf(slots: ReadonlyArray<number>, query: Float32Array): Float32Array {
    const live = slots.filter((slot) => this.arena.live.has(slot))
    const scores = this.arena.scores(this.arena.prepare(query), live)
    if (live.length === slots.length) return scores
    let at = 0
    return Float32Array.from(slots, (slot) => (this.arena.live.has(slot) ? scores[at++]! : Number.NaN))
  }

  /** A copy of one slot's vector, to the arena's precision; undefined where the slot has none. */
  vectorOf(slot: number): Float32Array | undefined {
    return this.arena.live.has(slot) ? this.arena.copyOf(slot) : undefined
  }

  plan(k: number, allowed: Bitmap | undefined): Plan {
    return this.planFor(k, this.within(allowed)?.count ?? this.arena.size, allowed)
  }

  private planFor(k: number, passing: number, allowed: Bitmap | undefined): Plan {
    const live = this.arena.size
    const { codes, graph } = this
    return plan({
      k,
      live,
      allowed: passing,
      lists:
        codes === undefined || codes.lists === 0
          ? undefined
          : { count: codes.lists, probes: codes.probesFor(k, passing / live), excess: codes.excessFor(k) },
      graph: graph === undefined ? undefined : { pending: graph.pendingWithin(allowed) },
      pin: this.options.pin,
      costs: this.options.costs?.current ?? typicalCosts
    })
  }

  /**
   * Builds lists or the graph for about `budgetMillis` and returns how many vectors are still to add; 0 when
   * there is nothing to do until the next change. `now` is a clock in milliseconds.
   */
  work(budgetMillis: number, now: () => number): number {
    return this.builder()?.work(budgetMillis, now) ?? 0
  }

  /** Has `work` rebuild a graph with stale elements, so that a snapshot of it may be written. */
  requestRebuild(): void {
    this.graph?.requestRebuild()
  }

  /** Vectors that lists or a graph are wanted for and do not hold yet. */
  get backlog(): number {
    if (this.wantsCodes) return this.codes?.backlog ?? this.arena.size
    if (this.wantsGraph) return this.graph?.stats().pending ?? this.arena.size
    return 0
  }

  stats(): IndexStats {
    return (this.graph ?? this.codes ?? this.exact).stats()
  }

  close(): void {
    this.isClosed = true
    this.builder()
    this.arena.close()
  }

  async writeSnapshot(path: string, key: SnapshotKey): Promise<WriteOutcome> {
    return this.graph === undefined
      ? { written: false, reason: "there is no graph" }
      : this.graph.writeSnapshot(path, key)
  }

  /** To be called once, after every live vector was upserted; see `HnswIndex.restore`. */
  async restore(path: string, key: SnapshotKey): Promise<RestoreOutcome> {
    this.builder()
    return this.graph === undefined ? { restored: false, reason: "no graph is wanted" } : this.graph.restore(path, key)
  }

  changedSegments(): ReadonlyArray<number> {
    return this.segments.changedSegments()
  }

  encodeSegment(segment: number): Uint8Array<ArrayBuffer> | undefined {
    return this.segments.encodeSegment(segment)
  }

  adoptSegment(segment: number, data: Uint8Array): Int32Array | undefined {
    const slots = this.segments.adoptSegment(segment, data)
    if (this.codes !== undefined || this.graph !== undefined) slots?.forEach((slot) => this.followEngines(slot))
    return slots
  }

  private searchBy(
    { ef, engine, scansRare }: Plan,
    query: Float32Array,
    k: number,
    allowed: Bitmap | undefined,
    within: LaidSet | undefined
  ): SearchHits {
    if (engine === "quantized" && this.codes !== undefined)
      return this.codes.searchWithin(query, k, within, undefined, scansRare)
    this.codes?.noteOther(query, k, allowed !== undefined)
    if (engine === "hnsw" && this.graph !== undefined) return this.graph.search(query, k, allowed, ef)
    return within === undefined
      ? this.exact.search(query, k, undefined)
      : this.arena.best(this.arena.prepare(query), k, within)
  }

  /** What a filter lets through, laid out for the kernels. */
  private within(allowed: Bitmap | undefined): LaidSet | undefined {
    return allowed === undefined ? undefined : this.arena.lay(this.arena.live, allowed)
  }

  private follow(slot: number): void {
    this.segments.follow(slot)
    this.followEngines(slot)
  }

  private followEngines(slot: number): void {
    this.codes?.follow(slot)
    this.graph?.follow(slot)
  }

  private get wantsCodes(): boolean {
    const { pin } = this.options
    if (this.isClosed || (pin !== "auto" && pin !== "quantized")) return false
    const least = pin === "quantized" ? 1 : this.codes === undefined ? codesMin : codesKeepMin
    return this.arena.size >= least
  }

  private get wantsGraph(): boolean {
    const { hnswlib, pin } = this.options
    return hnswlib !== undefined && pin === "hnsw" && !this.isClosed && this.arena.size > 0
  }

  /** The engine that has something to build, made or dropped as the number of vectors asks. */
  private builder(): QuantizedIndex | HnswIndex | undefined {
    if (!this.wantsCodes) {
      this.codes?.close()
      this.codes = undefined
    } else this.codes ??= new QuantizedIndex(this.arena)
    if (!this.wantsGraph) {
      this.graph?.close()
      this.graph = undefined
    } else if (this.options.hnswlib !== undefined) this.graph ??= new HnswIndex(this.options.hnswlib, this.arena)
    return this.codes ?? this.graph
  }
}
