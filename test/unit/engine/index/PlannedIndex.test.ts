import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Bitmap } from "@muniment/engine/index/Bitmap"
import { PlannedIndex } from "@muniment/engine/index/PlannedIndex"
import { graphBuildMin, graphKeepMin } from "@muniment/engine/index/Planner"
import { describe, expect, it } from "vitest"
import { buildAll, clustered, hnswlib, oracleOf, pairs, recallOf, stoppedClock } from "./indexFixtures.ts"

const dims = 16
const { rows, queries } = clustered(3, 8_000, dims)
const filled = (count: number, options: Partial<ConstructorParameters<typeof PlannedIndex>[0]> = {}) => {
  const index = new PlannedIndex({ dims, hnswlib, pin: "auto", ...options })
  for (const [slot, vector] of rows.slice(0, count).entries()) index.upsert(slot, vector, slot)
  return index
}

describe("PlannedIndex", () => {
  it("builds no graph for a small namespace", () => {
    const index = filled(graphBuildMin - 1)
    expect(index.work(1, stoppedClock)).toBe(0)
    expect(index.plan(10, undefined).reason).toBe("there is no graph")
  })

  it("builds a graph once there are enough vectors, and drops it when few are left", () => {
    const index = filled(8_000)
    expect(index.plan(10, undefined).engine).toBe("exact")
    buildAll(index)
    expect(index.stats()).toEqual({ live: 8_000, pending: 0, stale: 0, rebuilding: false })
    const { hits, plan } = index.searchExplained(queries[0] ?? new Float32Array(dims), 10, undefined)
    expect(plan.engine).toBe("hnsw")
    expect(hits.slots).toHaveLength(10)
    for (let slot = graphKeepMin - 1; slot < 8_000; slot++) index.remove(slot, 10_000)
    expect(index.work(1, stoppedClock)).toBe(0)
    expect(index.plan(10, undefined).reason).toBe("there is no graph")
    expect(recallOf(index, oracleOf(rows.slice(0, graphKeepMin - 1).entries(), dims), queries, 10)).toBe(1)
  })

  it("answers a filter that lets everything through as it answers no filter", () => {
    const index = filled(8_000)
    buildAll(index)
    const everything = Bitmap.of(Array.from({ length: 9_000 }, (_, slot) => slot))
    for (const query of queries) expect(index.search(query, 10, everything)).toEqual(index.search(query, 10, undefined))
  })

  it("builds nothing any more once it is closed", () => {
    const index = filled(8_000)
    index.close()
    expect(index.work(1, stoppedClock)).toBe(0)
    expect(index.plan(10, undefined).reason).toBe("there is no graph")
  })

  it("answers exactly without the optional dependency, and when it is pinned to", () => {
    const oracle = oracleOf(rows.entries(), dims)
    for (const index of [filled(8_000, { hnswlib: undefined, pin: "hnsw" }), filled(8_000, { pin: "exact" })]) {
      expect(index.work(1, stoppedClock)).toBe(0)
      for (const query of queries)
        expect(pairs(index.search(query, 10, undefined))).toEqual(pairs(oracle.search(query, 10, undefined)))
    }
  })

  it("walks a graph of any size when it is pinned to", () => {
    const index = filled(50, { pin: "hnsw" })
    buildAll(index)
    expect(index.plan(10, Bitmap.of([1, 2])).engine).toBe("hnsw")
    expect([...index.search(rows[1] ?? new Float32Array(dims), 10, Bitmap.of([1, 2])).slots]).toEqual([1, 2])
  })

  it("comes back from a snapshot with nothing left to build", async () => {
    const folder = mkdtempSync(join(tmpdir(), "muniment-index-"))
    const path = join(folder, "graph")
    const key = { modelId: "model-a", seq: 8_000 }
    const index = filled(8_000)
    expect(await index.writeSnapshot(path, key)).toMatchObject({ written: false })
    buildAll(index)
    expect(await index.writeSnapshot(path, key)).toEqual({ written: true })
    const reopened = filled(8_000)
    expect(await reopened.restore(path, key)).toMatchObject({ restored: true, indexed: 8_000 })
    expect(reopened.work(1, stoppedClock)).toBe(0)
    expect(reopened.plan(10, undefined).engine).toBe("hnsw")
    expect(await filled(10).restore(path, key)).toMatchObject({ restored: false })
    rmSync(folder, { recursive: true })
  })
})
