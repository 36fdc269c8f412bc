/**
 * The one-bit codes of an arena's vectors in inverted lists (Jégou et al., PAMI 2011), which choose the rows
 * that a search scores. With one list it is a flat scan.
 *
 * A list is a table of blocks of 32 codes in the slab. A slot's code lies in the list of the nearest
 * centroid; removing one frees its lane, an empty block goes back to the slab. Every code of a live slot
 * follows its row: `add` after the arena was set, `remove` before or after it was cleared.
 */
import type { Bitmap } from "./Bitmap.ts"
import type { Codebook } from "./Codebook.ts"
import { codeBlockBytes, pairBytes, slotsPerBlock, tablesBytes } from "./Kernels.ts"
import type { PreparedQuery, VectorArena } from "./VectorArena.ts"
import type { SearchHits } from "./VectorIndex.ts"

const floatBytes = 4
const addressBytes = 4
const laneShift = Math.log2(slotsPerBlock)
const laneMask = slotsPerBlock - 1
const nowhere = -1
const tableBlocksMin = 4

/**
 * Standard errors of the estimate that are allowed for: a row whose estimate lies further below the worst
 * of the best is not scored. With 2, about one wanted row in two thousand is missed (bench/index).
 */
const errorsAllowed = 2

interface Block {
  readonly address: number
  readonly list: number
  /** Bit per lane. */
  used: number
  /** Place in its list's table. */
  at: number
}

interface List {
  /** Address of u32[room] addresses of blocks. */
  table: number
  room: number
  readonly blocks: Array<number>
  /** Blocks that may have a free lane, the last one first. */
  readonly open: Array<number>
}

export class CodeLists {
  readonly codebook: Codebook
  readonly #arena: VectorArena
  readonly #lists: ReadonlyArray<List>
  readonly #blocks: Array<Block | undefined> = []
  readonly #freeIds: Array<number> = []
  /** Block and lane by slot. */
  #places = new Int32Array(0)
  #size = 0

  constructor(arena: VectorArena, codebook: Codebook) {
    this.#arena = arena
    this.codebook = codebook
    this.#lists = Array.from({ length: codebook.count }, () => ({ table: 0, room: 0, blocks: [], open: [] }))
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
    return this.#blocks[this.#places[slot]! >>> laneShift]!.list
  }

