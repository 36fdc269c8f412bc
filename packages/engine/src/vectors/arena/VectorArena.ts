/**
 * The vectors of one namespace by slot, with the sequence number of each slot's last change.
 *
 * A vector is kept as a row of int8 codes: rotated by a fixed rotation, so that rounding errors point in no preferred
 * direction, and scaled so that its score with itself is right. A score is the integer inner product of a row and a
 * query, which depends on the two vectors alone; every engine takes it from here, so all engines and namespaces agree
 * to the last bit. It differs from the float32 inner product by about 0.0003 (bench/index); `ScoreBounds` bounds by how
 * much at most.
 * Invariant: a cleared slot is zeroed, so no erased vector stays in memory.
 */
import { Bitmap, demandSlot } from "../../bitmap/Bitmap.ts"
import { pairBytes, queryBytes, rowBytes, slotsPerBlock, widthStep } from "./Kernels.ts"
import { ScoreBounds } from "./ScoreBounds.ts"
import { type Slab, rotationSigns } from "./Slab.ts"
import type { SearchHits } from "../VectorIndex.ts"

const floatBytes = 4
const wordBytes = 4
const blockShift = Math.log2(slotsPerBlock)
const blockMask = slotsPerBlock - 1
/** With more components the sums of 1-bit codes would overflow 16 bits. */
const dimsMax = 2_048
/** Sequence numbers per chunk. Stored plus one; 0 means none. */
const seqsPerChunk = 512
const chunkShift = Math.log2(seqsPerChunk)
const chunkMask = seqsPerChunk - 1
/** A chunk with a larger number is widened from u32 to f64. */
const narrowMax = 2 ** 32 - 1
const tableBlocksMin = 16
/** Larger components cannot be a unit vector's, and their squares would overflow float32. */
const componentMax = 1e15

/** Addresses of a query in the slab: rotated f32[width], and its codes. Valid until the next `prepare`. */
export interface PreparedQuery {
  readonly rotated: number
  readonly codes: number
}

/** A set of slots uploaded to the slab, u32[words]. Valid until the next `uploadMask`. */
export interface SlotMask {
  readonly address: number
  readonly words: number
  /** Number of slots in the set. */
  readonly count: number
}

export class VectorArena {
  readonly dims: number
  /** `dims`, padded to a multiple of `widthStep`. */
  readonly width: number
  readonly slab: Slab
  /** The slots that hold a vector. */
  readonly live = new Bitmap()
  /** Address of u32 block addresses, 0 for an empty block. Changes when the table grows. */
  table = 0
  readonly #signs: number
  readonly #blockBytes: number
  /** No measured row's residual is larger (`ScoreBounds`); stays when the row goes that it was. */
  #residualMax = 0
  /** Whether rows were adopted whose residuals are not in `#residualMax` yet. */
  #hasUnmeasured = false
  #tableBlocks = 0
  readonly #seqs: Array<Uint32Array | Float64Array> = []
  #liveCount = 0

  constructor(dims: number, slab: Slab) {
    if (!Number.isInteger(dims) || dims < 1 || dims > dimsMax)
      throw new RangeError(`a vector must have 1 to ${dimsMax} dimensions, got ${dims}`)
    this.dims = dims
    this.width = Math.ceil(dims / widthStep) * widthStep
    this.slab = slab
    this.#signs = rotationSigns(slab, this.width)
    this.#blockBytes = slotsPerBlock * rowBytes(this.width)
  }

  get size(): number {
    return this.#liveCount
  }

