/**
 * Our own index (RaBitQ, arXiv 2405.12497, over inverted lists): one-bit codes say which rows may be among the
 * best, the rows' int8 codes score those. Up to some thousand vectors the codes are one flat list, above
 * they lie in about sqrt(n) lists, of which a search probes as many as `ProbeTuning` has learned.
 *
 * The rows are the arena's; the codes follow each of its changes at once, so nothing ever waits or goes stale.
 * Lists are trained in slices by `work` while the old ones serve: first, when the number of vectors has
 * doubled or fallen to a quarter, and when what is added lies far from all lists (drift).
 */
import type { Bitmap } from "./Bitmap.ts"
import { trainCodebook } from "./Codebook.ts"
import { CodeLists } from "./CodeLists.ts"
import { ProbeTuning } from "./ProbeTuning.ts"
import type { LaidSet, VectorArena } from "./VectorArena.ts"
import type { IndexStats, SearchHits, VectorIndex } from "./VectorIndex.ts"

/** Vectors below which one flat list is faster than any number of lists. */
const listsMin = 4_000
/** Lists for n vectors: this times the root of n. */
const listsPerRoot = 1
/** Trained again when there are so many times more vectors, or one in so many is left. */
const growthMax = 2
const shrinkageMax = 4
/** Drift: recent additions lie so much further from their centroids than the lists' members did (squared). */
const driftMax = 1.3
/** Additions that the recent average looks back on, and that drift must last for. */
const recentAdditions = 512
/** Codes written between two looks at the clock: some 50 us. */
const codesPerStep = 32

export class QuantizedIndex implements VectorIndex {
  readonly kind = "quantized"
  readonly #arena: VectorArena
  #serving: CodeLists | undefined
  #tuning: ProbeTuning | undefined
  #next: CodeLists | undefined
  #building: Generator<void, void> | undefined
  /** Vectors there were when the lists were trained. */
  #trainedSize = 0
  /** Mean squared distance to the centroid: of the lists' first members, of recent additions. */
  #memberSquare = 0
  #recentSquare = 0
  #additions = 0
  #isClosed = false

  /** Takes over what the arena holds. */
  constructor(arena: VectorArena) {
    this.#arena = arena
  }

  get size(): number {
    return this.#arena.size
  }

  /** Lists that serve; 0 while there are none and searches are exact. */
  get lists(): number {
    return this.#serving?.codebook.count ?? 0
  }

  upsert(slot: number, vector: Float32Array, seq: number): void {
    if (this.#arena.set(slot, vector, seq)) this.follow(slot)
  }

  remove(slot: number, seq: number): void {
    if (this.#arena.clear(slot, seq)) this.follow(slot)
  }

  /** To be called after every change of the arena. */
  follow(slot: number): void {
    this.#next?.remove(slot)
    this.#serving?.remove(slot)
    // A centroid of few vectors tells of each of them.
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
    reachFor?: (share: number) => number
  ): SearchHits {
    const filter = allowed === undefined ? undefined : this.#arena.lay(this.#arena.live, allowed)
    return this.searchWithin(query, k, filter, reachFor)
  }

  /** A search behind a filter that is laid out already; see `CodeLists.search`. */
  searchWithin(
    query: Float32Array,
    k: number,
    filter: LaidSet | undefined,
    reachFor = (share: number): number => this.#tuning?.reachFor(k, share) ?? Infinity,
    scansRare = false
  ): SearchHits {
    const prepared = this.#arena.prepare(query)
    if (this.#serving === undefined)
      return this.#arena.best(prepared, k, filter ?? this.#arena.lay(this.#arena.live, undefined))
    this.#tuning?.note(query)
    const hits = this.#serving.search(prepared, k, filter, reachFor, scansRare)
    if (filter !== undefined && this.#serving.looked > 0)
      this.#serving.filteredLists.note(k, this.#serving.looked / this.#learnedProbes(k, filter.count / this.size))
    return hits
  }

  /** Lists that a search for k results looks into on average, behind a filter that lets this share through. */
  probesFor(k: number, share: number): number {
    const learned = this.#learnedProbes(k, share)
    return share < 1 ? Math.min(this.lists, Math.ceil(learned * (this.#serving?.filteredLists.of(k) ?? 1))) : learned
  }

  /** How many times more rows than usual a search for k results scores. */
  excessFor(k: number): number {
    return this.#serving?.scoredRows.of(k) ?? 1
  }

  /** Has `work` learn from a query for k results that another engine answers. */
  noteOther(query: Float32Array, k: number, isFiltered: boolean): void {
    this.#tuning?.note(query)
    if (isFiltered) this.#serving?.filteredLists.fade(k)
    else this.#serving?.scoredRows.fade(k)
  }

  #learnedProbes(k: number, share: number): number {
    return Math.max(1, this.#tuning?.probesFor(k, share) ?? this.lists)
  }

  /**
   * Trains and fills lists for about `budgetMillis` and returns how many vectors are still to code (0: nothing
   * to do). `now` is a clock in milliseconds.
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

  /** Vectors that the lists wanted do not hold yet, or queries to learn from. */
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

  /** Back to no lists. */
  #drop(): void {
    // Runs the generator's `finally`, which gives back what it holds.
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
    const next = new CodeLists(this.#arena, codebook)
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

  /** Codes every live slot that `lists` has not; the mean squared distance of these to their centroids. */
  *#fill(lists: CodeLists): Generator<void, number> {
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

/** Lists that are best for n vectors. */
const listsFor = (size: number): number => (size < listsMin ? 1 : Math.round(listsPerRoot * Math.sqrt(size)))
