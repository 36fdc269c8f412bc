/**
 * Directory of the code blocks of one index, by block number: address, list, place in the list, used lanes. Kept in one
 * typed array: an object for each block would take a hundredth of what all vectors take.
 */
import { slotsPerBlock } from "../arena/Kernels.ts"

const partsPerBlock = 4
const addressPart = 0
const listPart = 1
const placePart = 2
const lanesPart = 3
const blocksMin = 16
const growth = 1.25
const allLanes = 2 ** slotsPerBlock - 1

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
