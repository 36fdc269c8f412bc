/**
 * The messages of one conversation by position, expired ones included until they are removed. An append takes one
 * step, everything else a binary search.
 */
import type { MemoryRow } from "../../store/MemoryRow.ts"

/** Where a message stands in its conversation. Imports may repeat a position: then the order of insertion counts. */
export interface MessagePlace {
  readonly slot: number
  readonly position: number
  readonly createdSeq: number
}

export const placeOf = (row: MemoryRow): MessagePlace | undefined =>
  row.message?.position === undefined
    ? undefined
    : { slot: row.slot, position: row.message.position, createdSeq: row.createdSeq }

export const byPlace = (left: MessagePlace, right: MessagePlace): number =>
  left.position - right.position || left.createdSeq - right.createdSeq

export class MessageOrder {
  readonly #places: Array<MessagePlace> = []

  get size(): number {
    return this.#places.length
  }

  /** Position of the last message; -1 if there is none. */
  get lastPosition(): number {
    return this.#places.at(-1)?.position ?? -1
  }

  add(place: MessagePlace): void {
    this.#places.splice(this.#firstFrom(place), 0, place)
  }

  remove(place: MessagePlace): void {
    this.#places.splice(this.#firstFrom(place), 1)
  }

  /** Slots of the `eachSide` messages before a place, and after it. */
  neighboursOf(place: MessagePlace, eachSide: number): ReadonlyArray<number> {
    const at = this.#firstFrom(place)
    const found: Array<number> = []
    for (let near = Math.max(0, at - eachSide); near <= at + eachSide && near < this.#places.length; near++) {
      if (near !== at) found.push(this.#places[near]!.slot)
    }
    return found
  }

  /** Index of the message at a slot. `hint`: where it was last; as messages are appended it mostly still is. */
  indexOf(row: MemoryRow, hint: number): number {
    if (this.#places[hint]?.slot === row.slot) return hint
    const place = placeOf(row)
    return place === undefined ? -1 : this.#firstFrom(place)
  }

  /** Adds the slots of the `eachSide` messages before and after the one at an index to `found`. */
  pushNear(index: number, eachSide: number, found: Array<number>): void {
    const last = Math.min(index + eachSide, this.#places.length - 1)
    for (let near = Math.max(0, index - eachSide); near <= last; near++)
      if (near !== index) found.push(this.#places[near]!.slot)
  }

  /** Slots of the nearest `eachSide` messages before a place, oldest first, and after it, among those that `isSeen`. */
  seenAround(place: MessagePlace, eachSide: number, isSeen: (slot: number) => boolean) {
    const start = this.#firstFrom(place)
    const before: Array<number> = []
    for (let at = start - 1; at >= 0 && before.length < eachSide; at--) {
      const { slot } = this.#places[at]!
      if (isSeen(slot)) before.unshift(slot)
    }
    const after: Array<number> = []
    for (let at = start + 1; at < this.#places.length && after.length < eachSide; at++) {
      const { slot } = this.#places[at]!
      if (isSeen(slot)) after.push(slot)
    }
    return { before, after }
  }

  /** The messages at positions `from` to `to`, and up to `margin` more on each side, in order. */
  around(from: number, to: number, margin: number): ReadonlyArray<MessagePlace> {
    const start = this.#firstFrom({ slot: -1, position: from, createdSeq: -Infinity })
    const end = this.#firstFrom({ slot: -1, position: to, createdSeq: Infinity })
    return this.#places.slice(Math.max(0, start - margin), end + margin)
  }

  /** Index of the first place that does not come before `place`. */
  #firstFrom(place: MessagePlace): number {
    let low = 0
    let high = this.#places.length
    const last = this.#places.at(-1)
    if (last !== undefined && byPlace(last, place) < 0) return high
    while (low < high) {
      const middle = (low + high) >> 1
      if (byPlace(this.#places[middle]!, place) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
