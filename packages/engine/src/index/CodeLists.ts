/**
 * The one-bit codes of an arena's vectors in inverted lists (Jégou et al., PAMI 2011), which choose the rows
 * that a search scores. With one list it is a flat scan.
 *
 * A list is a table of blocks of 32 codes in the slab. A slot's code lies in the list of the nearest
 * centroid; removing one frees its lane, an empty block goes back to the slab. Every code of a live slot
 * follows its row: `add` after the arena was set, `remove` before or after it was cleared.
 */
import { CodeBlocks } from "./CodeBlocks.ts"
import type { Codebook } from "./Codebook.ts"
import { codeBlockBytes, pairBytes, slotsPerBlock, tablesBytes } from "./Kernels.ts"
import type { LaidSet, PreparedQuery, VectorArena } from "./VectorArena.ts"
import { Excess } from "./Excess.ts"
import type { SearchHits } from "./VectorIndex.ts"

const floatBytes = 4
const addressBytes = 4
const laneShift = Math.log2(slotsPerBlock)
const laneMask = slotsPerBlock - 1
const nowhere = -1
const tableBlocksMin = 4
const growth = 1.25

/**
 * Standard errors of the estimate that are allowed for: a row whose estimate lies further below the worst
 * of the best is not scored. With 2, about one wanted row in two thousand is missed (bench/index).
 */
const errorsAllowed = 2
/** Lists that a search looks into at least, and lists put in order at first; the next time as many times more. */
const listsLeast = 4
const probedAtOnce = 32

/** Fitted to counts at k 10 and 100 on real and synthetic vectors (bench/index). */
const rowsPerBest = 2

/** Rows scored for k of n codes: each new best one, and those that the error of the estimate lets through. */
export const usualRows = (k: number, codes: number): number => rowsPerBest * k * Math.log(Math.E + codes / k)

/** A list, and the product of its centroid with the query. */
export interface Probe {
  readonly number: number
  readonly centre: number
}

interface List {
  /** Address of u32[room] addresses of blocks. */
  table: number
  room: number
  readonly blocks: Array<number>
  /** Blocks that may have a free lane, the last one first. */
  readonly open: Array<number>
  /** Codes in it. */
  size: number
}

export class CodeLists {
  readonly codebook: Codebook
  /** Rows that unfiltered searches scored, beside `usualRows`. */
  readonly scoredRows = new Excess()
  /** Lists that filtered searches looked into, beside what is learned of filters that let rows through by chance. */
  readonly filteredLists = new Excess()
  /** Lists that the last search looked into; 0 if it scanned what passes. */
  looked = 0
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

