import type { VectorArena } from "@muniment/engine/vectors/arena/VectorArena"
import { describe, expect, it } from "vitest"
import { makeArena } from "./indexFixtures.ts"

const one = Float32Array.of(1, 0, 0)
const two = Float32Array.of(0, 1, 0)
const scoreOf = (arena: VectorArena, slot: number, query: Float32Array): number =>
  arena.scores(arena.prepare(query), [slot])[0] ?? Number.NaN
const unit = (vector: Float32Array): Float32Array => {
  const norm = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0))
  return vector.map((x) => x / norm)
}

describe("VectorArena", () => {
  it("scores a slot by the inner product, for widths that are no multiple of 64", () => {
    for (const dims of [1, 3, 8, 13, 100, 384, 1_000]) {
      const arena = makeArena(dims)
      const vector = unit(Float32Array.from({ length: dims }, (_, i) => Math.sin(i + 1)))
      const query = unit(Float32Array.from({ length: dims }, (_, i) => Math.cos(i * 1.1)))
      arena.set(700, vector, 1)
      const product = vector.reduce((sum, x, i) => sum + x * (query[i] ?? 0), 0)
      expect(Math.abs(scoreOf(arena, 700, query) - product)).toBeLessThan(0.005)
      expect(scoreOf(arena, 700, vector)).toBeCloseTo(1, 3)
    }
  })

  it("gives a vector back to the precision of its codes", () => {
    const arena = makeArena(100)
    const vector = unit(Float32Array.from({ length: 100 }, (_, i) => Math.sin(i + 1)))
    arena.set(3, vector, 1)
    const copy = arena.copyOf(3)
    expect(copy).toHaveLength(100)
    for (const [i, x] of copy.entries()) expect(Math.abs(x - (vector[i] ?? 0))).toBeLessThan(0.005)
  })

  it("scores alike in every arena, whatever else it holds", () => {
    const [few, many] = [makeArena(3), makeArena(3)]
    for (let slot = 0; slot < 100; slot++) many.set(slot, two, 1)
    few.set(0, one, 1)
    many.set(77, one, 2)
    const query = unit(Float32Array.of(0.3, 0.5, 0.1))
    expect(scoreOf(many, 77, query)).toBe(scoreOf(few, 0, query))
  })

  it("keeps nothing of a vector that was cleared", () => {
    const arena = makeArena(3)
    arena.set(5, one, 1)
    arena.set(6, two, 1)
    const row = arena.rowOf(5)
    expect(arena.clear(5, 2)).toBe(true)
    expect(arena.size).toBe(1)
    expect(arena.live.has(5)).toBe(false)
    expect(arena.slab.bytes.subarray(row, row + arena.width + 8).every((byte) => byte === 0)).toBe(true)
    const block = arena.rowOf(0)
    expect(arena.clear(6, 2)).toBe(true)
    expect(arena.slab.bytes.subarray(block, block + 32 * (arena.width + 8)).every((byte) => byte === 0)).toBe(true)
  })

  it("uses the memory of closed arenas again", () => {
    const arena = makeArena(384)
    for (let slot = 0; slot < 5_000; slot++)
      arena.set(
        slot,
        Float32Array.from({ length: 384 }, () => 0.05),
        1
      )
    const { end } = arena.slab
    arena.close()
    expect(arena.size).toBe(0)
    const next = makeArena(384)
    expect(next.slab).toBe(arena.slab)
    for (let slot = 0; slot < 5_000; slot++)
      next.set(
        slot,
        Float32Array.from({ length: 384 }, () => 0.05),
        1
      )
    expect(next.slab.end).toBe(end)
  })

  it("ignores what is older than the slot's last change", () => {
    const arena = makeArena(3)
    arena.set(0, one, 10)
    expect(arena.set(0, two, 9)).toBe(false)
    expect(arena.clear(0, 9)).toBe(false)
    expect(scoreOf(arena, 0, one)).toBeCloseTo(1, 3)
    arena.clear(0, 11)
    expect(arena.set(0, one, 10)).toBe(false)
    expect(arena.set(0, two, 12)).toBe(true)
    expect(scoreOf(arena, 0, two)).toBeCloseTo(1, 3)
  })

  it("refuses a vector of another width or with a component that is not finite", () => {
    const arena = makeArena(3)
    expect(() => arena.set(0, Float32Array.of(1, 0), 1)).toThrow(RangeError)
    expect(() => arena.set(0, Float32Array.of(1, Number.NaN, 0), 1)).toThrow(RangeError)
    expect(() => arena.set(0, Float32Array.of(Number.POSITIVE_INFINITY, 0, 0), 1)).toThrow(RangeError)
    expect(() => arena.prepare(Float32Array.of(1, Number.NaN, 0))).toThrow(RangeError)
    expect(arena.size).toBe(0)
  })

  it("tells two vectors of one slot apart by their fingerprint", () => {
    const arena = makeArena(3)
    arena.set(0, one, 1)
    const before = arena.fingerprint(0)
    arena.set(0, two, 1)
    expect(arena.fingerprint(0)).not.toBe(before)
  })
})
