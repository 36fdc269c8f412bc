/** Goals of the index bench: which way a ratio points, and what is said where one cannot be taken. */
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { describe, expect, it } from "vitest"
import { goalsOf, ratiosOf } from "../../../bench/index/goals.ts"
import type { SetFigures } from "../../../bench/index/measureSet.ts"
import { verdictOf } from "../../../bench/kit/Report.ts"

const curve = (name: string, recall: number, micros: number) => ({
  name,
  knob: "",
  points: [{ width: 0, recall, p50Micros: micros, p99Micros: micros, roundMicros: [micros, micros, micros] }]
})

const filtered = (name: string, filterKind: string, micros: number) => ({
  name,
  filterKind,
  filter: { attribute: "chance" as const, below: 1_000, share: 0.1, allowed: new Bitmap() },
  recall: 1,
  p50Micros: micros,
  roundMicros: [micros]
})

const written = (name: string, micros: number) => ({ name, perSecond: 1_000_000 / micros, roundMicros: [micros] })

const figures: SetFigures = {
  set: { name: "hard", count: 10_000, dims: 384 },
  intrinsicDimension: 27,
  curves: [
    curve("ours, auto", 0.994, 60),
    curve("ours, exact", 0.994, 200),
    curve("ours, quantized", 0.994, 50),
    curve("ours, lists", 0.994, 50),
    curve("hnswlib-node", 1, 240),
    curve("sqlite-vec", 1, 6_000),
    curve("LanceDB HNSW_SQ", 0.98, 2_500)
  ],
  filters: [
    filtered("ours, auto", "bitmap", 10),
    filtered("hnswlib-node", "callback", 1_000),
    filtered("hnswlib-node", "post-filter of 200", 100)
  ],
  adds: [written("ours, auto", 10), written("hnswlib-node", 400)],
  replacements: [written("ours, auto", 10), written("hnswlib-node", 3_000)],
  churns: [],
  cold: [{ name: "ours, auto", millis: 2.5, bytes: 1 }],
  memory: [
    { name: "ours, auto", bytesPerVector: 480 },
    { name: "hnswlib-node", bytesPerVector: 1_920 }
  ],
  notes: []
}

const goal = (name: string, of: SetFigures = figures) => goalsOf([of]).find((found) => found.name === name)

describe("a goal of the index", () => {
  it.each([
    ["latency against hnswlib-node, 10,000", 4, "met"],
    ["latency against sqlite-vec, 10,000", 100, "met"],
    ["upsert against hnswlib-node, 10,000", 40, "missed"],
    ["replace against hnswlib-node, 10,000", 300, "met"],
    ["memory against hnswlib-node, 10,000", 4, "met"],
    ["cold open, 10,000", 2.5, "met"]
  ])("%s is how many times the peer needs more: %d, %s", (name, found, verdict) => {
    expect(goal(name)?.found).toBeCloseTo(found)
    expect(verdictOf(goal(name)!)).toBe(verdict)
  })

  it("compares auto with the best single engine, in the search where it loses most", () => {
    expect(goal("auto against the best single engine, 10,000")?.found).toBeCloseTo(50 / 60)
  })

  it("against a peer that never reaches the recall is not measured, and says where the peer ends", () => {
    const missing = goal("latency against LanceDB HNSW_SQ, 10,000")!
    expect(verdictOf(missing)).toBe("not measured")
    expect(missing.note).toContain("ends at recall 0.9800")
  })

  it("is missed where ours never reaches the recall", () => {
    const weak = { ...figures, curves: [curve("ours, auto", 0.98, 50), curve("hnswlib-node", 1, 200)] }
    expect(verdictOf(goal("latency against hnswlib-node, 10,000", weak)!)).toBe("missed")
  })

  it("of a size that was not run is not measured", () => {
    expect(verdictOf(goal("latency against hnswlib-node, 300,000")!)).toBe("not measured")
  })
})

it("the ratios of the baseline name set and size, compare filters with the callback, and leave out what was not measured", () => {
  const ratios = ratiosOf([figures])
  expect(ratios["hard 10000, filter 10 % against hnswlib-node"]).toBeCloseTo(100)
  expect(ratios["hard 10000, memory against hnswlib-node"]).toBeCloseTo(4)
  expect(Object.keys(ratios)).not.toContain("hard 10000, latency against LanceDB")
  expect(Object.keys(ratios)).not.toContain("hard 10000, filter 1 % against hnswlib-node")
})
