/**
 * Learns when a search may stop probing: the margin is how far a list's centroid score may lie below the k-th best score
 * found, so that `recallTarget` of the hits lie in probed lists. Queries differ too much for a fixed number of probes.
 *
 * Training queries are the namespace's own recent ones, kept in memory only, and noisy samples of stored vectors. Each
 * is answered from all lists, without a filter and behind random filters. The noisy samples set the least margin: a
 * namespace may be asked for stored texts for a long time, and then for something else. Until enough is known, the
 * margin is unbounded and every list is probed.
 */
import { Bitmap } from "../../bitmap/Bitmap.ts"
import type { InvertedLists } from "./InvertedLists.ts"
import { seededSequence } from "../arena/Slab.ts"
import type { VectorArena } from "../arena/VectorArena.ts"

/** Share of the hits that must lie in probed lists. */
export const recallTarget = 0.998
/** Least number of queries, and of noisy samples, before a margin is used. */
const queriesMin = 32
/** Queries of a generation; a complete generation replaces the one before. */
const queriesMax = 128
/** After the first generation one search in this many trains: training on a query takes as long as several searches. */
const searchesPerTraining = 256
/** Cosine of a noisy sample with its vector: about that of a question with its answer. */
const noisyCosine = 0.7
/** Shares of the slots that the random filters let through: powers of 1/2. */
const sampledSelectivities = [1, 1 / 16, 1 / 128] as const

/** A query that is being answered from all lists, at one selectivity after the other. */
interface TrainingQuery {
  readonly query: Float32Array
  readonly into: LearnedMargin
  /** Scores of the centroids of all lists. */
  readonly centroidScores: Float32Array
  /** By selectivity, as far as it has come. */
  readonly answers: Array<SampledAnswer>
}

export class ProbeTuning {
  readonly #arena: VectorArena
  readonly #lists: InvertedLists
  /** Queries that wait for training. */
  readonly #queries: Array<Float32Array> = []
  readonly #noisySamples = new LearnedMargin(sampledSelectivities.length)
  readonly #random: () => number
  #generation = new LearnedMargin(sampledSelectivities.length)
  #training: TrainingQuery | undefined
  /** Whether one generation was complete. */
  #isGrown = false
  #searches = 0
  /** Hashes of this generation's queries: one that is repeated counts once. */
  #known = new Set<number>()
  #margins: BySelectivity | undefined
  #probes: BySelectivity | undefined

  constructor(arena: VectorArena, lists: InvertedLists) {
    this.#arena = arena
    this.#lists = lists
    this.#random = seededSequence(lists.codebook.count)
  }

  /** Margin for k results where the filter's selectivity around the query is `selectivity` (`LocalSelectivity`). */
  marginFor(k: number, selectivity: number): number {
    const count = resultCounts.findLastIndex((results) => results <= k)
    return this.#margins?.[nearestSample(selectivity)]?.[Math.max(0, count)] ?? Infinity
  }

  /** Mean number of lists that the training queries would have probed. */
  probesFor(k: number, selectivity: number): number {
    const count = resultCounts.findIndex((results) => results >= k)
    return this.#probes?.[nearestSample(selectivity)]?.[count] ?? this.#lists.codebook.count
  }

