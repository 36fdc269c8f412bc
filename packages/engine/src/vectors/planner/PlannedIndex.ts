/**
 * The index of one namespace: an arena, the exact engine over it and, once there are enough vectors, inverted lists (or
 * a graph where one is pinned). The planner chooses the engine of each search.
 *
 * Owned by the namespace actor. Its background fiber calls `work` until that returns 0; before a commit that removes
 * or replaces a vector the actor calls `discardSnapshot`.
 */
import { Limits } from "@muniment/domain/Limits"
import type { Bitmap } from "../../bitmap/Bitmap.ts"
import { HnswIndex, type RestoreOutcome, type WriteOutcome } from "../hnsw/HnswIndex.ts"
import type { HnswlibModule } from "../hnsw/HnswGraph.ts"
import {
  codesKeepMin,
  codesMin,
  type CostBook,
  type ExpectedLists,
  type IndexPin,
  type Plan,
  plan,
  type PlanInput,
  strictPlan,
  typicalCosts
} from "./Planner.ts"
import { QuantizedIndex } from "../lists/QuantizedIndex.ts"
import type { SlabPool } from "../arena/Slab.ts"
import type { SnapshotKey } from "../hnsw/Snapshot.ts"
import { type SlotMask, VectorArena } from "../arena/VectorArena.ts"
import { VectorSegments } from "../arena/VectorSegments.ts"
import type { IndexStats, SearchHits, SegmentedIndex, VectorIndex } from "../VectorIndex.ts"

// The parts of the graph engine that callers need: only planner/ imports from hnsw/.
export { type HnswlibModule, loadHnswlib } from "../hnsw/HnswGraph.ts"
export { discardSnapshot } from "../hnsw/Snapshot.ts"

export interface PlannedIndexOptions {
  readonly dims: number
  readonly slabs: SlabPool
  /** Undefined if the optional dependency is missing: a pinned graph is then an exact scan. */
  readonly hnswlib: HnswlibModule | undefined
  readonly pin: IndexPin
  /** Measured costs, shared by all namespaces; without them `typicalCosts`. */
  readonly costs?: Readonly<CostBook> | undefined
}

/** Sizes of a strict search: how many of the best have to be certain, and the least number of hits. */
export interface StrictSizes {
  readonly certain: number
  readonly kept: number
}

/** Best first by the scores of their rows. */
export interface StrictHits {
  readonly slots: Int32Array
  readonly plan: Plan & { readonly isCertified: boolean }
}

/** Hits beyond the certain ones that a strict search begins with: of real texts 12 to 60 may belong to the best 10. */
const spareHits = 60

export class PlannedIndex implements VectorIndex, SegmentedIndex {
  readonly kind = "planned"
  readonly #options: PlannedIndexOptions
  readonly #arena: VectorArena
  readonly #exact: ExactIndex
  readonly #segments: VectorSegments
  #codes: QuantizedIndex | undefined
  #graph: HnswIndex | undefined
  #isClosed = false

  constructor(options: PlannedIndexOptions) {
    this.#options = options
    this.#arena = new VectorArena(options.dims, options.slabs.take())
    this.#exact = new ExactIndex(this.#arena)
    this.#segments = new VectorSegments(this.#arena)
  }

  get size(): number {
    return this.#arena.size
  }

