/**
 * Coarse quantizer of the inverted lists: k-means centroids (Lloyd's algorithm on a sample of the arena's vectors,
 * started from vectors drawn at random). With one list the centroid is the mean of all.
 *
 * Training is a generator whose steps take well below a millisecond, so that it can run in slices. A centroid is the
 * mean of at least `membersMin` vectors, so that none reveals a single memory.
 */
import { codeBlockBytes, queryBytes, rowBytes, slotsPerBlock } from "../arena/Kernels.ts"
import { seededSequence, type Slab } from "../arena/Slab.ts"
import type { VectorArena } from "../arena/VectorArena.ts"

const floatBytes = 4
/** Vectors sampled per centroid, and rounds of Lloyd's algorithm: more of either changes recall by less than 0.001. */
const samplesPerList = 48
const roundsMax = 6
const membersMin = 8
/** Vectors assigned per step: about 0.2 ms with 250 lists. */
const assignedPerStep = 32

export class Codebook {
  readonly width: number
  /** Address of the centroids, as rows. */
  readonly centroids: number
  /** Address of f32[count]: |c|² / 2 of each centroid. */
  readonly halfSquares: number
  readonly #slab: Slab
  readonly #room: number
  #count = 0

  /** `centroids` is f32[count][width], rotated. */
  constructor(slab: Slab, width: number, centroids: Float32Array) {
    this.#slab = slab
    this.width = width
    this.#room = roomFor(centroids.length / width)
    this.centroids = slab.allocate(this.#room * rowBytes(width))
    this.halfSquares = slab.allocate(this.#room * floatBytes)
    this.replace(centroids)
  }

  get count(): number {
    return this.#count
  }

  /** Replaces the centroids by as many or fewer. */
  replace(centroids: Float32Array): void {
    const { width } = this
    const slab = this.#slab
    this.#count = centroids.length / width
    slab.bytes.fill(0, this.centroids, this.centroids + this.#room * rowBytes(width))
    const scratch = slab.scratch("centroid", width * floatBytes)
    for (let list = 0; list < this.#count; list++) {
      slab.floats.set(centroids.subarray(list * width, (list + 1) * width), scratch >>> 2)
      slab.kernels.encodeRow(scratch, this.rowOf(list), width)
    }
    slab.wipe("centroid", width * floatBytes)
    slab.kernels.halfSquares(this.centroids, this.#count, width, this.halfSquares)
  }

  /** IVF assignment: the list of the rotated f32[width] at `vector`. */
  listOf(vector: number): number {
    if (this.#count === 1) return 0
    const { width } = this
    const codes = this.#slab.scratch("assigned", queryBytes(width))
    this.#slab.kernels.encodeQuery(vector, codes, width)
    const list = this.#slab.kernels.nearestList(codes, this.centroids, this.halfSquares, this.#count, width)
    this.#slab.wipe("assigned", queryBytes(width))
    return list
  }

  /** Calls `use` with the address of a list's centroid, decoded to rotated f32[width]. */
  withCentroid<A>(list: number, use: (centroid: number) => A): A {
    const address = this.#slab.scratch("centroid", this.width * floatBytes)
    this.#slab.kernels.decodeRow(this.rowOf(list), address, this.width)
    const result = use(address)
    // Erased, because the mean of few vectors resembles each of them.
    this.#slab.wipe("centroid", this.width * floatBytes)
    return result
  }

  /** Address of a list's centroid, as a row. */
  rowOf(list: number): number {
    return this.centroids + list * rowBytes(this.width)
  }

  release(): void {
    this.#slab.release(this.centroids, this.#room * rowBytes(this.width))
    this.#slab.release(this.halfSquares, this.#room * floatBytes)
  }
}

/** Trains at most `lists` centroids; undefined if the arena is empty. The arena may change between two steps. */
export function* trainCodebook(arena: VectorArena, lists: number): Generator<void, Codebook | undefined> {
  const sample = sampleOf(arena, lists * samplesPerList)
  if (sample.length === 0) return undefined
  const codebook = new Codebook(arena.slab, arena.width, startOf(arena, sample, lists))
  const sums = new CentroidSums(arena, codebook.count)
  let isTrained = false
  try {
    // The mean of all is final after one round.
    for (let round = 0; round < (lists === 1 ? 1 : roundsMax); round++) {
      for (const [at, slot] of sample.entries()) {
        if (arena.live.has(slot)) {
          const vector = arena.decode(slot)
          sums.add(codebook.listOf(vector), vector)
        }
        if (at % assignedPerStep === 0) yield
      }
      codebook.replace(sums.takeMeans())
      yield
    }
    isTrained = true
    return codebook
  } finally {
    sums.release()
    if (!isTrained) codebook.release()
  }
}

/** Rounds up to one of a few sizes, so that the slab can reuse the blocks. */
const roomFor = (lists: number): number => {
  const step = Math.max(1, 2 ** (Math.floor(Math.log2(lists)) - 2))
  return Math.ceil(lists / step) * step
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
    const from = arena.decode(slot) >>> 2
    centroids.set(arena.slab.floats.subarray(from, from + arena.width), list * arena.width)
  }
  arena.wipeDecoded()
  return centroids
}

/** Sums of vectors by list, f32[width] each, in slab blocks of a size that code blocks reuse after training. */
class CentroidSums {
  readonly #arena: VectorArena
  readonly #addresses: ReadonlyArray<number>
  readonly #counts: Uint32Array

  constructor(arena: VectorArena, lists: number) {
    this.#arena = arena
    this.#counts = new Uint32Array(lists)
    this.#addresses = Array.from(this.#counts, () => arena.slab.allocate(codeBlockBytes(arena.width)))
  }

  add(list: number, vector: number): void {
    const { slab, width } = this.#arena
    slab.kernels.addTo(this.#addresses[list]!, vector, width)
    this.#counts[list]!++
  }

  /** Means of the lists with enough members, or of the fullest list if none has enough; resets the sums. */
  takeMeans(): Float32Array {
    const { slab, width } = this.#arena
    const fullest = this.#counts.indexOf(Math.max(...this.#counts))
    const kept = [...this.#counts.keys()].filter((list) => this.#counts[list]! >= membersMin || list === fullest)
    const means = new Float32Array(kept.length * width)
    for (const [at, list] of kept.entries()) {
      const count = Math.max(1, this.#counts[list]!)
      const from = this.#addresses[list]! >>> 2
      for (let i = 0; i < width; i++) means[at * width + i] = slab.floats[from + i]! / count
    }
    this.#counts.fill(0)
    for (const address of this.#addresses) slab.bytes.fill(0, address, address + width * floatBytes)
    return means
  }

  release(): void {
    const { slab, width } = this.#arena
    this.#arena.wipeDecoded()
    for (const address of this.#addresses) slab.release(address, codeBlockBytes(width))
  }
}

const partsPerBlock = 4
const addressPart = 0
const listPart = 1
const placePart = 2
const lanesPart = 3
const blocksMin = 16
const growth = 1.25
const allLanes = 2 ** slotsPerBlock - 1

/**
 * Directory of the code blocks of one index, by block number: address, list, place in the list, used lanes. Kept in one
 * typed array: an object for each block would take a hundredth of what all vectors take.
 */
export class CodeBlocks {
  #parts = new Uint32Array(blocksMin * partsPerBlock)
  #end = 0
  readonly #free: Array<number> = []

  /** Registers an empty block at `place` of its list; returns its number. */
  add(address: number, list: number, place: number): number {
    const block = this.#free.pop() ?? this.#end++
    if (this.#end * partsPerBlock > this.#parts.length) {
      const grown = new Uint32Array(Math.ceil(this.#end * growth) * partsPerBlock)
      grown.set(this.#parts)
      this.#parts = grown
    }
    this.#parts.set([address, list, place, 0], block * partsPerBlock)
    return block
  }

  /** Forgets a block in use; its number is reused. */
  drop(block: number): void {
    this.#parts.fill(0, block * partsPerBlock, (block + 1) * partsPerBlock)
    this.#free.push(block)
  }

  addressOf(block: number): number {
    return this.#parts[block * partsPerBlock + addressPart]!
  }

  listOf(block: number): number {
    return this.#parts[block * partsPerBlock + listPart]!
  }

  placeOf(block: number): number {
    return this.#parts[block * partsPerBlock + placePart]!
  }

  move(block: number, place: number): void {
    this.#parts[block * partsPerBlock + placePart] = place
  }

  /** Takes the lowest free lane of a block that has one. */
  takeLane(block: number): number {
    const at = block * partsPerBlock + lanesPart
    const free = ~this.#parts[at]!
    const lane = slotsPerBlock - 1 - Math.clz32(free & -free)
    this.#parts[at]! |= 1 << lane
    return lane
  }

  freeLane(block: number, lane: number): void {
    this.#parts[block * partsPerBlock + lanesPart]! &= ~(1 << lane)
  }

  isFull(block: number): boolean {
    return this.#parts[block * partsPerBlock + lanesPart] === allLanes
  }

  isEmpty(block: number): boolean {
    return this.#parts[block * partsPerBlock + lanesPart] === 0
  }
}
