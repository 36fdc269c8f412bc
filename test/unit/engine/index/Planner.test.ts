import { exactMicrosMax, plan, type PlanInput } from "@muniment/engine/index/Planner"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"

const base: PlanInput = { k: 10, live: 100_000, allowed: 100_000, graph: { pending: 0 }, pin: "auto" }

describe("the planner", () => {
  it("walks the graph without a filter and scans when the filter is selective", () => {
    expect(plan(base).engine).toBe("hnsw")
    expect(plan({ ...base, allowed: 50_000 }).engine).toBe("hnsw")
    for (const allowed of [10_000, 1_000, 100, 0]) expect(plan({ ...base, allowed }).engine).toBe("exact")
  })

  it("scans a small namespace", () => {
    expect(plan({ ...base, live: 5_000, allowed: 5_000 }).engine).toBe("exact")
    expect(plan({ ...base, live: 0, allowed: 0 }).engine).toBe("exact")
  })

  it("scans where there is no graph, or hardly any of it yet", () => {
    expect(plan({ ...base, graph: undefined })).toMatchObject({ engine: "exact", reason: "there is no graph" })
    expect(plan({ ...base, graph: { pending: 60_000 } }).engine).toBe("exact")
    expect(plan({ ...base, graph: { pending: 5_000 } }).engine).toBe("hnsw")
  })

  it("obeys a pin as far as it can", () => {
    expect(plan({ ...base, pin: "exact" }).engine).toBe("exact")
    expect(plan({ ...base, allowed: 10, pin: "hnsw" }).engine).toBe("hnsw")
    const without = plan({ ...base, graph: undefined, pin: "hnsw" })
    expect(without).toMatchObject({ engine: "exact", reason: "pinned to hnsw, but there is no graph" })
  })

  it("widens the walk for more results and for rarer filters", () => {
    expect(plan({ ...base, k: 100 }).ef).toBeGreaterThan(plan(base).ef)
    expect(plan({ ...base, allowed: 50_000 }).ef).toBeGreaterThan(plan(base).ef)
  })

  it("scans when so many results are asked for that the walk would cost more", () => {
    expect(plan({ ...base, live: 50_000, allowed: 50_000, k: 5_000 })).toMatchObject({
      engine: "exact",
      reason: "the scan is cheaper"
    })
    expect(plan({ ...base, live: 50_000, allowed: 50_000, k: 100 }).engine).toBe("hnsw")
  })

  it("never chooses a scan that would hold the event loop while a built graph is there", () => {
    const inputs = fc.record({
      k: fc.integer({ min: 1, max: 100 }),
      live: fc.integer({ min: 1, max: 1_000_000 }),
      share: fc.double({ min: 0, max: 1, noNaN: true })
    })
    fc.assert(
      fc.property(inputs, ({ k, live, share }) => {
        const chosen = plan({ ...base, k, live, allowed: Math.floor(live * share) })
        if (chosen.engine === "exact") expect(chosen.estimatedMicros).toBeLessThanOrEqual(exactMicrosMax)
      })
    )
  })
})
