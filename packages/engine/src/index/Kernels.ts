/**
 * The WebAssembly kernels of the vector index (sources: `packages/engine/kernels`, built by the set-up).
 *
 * Addresses and sizes are bytes in one linear memory, counts are elements, `width` is the number of
 * components, a multiple of 64. The sources say what each kernel does.
 */
import { readFileSync } from "node:fs"
import { kernelsFile } from "./kernelsFile.ts"

/** Components that a vector is padded to a multiple of. */
export const widthStep = 64
/** Slots a block of rows or codes holds: those of one word of a bitmap. */
export const slotsPerBlock = 32
/** Beside its codes a row has its scale and the sum of its codes. */
export const rowBytes = (width: number): number => width + 8
/** Four components of 32 rows take 16 bytes, and each row has three factors and its slot. */
export const codeBlockBytes = (width: number): number => width * 4 + slotsPerBlock * 16
/** High and low halves of the codes, then the scale. */
export const queryBytes = (width: number): number => 2 * width + 16
/** Sixteen entries for every four components, then their step and least sum, and the sums of a block. */
export const tablesBytes = (width: number): number => 4 * width + 16 + 2 * slotsPerBlock
/** A score and a slot. */
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
  readonly sortBestFirst: (heap: number, size: number) => void
  readonly halfSquares: (centroids: number, count: number, width: number, target: number) => void
  readonly nearestList: (query: number, centroids: number, halves: number, count: number, width: number) => number
  readonly probe: (
    query: number,
    centroids: number,
    count: number,
    width: number,
    wanted: number,
    heap: number
  ) => number
  readonly addTo: (target: number, vector: number, width: number) => void
  /** The square of the row's distance to the centroid. */
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
    centre: number,
    spread: number,
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

export interface KernelMemory {
  readonly buffer: ArrayBuffer
  readonly grow: (pages: number) => number
}

/** What this file needs of it; the declarations of Node have it not. */
declare const WebAssembly: {
  readonly Memory: new (descriptor: { readonly initial: number; readonly maximum: number }) => KernelMemory
  readonly Module: new (code: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (
    module: object,
    imports: { readonly env: { readonly memory: KernelMemory } }
  ) => { readonly exports: Kernels }
}

export interface KernelInstance {
  readonly memory: KernelMemory
  readonly kernels: Kernels
}

/** Makes instances, each over a memory of its own; the file is read and compiled once. */
export type KernelFactory = (pages: { readonly initial: number; readonly maximum: number }) => KernelInstance

export const loadKernels = (): KernelFactory => {
  const module = new WebAssembly.Module(readFileSync(kernelsFile))
  return (pages) => {
    const memory = new WebAssembly.Memory(pages)
    return { memory, kernels: new WebAssembly.Instance(module, { env: { memory } }).exports }
  }
}
