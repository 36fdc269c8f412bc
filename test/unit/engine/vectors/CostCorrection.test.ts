import { describe, expect, it } from "vitest"
import { CostCorrection } from "@muniment/engine/vectors/lists/InvertedLists"

describe("CostCorrection", () => {
  it("follows the costs of recent searches with about as many results, and of no others", () => {
    const correction = new CostCorrection()
    expect(correction.factorFor(10)).toBe(1)
    for (let search = 0; search < 40; search++) correction.record(10, 5)
    expect(correction.factorFor(10)).toBeCloseTo(5, 1)
    expect(correction.factorFor(12)).toBe(correction.factorFor(10))
    expect(correction.factorFor(100)).toBe(1)
    for (let search = 0; search < 40; search++) correction.record(10, 1)
    expect(correction.factorFor(10)).toBeCloseTo(1, 1)
  })

  it("fades while another engine answers, so that the penalised engine is tried again", () => {
    const correction = new CostCorrection()
    for (let search = 0; search < 40; search++) correction.record(10, 5)
    for (let search = 0; search < 100; search++) correction.fade(10)
    expect(correction.factorFor(10)).toBeGreaterThan(4)
    for (let search = 0; search < 3_000; search++) correction.fade(10)
    expect(correction.factorFor(10)).toBeLessThan(1.02)
    expect(correction.factorFor(10)).toBeGreaterThan(1)
  })
})
