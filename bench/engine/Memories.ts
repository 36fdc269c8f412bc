/**
 * Seeded memories and questions for the engine's bench: made-up words in the proportions of real texts (the most
 * frequent word that is not a stop word is in some 12 % of 25-word memories), and the index suite's hard vectors, a
 * cluster for each topic, since no embedder runs here.
 *
 * A memory is a function of its number and the seed, so any part can be made again to verify a store.
 */
import type { PreparedMemory } from "@muniment/engine/namespace/Commands"
import type { MemoryFilter } from "@muniment/domain/Search"
import { contentHash } from "@muniment/trust/CanonicalJson"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import {
  blur,
  type Cluster,
  dataNoise,
  dims,
  gaussian,
  hardClusters,
  placeWithin,
  queryNoise
} from "../index/syntheticVectors.ts"

export const modelId = "bench-384"
/** Event times begin here, a minute apart. */
const firstEventMillis = Date.UTC(2025, 0, 1)
const eventStepMillis = 60_000

const vocabularySize = 20_000
/** Zipf's law with Mandelbrot's shift: without it one word would be in every memory. */
const zipfShift = 30
/** 25 on average. */
const wordsMin = 10
const wordsMax = 40
const wordsPerQuestion = 4
/** As many topics as this many hard vectors have clusters. */
const topicsOf = 10_000
export const subjectCount = 100
const tagCount = 10

export interface Question {
  readonly text: string
  readonly vector: Float32Array
}

export interface FilterCase {
  readonly name: string
  /** Of `count` memories. */
  readonly filter: (count: number) => MemoryFilter
}

/** Every tenth memory has each tag, every hundredth each subject; a time window is a tenth too. */
export const filterCases: ReadonlyArray<FilterCase> = [
  { name: "none", filter: () => ({}) },
  { name: "tag (10 %)", filter: () => ({ tags: ["tag3"] }) },
  { name: "subject (1 %)", filter: () => ({ subjectId: "subject42" }) },
  {
    name: "time (10 %)",
    filter: (count) => ({
      eventFrom: firstEventMillis + Math.floor(count * 0.4) * eventStepMillis,
      eventTo: firstEventMillis + (Math.floor(count * 0.5) - 1) * eventStepMillis
    })
  }
]

export class Memories {
  readonly #seed: number
  readonly #words: ReadonlyArray<string>
  readonly #cumulative: Float64Array
  readonly #topics: ReadonlyArray<Cluster>

  constructor(seed = 1) {
    this.#seed = seed
    const random = seededSequence(seed)
    this.#words = madeUpWords(random)
    this.#cumulative = zipf()
    this.#topics = hardClusters(gaussian(random), topicsOf)
  }

  text(number: number): string {
    return this.#wordsOf(seededSequence(this.#mixed(number))).join(" ")
  }

  /** Float32Array[384] of unit norm. */
  vector(number: number): Float32Array {
    const normal = gaussian(seededSequence(this.#mixed(number) ^ 0x3c6ef372))
    const vector = this.#placeOf(number)
    blur(vector, normal, dataNoise)
    return vector
  }

  memory(number: number, agentId: string): PreparedMemory {
    const data = { fact: this.text(number) }
    const kind = "factual_memory"
    const at = firstEventMillis + number * eventStepMillis
    return {
      record: {
        id: `mem_${String(number).padStart(26, "0")}`,
        agentId,
        kind,
        data,
        subjectId: `subject${number % subjectCount}`,
        tags: [`tag${number % tagCount}`],
        mentions: [],
        when: new Date(at).toISOString(),
        confidence: 1,
        contentHash: contentHash({ agentId, data, kind }),
        createdAt: at,
        updatedAt: at,
        origin: "direct"
      },
      vector: { model: modelId, values: this.vector(number) },
      isReplacement: false,
      setsExpiry: false
    }
  }

  /** A question: some words of one of `count` memories, and a vector near it in its topic, with more noise. */
  question(number: number, count: number): Question {
    const random = seededSequence(this.#mixed(number) ^ 0x2545f491)
    const target = Math.floor(random() * count)
    const words = this.text(target).split(" ")
    const asked = Array.from({ length: wordsPerQuestion }, () => words[Math.floor(random() * words.length)]!)
    const vector = this.#placeOf(target)
    blur(vector, gaussian(random), queryNoise)
    return { text: `where was the ${asked.join(" ")}`, vector }
  }

  #mixed(number: number): number {
    return (Math.imul(number + 1, 0x9e3779b1) ^ this.#seed) >>> 0
  }

  #wordsOf(random: () => number): ReadonlyArray<string> {
    const length = wordsMin + Math.floor(random() * (wordsMax - wordsMin + 1))
    return Array.from({ length }, () => this.#words[this.#rank(random())]!)
  }

  /** The first rank whose cumulative share reaches `share`. */
  #rank(share: number): number {
    let low = 0
    let high = vocabularySize - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#cumulative[middle]! < share) low = middle + 1
      else high = middle
    }
    return low
  }

  #placeOf(number: number): Float32Array {
    const random = seededSequence(this.#mixed(number) ^ 0x5bd1e995)
    const place = new Float32Array(dims)
    placeWithin(place, this.#topics[Math.floor(random() * this.#topics.length)]!, gaussian(random))
    return place
  }
}

/** Distinct pronounceable words, none of them English on purpose: no stop word is among them. */
const madeUpWords = (random: () => number): ReadonlyArray<string> => {
  const consonants = "bdfgklmnprstvz"
  const vowels = "aeiou"
  const pick = (letters: string) => letters[Math.floor(random() * letters.length)]!
  const words = new Set<string>()
  while (words.size < vocabularySize) {
    const syllables = 3 + Math.floor(random() * 2)
    let word = ""
    for (let at = 0; at < syllables; at++) word += pick(consonants) + pick(vowels)
    words.add(word)
  }
  return [...words]
}

const zipf = (): Float64Array => {
  const cumulative = new Float64Array(vocabularySize)
  let sum = 0
  for (let rank = 0; rank < vocabularySize; rank++) cumulative[rank] = sum += 1 / (rank + 1 + zipfShift)
  return cumulative.map((share) => share / sum)
}
