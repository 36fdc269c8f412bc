/**
 * The slots with one value of a filter field (kind, subject, thread or tag). Few members are stored as a set, many
 * as a bitmap: ten thousand subjects with two memories each must not cost ten thousand bitmaps.
 */
import { Bitmap } from "../../bitmap/Bitmap.ts"

/** With more members a bitmap is smaller and faster than a set. */
const sparseMembersMax = 64

export class SlotSet {
  #sparse: Set<number> | undefined = new Set()
  #dense: Bitmap | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  add(slot: number): void {
    if (this.#dense !== undefined) {
      if (!this.#dense.has(slot)) this.#size++
      this.#dense.set(slot)
      return
    }
    this.#sparse!.add(slot)
    this.#size = this.#sparse!.size
    if (this.#size > sparseMembersMax) {
      this.#dense = Bitmap.of(this.#sparse!)
      this.#sparse = undefined
    }
  }

  remove(slot: number): void {
    if (this.#dense !== undefined) {
      if (this.#dense.has(slot)) this.#size--
      this.#dense.clear(slot)
    } else {
      this.#sparse!.delete(slot)
      this.#size = this.#sparse!.size
    }
  }

  /** The members that are also in `bitmap`; may change and return `bitmap` itself. */
  restrict(bitmap: Bitmap): Bitmap {
    if (this.#dense !== undefined) return bitmap.and(this.#dense)
    const kept = new Bitmap()
    for (const slot of this.#sparse!) if (bitmap.has(slot)) kept.set(slot)
    return kept
  }

  /** Whether a member is in `bitmap`. */
  intersects(bitmap: Bitmap): boolean {
    if (this.#dense !== undefined) return this.#dense.countAnd(bitmap) > 0
    for (const slot of this.#sparse!) if (bitmap.has(slot)) return true
    return false
  }

  /** Adds every member to `bitmap`. */
  unite(bitmap: Bitmap): Bitmap {
    if (this.#dense !== undefined) return bitmap.or(this.#dense)
    for (const slot of this.#sparse!) bitmap.set(slot)
    return bitmap
  }
}
