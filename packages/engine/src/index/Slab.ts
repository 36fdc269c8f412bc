/**
 * Linear memory that many indexes share, for V8 gives out some 13,000 WebAssembly memories at most.
 *
 * Blocks never move. A freed block is zeroed at once, so that an erased memory leaves no vector behind, and is
 * used again for the same size. The memory itself only grows, to at most 4 GiB: about nine million vectors of
 * 384 dimensions; an index stays in its slab.
 */
import type { KernelFactory, KernelMemory, Kernels } from "./Kernels.ts"

const pageBytes = 65_536
const pagesMax = 65_536
/** Pages by which a slab grows: a megabyte. */
const growthPages = 16
/** Blocks begin at cache lines. */
const alignment = 64
/** A slab this full takes no new index while there may be another. */
const fullBytes = 0.5 * pageBytes * pagesMax

export class Slab {
  readonly kernels: Kernels
  /** The memory as bytes, u32, f32. Replaced when it grows: do not keep them over `allocate`. */
  bytes: Uint8Array<ArrayBuffer>
  words: Uint32Array<ArrayBuffer>
  floats: Float32Array<ArrayBuffer>
  readonly #memory: KernelMemory
  readonly #free = new Map<number, Array<number>>()
  readonly #shared = new Map<string, { address: number; bytes: number }>()
  /** Address 0 stands for none. */
  #end = alignment

  constructor(factory: KernelFactory) {
    const { kernels, memory } = factory({ initial: growthPages, maximum: pagesMax })
    this.kernels = kernels
    this.#memory = memory
    this.bytes = new Uint8Array(memory.buffer)
    this.words = new Uint32Array(memory.buffer)
    this.floats = new Float32Array(memory.buffer)
  }

  /** Bytes in use or once used. */
  get end(): number {
    return this.#end
  }

  /** Address of so many bytes, all zero. */
  allocate(bytes: number): number {
    const size = sizeOf(bytes)
    const reused = this.#free.get(size)?.pop()
    if (reused !== undefined) return reused
    const address = this.#end
    this.#ensure(address + size)
    this.#end += size
    return address
  }

  /** Zeroes and takes back what `allocate` gave for the same number of bytes. */
  release(address: number, bytes: number): void {
    const size = sizeOf(bytes)
    this.bytes.fill(0, address, address + size)
    const free = this.#free.get(size)
    if (free === undefined) this.#free.set(size, [address])
    else free.push(address)
  }

  /** The block at `address` with its first `bytes` in a larger one. */
  regrow(address: number, bytes: number, largerBytes: number): number {
    const larger = this.allocate(largerBytes)
    if (bytes > 0) {
      this.bytes.copyWithin(larger, address, address + bytes)
      this.release(address, bytes)
    }
    return larger
  }

  /** A place that all users of the slab share for the length of one call, at least so large. */
  shared(name: string, bytes: number): number {
    const known = this.#shared.get(name)
    if (known !== undefined && known.bytes >= bytes) return known.address
    const size = 2 ** Math.ceil(Math.log2(Math.max(bytes, alignment)))
    const address = this.allocate(size)
    if (known !== undefined) this.release(known.address, known.bytes)
    this.#shared.set(name, { address, bytes: size })
    return address
  }

  /** Leaves nothing in the first `bytes` of a shared place. */
  wipe(name: string, bytes: number): void {
    const address = this.shared(name, bytes)
    this.bytes.fill(0, address, address + bytes)
  }

  #ensure(end: number): void {
    const missing = end - this.bytes.length
    if (missing <= 0) return
    const pagesLeft = pagesMax - this.bytes.length / pageBytes
    // Throws a RangeError, and changes nothing, where there is no more.
    this.#memory.grow(Math.max(Math.ceil(missing / pageBytes), Math.min(growthPages, pagesLeft)))
    this.bytes = new Uint8Array(this.#memory.buffer)
    this.words = new Uint32Array(this.#memory.buffer)
    this.floats = new Float32Array(this.#memory.buffer)
  }
}

/** The slabs of a process. */
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