  /** Codes a live slot that has none; the square of its distance to the centroid. */
  add(slot: number, list = this.codebook.listOf(this.#arena.decoded(slot))): number {
    const { slab, table, width } = this.#arena
    const block = this.#openBlock(list)
    const lane = this.#blocks.takeLane(block)
    if (this.#blocks.isFull(block)) this.#lists[list]!.open.pop()
    this.#placeAt(slot, (block << laneShift) | lane)
    this.#size++
    this.#lists[list]!.size++
    const scratch = slab.shared("decoded", width * floatBytes)
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
   * The k best within `filter`, which holds live slots only: lists are looked into by their centre, which is c·q,
   * until it lies so far below the k-th best score found that none of theirs will be better. How far that is,
   * `reachFor` says, for the share that the filter lets through around the query; 0 if that is far less than
   * elsewhere. Then most lists would be looked into, and with `scansRare` what passes is scanned instead.
   */
  search(
    query: PreparedQuery,
    k: number,
    filter: LaidSet | undefined,
    reachFor: (share: number) => number,
    scansRare = false
  ): SearchHits {
    const { slab } = this.#arena
    const size = Math.min(k, filter?.count ?? this.#size)
    const heap = this.#arena.heap(size)
    this.looked = 0
    if (size === 0) return this.#arena.drain(heap, 0)
    const around = new Surroundings(filter === undefined ? 1 : filter.count / this.#size)
    let probes = this.probeOrder(query, probedAtOnce)
    if (filter !== undefined && scansRare && this.#isRareAround(probes, filter))
      return this.#arena.best(query, k, filter)
    const scan = this.#scanner(query, filter, heap, size)
    let found = 0
    for (; this.looked < this.codebook.count; this.looked++) {
      const { looked } = this
      if (looked === probes.length) probes = this.probeOrder(query, looked * probedAtOnce)
      const { centre, number } = probes[looked]!
      if (looked >= listsLeast && found === size) {
        const worst = slab.floats[heap >>> 2]!
        if (centre < worst - reachFor(around.share)) break
      }
      const list = this.#lists[number]!
      const passing = filter === undefined ? list.size : this.#passing(list, filter)
      if (passing > 0) found = scan.list(list, centre, slab.floats[(this.codebook.halves >>> 2) + number]!, found)
      around.note(list.size, passing)
    }
    if (filter === undefined)
      this.scoredRows.note(k, scan.scored() / Math.min(around.codes, usualRows(k, around.codes)))
    return this.#arena.drain(heap, found)
  }

  /** Whether a filter lets far less through in the lists nearest to the query than elsewhere. */
  #isRareAround(probes: ReadonlyArray<Probe>, filter: LaidSet): boolean {
    const around = new Surroundings(filter.count / this.#size)
    for (const { number } of probes.slice(0, listsLeast)) {
      const list = this.#lists[number]!
      around.note(list.size, this.#passing(list, filter))
    }
    return around.share === 0
  }

  /** The first `wanted` lists by their centre, which is c·q. */
  probeOrder(query: PreparedQuery, wanted: number): ReadonlyArray<Probe> {
    const { slab, width } = this.#arena
    const { centroids, count } = this.codebook
    const most = Math.min(wanted, count)
    const heap = slab.shared("probes", most * pairBytes)
    const found = slab.kernels.probe(query.codes, centroids, count, width, most, heap)
    return Array.from({ length: found }, (_, at) => ({
      centre: slab.floats[(heap >>> 2) + 2 * at]!,
      number: slab.words[(heap >>> 2) + 2 * at + 1]!
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
  #passing(list: List, { address, words }: LaidSet): number {
    return this.#arena.slab.kernels.countAllowed(list.table, list.blocks.length, address, words, this.#arena.width)
  }

  /** `list` scores what may be among the best of one, and gives how many the heap then holds; `scored` tells the rows. */
  #scanner(query: PreparedQuery, filter: LaidSet | undefined, heap: number, size: number) {
    const { slab, table, width } = this.#arena
    const tables = slab.shared("tables", tablesBytes(width))
    slab.kernels.encodeTables(query.rotated, tables, width)
    const square = squareOf(slab.floats, query.rotated >>> 2, width)
    const scored = (): number => slab.words[(tables + width * 4 + 8) >>> 2]!
    const list = ({ blocks, table: listTable }: List, centre: number, half: number, found: number): number =>
      slab.kernels.scanCodes(
        listTable,
        blocks.length,
        tables,
        centre,
        Math.sqrt(Math.max(0, square - 2 * centre + 2 * half)) * errorsAllowed,
        table,
        filter?.address ?? 0,
        filter?.words ?? 0,
        query.codes,
        width,
        heap,
        found,
        size
      )
    return { list, scored }
  }

  /** A block of the list with a free lane. */
  #openBlock(number: number): number {
    const list = this.#lists[number]!
    const open = list.open.at(-1)
    if (open !== undefined) return open
    const { slab, width } = this.#arena
    const address = slab.allocate(codeBlockBytes(width))
    const offsets = (address + width * 4 + slotsPerBlock * floatBytes) >>> 2
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

  /** Gives an empty block back; the list's last one takes its place. */
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

/** What a filter lets through of the lists looked into so far, beside what it lets through of all. */
class Surroundings {
  readonly #share: number
  codes = 0
  #passing = 0

  constructor(share: number) {
    this.#share = share
  }

  note(codes: number, passing: number): void {
    this.codes += codes
    this.#passing += passing
  }

  /** What the filter lets through around the query; 0 if that is far less than elsewhere. */
  get share(): number {
    const here = this.#passing / this.codes
    return here * rarityMax < this.#share ? 0 : here
  }
}

/** Up to so many times less is as much as elsewhere. */
const rarityMax = 2

const squareOf = (floats: Float32Array, from: number, width: number): number => {
  let square = 0
  for (let i = from; i < from + width; i++) square += floats[i]! * floats[i]!
  return square
}
