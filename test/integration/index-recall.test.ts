/**
 * The graph and the planner on vectors of the real model: recall@10 against the exact oracle at five
 * selectivities. The large collection's figures are in bench/http/README.md.
 */
import { Effect } from "effect"
import { beforeAll, describe, expect, it, vi } from "vitest"
import { Bitmap } from "@muniment/engine/index/Bitmap"
import { ExactIndex } from "@muniment/engine/index/ExactIndex"
import { HnswIndex } from "@muniment/engine/index/HnswIndex"
import { type HnswlibModule, loadHnswlib } from "@muniment/engine/index/Hnswlib"
import { PlannedIndex } from "@muniment/engine/index/PlannedIndex"
import { VectorArena } from "@muniment/engine/index/VectorArena"
import type { VectorIndex } from "@muniment/engine/index/VectorIndex"
import { Embedder } from "@muniment/models/Embedder"
import { questions, sentences } from "../support/Sentences.ts"
import { realModel, realModelsDir, requireRealModel } from "../unit/models/realModel.ts"

const count = 3_000
const queryCount = 100
const k = 10
const recallMin = 0.98
const selectivities = [1, 0.5, 0.1, 0.01, 0.001]

/** 10 to 20 s of embedding on a free core. */
vi.setConfig({ hookTimeout: 300_000, testTimeout: 60_000 })

let rows: ReadonlyArray<Float32Array>
let queries: ReadonlyArray<Float32Array>
let hnswlib: HnswlibModule
let exact: ExactIndex
let arena: VectorArena

beforeAll(async () => {
  requireRealModel()
  const module = await loadHnswlib()
  if (module === undefined) throw new Error('hnswlib-node is missing: run "npm run setup" with a compiler at hand')
  hnswlib = module
  ;[rows, queries] = await Effect.runPromise(embedded)
  arena = new VectorArena(realModel.dims)
  exact = new ExactIndex(arena)
  rows.forEach((row, slot) => arena.set(slot, row, slot))
})

const embedded = Embedder.use((embedder) =>
  Effect.all([
    embedder.embedPassages(sentences(count)),
    Effect.forEach(questions(queryCount), (text) => embedder.embedQuery(text), { concurrency: "unbounded" })
  ])
).pipe(Effect.provide(Embedder.layer({ modelsDir: realModelsDir, modelId: realModel.id })))

/** Every n-th slot, or those nearest to one vector: filters follow content as often as not. */
const filters = (share: number): ReadonlyArray<readonly [string, Bitmap]> => {
  const allowed = Math.ceil(share * rows.length)
  const stride = rows.length / allowed
  const nearest = exact.search(rows[0]!, allowed, undefined).slots
  return [
    ["spread", Bitmap.of(Array.from({ length: allowed }, (_, at) => Math.floor(at * stride)))],
    ["of one topic", Bitmap.of(nearest)]
  ]
}

const recallOf = (index: VectorIndex, allowed: Bitmap | undefined): number => {
  let found = 0
  let wanted = 0
  for (const query of queries) {
    const right = exact.search(query, k, allowed).slots
    const got = new Set(index.search(query, k, allowed).slots)
    wanted += right.length
    for (const slot of right) if (got.has(slot)) found++
  }
  return found / wanted
}

const built = <I extends { readonly work: (budgetMillis: number, now: () => number) => number }>(index: I): I => {
  while (index.work(1_000, () => performance.now()) > 0);
  return index
}

describe("recall@10 on real text vectors", () => {
  it.each(selectivities)("of the graph is at least .98 with a share of %d allowed", (share) => {
    const graph = built(new HnswIndex(hnswlib, arena))
    expect(graph.stats()).toMatchObject({ live: count, pending: 0 })
    if (share === 1) expect(recallOf(graph, undefined)).toBeGreaterThanOrEqual(recallMin)
    else
      for (const [kind, allowed] of filters(share))
        expect(recallOf(graph, allowed), kind).toBeGreaterThanOrEqual(recallMin)
    graph.close()
  })

  it.each(["auto", "hnsw"] as const)("of the planner pinned to %s is at least .98 at every selectivity", (pin) => {
    const planned = new PlannedIndex({ dims: realModel.dims, hnswlib, pin })
    rows.forEach((row, slot) => planned.upsert(slot, row, slot))
    built(planned)
    expect(planned.plan(k, undefined).engine).toBe(pin === "hnsw" ? "hnsw" : "exact")
    for (const share of selectivities) {
      for (const [kind, allowed] of filters(share)) {
        expect(recallOf(planned, allowed), `${share} ${kind}`).toBeGreaterThanOrEqual(recallMin)
      }
    }
    planned.close()
  })

  it("of the graph stays at least .98 after half of the collection was replaced or removed", () => {
    const own = new VectorArena(realModel.dims)
    const graph = new HnswIndex(hnswlib, own)
    const oracle = new ExactIndex(own)
    rows.forEach((row, slot) => graph.upsert(slot, row, slot))
    built(graph)
    for (let slot = 0; slot < count; slot += 4) {
      graph.upsert(slot, rows[(slot + 2) % count]!, count + slot)
      graph.remove(slot + 1, count + slot)
    }
    built(graph)
    let found = 0
    for (const query of queries) {
      // Copies of one vector have equal scores, so answers are compared by score and not by slot.
      const right = oracle.search(query, k, undefined).scores
      const got = graph.search(query, k, undefined).scores
      found += right.filter((score, at) => got[at] === score).length
    }
    expect(found / (queryCount * k)).toBeGreaterThanOrEqual(recallMin)
  })
})
