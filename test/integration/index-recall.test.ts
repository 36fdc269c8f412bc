/**
 * Every engine on vectors of the real model: recall@10 against float32 truth at five selectivities, before and
 * after half of the collection changed.
 */
import { Effect } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { Bitmap } from "@muniment/engine/bitmap/Bitmap"
import { PlannedIndex } from "@muniment/engine/vectors/planner/PlannedIndex"
import { Embedder } from "@muniment/models/Embedder"
import { practise, workAll, type EngineUnderTest, type IndexUnderTest } from "../support/indexConformanceCheck.ts"
import { expectBesideFloat32 } from "../support/indexConformanceDistributions.ts"
import { exactEngine, hnswEngine, plannedEngine, quantizedEngine } from "../support/indexConformanceEngines.ts"
import { Oracle, type Scored } from "../support/indexConformanceVectors.ts"
import { questions, sentences } from "../support/Sentences.ts"
import { realModel, realModelsDir, requireRealModel } from "../component/models/realModel.ts"

const count = 1_600
const queryCount = 100
const practiceCount = 32
const k = 10
const recallMin = 0.98
const selectivities = [1, 0.5, 0.1, 0.01, 0.001]

/** 10 to 20 s of embedding on a free core. */
let rows: ReadonlyArray<Float32Array>
let queries: ReadonlyArray<Float32Array>
/** Asked before, and no others' truth: what an engine learns from must not be what it is measured by. */
let practice: ReadonlyArray<Float32Array>
/** At each selectivity, and after half of the collection changed. */
let truths: ReadonlyArray<Truth>
let truthAfterChanges: Truth

/** The answers of a plain scan within a filter; computed once, for a scan costs more than any engine does. */
interface Truth {
  readonly told: string
  readonly allowed: Bitmap | undefined
  readonly oracle: Oracle
  readonly best: ReadonlyArray<ReadonlyArray<Scored>>
}

beforeAll(async () => {
  requireRealModel()
  const [passages, asked] = await Effect.runPromise(embedded)
  rows = passages
  queries = asked.slice(0, queryCount)
  practice = asked.slice(queryCount)
  const oracle = Oracle.of(rows.entries())
  truths = selectivities.flatMap((share) =>
    filters(oracle, share).map(([kind, allowed]) => truthOf(`${share} ${kind}`, oracle, allowed))
  )
  truthAfterChanges = truthOf("after changes", changed(oracle), undefined)
})

const embedded = Embedder.use((embedder) =>
  Effect.all([
    embedder.embedPassages(sentences(count)),
    Effect.forEach(questions(queryCount + practiceCount), (text) => embedder.embedQuery(text), {
      concurrency: "unbounded"
    })
  ])
).pipe(Effect.provide(Embedder.layer({ modelsDir: realModelsDir, modelId: realModel.id })))

/** Every n-th slot, or those nearest to one vector: filters follow content as often as not. */
const filters = (oracle: Oracle, share: number): ReadonlyArray<readonly [string, Bitmap | undefined]> => {
  if (share === 1) return [["of nothing", undefined]]
  const allowed = Math.ceil(share * rows.length)
  const stride = rows.length / allowed
  const nearest = oracle.best(rows[0]!, allowed, undefined).map(({ slot }) => slot)
  return [
    ["spread", Bitmap.of(Array.from({ length: allowed }, (_, at) => Math.floor(at * stride)))],
    ["of one topic", Bitmap.of(nearest)]
  ]
}

const truthOf = (told: string, oracle: Oracle, allowed: Bitmap | undefined): Truth => ({
  told,
  allowed,
  oracle,
  best: queries.map((query) => oracle.best(query, k, allowed))
})

/** Every fourth vector replaced, and the one after it removed. */
const change = (upsert: (slot: number, vector: Float32Array) => void, remove: (slot: number) => void): void => {
  for (let slot = 0; slot < count; slot += 4) {
    upsert(slot, rows[(slot + 2) % count]!)
    remove(slot + 1)
  }
}

const changed = (oracle: Oracle): Oracle => {
  const after = Oracle.of(oracle.rows)
  change(
    (slot, vector) => after.rows.set(slot, vector),
    (slot) => after.rows.delete(slot)
  )
  return after
}

/** Share of the best that are found; copies of one vector stand in for each other. */
const recallOf = (index: IndexUnderTest, { allowed, best, oracle }: Truth): number => {
  let found = 0
  let wanted = 0
  for (const [at, query] of queries.entries()) {
    const least = best[at]!.at(-1)?.score ?? 0
    for (const slot of index.search(query, k, allowed).slots) if (oracle.score(slot, query) >= least) found++
    wanted += best[at]!.length
  }
  return found / wanted
}

const built = (engine: EngineUnderTest): IndexUnderTest => {
  const index = engine.make(realModel.dims)
  rows.forEach((row, slot) => index.upsert(slot, row, slot))
  workAll(index)
  return index
}

describe.each([exactEngine, quantizedEngine, await hnswEngine(), await plannedEngine("auto")])(
  "recall@10 on real text vectors of $name",
  (engine) => {
    it("is at least .98 at every selectivity, also of what it learned from searches", () => {
      const index = built(engine)
      for (const round of ["at first", "after searches"]) {
        for (const truth of truths)
          expect(recallOf(index, truth), `${truth.told} ${round}`).toBeGreaterThanOrEqual(recallMin)
        practise(index, practice)
      }
      index.close()
    })

    it("is that of float32 for what is scored again, and for a strict search", () => {
      const index = built(engine)
      expectBesideFloat32(index, { rows, queries }, recallMin)
      index.close()
    })

    it("stays at least .98 after half of the collection was replaced or removed", () => {
      const index = built(engine)
      change(
        (slot, vector) => index.upsert(slot, vector, count + slot),
        (slot) => index.remove(slot, count + slot)
      )
      expect(recallOf(index, truthAfterChanges)).toBeGreaterThanOrEqual(recallMin)
      workAll(index)
      expect(recallOf(index, truthAfterChanges)).toBeGreaterThanOrEqual(recallMin)
      index.close()
    })
  }
)

describe("the planner", () => {
  it.each([
    ["auto", "quantized"],
    ["exact", "exact"],
    ["quantized", "quantized"],
    ["hnsw", "hnsw"]
  ] as const)("pinned to %s answers by the engine %s", async (pin, wanted) => {
    const index = built(await plannedEngine(pin))
    if (!(index instanceof PlannedIndex)) throw new Error("no planned index")
    expect(index.plan(k, undefined).engine).toBe(wanted)
    index.close()
  })
})