  upsert(slot: number, vector: Float32Array, seq: number): void {
    if (this.#arena.set(slot, vector, seq)) this.#sync(slot)
  }

  remove(slot: number, seq: number): void {
    if (this.#arena.clear(slot, seq)) this.#sync(slot)
  }

  search(query: Float32Array, k: number, allowed: Bitmap | undefined): SearchHits {
    return this.searchExplained(query, k, allowed).hits
  }

  /** A search with the plan it followed. */
  searchExplained(
    query: Float32Array,
    k: number,
    allowed: Bitmap | undefined
  ): { readonly hits: SearchHits; readonly plan: Plan } {
    const within = this.#uploadFilter(allowed)
    const chosen = this.#planFor(k, within?.count ?? this.#arena.size, allowed)
    // A filter that lets everything through would only cost a test for each candidate.
    const isWhole = within === undefined || within.count === this.#arena.size
    const hits = this.#searchBy(chosen, query, k, isWhole ? undefined : allowed, isWhole ? undefined : within)
    return { hits, plan: chosen }
  }

  /**
   * Hits among which the `certain` best by their float32 vectors are, and at least `kept` of the best by scores.
   * Certified if every vector was looked at and the bounds of the scores left nothing open.
   */
  searchStrict(query: Float32Array, { certain, kept }: StrictSizes, allowed: Bitmap | undefined): StrictHits {
    const passing = this.#uploadFilter(allowed)?.count ?? this.#arena.size
    const isScan = passing <= Limits.strictScanMax
    for (let wanted = Math.max(kept, certain + spareHits); ; wanted *= 2) {
      const size = Math.min(wanted, Limits.strictHitsMax)
      const { hits, plan } = isScan
        ? { hits: this.#exact.search(query, size, allowed), plan: strictPlan(this.#planInput(size, passing, allowed)) }
        : this.searchExplained(query, size, allowed)
      const { isSettled, needed } = this.#reachOf(query, hits, certain)
      const isWhole = hits.slots.length >= passing
      if (!isSettled && !isWhole && size < Limits.strictHitsMax) continue
      const shown = Math.max(kept, isSettled || isWhole ? needed : size)
      return {
        slots: hits.slots.subarray(0, shown),
        plan: { ...plan, isCertified: isScan && (isSettled || isWhole) }
      }
    }
  }

  /** Scores of the slots' vectors, NaN where a slot has none. */
  scoresOf(slots: ReadonlyArray<number>, query: Float32Array): Float32Array {
    const live = slots.filter((slot) => this.#arena.live.has(slot))
    const scores = this.#arena.scores(this.#arena.prepare(query), live)
    if (live.length === slots.length) return scores
    let at = 0
    return Float32Array.from(slots, (slot) => (this.#arena.live.has(slot) ? scores[at++]! : Number.NaN))
  }

  /** A copy of the slot's vector, to the arena's precision; undefined if it has none. */
  vectorOf(slot: number): Float32Array | undefined {
    return this.#arena.live.has(slot) ? this.#arena.copyOf(slot) : undefined
  }

  plan(k: number, allowed: Bitmap | undefined): Plan {
    return this.#planFor(k, this.#uploadFilter(allowed)?.count ?? this.#arena.size, allowed)
  }

  #planFor(k: number, passing: number, allowed: Bitmap | undefined): Plan {
    return plan(this.#planInput(k, passing, allowed))
  }

  #planInput(k: number, passing: number, allowed: Bitmap | undefined): PlanInput {
    const live = this.#arena.size
    const codes = this.#codes
    const graph = this.#graph
    return {
      k,
      live,
      allowed: passing,
      lists: codes === undefined || codes.lists === 0 ? undefined : new ListsOf(codes, k, passing / live),
      graph: graph === undefined ? undefined : { pending: graph.pendingWithin(allowed) },
      pin: this.#options.pin,
      costs: this.#options.costs?.current ?? typicalCosts
    }
  }

  /**
   * Builds lists or the graph for about `budgetMillis`; returns the backlog (0: nothing to do until the next change).
   * `now` is a clock in milliseconds.
   */
  work(budgetMillis: number, now: () => number): number {
    return this.#builder()?.work(budgetMillis, now) ?? 0
  }

  /** Makes `work` rebuild a graph that has stale elements, so that a snapshot of it may be written. */
  requestRebuild(): void {
    this.#graph?.requestRebuild()
  }

  /** Vectors still to be added to the lists or the graph. */
  get backlog(): number {
    if (this.#wantsCodes) return this.#codes?.backlog ?? this.#arena.size
    if (this.#wantsGraph) return this.#graph?.stats().pending ?? this.#arena.size
    return 0
  }

  stats(): IndexStats {
    return (this.#graph ?? this.#codes ?? this.#exact).stats()
  }

  close(): void {
    this.#isClosed = true
    this.#builder()
    this.#arena.close()
  }

  async writeSnapshot(path: string, key: SnapshotKey): Promise<WriteOutcome> {
    return this.#graph === undefined
      ? { written: false, reason: "there is no graph" }
      : this.#graph.writeSnapshot(path, key)
  }

  /** Call it once, after every live vector was upserted; see `HnswIndex.restore`. */
  async restore(path: string, key: SnapshotKey): Promise<RestoreOutcome> {
    this.#builder()
    return this.#graph === undefined
      ? { restored: false, reason: "no graph is wanted" }
      : this.#graph.restore(path, key)
  }

  changedSegments(): ReadonlyArray<number> {
    return this.#segments.changedSegments()
  }

  encodeSegment(segment: number): Uint8Array<ArrayBuffer> | undefined {
    return this.#segments.encodeSegment(segment)
  }

  adoptSegment(segment: number, data: Uint8Array): Int32Array | undefined {
    const slots = this.#segments.adoptSegment(segment, data)
    if (this.#codes !== undefined || this.#graph !== undefined) slots?.forEach((slot) => this.#syncEngines(slot))
    return slots
  }

  /** How many of the first hits may be among the `certain` best, and whether nothing behind the last hit may. */
  #reachOf(query: Float32Array, { scores, slots }: SearchHits, certain: number) {
    const bounds = this.#arena.boundsOf(this.#arena.prepare(query))
    const residuals = this.#arena.residuals(slots)
    const lowers = scores.map((score, at) => bounds.lower(score, residuals[at]!)).sort()
    const least = lowers.at(-certain) ?? -Infinity
    const needed = 1 + scores.findLastIndex((score, at) => bounds.upper(score, residuals[at]!) >= least)
    const unseen = bounds.upperBelow(scores.at(-1) ?? -1, this.#arena.residualMax)
    return { needed, isSettled: unseen < least }
  }

  #searchBy(
    { ef, engine, fallsBackToScan }: Plan,
    query: Float32Array,
    k: number,
    allowed: Bitmap | undefined,
    within: SlotMask | undefined
  ): SearchHits {
    if (engine === "quantized" && this.#codes !== undefined)
      return this.#codes.searchWithin(query, k, within, undefined, fallsBackToScan)
    this.#codes?.observeOther(query, k, allowed !== undefined)
    if (engine === "hnsw" && this.#graph !== undefined) return this.#graph.search(query, k, allowed, ef)
    return within === undefined
      ? this.#exact.search(query, k, undefined)
      : this.#arena.scan(this.#arena.prepare(query), k, within)
  }

  /** Uploads the live slots that the filter lets through. */
  #uploadFilter(allowed: Bitmap | undefined): SlotMask | undefined {
    return allowed === undefined ? undefined : this.#arena.uploadMask(this.#arena.live, allowed)
  }

  #sync(slot: number): void {
    this.#segments.markChanged(slot)
    this.#syncEngines(slot)
  }

  #syncEngines(slot: number): void {
    this.#codes?.sync(slot)
    this.#graph?.sync(slot)
  }

  get #wantsCodes(): boolean {
    const { pin } = this.#options
    if (this.#isClosed || (pin !== "auto" && pin !== "quantized")) return false
    const least = pin === "quantized" ? 1 : this.#codes === undefined ? codesMin : codesKeepMin
    return this.#arena.size >= least
  }

  get #wantsGraph(): boolean {
    const { hnswlib, pin } = this.#options
    return hnswlib !== undefined && pin === "hnsw" && !this.#isClosed && this.#arena.size > 0
  }

  /** The engine to build, which is created or closed here as the number of vectors requires. */
  #builder(): QuantizedIndex | HnswIndex | undefined {
    if (!this.#wantsCodes) {
      this.#codes?.close()
      this.#codes = undefined
    } else this.#codes ??= new QuantizedIndex(this.#arena)
    if (!this.#wantsGraph) {
      this.#graph?.close()
      this.#graph = undefined
    } else if (this.#options.hnswlib !== undefined) this.#graph ??= new HnswIndex(this.#options.hnswlib, this.#arena)
    return this.#codes ?? this.#graph
  }
}

/** Estimates of the lists for one search, when they are asked for. */
class ListsOf implements ExpectedLists {
  readonly #codes: QuantizedIndex
  readonly #k: number
  readonly #share: number

  constructor(codes: QuantizedIndex, k: number, share: number) {
    this.#codes = codes
    this.#k = k
    this.#share = share
  }

  get count(): number {
    return this.#codes.lists
  }

  get probes(): number {
    return this.#codes.probesFor(this.#k, this.#share)
  }

  get rerankCorrection(): number {
    return this.#codes.rerankCorrectionFor(this.#k)
  }
}

/**
 * Exact engine: scores every live, allowed vector. The oracle of the other engines' tests, and the fastest engine for
 * small or strongly filtered sets.
 */
export class ExactIndex implements VectorIndex {
  readonly kind = "exact"
  readonly #arena: VectorArena

  constructor(arena: VectorArena) {
    this.#arena = arena
  }

  get size(): number {
    return this.#arena.size
  }

  upsert(slot: number, vector: Float32Array, seq: number): void {
    this.#arena.set(slot, vector, seq)
  }

  remove(slot: number, seq: number): void {
    this.#arena.clear(slot, seq)
  }

  search(query: Float32Array, k: number, allowed: Bitmap | undefined): SearchHits {
    return this.#arena.scan(this.#arena.prepare(query), k, this.#arena.uploadMask(this.#arena.live, allowed))
  }

  stats(): IndexStats {
    return { live: this.#arena.size, pending: 0, stale: 0, rebuilding: false }
  }

  close(): void {}
}
