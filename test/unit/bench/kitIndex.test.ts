/** How the index bench reads a curve, what it takes for right, and what its filters let through. */
import { describe, expect, it } from "vitest"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import { crossingAt, type Curve } from "../../../bench/index/Curve.ts"
import { hardVectors, isotropicVectors } from "../../../bench/index/syntheticVectors.ts"
import { intrinsicDimension, recallOf, truthOf } from "../../../bench/index/Truth.ts"
import { filterOf, makeVectorSet, queriesOf, rowOf } from "../../../bench/index/VectorSet.ts"

const point = (width: number, recall: number, micros: number) => ({
  width,
  recall,
  p50Micros: micros,
  p99Micros: micros,
  roundMicros: [micros, micros * 2]
})
const curve = (...points: Curve["points"]): Curve => ({ name: "engine", knob: "ef", points })

describe("a curve", () => {
  it("crosses a recall between its two neighbours, on a log scale of latency", () => {
    const crossing = crossingAt(curve(point(10, 0.98, 100), point(20, 1, 400)), 0.99)
    expect(crossing?.p50Micros).toBeCloseTo(200)
    expect(crossing?.roundMicros[1]).toBeCloseTo(400)
    expect(crossing?.width).toBe(20)
  })

  it("that begins above the recall crosses it at its first point", () => {
    expect(crossingAt(curve(point(10, 0.995, 100)), 0.99)?.p50Micros).toBe(100)
  })

  it("that never reaches the recall has no latency there", () => {
    expect(crossingAt(curve(point(10, 0.9, 100), point(800, 0.989, 900)), 0.99)).toBeUndefined()
  })
})

describe("the truth", () => {
  const set = hardVectors(400, 5, 1)

  it("is the nearest rows by inner product, best first", () => {
    const [query] = queriesOf(set)
    const scores = Array.from({ length: set.count }, (_, slot) =>
      rowOf(set, slot).reduce((sum, x, i) => sum + x * query![i]!, 0)
    )
    const best = [...scores.keys()].sort((left, right) => scores[right]! - scores[left]!).slice(0, 10)
    expect([...truthOf(set, 10)[0]!]).toEqual(best)
  })

  it("within a filter holds only slots that the filter lets through", () => {
    const filter = filterOf(set, "near", 0.1)
    expect(filter.allowed.count()).toBe(40)
    for (const right of truthOf(set, 10, filter.allowed))
      for (const slot of right) expect(filter.allowed.has(slot)).toBe(true)
  })

  it("follows replaced rows", () => {
    const slotRow = Int32Array.from({ length: set.count }, (_, slot) => slot)
    const [query] = queriesOf(set)
    slotRow[7] = set.count
    const moved = { ...set, rows: set.rows.slice() }
    moved.rows.set(query!, set.count * set.dims)
    expect(truthOf(moved, 1, undefined, slotRow)[0]![0]).toBe(7)
  })

  it("gives recall as the share of right slots, whatever their order", () => {
    const truth = [Int32Array.of(1, 2), Int32Array.of(3, 4)]
    expect(
      recallOf(truth, [
        [2, 1],
        [3, 9]
      ])
    ).toBe(0.75)
  })
})

it("the local intrinsic dimension of a plane within 384 dimensions is about 2, of noise it is large", () => {
  const random = seededSequence(3)
  const count = 2_000
  const rows = new Float32Array(count * 1.5 * 384)
  for (let at = 0; at < count * 1.5; at++) {
    const [x, y] = [random() - 0.5, random() - 0.5]
    const norm = Math.hypot(x, y, 2)
    rows.set([x / norm, y / norm, 2 / norm], at * 384)
  }
  const plane = makeVectorSet(random, {
    name: "plane",
    dims: 384,
    count,
    rows,
    queries: rows.slice(0, 384),
    practice: rows.slice(0, 384)
  })
  expect(intrinsicDimension(plane)).toBeGreaterThan(1.7)
  expect(intrinsicDimension(plane)).toBeLessThan(2.5)
  expect(intrinsicDimension(isotropicVectors(500, 1, 1))).toBeGreaterThan(50)
})
