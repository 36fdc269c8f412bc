/**
 * How many lists a search has to probe, learned from the namespace's own searches.
 *
 * How near the lists of the best are depends on the queries at least as much as on the vectors: on one model's
 * questions a fifth of the lists held .99 of the ten best, on another's two thirds did not. So recent
 * queries are kept, in memory alone; beside the searches each is answered in full once, and the ranks of its
 * hits' lists say what it would have needed. Until enough are known every list is probed, and nothing missed. So it
 * is with a filter: what it lets through may lie anywhere.
 */
import type { CodeLists } from "./CodeLists.ts"
import type { VectorArena } from "./VectorArena.ts"

/** Share of the hits whose lists are probed. */
const recallWanted = 0.998
/** Queries that a number of probes is learned from, at least and at most. */
const queriesMin = 32
const queriesMax = 128
/** Numbers of results that probes are learned for; for more, every list is probed. */
const resultCounts = [10, 32, 100, 320, 1_000] as const
const resultsMax = resultCounts[resultCounts.length - 1]!

export class ProbeTuning {
  readonly #arena: VectorArena
  readonly #lists: CodeLists
  /** Noted, and not learned from yet. */
  readonly #queries: Array<Float32Array> = []
  #learnedFrom = 0
  /** By result count: ranks of the lists of hits, as a histogram over ranks. */
  readonly #ranks: ReadonlyArray<Uint32Array>
  #probes: ReadonlyArray<number> | undefined

  constructor(arena: VectorArena, lists: CodeLists) {
    this.#arena = arena
    this.#lists = lists
    this.#ranks = resultCounts.map(() => new Uint32Array(lists.codebook.count))
  }

  /** Lists to probe for k results without a filter. */
  probesFor(k: number): number {
    return this.#probes?.[resultCounts.findIndex((results) => results >= k)] ?? this.#lists.codebook.count
  }

  /** Notes the query of a search, a copy. */
  note(query: Float32Array): void {
    if (this.#lists.codebook.count === 1 || this.#learnedFrom + this.#queries.length >= queriesMax) return
    this.#queries.push(query.slice())
  }

  /** Queries that wait to be learned from. */
  get backlog(): number {
    return this.#learnedFrom + this.#queries.length < queriesMin ? 0 : this.#queries.length
  }

  /** Learns from one query. */
  step(): void {
    const query = this.#queries.pop()
    if (query === undefined) return
    const prepared = this.#arena.prepare(query)
    const { count } = this.#lists.codebook
    const { slots } = this.#lists.search(prepared, resultsMax, undefined, count)
    const order = this.#lists.probeOrder(prepared)
    const rankOf = new Uint32Array(count)
    for (const [rank, list] of order.entries()) rankOf[list] = rank
    for (const [at, results] of resultCounts.entries()) {
      for (const slot of slots.subarray(0, results)) this.#ranks[at]![rankOf[this.#lists.listOf(slot)]!]!++
    }
    this.#learnedFrom++
    if (this.#learnedFrom >= queriesMin) this.#probes = this.#ranks.map(probesOf)
  }
}

/** The first number of lists that hold the share wanted. */
const probesOf = (ranks: Uint32Array): number => {
  const wanted = ranks.reduce((sum, hits) => sum + hits, 0) * recallWanted
  let held = 0
  for (const [rank, hits] of ranks.entries()) {
    held += hits
    if (held >= wanted) return rank + 1
  }
  return ranks.length
}
