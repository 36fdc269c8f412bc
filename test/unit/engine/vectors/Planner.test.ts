import { plan, type PlanInput, typicalCosts } from "@muniment/engine/vectors/planner/Planner"
import fc from "fast-check"
import { describe, expect, it } from "vitest"

const base: PlanInput = {
  k: 10,
  live: 100_000,
  allowed: 100_000,
  lists: { count: 500, probes: 100, rerankCorrection: 1 },
  graph: undefined,
  pin: "auto",
  costs: typicalCosts
}
const withGraph: PlanInput = { ...base, lists: undefined, graph: { pending: 0 }, pin: "hnsw" }

describe("the planner", () => {
  it("probes the lists without a filter and scans when the filter is selective", () => {
    expect(plan(base)).toMatchObject({ engine: "quantized", probes: 100, reason: "there is no filter" })
    expect(plan({ ...base, allowed: 50_000 })).toMatchObject({ engine: "quantized", reason: "the filter is wide" })
    for (const allowed of [1_000, 100, 0])
      expect(plan({ ...base, allowed })).toMatchObject({ engine: "exact", reason: "the filter is selective" })
  })

  it("scans a small namespace, and one whose codes are not there yet", () => {
    expect(plan({ ...base, live: 100, allowed: 100, lists: { count: 1, probes: 1, rerankCorrection: 1 } }).engine).toBe(
      "exact"
    )
    expect(plan({ ...base, lists: undefined })).toMatchObject({ engine: "exact", reason: "few vectors are stored" })
  })

  it("obeys a pin as far as it can, and says how far", () => {
    expect(plan({ ...base, pin: "exact" }).engine).toBe("exact")
    expect(plan({ ...base, allowed: 10, pin: "quantized" }).engine).toBe("quantized")
    expect(plan({ ...base, lists: undefined, pin: "quantized" })).toMatchObject({
      engine: "exact",
      reason: "pinned to quantized, but there are no codes yet"
    })
    expect(plan(withGraph)).toMatchObject({ engine: "hnsw", reason: "pinned by configuration" })
    expect(plan({ ...withGraph, graph: undefined })).toMatchObject({
      engine: "exact",
      reason: "pinned to hnsw, but there is no graph"
    })
    expect(plan({ ...withGraph, allowed: 10 }).engine).toBe("hnsw")
  })

  it("widens a graph's walk for more results and for wider filters", () => {
    expect(plan({ ...withGraph, k: 100 }).ef).toBeGreaterThan(plan(withGraph).ef)
    expect(plan({ ...withGraph, allowed: 50_000 }).ef).toBeGreaterThan(plan(withGraph).ef)
  })

  it("chooses no engine that it believes to be a sixth slower than another", () => {
    const inputs = fc.record({
      k: fc.integer({ min: 1, max: 5_000 }),
      live: fc.integer({ min: 1, max: 1_000_000 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      probed: fc.double({ min: 0.01, max: 1, noNaN: true })
    })
    fc.assert(
      fc.property(inputs, ({ k, live, probed, share }) => {
        const count = Math.ceil(Math.sqrt(live))
        const lists = { count, probes: Math.ceil(count * probed), rerankCorrection: 1 }
        const input = { ...base, k, live, allowed: Math.floor(live * share), lists }
        const chosen = plan(input).estimatedMicros
        for (const pin of ["exact", "quantized"] as const)
          expect(chosen).toBeLessThanOrEqual(plan({ ...input, pin }).estimatedMicros * 1.15)
      })
    )
  })
})
