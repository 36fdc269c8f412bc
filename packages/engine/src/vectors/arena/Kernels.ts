/**
 * Types of the index's WebAssembly kernels, and sizes of what they read and write (sources: `packages/engine/kernels`,
 * where each kernel is explained).
 *
 * Addresses and sizes are bytes in one linear memory, counts are elements, `width` is the number of components of a
 * row, a multiple of `widthStep`.
 */
import { readFileSync } from "node:fs"

/** Rows are padded to a multiple of this many components. */
export const widthStep = 64
/** Slots in a block of rows or codes: those of one word of a bitmap. */
export const slotsPerBlock = 32
/** i8[width] codes, f32 scale, i32 sum of the codes. */
export const rowBytes = (width: number): number => width + 8
/** u8[width / 4][16] signs, then f32[32] factors, f32[32] offsets, f32[32] errors, u32[32] slots. */
export const codeBlockBytes = (width: number): number => width * 4 + slotsPerBlock * 16
export const offsetsAddress = (codeBlock: number, width: number): number => codeBlock + width * 4 + slotsPerBlock * 4
/** u7[width] high halves and u7[width] low halves of the codes, then f32 scale. */
export const queryBytes = (width: number): number => 2 * width + 16
/** u6[width / 4][16] entries, then f32 step, f32 least sum, i32 rows re-ranked, and u16[32] sums of a block. */
export const tablesBytes = (width: number): number => 4 * width + 16 + 2 * slotsPerBlock
export const rerankedAddress = (tables: number, width: number): number => tables + width * 4 + 8
/** f32 score, u32 slot. */
export const pairBytes = 8

export interface Kernels {
  readonly rotate: (at: number, signs: number, width: number) => void
  readonly unrotate: (at: number, signs: number, width: number) => void
  readonly encodeRow: (rotated: number, row: number, width: number) => void
  readonly decodeRow: (row: number, target: number, width: number) => void
  readonly encodeQuery: (rotated: number, query: number, width: number) => void
  readonly scoreRow: (row: number, query: number, width: number) => number
  readonly scoreSlots: (
    table: number,
    slots: number,
    count: number,
    query: number,
    width: number,
    target: number
  ) => void
  readonly scanRows: (
    table: number,
    bitmap: number,
    words: number,
    query: number,
    width: number,
    heap: number,
    size: number,
    k: number
  ) => number
  /** Norms of what the rows lack of their unit vectors: the largest of `count` adjacent rows; of slots, as f32[count]. */
  readonly largestResidual: (row: number, count: number, width: number) => number
  readonly residuals: (table: number, slots: number, count: number, width: number, target: number) => void
  readonly sortBestFirst: (heap: number, size: number) => void
  readonly halfSquares: (centroids: number, count: number, width: number, target: number) => void
  readonly nearestList: (query: number, centroids: number, halfSquares: number, count: number, width: number) => number
  readonly probe: (
    query: number,
    centroids: number,
    count: number,
    width: number,
    wanted: number,
    heap: number
  ) => number
  readonly addTo: (target: number, vector: number, width: number) => void
  /** Returns the squared norm of the residual. */
  readonly encodeCode: (
    table: number,
    slot: number,
    centroid: number,
    block: number,
    lane: number,
    width: number,
    scratch: number
  ) => number
  readonly clearCode: (block: number, lane: number, width: number) => void
  readonly intersect: (target: number, other: number, words: number) => number
  readonly countAllowed: (blocks: number, count: number, allowed: number, allowedWords: number, width: number) => number
  readonly encodeTables: (rotated: number, tables: number, width: number) => void
  readonly scanCodes: (
    blocks: number,
    count: number,
    tables: number,
    centroidScore: number,
    errorScale: number,
    table: number,
    allowed: number,
    allowedWords: number,
    query: number,
    width: number,
    heap: number,
    size: number,
    k: number
  ) => number
}

/** Makes instances, each over a memory of its own. */
export type KernelFactory = (pages: MemoryPages) => KernelInstance<Kernels>

/** Reads and compiles the file: once a process is enough. */
export const loadKernels = (): KernelFactory =>
  loadKernelModule(new URL("../../../kernels/kernels.wasm", import.meta.url))

/** Compiles a committed WebAssembly file and makes instances of it, each over a memory of its own. */
export interface KernelMemory {
  readonly buffer: ArrayBuffer
  /** Replaces `buffer`: views on the old one are empty afterwards. */
  readonly grow: (pages: number) => number
}

interface KernelInstance<Kernels> {
  readonly memory: KernelMemory
  readonly kernels: Kernels
}

/** Sizes in pages of 64 KiB; without a maximum a memory may grow to 4 GiB. */
interface MemoryPages {
  readonly initial: number
  readonly maximum?: number
}

/** Missing from Node's type declarations. */
declare const WebAssembly: {
  readonly Memory: new (pages: MemoryPages) => KernelMemory
  readonly Module: new (code: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new <Kernels>(
    module: object,
    imports: { readonly env: { readonly memory: KernelMemory } }
  ) => { readonly exports: Kernels }
}

export const loadKernelModule = <Kernels>(file: URL): ((pages: MemoryPages) => KernelInstance<Kernels>) => {
  const module = new WebAssembly.Module(readFileSync(file))
  return (pages) => {
    const memory = new WebAssembly.Memory(pages)
    return { memory, kernels: new WebAssembly.Instance<Kernels>(module, { env: { memory } }).exports }
  }
}
