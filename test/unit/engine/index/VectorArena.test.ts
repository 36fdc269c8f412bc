import { VectorArena } from "@muniment/engine/index/VectorArena"
import { describe, expect, it } from "vitest"

const one = Float32Array.of(1, 0, 0)
const two = Float32Array.of(0, 1, 0)

describe("VectorArena", () => {
  it("scores a slot by the inner product, for widths that are no multiple of eight", () => {
    for (const dims of [1, 3, 8, 13, 384]) {
      const arena = new VectorArena(dims)
      const vector = Float32Array.from({ length: dims }, (_, i) => Math.sin(i))
      const query = Float32Array.from({ length: dims }, (_, i) => Math.cos(i))
      arena.set(700, vector, 1)
      expect(arena.dot(700, query)).toBeCloseTo(
        vector.reduce((sum, x, i) => sum + x * (query[i] ?? 0), 0),
        4
      )
    }
  })

  it("keeps nothing of a vector that was cleared", () => {
    const arena = new VectorArena(3)
    arena.set(5, one, 1)
    expect(arena.clear(5, 2)).toBe(true)
    expect(arena.size).toBe(0)
    expect(arena.live.has(5)).toBe(false)
    expect(arena.dot(5, one)).toBe(0)
  })

  it("ignores what is older than the slot's last change", () => {
    const arena = new VectorArena(3)
    arena.set(0, one, 10)
    expect(arena.set(0, two, 9)).toBe(false)
    expect(arena.clear(0, 9)).toBe(false)
    expect(arena.dot(0, one)).toBe(1)
    arena.clear(0, 11)
    expect(arena.set(0, one, 10)).toBe(false)
    expect(arena.set(0, two, 12)).toBe(true)
    expect(arena.dot(0, two)).toBe(1)
  })

  it("refuses a vector of another width or with a component that is not finite", () => {
    const arena = new VectorArena(3)
    expect(() => arena.set(0, Float32Array.of(1, 0), 1)).toThrow(RangeError)
    expect(() => arena.set(0, Float32Array.of(1, Number.NaN, 0), 1)).toThrow(RangeError)
    expect(() => arena.set(0, Float32Array.of(Number.POSITIVE_INFINITY, 0, 0), 1)).toThrow(RangeError)
    expect(arena.size).toBe(0)
  })

  it("tells two vectors of one slot apart by their fingerprint", () => {
    const arena = new VectorArena(3)
    arena.set(0, one, 1)
    const before = arena.fingerprint(0)
    arena.set(0, two, 1)
    expect(arena.fingerprint(0)).not.toBe(before)
  })
})
