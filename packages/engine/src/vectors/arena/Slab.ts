/**
 * Linear memory that many indexes share, because V8 allows about 13,000 WebAssembly memories in a process.
 *
 * Invariants: a block never moves; a released block is zeroed at once, so no erased vector stays behind, and reused for
 * the same size only; the memory only grows, up to the 4 GiB of WebAssembly (about nine million vectors of 384
 * dimensions). An index stays in its slab.
 */
import type { KernelFactory, KernelMemory, Kernels } from "./Kernels.ts"

const pageBytes = 65_536
const pagesMax = 65_536
/** Pages by which a slab grows. */
const growthPages = 16
/** Blocks begin at cache lines. Address 0 is never given out: it stands for "no block". */
const alignment = 64
/** A slab with more bytes in use takes no new index. */
const fullBytes = 0.5 * pageBytes * pagesMax

export class Slab {
  readonly kernels: Kernels
  /** Views of the memory. Replaced when it grows: do not keep them across `allocate` or `scratch`. */
  bytes: Uint8Array<ArrayBuffer>
  words: Uint32Array<ArrayBuffer>
  floats: Float32Array<ArrayBuffer>
  readonly #memory: KernelMemory
  readonly #free = new Map<number, Array<number>>()
  readonly #scratch = new Map<string, { address: number; bytes: number }>()
  #end = alignment

  constructor(factory: KernelFactory) {
    const { kernels, memory } = factory({ initial: growthPages, maximum: pagesMax })
    this.kernels = kernels
    this.#memory = memory
    this.bytes = new Uint8Array(memory.buffer)
    this.words = new Uint32Array(memory.buffer)
    this.floats = new Float32Array(memory.buffer)
  }

  /** Bytes in use, released blocks included. */
  get end(): number {
    return this.#end
  }

  /** Address of a zeroed block. Throws a RangeError if the memory is full. */
  allocate(bytes: number): number {
    const size = sizeOf(bytes)
    const reused = this.#free.get(size)?.pop()
    if (reused !== undefined) return reused
    const address = this.#end
    this.#ensure(address + size)
    this.#end += size
    return address
  }

  /** Zeroes a block and takes it back; `bytes` as in its `allocate`. */
  release(address: number, bytes: number): void {
    const size = sizeOf(bytes)
    this.bytes.fill(0, address, address + size)
    const free = this.#free.get(size)
    if (free === undefined) this.#free.set(size, [address])
    else free.push(address)
  }

  /** Moves the first `bytes` of a block into a larger one; returns its address. */
  regrow(address: number, bytes: number, largerBytes: number): number {
    const larger = this.allocate(largerBytes)
    if (bytes > 0) {
      this.bytes.copyWithin(larger, address, address + bytes)
      this.release(address, bytes)
    }
    return larger
  }

  /** Named scratch buffer of at least `bytes`, shared by all users of the slab for the length of one call. */
  scratch(name: string, bytes: number): number {
    const known = this.#scratch.get(name)
    if (known !== undefined && known.bytes >= bytes) return known.address
    const size = 2 ** Math.ceil(Math.log2(Math.max(bytes, alignment)))
    const address = this.allocate(size)
    if (known !== undefined) this.release(known.address, known.bytes)
    this.#scratch.set(name, { address, bytes: size })
    return address
  }

  /** Zeroes the first `bytes` of a scratch buffer. */
  wipe(name: string, bytes: number): void {
    const address = this.scratch(name, bytes)
    this.bytes.fill(0, address, address + bytes)
  }

  #ensure(end: number): void {
    const missing = end - this.bytes.length
    if (missing <= 0) return
    const pagesLeft = pagesMax - this.bytes.length / pageBytes
    // Throws a RangeError, and changes nothing, at the maximum.
    this.#memory.grow(Math.max(Math.ceil(missing / pageBytes), Math.min(growthPages, pagesLeft)))
    this.bytes = new Uint8Array(this.#memory.buffer)
    this.words = new Uint32Array(this.#memory.buffer)
    this.floats = new Float32Array(this.#memory.buffer)
  }
}

/** Hands out slabs; one for each process. */
export class SlabPool {
  readonly #factory: KernelFactory
  #newest: Slab | undefined

  constructor(factory: KernelFactory) {
    this.#factory = factory
  }

  /** The slab for a new index. */
  take(): Slab {
    if (this.#newest === undefined || this.#newest.end > fullBytes) this.#newest = new Slab(this.#factory)
    return this.#newest
  }
}

const sizeOf = (bytes: number): number => Math.ceil(bytes / alignment) * alignment

const rounds = 4
const seed = 0x6d756e69
const uploaded = new WeakMap<Slab, Map<number, number>>()

/** Signs of the rotation: a function of the width alone, so codes of all namespaces and versions compare. */
export const rotationSigns = (slab: Slab, width: number): number => {
  const ofSlab = uploaded.get(slab) ?? new Map<number, number>()
  uploaded.set(slab, ofSlab)
  const known = ofSlab.get(width)
  if (known !== undefined) return known
  const address = slab.allocate(rounds * width * Float32Array.BYTES_PER_ELEMENT)
  const random = seededSequence(seed)
  for (let i = 0; i < rounds * width; i++) slab.floats[(address >>> 2) + i] = random() < 0.5 ? -1 : 1
  ofSlab.set(width, address)
  return address
}

/** Pseudo-random numbers 0 <= x < 1 from a seed (mulberry32), so that lists and maps are reproducible. */
export const seededSequence = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
