/**
 * How far a search has to look, learned from the namespace's own searches.
 *
 * A list's centre is the product of its centroid with the query. What is looked for is the reach: by how much the
 * centres of the lists that hold the k best lie below the k-th best score. A number of lists would not do: the
 * queries differ in it by more than models and vectors do. So recent queries are kept, in memory alone; beside the
 * searches each is answered in full once, without a filter and behind narrow ones, and where its hits lay says how
 * far it would have had to look. Until enough are known every list is looked into, and nothing missed. Rows blurred
 * with noise are learned from as well and make the least reach: searches may ask for what is stored for a long time,
 * and then not.
 */
import { Bitmap } from "./Bitmap.ts"
import type { CodeLists } from "./CodeLists.ts"
import { type Answered, LearnedReach, type PerFilter, resultCounts, resultsMax } from "./LearnedReach.ts"
import { seededSequence } from "./SeededSequence.ts"
import type { VectorArena } from "./VectorArena.ts"

/** Share of the hits whose lists are looked into. */
const recallWanted = 0.998
/** Different queries that a reach is learned from, at least; and the blurred rows. */
const queriesMin = 32
/** A generation of queries; a complete one takes the place of the one before. */
const queriesMax = 128
/** After the first generation only one in so many searches is learned from: that takes as long as several of them. */
const searchesPerQuery = 256
/** Cosine of a blurred row with the row: about that of a question with its answer. */
const blurredCosine = 0.7
/** Filters that are learned behind let one in 2 to the power of so many through, by chance. */
const thinnings = [0, 4, 7] as const

/** A query that is being answered in full, behind one filter after the other. */
interface Lesson {
  readonly query: Float32Array
  readonly into: LearnedReach
  /** Centres of all lists. */
  readonly centres: Float32Array
  /** By thinning, as many as there are yet. */
  readonly answers: Array<Answered>
}

export class ProbeTuning {
  readonly #arena: VectorArena
  readonly #lists: CodeLists
  /** Noted, and not learned from yet. */
  readonly #queries: Array<Float32Array> = []
  readonly #blurred = new LearnedReach(thinnings.length)
  readonly #random: () => number
  #current = new LearnedReach(thinnings.length)
  #lesson: Lesson | undefined
  /** Whether a whole generation was learned from. */
  #isGrown = false
  #searches = 0
  /** Of the current generation, so that one query asked again and again counts once. */
  #known = new Set<number>()
  #reaches: PerFilter | undefined
  #probes: PerFilter | undefined

  constructor(arena: VectorArena, lists: CodeLists) {
    this.#arena = arena
    this.#lists = lists
    this.#random = seededSequence(lists.codebook.count)
  }

  /**
   * How far below the k-th best score the centre of a list may lie that is looked into, behind a filter that lets
   * this share through around the query; 0 if that is far less than elsewhere.
   */
  reachFor(k: number, share: number): number {
    const count = resultCounts.findLastIndex((results) => results <= k)
    return this.#reaches?.[filterFor(share)]?.[Math.max(0, count)] ?? Infinity
  }

  /** Lists that the queries learned from would have looked into, on average. */
  probesFor(k: number, share: number): number {
    const count = resultCounts.findIndex((results) => results >= k)
    return this.#probes?.[filterFor(share)]?.[count] ?? this.#lists.codebook.count
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
    const underWay = this.#lesson === undefined ? 0 : 1
    if (this.#current.queries + length < queriesMin) return underWay
    return underWay + length + queriesMin - this.#blurred.queries
  }

  /** Answers a query, or a blurred row, behind one filter: all codes are read for it, so each is a step of its own. */
  step(): void {
    this.#lesson ??= this.#nextLesson()
    const lesson = this.#lesson
    if (lesson === undefined) return
    lesson.answers.push(this.#answer(lesson, thinnings[lesson.answers.length]!))
    if (lesson.answers.length < thinnings.length) return
    this.#lesson = undefined
    lesson.into.add(lesson.answers, lesson.centres)
    if (lesson.into === this.#current) this.#grow()
  }

  #nextLesson(): Lesson | undefined {
    const row = this.#blurred.queries < queriesMin ? this.#blurredRow() : undefined
    if (row !== undefined) return this.#lessonFrom(row, this.#blurred)
    const query = this.#queries.pop()
    return query === undefined ? undefined : this.#lessonFrom(query, this.#current)
  }

  #lessonFrom(query: Float32Array, into: LearnedReach): Lesson {
    const { count } = this.#lists.codebook
    const centres = new Float32Array(count)
    for (const { centre, number } of this.#lists.probeOrder(this.#arena.prepare(query), count)) centres[number] = centre
    return { query, into, centres, answers: [] }
  }

  #answer({ centres, query }: Lesson, thinning: number): Answered {
    const filter = thinning === 0 ? undefined : this.#arena.lay(this.#arena.live, this.#thinned(thinning))
    const { scores, slots } = this.#lists.search(this.#arena.prepare(query), resultsMax, filter, () => Infinity)
    return { scores, centres: Float32Array.from(slots, (slot) => centres[this.#lists.listOf(slot)]!) }
  }

  /** After each query learned from. */
  #grow(): void {
    const { queries } = this.#current
    if (queries === queriesMax || (queries >= queriesMin && !this.#isGrown)) this.#conclude()
    if (queries < queriesMax) return
    this.#isGrown = true
    this.#current = new LearnedReach(thinnings.length)
    this.#known = new Set()
  }

  #conclude(): void {
    const least = this.#blurred.reaches(recallWanted)
    const learned = this.#current.reaches(recallWanted)
    // Behind a narrower filter nothing is nearer than behind a wider one.
    const most = resultCounts.map(() => 0)
    const reaches = learned.map((counts, filter) =>
      counts.map((reach, at) => (most[at] = Math.max(most[at]!, reach, least[filter]![at]!)))
    )
    this.#reaches = reaches
    this.#probes = this.#current.probes(reaches)
  }

  /** One in 2 to the power of `thinning` slots, by chance. */
  #thinned(thinning: number): Bitmap {
    const words = new Uint32Array(this.#arena.live.words.length)
    const salt = Math.floor(this.#random() * 2 ** 31)
    for (let at = 0; at < words.length; at++) {
      let bits = -1
      for (let half = 0; half < thinning; half++) bits &= mixed(salt + at * thinning + half)
      words[at] = bits
    }
    return new Bitmap(words)
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

/** The widest of the filters learned behind that lets through no more than twice this share. */
const filterFor = (share: number): number => {
  const filter = thinnings.findIndex((thinning) => share * 2 >= 2 ** -thinning)
  return filter === -1 ? thinnings.length - 1 : filter
}

/** 32 bits as good as random (the finaliser of MurmurHash3). */
const mixed = (value: number): number => {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}

const hashOf = (query: Float32Array): number => {
  const bits = new Uint32Array(query.buffer, query.byteOffset, query.length)
  let hash = 0x811c9dc5
  for (const word of bits) hash = Math.imul(hash ^ word, 0x01000193)
  return hash >>> 0
}
