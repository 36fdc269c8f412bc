import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { PlannedIndex } from "@muniment/engine/vectors/planner/PlannedIndex"
import { codesKeepMin, codesMin } from "@muniment/engine/vectors/planner/Planner"
import { QuantizedIndex } from "@muniment/engine/vectors/lists/QuantizedIndex"
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"
import { describe, expect, it } from "vitest"
import {
  buildAll,
  clustered,
  hnswlib,
  makeArena,
  oracleOf,
  pairs,
  recallOf,
  slabs,
  stoppedClock
} from "./indexFixtures.ts"

const dims = 16
const size = 6_000
const { rows, queries } = clustered(3, size, dims)
const filled = (count: number, options: Partial<ConstructorParameters<typeof PlannedIndex>[0]> = {}) => {
  const index = new PlannedIndex({ dims, slabs, hnswlib, pin: "auto", ...options })
  for (const [slot, vector] of rows.slice(0, count).entries()) index.upsert(slot, vector, slot)
  return index
}

const unit = (vector: Float32Array) => {
  const norm = Math.hypot(...vector)
  return vector.map((x) => x / norm)
}

describe("PlannedIndex", () => {
  it("keeps no codes for a small namespace", () => {
    const index = filled(codesMin - 1)
    expect(index.work(1, stoppedClock)).toBe(0)
    expect(index.plan(10, undefined)).toMatchObject({ engine: "exact", reason: "few vectors are stored" })
  })

  it("encodes the vectors once there are enough, and drops the codes when few are left", () => {
    const index = filled(size)
    expect(index.plan(10, undefined).engine).toBe("exact")
    buildAll(index)
    expect(index.stats()).toEqual({ live: size, pending: 0, stale: 0, rebuilding: false })
    const { hits, plan } = index.searchExplained(queries[0] ?? new Float32Array(dims), 10, undefined)
    expect(plan.engine).toBe("quantized")
    expect(hits.slots).toHaveLength(10)
    for (let slot = codesKeepMin - 1; slot < size; slot++) index.remove(slot, 10_000)
    buildAll(index)
    expect(index.plan(10, undefined)).toMatchObject({ engine: "exact", reason: "few vectors are stored" })
    expect(recallOf(index, oracleOf(rows.slice(0, codesKeepMin - 1).entries(), dims), queries, 10)).toBe(1)
  })

  it("expects scans of a filter to cost all lists once its rows lay far from the queries again and again", () => {
    const arena = makeArena(dims)
    const index = new QuantizedIndex(arena)
    for (const [slot, vector] of rows.entries()) index.upsert(slot, vector, slot)
    buildAll(index)
    for (const query of queries) index.search(query, 10, undefined)
    buildAll(index)
    const [query] = queries
    const furthest = index.search(query!, size, undefined).slots.slice(-size / 2)
    const filter = () => arena.uploadMask(arena.live, Bitmap.of(furthest))
    expect(index.probesFor(10, 0.5)).toBeLessThan(index.lists * 0.9)
    for (let tried = 0; tried < 40; tried++) index.searchWithin(query!, 10, filter(), undefined, true)
    expect(index.probesFor(10, 0.5)).toBe(index.lists)
  })

  it("answers a filter that lets everything through as it answers no filter", () => {
    const index = filled(size)
    buildAll(index)
    const everything = Bitmap.of(Array.from({ length: size + 1_000 }, (_, slot) => slot))
    for (const query of queries) expect(index.search(query, 10, everything)).toEqual(index.search(query, 10, undefined))
  })

  it("scans vectors whose codes let most rows through, and tries the codes again from time to time", () => {
    const random = seededSequence(4)
    const noise = () => unit(Float32Array.from({ length: 64 }, () => random() - 0.5))
    const index = new PlannedIndex({ dims: 64, slabs, hnswlib, pin: "auto" })
    for (let slot = 0; slot < size; slot++) index.upsert(slot, noise(), slot)
    buildAll(index)
    const engineOf = () => index.searchExplained(noise(), 100, undefined).plan.engine
    expect(engineOf()).toBe("quantized")
    const engines = Array.from({ length: 600 }, engineOf)
    expect(engines.slice(0, 40)).toContain("exact")
    expect(engines.filter((engine) => engine === "exact").length).toBeGreaterThan(500)
    expect(engines.slice(300)).toContain("quantized")
  })

  it("scans the filtered rows, if allowed to, when few of them lie near the query", () => {
    const arena = makeArena(dims)
    const index = new QuantizedIndex(arena)
    for (const [slot, vector] of rows.entries()) index.upsert(slot, vector, slot)
    buildAll(index)
    const oracle = oracleOf(rows.entries(), dims)
    for (const query of queries) {
      const far = Bitmap.of(oracle.search(query, size, undefined).slots.slice(-size / 2))
      const found = index.searchWithin(query, 10, arena.uploadMask(arena.live, far), undefined, true)
      expect(found).toEqual(oracle.search(query, 10, far))
    }
  })

  it("gives the score of any slot, and none of a slot without a vector", () => {
    const index = filled(100)
    const query = queries[0] ?? new Float32Array(dims)
    const { scores, slots } = index.search(query, 3, undefined)
    const some = [...slots, 500, slots[0] ?? 0]
    expect([...index.scoresOf(some, query)]).toEqual([...scores, Number.NaN, scores[0]])
  })

  it("builds nothing any more once it is closed", () => {
    const index = filled(size)
    index.close()
    expect(index.work(1, stoppedClock)).toBe(0)
    expect(index.size).toBe(0)
  })

  it("answers exactly without the optional dependency, and when pinned to the exact engine", () => {
    const oracle = oracleOf(rows.entries(), dims)
    for (const index of [filled(size, { hnswlib: undefined, pin: "hnsw" }), filled(size, { pin: "exact" })]) {
      expect(index.work(1, stoppedClock)).toBe(0)
      for (const query of queries)
        expect(pairs(index.search(query, 10, undefined))).toEqual(pairs(oracle.search(query, 10, undefined)))
    }
  })

  it("walks a graph and probes lists of any size when pinned to them", () => {
    for (const pin of ["hnsw", "quantized"] as const) {
      const index = filled(50, { pin })
      buildAll(index)
      expect(index.plan(10, undefined).engine).toBe(pin)
      expect([...index.search(rows[1] ?? new Float32Array(dims), 10, Bitmap.of([1, 2])).slots]).toEqual([1, 2])
    }
  })

  it("is restored from a snapshot with nothing left to build", async () => {
    const folder = mkdtempSync(join(tmpdir(), "muniment-index-"))
    const path = join(folder, "graph")
    const key = { modelId: "model-a", seq: 1_000 }
    const index = filled(1_000, { pin: "hnsw" })
    expect(await index.writeSnapshot(path, key)).toMatchObject({ written: false })
    buildAll(index)
    expect(await index.writeSnapshot(path, key)).toEqual({ written: true })
    const reopened = filled(1_000, { pin: "hnsw" })
    expect(await reopened.restore(path, key)).toMatchObject({ restored: true, indexed: 1_000 })
    expect(reopened.work(1, stoppedClock)).toBe(0)
    expect(reopened.plan(10, undefined).engine).toBe("hnsw")
    expect(await filled(10).restore(path, key)).toMatchObject({ restored: false })
    rmSync(folder, { recursive: true })
  })
})
