/**
 * IVF index: inverted lists of 1-bit RaBitQ codes; exact re-ranking of what the error bound lets through.
 *   coarse quantizer, assignment     IVF (Jégou et al., PAMI 2011)                    Codebook.listOf, add
 *   code of the residual x - c       RaBitQ (arXiv 2405.12497), codes and estimator   add: kernel encodeCode
 *   table look-ups in registers      FastScan (André et al., VLDB 2015)               search: kernel scanCodes
 *   re-ranking by the error bound    RaBitQ; errorsAllowed is the paper's epsilon_0   search: kernel scanCodes
 * Differs: re-ranks int8 rows, not float32; the number of probes is learned (ProbeTuning). One list is a flat scan.
 * Invariant: a live slot has exactly one code. Call `add` after the row is set, `remove` before or after it is cleared.
 */
import { CodeBlocks, type Codebook } from "./Codebook.ts"
import {
  codeBlockBytes,
  offsetsAddress,
  pairBytes,
  rerankedAddress,
  slotsPerBlock,
  tablesBytes
} from "../arena/Kernels.ts"
import type { PreparedQuery, SlotMask, VectorArena } from "../arena/VectorArena.ts"
import type { SearchHits } from "../VectorIndex.ts"

const floatBytes = 4
const addressBytes = 4
const laneShift = Math.log2(slotsPerBlock)
const laneMask = slotsPerBlock - 1
const nowhere = -1
const tableBlocksMin = 4
const growth = 1.25

/**
 * Standard errors by which the estimate of a row may lie below the k-th best score and the row is still re-ranked. About
 * one true result in two thousand is missed (bench/index).
 */
const errorsAllowed = 2
/** Lists that a search probes at least. */
export const probesMin = 4
/** Lists ranked by centroid score at first; a further ranking covers this many times more. */
const rankedFirst = 32

/** Fitted to counts at k 10 and 100 on real and synthetic vectors (bench/index). */
const reranksPerResult = 2

/** Estimate of the rows re-ranked for k of n codes: one for each change of the k best, and those within the error bound. */
export const expectedReranks = (k: number, codes: number): number => reranksPerResult * k * Math.log(Math.E + codes / k)

export interface Probe {
  readonly list: number
  /** Inner product of the list's centroid with the query. */
  readonly centroidScore: number
}

interface List {
  /** Address of u32[room] addresses of blocks. */
  table: number
  room: number
  readonly blocks: Array<number>
  /** Blocks that may have a free lane, newest last. */
  readonly open: Array<number>
  /** Codes in the list. */
  size: number
}

export class InvertedLists {
  readonly codebook: Codebook
  /** Rows re-ranked in unfiltered searches, against `expectedReranks`. */
  readonly rerankCorrection = new CostCorrection()
  /** Lists probed in filtered searches, against what was learned behind random filters. */
  readonly probeCorrection = new CostCorrection()
  /** Lists that the last search probed; 0 if it scanned the filtered rows instead. */
  probed = 0
  readonly #arena: VectorArena
  readonly #lists: ReadonlyArray<List>
  readonly #blocks = new CodeBlocks()
  /** Block and lane by slot. */
  #places = new Int32Array(0)
  #size = 0

  constructor(arena: VectorArena, codebook: Codebook) {
    this.#arena = arena
    this.codebook = codebook
    this.#lists = Array.from({ length: codebook.count }, () => ({ table: 0, room: 0, blocks: [], open: [], size: 0 }))
  }

  /** Codes held. */
  get size(): number {
    return this.#size
  }

