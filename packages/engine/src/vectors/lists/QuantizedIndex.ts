/**
 * Approximate engine: inverted lists of 1-bit codes choose the rows, the arena's int8 rows score them (`InvertedLists`).
 * One flat list below `listsMin` vectors, about sqrt(n) lists above; `ProbeTuning` learns how many of them to probe.
 *
 * Codes follow each change of the arena at once, so nothing is ever pending or stale. `work` trains new lists in slices
 * while the old ones serve: at first, when the number of vectors has grown by `growthMax` or shrunk by `shrinkageMax`,
 * and after drift (recent additions lie far from all centroids).
 */
import type { Bitmap } from "../../bitmap/Bitmap.ts"
import { trainCodebook } from "./Codebook.ts"
import { InvertedLists } from "./InvertedLists.ts"
import { ProbeTuning } from "./ProbeTuning.ts"
import type { SlotMask, VectorArena } from "../arena/VectorArena.ts"
import type { IndexStats, SearchHits, VectorIndex } from "../VectorIndex.ts"

/** Below this many vectors one flat list is faster than any number of lists. */
const listsMin = 4_000
/** Lists for n vectors: this times the square root of n. */
const listsPerRoot = 1
/** Lists are trained again when the number of vectors has grown or shrunk by more than these factors. */
const growthMax = 2
const shrinkageMax = 4
/** Drift: mean squared distance to the centroid of recent additions, divided by that of the lists' first members. */
const driftMax = 1.3
/** Additions that the recent mean looks back on; drift must last for at least as many. */
const recentAdditions = 512
/** Codes written per step: about 50 us. */
const codesPerStep = 32

export class QuantizedIndex implements VectorIndex {
  readonly kind = "quantized"
  readonly #arena: VectorArena
  #serving: InvertedLists | undefined
  #tuning: ProbeTuning | undefined
  #next: InvertedLists | undefined
  #building: Generator<void, void> | undefined
  /** Live vectors when the lists were trained. */
  #trainedSize = 0
  /** Mean squared distances to the centroid: of the lists' first members, of recent additions. */
  #memberSquare = 0
  #recentSquare = 0
  #additions = 0
  #isClosed = false

  constructor(arena: VectorArena) {
    this.#arena = arena
  }

  get size(): number {
    return this.#arena.size
  }

  /** Number of lists that serve; 0 while searches are exact. */
  get lists(): number {
    return this.#serving?.codebook.count ?? 0
  }

