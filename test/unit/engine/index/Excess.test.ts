import { describe, expect, it } from "vitest"
import { Excess } from "@muniment/engine/index/Excess"

describe("the excess of searches over what was expected", () => {
  it("follows what searches took lately, for numbers of results like theirs alone", () => {
    const excess = new Excess()
    expect(excess.of(10)).toBe(1)
    for (let search = 0; search < 40; search++) excess.note(10, 5)
    expect(excess.of(10)).toBeCloseTo(5, 1)
    expect(excess.of(12)).toBe(excess.of(10))
    expect(excess.of(100)).toBe(1)
    for (let search = 0; search < 40; search++) excess.note(10, 1)
    expect(excess.of(10)).toBeCloseTo(1, 1)
  })

  it("is forgotten while another engine answers, so that the search is tried again", () => {
    const excess = new Excess()
    for (let search = 0; search < 40; search++) excess.note(10, 5)
    for (let search = 0; search < 100; search++) excess.fade(10)
    expect(excess.of(10)).toBeGreaterThan(4)
    for (let search = 0; search < 3_000; search++) excess.fade(10)
    expect(excess.of(10)).toBeLessThan(1.02)
    expect(excess.of(10)).toBeGreaterThan(1)
  })
})