  /** Measures adopted rows first, which takes about as long as a scan: opening a namespace need not. */
  get residualMax(): number {
    if (this.#hasUnmeasured) {
      this.#hasUnmeasured = false
      // A row that is not live is zeroed, and its residual 0.
      const blocks = this.slab.words.subarray(this.table >>> 2, (this.table >>> 2) + this.#tableBlocks)
      for (const block of blocks) if (block !== 0) this.#noteResiduals(block, slotsPerBlock)
    }
    return this.#residualMax
  }

  /**
   * Stores a Float32Array[dims] of unit norm. Returns false if `seq` is older than the slot's last change, so that
   * changes may be replayed.
   */
  set(slot: number, vector: Float32Array, seq: number): boolean {
    demandSlot(slot)
    this.#demandVector(vector, `the vector for slot ${slot}`)
    if (seq < this.seqOf(slot)) return false
    // First what may fail because the memory is full.
    const rotated = this.#uploadRotated("vector", vector)
    const row = this.#occupy(slot, seq)
    this.slab.kernels.encodeRow(rotated, row, this.width)
    this.#noteResiduals(row, 1)
    this.slab.wipe("vector", this.width * floatBytes)
    return true
  }

  /** Zeroes the slot. Returns false if it is empty or newer than `seq`. */
  clear(slot: number, seq: number): boolean {
    demandSlot(slot)
    if (seq < this.seqOf(slot)) return false
    this.#recordSeq(slot, seq)
    if (!this.live.has(slot)) return false
    const row = this.rowOf(slot)
    this.slab.bytes.fill(0, row, row + rowBytes(this.width))
    this.live.clear(slot)
    this.#liveCount--
    if (this.live.words[slot >>> blockShift] === 0) this.#releaseBlock(slot >>> blockShift)
    return true
  }

  /** Sequence number of the slot's last change; -1 if there was none. */
  seqOf(slot: number): number {
    return (this.#seqs[slot >>> chunkShift]?.[slot & chunkMask] ?? 0) - 1
  }

  /** Address of a live slot's row. */
  rowOf(slot: number): number {
    return this.slab.words[(this.table >>> 2) + (slot >>> blockShift)]! + (slot & blockMask) * rowBytes(this.width)
  }

  /** Uploads a query. */
  prepare(query: Float32Array): PreparedQuery {
    this.#demandVector(query, "the query")
    const codes = this.slab.scratch("query", queryBytes(this.width))
    const rotated = this.#uploadRotated("rotated query", query)
    this.slab.kernels.encodeQuery(rotated, codes, this.width)
    return { rotated, codes }
  }

  /** The k best of the mask's slots, all of which are live. */
  scan(query: PreparedQuery, k: number, { address, count, words }: SlotMask): SearchHits {
    const size = Math.min(k, count)
    const heap = this.heap(size)
    const found = this.slab.kernels.scanRows(this.table, address, words, query.codes, this.width, heap, 0, size)
    return this.drain(heap, found)
  }

  /** Uploads the intersection of `among` and `allowed`. */
  uploadMask(among: Bitmap, allowed: Bitmap | undefined): SlotMask {
    const { slab } = this
    const words = among.words.length
    const bytes = words * wordBytes
    const address = slab.scratch("among", bytes)
    const other = slab.scratch("within", bytes)
    const within = (allowed ?? among).words
    slab.words.set(among.words, address >>> 2)
    slab.words.set(within.length > words ? within.subarray(0, words) : within, other >>> 2)
    if (within.length < words) slab.words.fill(0, (other >>> 2) + within.length, (other >>> 2) + words)
    return { address, words, count: slab.kernels.intersect(address, other, words) }
  }

  /** Inner products of live slots with the query. */
  scores(query: PreparedQuery, slots: ArrayLike<number>): Float32Array {
    const { kernels } = this.slab
    const bytes = slots.length * floatBytes
    const source = this.slab.scratch("slots", bytes)
    const target = this.slab.scratch("scores", bytes)
    this.slab.words.set(slots, source >>> 2)
    kernels.scoreSlots(this.table, source, slots.length, query.codes, this.width, target)
    return this.slab.floats.slice(target >>> 2, (target >>> 2) + slots.length)
  }

  /** Norms of what the rows of live slots lack of their vectors. */
  residuals(slots: ArrayLike<number>): Float32Array {
    const bytes = slots.length * floatBytes
    const source = this.slab.scratch("slots", bytes)
    const target = this.slab.scratch("scores", bytes)
    this.slab.words.set(slots, source >>> 2)
    this.slab.kernels.residuals(this.table, source, slots.length, this.width, target)
    return this.slab.floats.slice(target >>> 2, (target >>> 2) + slots.length)
  }

  /** Bounds of what the scores of a query stand for. */
  boundsOf(query: PreparedQuery): ScoreBounds {
    let largest = 0
    const from = query.rotated >>> 2
    for (let i = 0; i < this.width; i++) largest = Math.max(largest, Math.abs(this.slab.floats[from + i]!))
    return new ScoreBounds(largest, this.width)
  }

  /** A new Float32Array[dims] with a live slot's vector, to the precision of its row. */
  copyOf(slot: number): Float32Array {
    const address = this.decode(slot)
    this.slab.kernels.unrotate(address, this.#signs, this.width)
    const copy = this.slab.floats.slice(address >>> 2, (address >>> 2) + this.dims)
    this.wipeDecoded()
    return copy
  }

  /** Copies a live slot's rotated vector into a plain array, as hnswlib-node takes it. */
  copyRotated(slot: number, target: Array<number>): void {
    this.#copy(this.decode(slot), target)
    this.wipeDecoded()
  }

  /** Copies a prepared query's rotated vector into a plain array. */
  copyQuery(query: PreparedQuery, target: Array<number>): void {
    this.#copy(query.rotated, target)
  }

  /** Address of a live slot's rotated f32[width]; valid until the next call. Call `wipeDecoded` after use. */
  decode(slot: number): number {
    const address = this.slab.scratch("decoded", this.width * floatBytes)
    this.slab.kernels.decodeRow(this.rowOf(slot), address, this.width)
    return address
  }

  wipeDecoded(): void {
    this.slab.wipe("decoded", this.width * floatBytes)
  }

  /** 32-bit FNV-1a hash of a live slot's row: tells two vectors of one slot apart. */
  fingerprint(slot: number): number {
    const { bytes } = this.slab
    const from = this.rowOf(slot)
    let hash = 0x811c9dc5
    for (let at = from; at < from + rowBytes(this.width); at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193)
    return hash >>> 0
  }

  /** Address of a heap for k pairs, shared by all searches of the slab. */
  heap(k: number): number {
    if (!Number.isInteger(k) || k < 0) throw new RangeError(`k must be a whole number of at least 0, got ${k}`)
    return this.slab.scratch("heap", k * pairBytes)
  }

  /** Sorts a heap, best first, and returns its pairs. */
  drain(heap: number, size: number): SearchHits {
    this.slab.kernels.sortBestFirst(heap, size)
    const slots = new Int32Array(size)
    const scores = new Float32Array(size)
    const from = heap >>> 2
    for (let i = 0; i < size; i++) {
      scores[i] = this.slab.floats[from + 2 * i]!
      slots[i] = this.slab.words[from + 2 * i + 1]!
    }
    return { slots, scores }
  }

  /** Releases all memory; the arena must not be used afterwards. */
  close(): void {
    for (let block = 0; block < this.#tableBlocks; block++) this.#releaseBlock(block)
    if (this.#tableBlocks > 0) this.slab.release(this.table, this.#tableBlocks * floatBytes)
    this.#tableBlocks = 0
    this.#liveCount = 0
    this.live.words.fill(0)
  }

  /** The bytes of a live slot's row. */
  rowCopy(slot: number): Uint8Array<ArrayBuffer> {
    const row = this.rowOf(slot)
    return this.slab.bytes.slice(row, row + rowBytes(this.width))
  }

  /** Stores encoded rows of consecutive slots of one block. */
  adopt(first: number, seqs: Float64Array, rows: Uint8Array): void {
    for (const [at, seq] of seqs.entries()) this.#occupy(first + at, seq)
    this.slab.bytes.set(rows, this.rowOf(first))
    this.#hasUnmeasured = true
  }

  /** Marks the slot as live; returns the address of its row. */
  #occupy(slot: number, seq: number): number {
    const row = this.#allocateRow(slot)
    this.#recordSeq(slot, seq)
    if (!this.live.has(slot)) {
      this.live.set(slot)
      this.#liveCount++
    }
    return row
  }

  /** Notes the residuals of `count` adjacent rows from `row` on. */
  #noteResiduals(row: number, count: number): void {
    this.#residualMax = Math.max(this.#residualMax, this.slab.kernels.largestResidual(row, count, this.width))
  }

  #recordSeq(slot: number, seq: number): void {
    const chunk = slot >>> chunkShift
    while (this.#seqs.length <= chunk) this.#seqs.push(new Uint32Array(seqsPerChunk))
    const seqs = this.#seqs[chunk]!
    if (seq + 1 > narrowMax && seqs instanceof Uint32Array) this.#seqs[chunk] = Float64Array.from(seqs)
    this.#seqs[chunk]![slot & chunkMask] = seq + 1
  }

  #uploadRotated(name: string, vector: Float32Array): number {
    const address = this.slab.scratch(name, this.width * floatBytes)
    this.slab.floats.set(vector, address >>> 2)
    this.slab.floats.fill(0, (address >>> 2) + this.dims, (address >>> 2) + this.width)
    this.slab.kernels.rotate(address, this.#signs, this.width)
    return address
  }

  #copy(address: number, target: Array<number>): void {
    const from = address >>> 2
    for (let i = 0; i < this.width; i++) target[i] = this.slab.floats[from + i]!
  }

  #demandVector(vector: Float32Array, what: string): void {
    if (vector.length !== this.dims) throw new RangeError(`expected ${this.dims} dimensions, got ${vector.length}`)
    for (let i = 0; i < vector.length; i++) {
      // Written so that NaN fails too.
      if (!(Math.abs(vector[i]!) <= componentMax)) throw new RangeError(`${what} has a component that is not finite`)
    }
  }

  /** Address of the slot's row; allocates its block if there is none. */
  #allocateRow(slot: number): number {
    const block = slot >>> blockShift
    if (block >= this.#tableBlocks) {
      const blocks = Math.max(tableBlocksMin, 2 ** Math.ceil(Math.log2(block + 1)))
      this.table = this.slab.regrow(this.table, this.#tableBlocks * floatBytes, blocks * floatBytes)
      this.#tableBlocks = blocks
    }
    let address = this.slab.words[(this.table >>> 2) + block]!
    if (address === 0) {
      address = this.slab.allocate(this.#blockBytes)
      this.slab.words[(this.table >>> 2) + block] = address
    }
    return address + (slot & blockMask) * rowBytes(this.width)
  }

  #releaseBlock(block: number): void {
    const at = (this.table >>> 2) + block
    const address = this.slab.words[at]!
    if (address === 0) return
    this.slab.release(address, this.#blockBytes)
    this.slab.words[at] = 0
  }
}
