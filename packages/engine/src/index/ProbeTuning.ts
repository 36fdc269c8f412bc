/**
 * How far a search has to look, learned from the namespace's own searches.
 *
 * A list's centre is the product of its centroid with the query. What is looked for is the reach: by how much the
 * centres of the lists that hold the k best lie below the k-th best score. A number of lists would not do: the
 * queries differ in it by more than models and vectors do. So recent queries are kept, in memory alone; beside the
 * searches each is answered in full once, and where its hits lay says how far it would have had to look. Until
 * enough are known every list is looked into, and nothing missed. Rows blurred with noise are learned from as well
 * and make the least reach: searches may ask for what is stored for a long time, and then not.
 */
import type { CodeLists } from "./CodeLists.ts"
import { seededSequence } from "./SeededSequence.ts"
import type { VectorArena } from "./VectorArena.ts"

/** Share of the hits whose lists are looked into. */
const recallWanted = 0.998
/** Different queries that a reach is learned from, at least; and the blurred rows. */
const queriesMin = 32
/** A generation of queries; a complete one takes the place of the one before. */
const queriesMax = 128
/** After the first generation only one in so many searches is learned from. */
const searchesPerQuery = 64
/** Cosine of a blurred row with the row: about that of a question with its answer. */
const blurredCosine = 0.7
/** Numbers of results that a reach is learned for; it falls with their number, so that of the next smaller one serves. */
const resultCounts = [10, 32, 100, 320, 1_000] as const
/** Learned in steps of this much. */
const reachStep = 1 / 256
const reachMax = 2
const resultsMax = resultCounts[resultCounts.length - 1]!

export class ProbeTuning {
  readonly #arena: VectorArena
  readonly #lists: CodeLists
  /** Noted, and not learned from yet. */
  readonly #queries: Array<Float32Array> = []
  readonly #blurred: Learned
  readonly #random: () => number
  #current: Learned
  /** Whether a whole generation was learned from. */
  #isGrown = false
  #searches = 0
  /** Of the current generation, so that one query asked again and again counts once. */
  #known = new Set<number>()
  #reaches: ReadonlyArray<number> | undefined
  #probes: ReadonlyArray<number> = []

  constructor(arena: VectorArena, lists: CodeLists) {
    this.#arena = arena
    this.#lists = lists
    this.#blurred = new Learned()
    this.#current = new Learned()
    this.#random = seededSequence(lists.codebook.count)
  }

  /** How far below the k-th best score the centre of a list may lie that is looked into. */
  reachFor(k: number): number {
    return this.#reaches?.[countBelow(k)] ?? Infinity
  }

  /** Lists that the queries learned from would have looked into, on average. */
  probesFor(k: number): number {
    return this.#probes[resultCounts.findIndex((results) => results >= k)] ?? this.#lists.codebook.count
  }

  /** Notes the query of a search, a copy, if it is one to learn from. */
  note(query: Float32Array): void {
    if (this.#lists.codebook.count === 1) return
    if (this.#isGrown && ++this.#searches % searchesPerQuery !== 0) return
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
    if (queries === queriesMax || (queries >= queriesMin && !this.#isGrown)) this.#conclude()
    if (queries < queriesMax) return
    this.#isGrown = true
    this.#current = new Learned()
    this.#known = new Set()
  }

  #conclude(): void {
    const least = this.#blurred.reaches()
    this.#reaches = this.#current.reaches().map((reach, at) => Math.max(reach, least[at]!))
    this.#probes = this.#current.probes(this.#reaches)
  }

  #learn(query: Float32Array, into: Learned): void {
    const prepared = this.#arena.prepare(query)
    const { count } = this.#lists.codebook
    const { scores, slots } = this.#lists.search(prepared, resultsMax, undefined, () => Infinity)
    const centres = new Float32Array(count)
    for (const { centre, number } of this.#lists.probeOrder(this.#arena.prepare(query), count)) centres[number] = centre
    const hitCentres = Float32Array.from(slots, (slot) => centres[this.#lists.listOf(slot)]!)
    into.add(scores, hitCentres, centres)
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

/** What queries needed, by result count. */
class Learned {
  queries = 0
  /** Histograms of how far the centre of a hit's list lay below the last hit's score. */
  readonly #gaps: ReadonlyArray<Uint32Array> = resultCounts.map(() => new Uint32Array(reachMax / reachStep))
  /** Of the first queries: the score of the last hit for each count, and the centres of all lists. */
  readonly #samples: Array<{ readonly worst: ReadonlyArray<number>; readonly centres: Float32Array }> = []

  /** One query: scores of its hits, the best first, the centres of their lists, the centres of all lists. */
  add(scores: Float32Array, hitCentres: Float32Array, centres: Float32Array): void {
    this.queries++
    const worst = resultCounts.map((results) => scores[Math.min(results, scores.length) - 1] ?? 0)
    for (const [at, results] of resultCounts.entries()) {
      const gaps = this.#gaps[at]!
      for (const centre of hitCentres.subarray(0, results)) {
        const step = Math.ceil((worst[at]! - centre) / reachStep)
        gaps[Math.min(Math.max(step, 0), gaps.length - 1)]!++
      }
    }
    if (this.#samples.length < queriesMin) this.#samples.push({ worst, centres })
  }

  /** The least reach that finds the share wanted, by result count. */
  reaches(): ReadonlyArray<number> {
    return this.#gaps.map((gaps) => {
      const wanted = gaps.reduce((sum, hits) => sum + hits, 0) * recallWanted
      let held = 0
      const step = gaps.findIndex((hits) => (held += hits) >= wanted)
      return step === gaps.length - 1 ? Infinity : step * reachStep
    })
  }

  /** Lists within the reaches, on average. */
  probes(reaches: ReadonlyArray<number>): ReadonlyArray<number> {
    return reaches.map((reach, at) => {
      const counts = this.#samples.map(
        ({ centres, worst }) => centres.filter((centre) => centre >= worst[at]! - reach).length
      )
      return Math.ceil(counts.reduce((sum, count) => sum + count, 0) / Math.max(1, counts.length))
    })
  }
}

/** The place in `resultCounts` of the greatest that is not above k, or of the first. */
const countBelow = (k: number): number =>
  Math.max(
    0,
    resultCounts.findLastIndex((results) => results <= k)
  )

const hashOf = (query: Float32Array): number => {
  const bits = new Uint32Array(query.buffer, query.byteOffset, query.length)
  let hash = 0x811c9dc5
  for (const word of bits) hash = Math.imul(hash ^ word, 0x01000193)
  return hash >>> 0
}
