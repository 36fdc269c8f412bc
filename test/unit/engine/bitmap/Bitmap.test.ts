import { Bitmap, slotMax } from "@muniment/engine/bitmap/Bitmap"
import fc from "fast-check"
import { describe, expect, it } from "vitest"

const slots = fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 200 })
const listOf = (bitmap: Bitmap): Array<number> => {
  const list: Array<number> = []
  bitmap.forEach((slot) => list.push(slot))
  return list
}
const ascending = (set: Iterable<number>): Array<number> => [...new Set(set)].sort((a, b) => a - b)

describe("Bitmap", () => {
  it("behaves as a set of integers under set and clear", () => {
    fc.assert(
      fc.property(slots, slots, (added, cleared) => {
        const bitmap = Bitmap.of(added)
        for (const slot of cleared) bitmap.clear(slot)
        const model = ascending(added.filter((slot) => !cleared.includes(slot)))
        expect(listOf(bitmap)).toEqual(model)
        expect(bitmap.count()).toBe(model.length)
        expect(bitmap.any()).toBe(model.length > 0)
        for (const slot of [...added, ...cleared]) expect(bitmap.has(slot)).toBe(model.includes(slot))
      })
    )
  })

  it("combines bitmaps of different lengths as sets do", () => {
    fc.assert(
      fc.property(slots, slots, (left, right) => {
        const other = Bitmap.of(right)
        const both = left.filter((slot) => right.includes(slot))
        expect(listOf(Bitmap.of(left).and(other))).toEqual(ascending(both))
        expect(listOf(Bitmap.of(left).or(other))).toEqual(ascending([...left, ...right]))
        expect(listOf(Bitmap.of(left).andNot(other))).toEqual(ascending(left.filter((slot) => !right.includes(slot))))
        expect(Bitmap.of(left).countAnd(other)).toBe(ascending(both).length)
      })
    )
  })

  it("finds the next slot at or after any position", () => {
    fc.assert(
      fc.property(slots, fc.integer({ min: 0, max: 6_000 }), (list, from) => {
        expect(Bitmap.of(list).next(from)).toBe(ascending(list).find((slot) => slot >= from) ?? -1)
      })
    )
  })

  it("leaves the original alone when a clone changes", () => {
    const original = Bitmap.of([1, 31, 32])
    const copy = original.clone()
    copy.clear(31)
    copy.set(4_000)
    expect(listOf(original)).toEqual([1, 31, 32])
  })

  it("refuses a slot outside its range", () => {
    for (const slot of [-1, 0.5, Number.NaN, slotMax + 1]) expect(() => new Bitmap().set(slot)).toThrow(RangeError)
  })
})
