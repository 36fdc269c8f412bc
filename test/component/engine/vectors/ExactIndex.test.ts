import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { ExactIndex } from "@muniment/engine/vectors/planner/PlannedIndex"
import { describe, expect, it } from "vitest"
import { makeArena, pairs } from "./indexFixtures.ts"

const make = () => new ExactIndex(makeArena(2))
const east = Float32Array.of(1, 0)
const north = Float32Array.of(0, 1)

describe("ExactIndex", () => {
  it("answers best first and breaks ties by the higher slot", () => {
    const index = make()
    for (const slot of [9, 3, 700, 1]) index.upsert(slot, east, slot)
    index.upsert(2, north, 1)
    const [first, second, third] = pairs(index.search(east, 3, undefined))
    expect([first?.[0], second?.[0], third?.[0]]).toEqual([700, 9, 3])
    expect(first?.[1]).toBeCloseTo(1, 3)
    expect([second?.[1], third?.[1]]).toEqual([first?.[1], first?.[1]])
    const last = pairs(index.search(east, 10, undefined)).at(-1)
    expect(last?.[0]).toBe(2)
    expect(last?.[1]).toBeCloseTo(0, 2)
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