  upsert(slot: number, vector: Float32Array, seq: number): void {
    if (this.#arena.set(slot, vector, seq)) this.sync(slot)
  }

  remove(slot: number, seq: number): void {
    if (this.#arena.clear(slot, seq)) this.sync(slot)
  }

  /** Brings the slot's code up to date; call it after every change of the arena. */
  sync(slot: number): void {
    this.#next?.remove(slot)
    this.#serving?.remove(slot)
    // Centroids outlive their vectors: an empty index must keep none.
    if (this.size === 0) this.#drop()
    if (!this.#arena.live.has(slot)) return
    this.#next?.add(slot)
    if (this.#serving === undefined) return
    const square = this.#serving.add(slot)
    this.#additions++
    this.#recentSquare += (square - this.#recentSquare) / Math.min(this.#additions, recentAdditions)
  }

  search(
    query: Float32Array,
    k: number,
    allowed: Bitmap | undefined,
    marginFor?: (selectivity: number) => number
  ): SearchHits {
    const filter = allowed === undefined ? undefined : this.#arena.uploadMask(this.#arena.live, allowed)
    return this.searchWithin(query, k, filter, marginFor)
  }

  /** A search behind a filter that is uploaded already; see `InvertedLists.search`. */
  searchWithin(
    query: Float32Array,
    k: number,
    filter: SlotMask | undefined,
    marginFor = (selectivity: number): number => this.#tuning?.marginFor(k, selectivity) ?? Infinity,
    fallsBackToScan = false
  ): SearchHits {
    const prepared = this.#arena.prepare(query)
    const lists = this.#serving
    if (lists === undefined)
      return this.#arena.scan(prepared, k, filter ?? this.#arena.uploadMask(this.#arena.live, undefined))
    this.#tuning?.observe(query)
    const hits = lists.search(prepared, k, filter, marginFor, fallsBackToScan)
    if (filter !== undefined && hits.slots.length > 0) {
      // Rows that were scanned after all cost as much as all lists, or else they would not have been.
      const probed = lists.probed > 0 ? lists.probed : this.lists
      lists.probeCorrection.record(k, probed / this.#learnedProbes(k, filter.count / this.size))
    }
    return hits
  }

  /** Estimate of the lists probed for k results behind a filter of this selectivity. */
  probesFor(k: number, selectivity: number): number {
    const learned = this.#learnedProbes(k, selectivity)
    if (selectivity >= 1) return learned
    return Math.min(this.lists, Math.ceil(learned * (this.#serving?.probeCorrection.factorFor(k) ?? 1)))
  }

  /** Factor by which a search for k results re-ranks more rows than estimated. */
  rerankCorrectionFor(k: number): number {
    return this.#serving?.rerankCorrection.factorFor(k) ?? 1
  }

  /** Records that another engine answers this search: its query still serves for training. */
  observeOther(query: Float32Array, k: number, isFiltered: boolean): void {
    this.#tuning?.observe(query)
    if (isFiltered) this.#serving?.probeCorrection.fade(k)
    else this.#serving?.rerankCorrection.fade(k)
  }

  #learnedProbes(k: number, selectivity: number): number {
    return Math.max(1, this.#tuning?.probesFor(k, selectivity) ?? this.lists)
  }

  /**
   * Trains lists, encodes vectors and trains probes for about `budgetMillis`; returns the backlog (0: nothing to do).
   * `now` is a clock in milliseconds.
   */
  work(budgetMillis: number, now: () => number): number {
    const deadline = now() + budgetMillis
    while (this.backlog > 0) {
      if (this.#wantsLists) this.#building ??= this.#build()
      if (this.#building === undefined) this.#tuning?.step()
      else if (this.#building.next().done === true) this.#building = undefined
      if (now() >= deadline) break
    }
    return this.backlog
  }

  /** Vectors to encode into new lists, or else queries to train on. */
  get backlog(): number {
    if (this.#isClosed) return 0
    if (this.#building !== undefined) return Math.max(1, this.#arena.size - (this.#next?.size ?? 0))
    return this.#wantsLists ? this.#arena.size : (this.#tuning?.backlog ?? 0)
  }

  stats(): IndexStats {
    return {
      live: this.#arena.size,
      pending: this.#serving === undefined ? this.#arena.size : 0,
      stale: 0,
      rebuilding: this.#building !== undefined && this.#serving !== undefined
    }
  }

  close(): void {
    this.#isClosed = true
    this.#drop()
  }

  /** Releases all lists. */
  #drop(): void {
    // Runs the generator's `finally`, which releases its blocks.
    this.#building?.return()
    this.#building = undefined
    this.#serving?.release()
    this.#serving = undefined
    this.#tuning = undefined
  }

  *#build(): Generator<void, void> {
    const size = this.#arena.size
    const codebook = yield* trainCodebook(this.#arena, listsFor(size))
    if (codebook === undefined) return
    const next = new InvertedLists(this.#arena, codebook)
    this.#next = next
    try {
      const memberSquare = yield* this.#fill(next)
      this.#serving?.release()
      this.#serving = next
      this.#tuning = new ProbeTuning(this.#arena, next)
      this.#trainedSize = size
      this.#memberSquare = memberSquare
      this.#recentSquare = memberSquare
      this.#additions = 0
    } finally {
      this.#next = undefined
      if (this.#serving !== next) next.release()
    }
  }

  /** Encodes every live slot that `lists` lacks; returns their mean squared distance to the centroid. */
  *#fill(lists: InvertedLists): Generator<void, number> {
    let squares = 0
    let added = 0
    const { live } = this.#arena
    for (let slot = live.next(0); slot !== -1; slot = live.next(slot + 1)) {
      if (lists.has(slot)) continue
      squares += lists.add(slot)
      if (++added % codesPerStep === 0) yield
    }
    return added === 0 ? 0 : squares / added
  }

  get #wantsLists(): boolean {
    const size = this.#arena.size
    if (size === 0) return false
    if (this.#serving === undefined) return true
    return size > this.#trainedSize * growthMax || size * shrinkageMax < this.#trainedSize || this.#hasDrifted
  }

  get #hasDrifted(): boolean {
    const lasting = Math.max(recentAdditions, this.#arena.size / 10)
    return this.#additions >= lasting && this.#recentSquare > this.#memberSquare * driftMax
  }
}

const listsFor = (size: number): number => (size < listsMin ? 1 : Math.round(listsPerRoot * Math.sqrt(size)))
