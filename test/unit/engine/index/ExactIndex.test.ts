import { Bitmap } from "@muniment/engine/index/Bitmap"
import { ExactIndex } from "@muniment/engine/index/ExactIndex"
import { VectorArena } from "@muniment/engine/index/VectorArena"
import { describe, expect, it } from "vitest"
import { pairs } from "./indexFixtures.ts"

const make = () => new ExactIndex(new VectorArena(2))
const east = Float32Array.of(1, 0)
const north = Float32Array.of(0, 1)

describe("ExactIndex", () => {
  it("answers best first and breaks ties by the lower slot", () => {
    const index = make()
    for (const slot of [9, 3, 700, 1]) index.upsert(slot, east, slot)
    index.upsert(2, north, 1)
    expect(pairs(index.search(east, 3, undefined))).toEqual([
      [1, 1],
      [3, 1],
      [9, 1]
    ])
    expect(pairs(index.search(east, 10, undefined)).at(-1)).toEqual([2, 0])
  })

  it("returns live slots within the filter only, even when the filter names dead ones", () => {
    const index = make()
    index.upsert(0, east, 1)
    index.upsert(1, east, 2)
    index.remove(1, 3)
    expect([...index.search(east, 5, Bitmap.of([0, 1, 2, 9_999])).slots]).toEqual([0])
    expect([...index.search(east, 5, new Bitmap()).slots]).toEqual([])
  })

  it("answers an empty index and k of zero with nothing", () => {
    expect(make().search(east, 5, undefined).slots).toHaveLength(0)
    const index = make()
    index.upsert(0, east, 1)
    expect(index.search(east, 0, undefined).slots).toHaveLength(0)
  })

  it("refuses a query of another width and a k that is no count", () => {
    const index = make()
    index.upsert(0, east, 1)
    expect(() => index.search(Float32Array.of(1), 1, undefined)).toThrow(RangeError)
    expect(() => index.search(east, -1, undefined)).toThrow(RangeError)
  })
})
