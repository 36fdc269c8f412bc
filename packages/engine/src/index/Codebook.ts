/**
 * What inverted lists are made of: the centroids of k-means over the vectors of an arena (Lloyd's algorithm on
 * a sample, started from vectors drawn at random). One centroid, the mean, makes one flat list.
 *
 * Training is a generator: each step takes well below a millisecond, so that it can be done in slices. A
 * centroid is the mean of at least `membersMin` vectors, so none stands for a single memory.
 */
import { seededSequence } from "./SeededSequence.ts"
import type { Slab } from "./Slab.ts"
import type { VectorArena } from "./VectorArena.ts"

const floatBytes = 4
/** Vectors sampled for each centroid, and rounds of Lloyd's algorithm: more of either changes recall by less than 0.001. */
const samplesPerList = 48
const roundsMax = 6
const membersMin = 8
/** Vectors assigned between two yields: about 0.2 ms with 250 lists. */
const assignedPerStep = 32

export class Codebook {
  readonly count: number
  readonly width: number
  /** Address of f32[count][width], rotated. */
  readonly centroids: number
  /** Address of f32[count], halves of their squared lengths. */
  readonly halves: number
  readonly #slab: Slab

  /** `centroids` is f32[count][width]. */
  constructor(slab: Slab, width: number, centroids: Float32Array) {
    this.#slab = slab
    this.width = width
    this.count = centroids.length / width
    this.centroids = slab.allocate(centroids.length * floatBytes)
    this.halves = slab.allocate(this.count * floatBytes)
    slab.floats.set(centroids, this.centroids >>> 2)
    slab.kernels.halfSquares(this.centroids, this.count, width, this.halves)
  }

  /** f32[width], rotated, at `vector`: its list. */
  listOf(vector: number): number {
    if (this.count === 1) return 0
    const scratch = this.#slab.shared("nearness", this.count * floatBytes)
    return this.#slab.kernels.nearestList(vector, this.centroids, this.halves, this.count, this.width, scratch)
  }

  /** f32[count][width], a copy. */
  copy(): Float32Array<ArrayBuffer> {
    const from = this.centroids >>> 2
    return this.#slab.floats.slice(from, from + this.count * this.width)
  }

  release(): void {
    this.#slab.release(this.centroids, this.count * this.width * floatBytes)
    this.#slab.release(this.halves, this.count * floatBytes)
  }
}

/** Trains `lists` centroids or fewer; undefined when the arena is empty. Changes of the arena meanwhile are harmless. */
export function* trainCodebook(arena: VectorArena, lists: number): Generator<void, Codebook | undefined> {
  const { slab, width } = arena
  const sample = sampleOf(arena, lists * samplesPerList)
  if (sample.length === 0) return undefined
  if (lists === 1) return new Codebook(slab, width, yield* meanOf(arena, sample))
  let codebook = new Codebook(slab, width, startOf(arena, sample, lists))
  let isTrained = false
  try {
    for (let round = 0; round < roundsMax; round++) {
      const means = yield* meansOf(arena, sample, codebook)
      codebook.release()
      codebook = new Codebook(slab, width, means)
      yield
    }
    isTrained = true
    return codebook
  } finally {
    if (!isTrained) codebook.release()
  }
}

const sampleOf = (arena: VectorArena, wanted: number): ReadonlyArray<number> => {
  const live: Array<number> = []
  arena.live.forEach((slot) => live.push(slot))
  const random = seededSequence(live.length)
  // The first `wanted` of a Fisher-Yates shuffle.
  const size = Math.min(wanted, live.length)
  for (let i = 0; i < size; i++) {
    const other = i + Math.floor(random() * (live.length - i))
    const slot = live[other]!
    live[other] = live[i]!
    live[i] = slot
  }
  return live.slice(0, size)
}

const startOf = (arena: VectorArena, sample: ReadonlyArray<number>, lists: number): Float32Array => {
  const chosen = sample.slice(0, lists)
  const centroids = new Float32Array(chosen.length * arena.width)
  for (const [list, slot] of chosen.entries()) {
    const from = arena.decoded(slot) >>> 2
    centroids.set(arena.slab.floats.subarray(from, from + arena.width), list * arena.width)
  }
  arena.wipeDecoded()
  return centroids
}

function* meanOf(arena: VectorArena, sample: ReadonlyArray<number>): Generator<void, Float32Array> {
  const sums = new Sums(arena, 1)
  try {
    for (const [at, slot] of sample.entries()) {
      if (arena.live.has(slot)) sums.add(0, arena.decoded(slot))
      if (at % assignedPerStep === 0) yield
    }
    return sums.means(1)
  } finally {
    sums.release()
  }
}

function* meansOf(
  arena: VectorArena,
  sample: ReadonlyArray<number>,
  codebook: Codebook
): Generator<void, Float32Array> {
  const sums = new Sums(arena, codebook.count)
  try {
    for (const [at, slot] of sample.entries()) {
      if (arena.live.has(slot)) {
        const vector = arena.decoded(slot)
        sums.add(codebook.listOf(vector), vector)
      }
      if (at % assignedPerStep === 0) yield
    }
    return sums.means(membersMin)
  } finally {
    sums.release()
  }
}

/** Sums of vectors by list, in the slab. */
class Sums {
  readonly #arena: VectorArena
  readonly #address: number
  readonly #counts: Uint32Array

  constructor(arena: VectorArena, lists: number) {
    this.#arena = arena
    this.#counts = new Uint32Array(lists)
    this.#address = arena.slab.allocate(this.#bytes)
  }

  add(list: number, vector: number): void {
    const { slab, width } = this.#arena
    slab.kernels.addTo(this.#address + list * width * floatBytes, vector, width)
    this.#counts[list]!++
  }

  /** Means of the lists with enough members; of the fullest one if none has. */
  means(least: number): Float32Array {
    const { slab, width } = this.#arena
    const fullest = this.#counts.indexOf(Math.max(...this.#counts))
    const kept = [...this.#counts.keys()].filter((list) => this.#counts[list]! >= least || list === fullest)
    const means = new Float32Array(kept.length * width)
    for (const [at, list] of kept.entries()) {
      const count = Math.max(1, this.#counts[list]!)
      const from = (this.#address >>> 2) + list * width
      for (let i = 0; i < width; i++) means[at * width + i] = slab.floats[from + i]! / count
    }
    return means
  }

  release(): void {
    this.#arena.wipeDecoded()
    this.#arena.slab.release(this.#address, this.#bytes)
  }

  get #bytes(): number {
    return this.#counts.length * this.#arena.width * floatBytes
  }
}