  /** Codes a live slot that has none; the square of its distance to the centroid. */
  add(slot: number, list = this.codebook.listOf(this.#arena.decoded(slot))): number {
    const { slab, table, width } = this.#arena
    const id = this.#openBlock(list)
    const block = this.#blocks[id]!
    const lane = 31 - Math.clz32(~block.used & -~block.used)
    block.used |= 1 << lane
    if (block.used === -1) this.#lists[list]!.open.pop()
    this.#placeAt(slot, (id << laneShift) | lane)
    this.#size++
    const scratch = slab.shared("decoded", width * floatBytes)
    const centroid = this.codebook.centroids + list * width * floatBytes
    const square = slab.kernels.encodeCode(table, slot, centroid, block.address, lane, width, scratch)
    this.#arena.wipeDecoded()
    return square
  }

  /** Removes a slot's code, if it has one. */
  remove(slot: number): void {
    const place = this.#places[slot] ?? nowhere
    if (place === nowhere) return
    this.#places[slot] = nowhere
    this.#size--
    const id = place >>> laneShift
    const lane = place & laneMask
    const block = this.#blocks[id]!
    const { slab, width } = this.#arena
    slab.kernels.clearCode(block.address, lane, width)
    if (block.used === -1) this.#lists[block.list]!.open.push(id)
    block.used &= ~(1 << lane)
    if (block.used === 0) this.#dropBlock(id)
  }

  /** The k best of the `probes` nearest lists, within `allowed`. */
  search(query: PreparedQuery, k: number, allowed: Bitmap | undefined, probes: number): SearchHits {
    const { slab, width } = this.#arena
    const size = Math.min(k, this.#size)
    const heap = this.#arena.heap(size)
    const tables = slab.shared("tables", tablesBytes(width))
    const allowedAt = allowed === undefined ? 0 : slab.shared("allowed", allowed.words.byteLength)
    if (allowed !== undefined) slab.words.set(allowed.words, allowedAt >>> 2)
    const { lists, nearness } = this.#probe(query, Math.min(probes, this.codebook.count))
    slab.kernels.encodeTables(query.rotated, tables, width)
    const square = squareOf(slab.floats, query.rotated >>> 2, width)
    let found = 0
    for (const [at, number] of lists.entries()) {
      const list = this.#lists[number]!
      if (list.blocks.length === 0) continue
      const half = slab.floats[(this.codebook.halves >>> 2) + number]!
      const centre = nearness[at]! + half
      const distance = Math.sqrt(Math.max(0, square - 2 * nearness[at]!))
      found = slab.kernels.scanCodes(
        list.table,
        list.blocks.length,
        tables,
        centre,
        distance * errorsAllowed,
        this.#arena.table,
        allowedAt,
        allowed?.words.length ?? 0,
        query.codes,
        width,
        heap,
        found,
        size
      )
    }
    return this.#arena.drain(heap, found)
  }

  /** All lists, nearest to the query first. */
  probeOrder(query: PreparedQuery): Uint32Array {
    return this.#probe(query, this.codebook.count).lists
  }

  release(): void {
    const { slab, width } = this.#arena
    for (const block of this.#blocks) if (block !== undefined) slab.release(block.address, codeBlockBytes(width))
    for (const { room, table } of this.#lists) if (room > 0) slab.release(table, room * addressBytes)
    this.codebook.release()
  }

  #probe(query: PreparedQuery, wanted: number): { readonly lists: Uint32Array; readonly nearness: Float32Array } {
    const { slab, width } = this.#arena
    const { centroids, count, halves } = this.codebook
    const heap = slab.shared("probes", wanted * pairBytes)
    const scratch = slab.shared("nearness", count * floatBytes)
    const found = slab.kernels.probe(query.rotated, centroids, halves, count, width, scratch, wanted, heap)
    const lists = new Uint32Array(found)
    const nearness = new Float32Array(found)
    for (let i = 0; i < found; i++) {
      nearness[i] = slab.floats[(heap >>> 2) + 2 * i]!
      lists[i] = slab.words[(heap >>> 2) + 2 * i + 1]!
    }
    return { lists, nearness }
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
    const id = this.#freeIds.pop() ?? this.#blocks.length
    this.#blocks[id] = { address, list: number, used: 0, at: list.blocks.length }
    if (list.blocks.length === list.room) {
      const room = Math.max(tableBlocksMin, list.room * 2)
      list.table = slab.regrow(list.table, list.room * addressBytes, room * addressBytes)
      list.room = room
    }
    slab.words[(list.table >>> 2) + list.blocks.length] = address
    list.blocks.push(id)
    list.open.push(id)
    return id
  }

  /** Gives an empty block back; the list's last one takes its place. */
  #dropBlock(id: number): void {
    const block = this.#blocks[id]!
    const list = this.#lists[block.list]!
    const { slab, width } = this.#arena
    const last = list.blocks.pop()!
    slab.words[(list.table >>> 2) + list.blocks.length] = 0
    if (last !== id) {
      list.blocks[block.at] = last
      this.#blocks[last]!.at = block.at
      slab.words[(list.table >>> 2) + block.at] = this.#blocks[last]!.address
    }
    list.open.splice(list.open.indexOf(id), 1)
    slab.release(block.address, codeBlockBytes(width))
    this.#blocks[id] = undefined
    this.#freeIds.push(id)
  }

  #placeAt(slot: number, place: number): void {
    if (slot >= this.#places.length) {
      const grown = new Int32Array(Math.max(slot + 1, this.#places.length * 2)).fill(nowhere)
      grown.set(this.#places)
      this.#places = grown
    }
    this.#places[slot] = place
  }
}

const squareOf = (floats: Float32Array, from: number, width: number): number => {
  let square = 0
  for (let i = from; i < from + width; i++) square += floats[i]! * floats[i]!
  return square
}
