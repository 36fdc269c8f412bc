/**
 * How many lists a search has to probe, learned from the namespace's own searches.
 *
 * How near the lists of the best are depends on the queries at least as much as on the vectors: on one model's
 * questions a fifth of the lists held .99 of the ten best, on another's two thirds did not. So recent
 * queries are kept, in memory alone; beside the searches each is answered in full once, and the ranks of its
 * hits' lists say what it would have needed. Until enough are known every list is probed, and nothing missed;
 * so it is with a filter, since what it lets through may lie anywhere. Rows blurred with noise are learned from
 * as well and make the least that is probed: searches may ask for what is stored for a long time, and then not.
 */
import type { CodeLists } from "./CodeLists.ts"
import { seededSequence } from "./SeededSequence.ts"
import type { VectorArena } from "./VectorArena.ts"

/** Share of the hits whose lists are probed. */
const recallWanted = 0.998
/** Different queries that a number of probes is learned from, at least; and the blurred rows. */
const queriesMin = 32
/** A generation of queries, then the next one takes its place. */
const queriesMax = 128
/** After the first generation only one in so many searches is learned from. */
const searchesPerQuery = 64
/** Cosine of a blurred row with the row: about that of a question with its answer. */
const blurredCosine = 0.7
/** Numbers of results that probes are learned for; for more, every list is probed. */
const resultCounts = [10, 32, 100, 320, 1_000] as const
const resultsMax = resultCounts[resultCounts.length - 1]!

export class ProbeTuning {
  readonly #arena: VectorArena
  readonly #lists: CodeLists
  /** Noted, and not learned from yet. */
  readonly #queries: Array<Float32Array> = []
  readonly #blurred: Learned
  readonly #random: () => number
  #current: Learned
  #searches = 0
  /** Of the current generation, so that one query asked again and again counts once. */
  #known = new Set<number>()
  #probes: ReadonlyArray<number> | undefined

  constructor(arena: VectorArena, lists: CodeLists) {
    this.#arena = arena
    this.#lists = lists
    this.#blurred = new Learned(lists.codebook.count)
    this.#current = new Learned(lists.codebook.count)
    this.#random = seededSequence(lists.codebook.count)
  }

  /** Lists to probe for k results without a filter. */
  probesFor(k: number): number {
    return this.#probes?.[resultCounts.findIndex((results) => results >= k)] ?? this.#lists.codebook.count
  }

  /** Notes the query of a search, a copy, if it is one to learn from. */
  note(query: Float32Array): void {
    if (this.#lists.codebook.count === 1) return
    if (this.#probes !== undefined && ++this.#searches % searchesPerQuery !== 0) return
    if (this.#known.size >= queriesMax || this.#known.size === this.#known.add(hashOf(query)).size) return
    this.#queries.push(query.slice())
  }

  /** Queries that wait to be learned from. */
  get backlog(): number {
    const { length } = this.#queries
    if (this.#current.queries + length < queriesMin) return 0
    return length + queriesMin - this.#blurred.queries
  }

  /** Learns from one query, or from a blurred row. */
  step(): void {
    if (this.#blurred.queries < queriesMin) {
      const row = this.#blurredRow()
      if (row !== undefined) return this.#learn(row, this.#blurred)
    }
    const query = this.#queries.pop()
    if (query === undefined) return
    this.#learn(query, this.#current)
    const { queries } = this.#current
    if (queries === queriesMax || (queries >= queriesMin && this.#searches === 0)) this.#conclude()
    if (queries < queriesMax) return
    this.#current = new Learned(this.#lists.codebook.count)
    this.#known = new Set()
  }

  #conclude(): void {
    const least = this.#blurred.probes()
    this.#probes = this.#current.probes().map((probes, at) => Math.max(probes, least[at]!))
  }

  #learn(query: Float32Array, into: Learned): void {
    const prepared = this.#arena.prepare(query)
    const { count } = this.#lists.codebook
    const { slots } = this.#lists.search(prepared, resultsMax, undefined, count)
    const rankOf = new Uint32Array(count)
    for (const [rank, list] of this.#lists.probeOrder(prepared).entries()) rankOf[list] = rank
    into.add(Uint32Array.from(slots, (slot) => rankOf[this.#lists.listOf(slot)]!))
  }

  /** A row drawn at random, with noise in every direction; none of an empty arena. */
  #blurredRow(): Float32Array | undefined {
    const { live } = this.#arena
    const slots = live.words.length * 32
    const drawn = live.next(Math.floor(this.#random() * slots))
    const slot = drawn === -1 ? live.next(0) : drawn
    if (slot === -1) return undefined
    const row = this.#arena.copyOf(slot)
    const noise = row.map(() => this.#random() - 0.5)
    const norm = Math.sqrt(noise.reduce((sum, x) => sum + x * x, 0))
    const share = Math.sqrt(1 - blurredCosine ** 2) / norm
    return row.map((x, at) => x * blurredCosine + noise[at]! * share)
  }
}

/** Ranks of the lists of hits, as histograms over ranks, by result count. */
class Learned {
  queries = 0
  readonly #ranks: ReadonlyArray<Uint32Array>

  constructor(lists: number) {
    this.#ranks = resultCounts.map(() => new Uint32Array(lists))
  }

  /** The ranks of one query's hits, the best hit first. */
  add(ranks: Uint32Array): void {
    this.queries++
    for (const [at, results] of resultCounts.entries()) {
      for (const rank of ranks.subarray(0, results)) this.#ranks[at]![rank]!++
    }
  }

  /** The least number of lists that hold the share wanted, by result count. */
  probes(): ReadonlyArray<number> {
    return this.#ranks.map((ranks) => {
      const wanted = ranks.reduce((sum, hits) => sum + hits, 0) * recallWanted
      let held = 0
      for (const [rank, hits] of ranks.entries()) {
        held += hits
        if (held >= wanted) return rank + 1
      }
      return ranks.length
    })
  }
}

const hashOf = (query: Float32Array): number => {
  const bits = new Uint32Array(query.buffer, query.byteOffset, query.length)
  let hash = 0x811c9dc5
  for (const word of bits) hash = Math.imul(hash ^ word, 0x01000193)
  return hash >>> 0
}