  has(slot: number): boolean {
    return (this.#places[slot] ?? nowhere) !== nowhere
  }

  /** The list of a slot that has a code. */
  listOf(slot: number): number {
    return this.#blocks.listOf(this.#places[slot]! >>> laneShift)
  }

  /** IVF insertion: encodes the slot's residual into the list of its nearest centroid. Returns its squared norm (for drift). */
  add(slot: number, list = this.codebook.listOf(this.#arena.decode(slot))): number {
    const { slab, table, width } = this.#arena
    const block = this.#openBlock(list)
    const lane = this.#blocks.takeLane(block)
    if (this.#blocks.isFull(block)) this.#lists[list]!.open.pop()
    this.#placeAt(slot, (block << laneShift) | lane)
    this.#size++
    this.#lists[list]!.size++
    const scratch = slab.scratch("decoded", width * floatBytes)
    const square = this.codebook.withCentroid(list, (centroid) =>
      slab.kernels.encodeCode(table, slot, centroid, this.#blocks.addressOf(block), lane, width, scratch)
    )
    this.#arena.wipeDecoded()
    return square
  }

  /** Removes a slot's code, if it has one. */
  remove(slot: number): void {
    const place = this.#places[slot] ?? nowhere
    if (place === nowhere) return
    this.#places[slot] = nowhere
    this.#size--
    const block = place >>> laneShift
    const lane = place & laneMask
    const { slab, width } = this.#arena
    const list = this.#lists[this.#blocks.listOf(block)]!
    list.size--
    slab.kernels.clearCode(this.#blocks.addressOf(block), lane, width)
    if (this.#blocks.isFull(block)) list.open.push(block)
    this.#blocks.freeLane(block, lane)
    if (this.#blocks.isEmpty(block)) this.#dropBlock(block)
  }

  /**
   * IVF search: probes lists in descending order of their centroid score until that lies further below the k-th best
   * score than the margin. `marginFor` gives the margin for the filter's selectivity in the lists probed so far.
   * `filter` holds live slots only. With `fallsBackToScan` the filtered rows are scanned instead of the lists if few
   * of them lie near the query: most lists would be probed.
   */
  search(
    query: PreparedQuery,
    k: number,
    filter: SlotMask | undefined,
    marginFor: (selectivity: number) => number,
    fallsBackToScan = false
  ): SearchHits {
    const { slab } = this.#arena
    const size = Math.min(k, filter?.count ?? this.#size)
    const heap = this.#arena.heap(size)
    this.probed = 0
    if (size === 0) return this.#arena.drain(heap, 0)
    const local = new LocalSelectivity(filter === undefined ? 1 : filter.count / this.#size)
    let probes = this.rankLists(query, rankedFirst)
    if (filter !== undefined && fallsBackToScan && this.#isSparseNear(probes, filter))
      return this.#arena.scan(query, k, filter)
    const scan = this.#scanner(query, filter, heap, size)
    let found = 0
    for (; this.probed < this.codebook.count; this.probed++) {
      const { probed } = this
      if (probed === probes.length) probes = this.rankLists(query, probed * rankedFirst)
      const { centroidScore, list: number } = probes[probed]!
      if (probed >= probesMin && found === size) {
        const worst = slab.floats[heap >>> 2]!
        if (centroidScore < worst - marginFor(local.value)) break
      }
      const list = this.#lists[number]!
      const passing = filter === undefined ? list.size : this.#passing(list, filter)
      if (passing > 0)
        found = scan.list(list, centroidScore, slab.floats[(this.codebook.halfSquares >>> 2) + number]!, found)
      local.record(list.size, passing)
    }
    if (filter === undefined)
      this.rerankCorrection.record(k, scan.reranked() / Math.min(local.codes, expectedReranks(k, local.codes)))
    return this.#arena.drain(heap, found)
  }

  /** Whether the lists nearest to the query hold far fewer filtered rows than the average list. */
  #isSparseNear(probes: ReadonlyArray<Probe>, filter: SlotMask): boolean {
    const local = new LocalSelectivity(filter.count / this.#size)
    for (const probe of probes.slice(0, probesMin)) {
      const list = this.#lists[probe.list]!
      local.record(list.size, this.#passing(list, filter))
    }
    return local.value === 0
  }

  /** The `wanted` lists with the highest centroid scores, descending. */
  rankLists(query: PreparedQuery, wanted: number): ReadonlyArray<Probe> {
    const { slab, width } = this.#arena
    const { centroids, count } = this.codebook
    const listsMax = Math.min(wanted, count)
    const heap = slab.scratch("probes", listsMax * pairBytes)
    const found = slab.kernels.probe(query.codes, centroids, count, width, listsMax, heap)
    return Array.from({ length: found }, (_, at) => ({
      centroidScore: slab.floats[(heap >>> 2) + 2 * at]!,
      list: slab.words[(heap >>> 2) + 2 * at + 1]!
    }))
  }

  release(): void {
    const { slab, width } = this.#arena
    for (const { blocks } of this.#lists)
      for (const block of blocks) slab.release(this.#blocks.addressOf(block), codeBlockBytes(width))
    for (const { room, table } of this.#lists) if (room > 0) slab.release(table, room * addressBytes)
    this.codebook.release()
  }

  /** Codes of a list whose slots the filter lets through. */
  #passing(list: List, { address, words }: SlotMask): number {
    return this.#arena.slab.kernels.countAllowed(list.table, list.blocks.length, address, words, this.#arena.width)
  }

  /** `list` scans the codes of one list and returns the heap's new size; `reranked` counts the rows of all so far. */
  #scanner(query: PreparedQuery, filter: SlotMask | undefined, heap: number, size: number) {
    const { slab, table, width } = this.#arena
    const tables = slab.scratch("tables", tablesBytes(width))
    slab.kernels.encodeTables(query.rotated, tables, width)
    const querySquare = squareOf(slab.floats, query.rotated >>> 2, width)
    const reranked = (): number => slab.words[rerankedAddress(tables, width) >>> 2]!
    const list = (
      { blocks, table: listTable }: List,
      centroidScore: number,
      halfSquare: number,
      found: number
    ): number =>
      slab.kernels.scanCodes(
        listTable,
        blocks.length,
        tables,
        centroidScore,
        // The error bound grows with |q - c|, whose square is |q|² - 2 q·c + |c|².
        Math.sqrt(Math.max(0, querySquare - 2 * centroidScore + 2 * halfSquare)) * errorsAllowed,
        table,
        filter?.address ?? 0,
        filter?.words ?? 0,
        query.codes,
        width,
        heap,
        found,
        size
      )
    return { list, reranked }
  }

  /** A block of the list with a free lane. */
  #openBlock(number: number): number {
    const list = this.#lists[number]!
    const open = list.open.at(-1)
    if (open !== undefined) return open
    const { slab, width } = this.#arena
    const address = slab.allocate(codeBlockBytes(width))
    // An offset of minus infinity marks a free lane.
    const offsets = offsetsAddress(address, width) >>> 2
    slab.floats.fill(-Infinity, offsets, offsets + slotsPerBlock)
    const block = this.#blocks.add(address, number, list.blocks.length)
    if (list.blocks.length === list.room) {
      const room = Math.max(tableBlocksMin, list.room * 2)
      list.table = slab.regrow(list.table, list.room * addressBytes, room * addressBytes)
      list.room = room
    }
    slab.words[(list.table >>> 2) + list.blocks.length] = address
    list.blocks.push(block)
    list.open.push(block)
    return block
  }

  /** Releases an empty block; the list's last block takes its place. */
  #dropBlock(block: number): void {
    const list = this.#lists[this.#blocks.listOf(block)]!
    const address = this.#blocks.addressOf(block)
    const { slab, width } = this.#arena
    const last = list.blocks.pop()!
    slab.words[(list.table >>> 2) + list.blocks.length] = 0
    if (last !== block) {
      const place = this.#blocks.placeOf(block)
      list.blocks[place] = last
      this.#blocks.move(last, place)
      slab.words[(list.table >>> 2) + place] = this.#blocks.addressOf(last)
    }
    list.open.splice(list.open.indexOf(block), 1)
    slab.release(address, codeBlockBytes(width))
    this.#blocks.drop(block)
  }

  #placeAt(slot: number, place: number): void {
    if (slot >= this.#places.length) {
      const grown = new Int32Array(Math.ceil((slot + 1) * growth)).fill(nowhere)
      grown.set(this.#places)
      this.#places = grown
    }
    this.#places[slot] = place
  }
}

/** Selectivity of a filter in the lists probed so far, beside its selectivity over all codes. */
class LocalSelectivity {
  readonly #average: number
  codes = 0
  #passing = 0

  constructor(average: number) {
    this.#average = average
  }

  record(codes: number, passing: number): void {
    this.codes += codes
    this.#passing += passing
  }

  /** 0 if far fewer rows pass here than on average. */
  get value(): number {
    const local = this.#passing / this.codes
    return local * normalDensityFactor < this.#average ? 0 : local
  }
}

/** Density within this factor of the average counts as normal. */
const normalDensityFactor = 2

const squareOf = (floats: Float32Array, from: number, width: number): number => {
  let square = 0
  for (let i = from; i < from + width; i++) square += floats[i]! * floats[i]!
  return square
}

/** Searches that the average looks back on. */
const searchesAveraged = 8
/** Share of the correction that is left after a search that another engine answered. */
const fadeFactor = 0.998

/**
 * Moving average of actual cost divided by estimated cost, per result count k; multiplies the planner's estimates (rows
 * re-ranked, lists probed). `fade` moves the factor towards 1 whenever another engine answers, so that a penalised
 * engine is tried again.
 */
export class CostCorrection {
  readonly #factors: Array<number> = []

  /** 1 before the first search for about k results. */
  factorFor(k: number): number {
    return this.#factors[bucketOf(k)] ?? 1
  }

  /** `ratio` is the actual cost of a search divided by its uncorrected estimate. */
  record(k: number, ratio: number): void {
    const factor = this.factorFor(k)
    this.#factors[bucketOf(k)] = factor + (ratio - factor) / searchesAveraged
  }

  fade(k: number): void {
    const bucket = bucketOf(k)
    const factor = this.#factors[bucket]
    if (factor !== undefined) this.#factors[bucket] = 1 + (factor - 1) * fadeFactor
  }
}

/** Result counts between two powers of 4 share one factor: the logarithm of k, rounded up, without a call of `log`. */
const bucketOf = (k: number): number => (33 - Math.clz32(Math.max(1, k) - 1)) >>> 1