  /** Keeps a copy of a search's query for training, if it is this one's turn and it is new. */
  observe(query: Float32Array): void {
    if (this.#lists.codebook.count === 1) return
    if (this.#isGrown && ++this.#searches % searchesPerTraining !== 0) return
    if (this.#known.size >= queriesMax || this.#known.size === this.#known.add(hashOf(query)).size) return
    this.#queries.push(query.slice())
  }

  /** Queries and noisy samples that wait for training. */
  get backlog(): number {
    const { length } = this.#queries
    const underWay = this.#training === undefined ? 0 : 1
    if (this.#generation.queries + length < queriesMin) return underWay
    return underWay + length + queriesMin - this.#noisySamples.queries
  }

  /** Trains one query at one selectivity: reads every code, hence a time slice of its own. */
  step(): void {
    this.#training ??= this.#nextQuery()
    const training = this.#training
    if (training === undefined) return
    training.answers.push(this.#answer(training, sampledSelectivities[training.answers.length]!))
    if (training.answers.length < sampledSelectivities.length) return
    this.#training = undefined
    training.into.add(training.answers, training.centroidScores)
    if (training.into === this.#generation) this.#closeGeneration()
  }

  #nextQuery(): TrainingQuery | undefined {
    const sample = this.#noisySamples.queries < queriesMin ? this.#noisySample() : undefined
    if (sample !== undefined) return this.#trainingQuery(sample, this.#noisySamples)
    const query = this.#queries.pop()
    return query === undefined ? undefined : this.#trainingQuery(query, this.#generation)
  }

  #trainingQuery(query: Float32Array, into: LearnedMargin): TrainingQuery {
    const { count } = this.#lists.codebook
    const centroidScores = new Float32Array(count)
    for (const { centroidScore, list } of this.#lists.rankLists(this.#arena.prepare(query), count))
      centroidScores[list] = centroidScore
    return { query, into, centroidScores, answers: [] }
  }

  #answer({ centroidScores, query }: TrainingQuery, selectivity: number): SampledAnswer {
    const filter =
      selectivity === 1 ? undefined : this.#arena.uploadMask(this.#arena.live, this.#randomFilter(selectivity))
    const { scores, slots } = this.#lists.search(this.#arena.prepare(query), resultsMax, filter, () => Infinity)
    return { scores, centroidScores: Float32Array.from(slots, (slot) => centroidScores[this.#lists.listOf(slot)]!) }
  }

  /** Computes margins from the first `queriesMin` queries, then from every complete generation. */
  #closeGeneration(): void {
    const { queries } = this.#generation
    if (queries === queriesMax || (queries >= queriesMin && !this.#isGrown)) this.#computeMargins()
    if (queries < queriesMax) return
    this.#isGrown = true
    this.#generation = new LearnedMargin(sampledSelectivities.length)
    this.#known = new Set()
  }

  #computeMargins(): void {
    const least = this.#noisySamples.margins(recallTarget)
    const learned = this.#generation.margins(recallTarget)
    // A narrower filter never needs a smaller margin than a wider one.
    const largest = resultCounts.map(() => 0)
    const margins = learned.map((counts, selectivity) =>
      counts.map((margin, at) => (largest[at] = Math.max(largest[at]!, margin, least[selectivity]![at]!)))
    )
    this.#margins = margins
    this.#probes = this.#generation.meanProbes(margins)
  }

  /** Each slot with probability `selectivity`. */
  #randomFilter(selectivity: number): Bitmap {
    const halvings = -Math.log2(selectivity)
    const words = new Uint32Array(this.#arena.live.words.length)
    const salt = Math.floor(this.#random() * 2 ** 31)
    for (let at = 0; at < words.length; at++) {
      let bits = -1
      for (let halving = 0; halving < halvings; halving++) bits &= mixed(salt + at * halvings + halving)
      words[at] = bits
    }
    return new Bitmap(words)
  }

  /** A stored vector drawn at random, with noise in every direction; undefined if the arena is empty. */
  #noisySample(): Float32Array | undefined {
    const { live } = this.#arena
    const slots = live.words.length * 32
    const drawn = live.next(Math.floor(this.#random() * slots))
    const slot = drawn === -1 ? live.next(0) : drawn
    if (slot === -1) return undefined
    const vector = this.#arena.copyOf(slot)
    const noise = vector.map(() => this.#random() - 0.5)
    const norm = Math.sqrt(noise.reduce((sum, x) => sum + x * x, 0))
    const share = Math.sqrt(1 - noisyCosine ** 2) / norm
    return vector.map((x, at) => x * noisyCosine + noise[at]! * share)
  }
}

/** Index of the largest sampled selectivity that is at most twice this one; else of the smallest. */
const nearestSample = (selectivity: number): number => {
  const at = sampledSelectivities.findIndex((sampled) => selectivity * 2 >= sampled)
  return at === -1 ? sampledSelectivities.length - 1 : at
}

/** Finaliser of MurmurHash3: 32 pseudo-random bits. */
const mixed = (value: number): number => {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}

/** FNV-1a over the words of the vector. */
const hashOf = (query: Float32Array): number => {
  const bits = new Uint32Array(query.buffer, query.byteOffset, query.length)
  let hash = 0x811c9dc5
  for (const word of bits) hash = Math.imul(hash ^ word, 0x01000193)
  return hash >>> 0
}

/** Result counts with a margin of their own. Margins fall with k, so a k between two counts takes the smaller one's. */
const resultCounts = [10, 32, 100, 320, 1_000] as const
const resultsMax = resultCounts[resultCounts.length - 1]!
/** Width of a histogram's bins; margins above `marginMax` count as unbounded. */
const marginStep = 1 / 256
const marginMax = 1
/** Queries whose centroid scores are kept to estimate the number of probes. */
const samplesMax = 32

/** The hits of one query behind one filter, best first. */
interface SampledAnswer {
  readonly scores: Float32Array
  /** Centroid score of each hit's list. */
  readonly centroidScores: Float32Array
}

/** By selectivity, then by result count. */
type BySelectivity = ReadonlyArray<ReadonlyArray<number>>

interface Sample {
  /** Scores of the centroids of all lists. */
  readonly centroidScores: Float32Array
  readonly lastScores: BySelectivity
}

/**
 * Histograms of the margins that training queries needed, per filter selectivity and result count: by how much the
 * centroid score of each hit's list lay below the score of the last hit. A quantile of a histogram is the margin with
 * which that share of the hits is found.
 */
class LearnedMargin {
  queries = 0
  readonly #histograms: ReadonlyArray<ReadonlyArray<Uint32Array>>
  readonly #samples: Array<Sample> = []

  constructor(selectivities: number) {
    this.#histograms = Array.from({ length: selectivities }, () =>
      resultCounts.map(() => new Uint32Array(marginMax / marginStep + 1))
    )
  }

  /** One query's answers by selectivity, and its centroid scores of all lists. */
  add(answers: ReadonlyArray<SampledAnswer>, centroidScores: Float32Array): void {
    this.queries++
    const lastScores = answers.map(({ scores }) =>
      resultCounts.map((results) => scores[Math.min(results, scores.length) - 1] ?? 0)
    )
    for (const [selectivity, answer] of answers.entries()) {
      for (const [at, results] of resultCounts.entries()) {
        const histogram = this.#histograms[selectivity]![at]!
        for (const centroidScore of answer.centroidScores.subarray(0, results)) {
          const bin = Math.ceil((lastScores[selectivity]![at]! - centroidScore) / marginStep)
          histogram[Math.min(Math.max(bin, 0), histogram.length - 1)]!++
        }
      }
    }
    if (this.#samples.length < samplesMax) this.#samples.push({ centroidScores, lastScores })
  }

  /** The smallest margins that find this share of the hits. */
  margins(share: number): BySelectivity {
    return this.#histograms.map((counts) =>
      counts.map((histogram) => {
        const wanted = histogram.reduce((sum, hits) => sum + hits, 0) * share
        let held = 0
        const bin = histogram.findIndex((hits) => (held += hits) >= wanted)
        return bin === histogram.length - 1 ? Infinity : bin * marginStep
      })
    )
  }

  /** Mean number of lists within the margins. */
  meanProbes(margins: BySelectivity): BySelectivity {
    const meanOf = (selectivity: number, at: number, margin: number): number => {
      const probes = this.#samples.map(({ centroidScores, lastScores }) => {
        const least = lastScores[selectivity]![at]! - margin
        return centroidScores.reduce((lists, score) => lists + (score >= least ? 1 : 0), 0)
      })
      return Math.ceil(probes.reduce((sum, lists) => sum + lists, 0) / Math.max(1, probes.length))
    }
    return margins.map((counts, selectivity) => counts.map((margin, at) => meanOf(selectivity, at, margin)))
  }
}
