import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { HnswIndex, staleShareMax } from "@muniment/engine/vectors/hnsw/HnswIndex"
import { describe, expect, it } from "vitest"
import { buildAll, clustered, hnswlib, makeArena, oracleOf, recallOf, stoppedClock } from "./indexFixtures.ts"

const dims = 32
const make = () => new HnswIndex(hnswlib, makeArena(dims))
const { rows, queries } = clustered(1, 8_000, dims)
const row = (i: number): Float32Array => rows[i % rows.length] ?? new Float32Array(dims)

describe("HnswIndex", () => {
  it("finds every write at once, before any of it is in the graph", () => {
    const index = make()
    for (let slot = 0; slot < 500; slot++) index.upsert(slot, row(slot), slot)
    expect(index.stats()).toEqual({ live: 500, pending: 500, stale: 0, rebuilding: false })
    const oracle = oracleOf(rows.slice(0, 500).entries(), dims)
    expect(recallOf(index, oracle, queries, 10)).toBe(1)
    for (let slot = 0; slot < 250; slot++) index.work(0, stoppedClock)
    expect(index.stats().pending).toBe(250)
    expect(recallOf(index, oracle, queries, 10)).toBeGreaterThanOrEqual(0.98)
  })

  it("adds one vector when the budget is spent, and all while it lasts", () => {
    const index = make()
    for (let slot = 0; slot < 100; slot++) index.upsert(slot, row(slot), slot)
    let millis = 0
    expect(index.work(0, () => millis++)).toBe(99)
    expect(index.work(10, () => millis++)).toBe(89)
    expect(index.work(1, stoppedClock)).toBe(0)
  })

  it("keeps its recall when everything is replaced three times and half is deleted", () => {
    const index = make()
    const current = new Map<number, Float32Array>()
    let seq = 0
    for (let round = 0; round < 4; round++) {
      for (let slot = 0; slot < 2_000; slot++) {
        const vector = row(round * 2_000 + slot)
        current.set(slot, vector)
        index.upsert(slot, vector, ++seq)
        if (slot % 8 === 0) index.work(0, stoppedClock)
      }
      buildAll(index)
      expect(recallOf(index, oracleOf(current, dims), queries, 10)).toBeGreaterThanOrEqual(0.98)
    }
    for (let slot = 0; slot < 2_000; slot += 2) {
      current.delete(slot)
      index.remove(slot, ++seq)
    }
    const oracle = oracleOf(current, dims)
    expect(recallOf(index, oracle, queries, 10)).toBeGreaterThanOrEqual(0.98)
    buildAll(index)
    expect(recallOf(index, oracle, queries, 10)).toBeGreaterThanOrEqual(0.98)
    expect(index.stats()).toEqual({ live: 1_000, pending: 0, stale: 0, rebuilding: false })
  })

  it("never returns a removed vector, nor the former vector of a reused slot", () => {
    const index = make()
    for (let slot = 0; slot < 300; slot++) index.upsert(slot, row(slot), 1)
    buildAll(index)
    index.remove(7, 2)
    expect(index.search(row(7), 300, undefined).slots).not.toContain(7)
    index.upsert(7, row(1_000), 3)
    const hits = index.search(row(1_000), 1, undefined)
    expect([...hits.slots]).toEqual([7])
    expect(hits.scores[0]).toBeCloseTo(1, 3)
  })

  it("serves from the old graph while a fresh one is built, and swaps once it is as complete", () => {
    const index = make()
    for (let slot = 0; slot < 1_000; slot++) index.upsert(slot, row(slot), 1)
    buildAll(index)
    const removed = Math.ceil(1_000 * staleShareMax) + 1
    for (let slot = 0; slot < removed; slot++) index.remove(slot, 2)
    index.work(0, stoppedClock)
    expect(index.stats()).toEqual({ live: 1_000 - removed, pending: 0, stale: removed, rebuilding: true })
    const oracle = oracleOf([...rows.slice(0, 1_000).entries()].slice(removed), dims)
    expect(recallOf(index, oracle, queries, 10)).toBeGreaterThanOrEqual(0.98)
    buildAll(index)
    expect(index.stats()).toEqual({ live: 1_000 - removed, pending: 0, stale: 0, rebuilding: false })
  })

  it("empties the graph after the last vector is removed", () => {
    const index = make()
    for (let slot = 0; slot < 20; slot++) index.upsert(slot, row(slot), 1)
    buildAll(index)
    for (let slot = 0; slot < 20; slot++) index.remove(slot, 2)
    buildAll(index)
    expect(index.stats()).toEqual({ live: 0, pending: 0, stale: 0, rebuilding: false })
    expect(index.search(row(0), 5, undefined).slots).toHaveLength(0)
  })

  it("finds all that a filter allows, however rare and however far from the query", () => {
    const index = make()
    for (const [slot, vector] of rows.entries()) index.upsert(slot, vector, 1)
    buildAll(index)
    const oracle = oracleOf(rows.entries(), dims)
    const query = row(0)
    const farthest = [...oracle.search(query, rows.length, undefined).slots].reverse()
    for (const count of [1, 8, 80, 800, 4_000]) {
      const allowed = Bitmap.of(farthest.slice(0, count))
      expect(recallOf(index, oracle, [query], 10, allowed)).toBe(1)
      expect(recallOf(index, oracle, queries, 10, allowed)).toBeGreaterThanOrEqual(0.98)
    }
  })

  it("returns every copy when the same vector is stored many times", () => {
    const index = make()
    for (let slot = 0; slot < 400; slot++) index.upsert(slot, row(0), 1)
    for (let slot = 400; slot < 800; slot++) index.upsert(slot, row(slot), 1)
    buildAll(index)
    const hits = index.search(row(0), 100, undefined)
    expect(hits.scores.every((score) => score > 0.999)).toBe(true)
    expect(hits.slots).toHaveLength(100)
  })
})
