/**
 * Recall@k and latency of the graph and of the planner against the exact oracle, over filters of
 * five selectivities, random and correlated with the content. Every answer is compared with the
 * oracle's in the same run; figures are medians and ratios within one process.
 *
 *   node bench/index/recall.ts [--vectors file.f32 --queries file.f32] [--count 20000] [--k 10]
 *
 * The files hold little-endian float32 rows of unit norm, 384 wide. Without them the rows are a
 * seeded mixture of clusters with noisier queries.
 */
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { Bitmap } from "@muniment/engine/index/Bitmap"
import { ExactIndex } from "@muniment/engine/index/ExactIndex"
import { HnswIndex } from "@muniment/engine/index/HnswIndex"
import { loadHnswlib } from "@muniment/engine/index/Hnswlib"
import { PlannedIndex } from "@muniment/engine/index/PlannedIndex"
import { VectorArena } from "@muniment/engine/index/VectorArena"
import { answerHelp } from "../Usage.ts"
import { clusteredVectors, seededRandom } from "./clusteredVectors.ts"

const dims = 384
const buildSliceMillis = 1_000
const selectivities = [1, 0.5, 0.1, 0.01, 0.001]

const main = async () => {
  answerHelp("node bench/index/recall.ts [--vectors FILE.f32 --queries FILE.f32] [--count 20000] [--k 10]")
  const { values } = parseArgs({
    options: {
      vectors: { type: "string" },
      queries: { type: "string" },
      count: { type: "string", default: "20000" },
      k: { type: "string", default: "10" }
    }
  })
  const count = Number(values.count)
  const k = Number(values.k)
  const random = seededRandom(7)
  const synthetic = values.vectors === undefined ? clusteredVectors(random, { dims, count, queries: 200 }) : undefined
  const rows = synthetic?.rows ?? readRows(values.vectors ?? "").slice(0, count)
  const queries = (synthetic?.queries ?? readRows(values.queries ?? "")).slice(0, 200)

  const hnswlib = await loadHnswlib((reason) => console.error(`no graph: ${reason}`))
  if (hnswlib === undefined) throw new Error("hnswlib-node is needed for this bench")
  const arena = new VectorArena(dims)
  const exact = new ExactIndex(arena)
  const graph = new HnswIndex(hnswlib, arena)
  const planned = new PlannedIndex({ dims, hnswlib, pin: "auto" })
  rows.forEach((row, slot) => {
    graph.upsert(slot, row, slot)
    planned.upsert(slot, row, slot)
  })
  const started = performance.now()
  let slowestStepMillis = 0
  for (let more = 1; more > 0;) {
    const from = performance.now()
    more = graph.work(0, () => performance.now())
    slowestStepMillis = Math.max(slowestStepMillis, performance.now() - from)
  }
  const buildSeconds = (performance.now() - started) / 1_000
  while (planned.work(buildSliceMillis, () => performance.now()) > 0);
  console.log(
    `${rows.length} vectors, ${queries.length} queries, k ${k}; built in ${buildSeconds.toFixed(1)} s, longest step ${slowestStepMillis.toFixed(1)} ms`
  )

  const pivot = rows[0]!
  const byPivot = rows.map((row, slot) => ({ slot, score: dot(row, pivot) })).sort((a, b) => b.score - a.score)
  for (const kind of ["random", "correlated"] as const) {
    for (const share of selectivities) {
      const allowed =
        kind === "random"
          ? randomFilter(random, rows.length, share)
          : Bitmap.of(byPivot.slice(0, Math.ceil(share * rows.length)).map((x) => x.slot))
      const filter = share === 1 ? undefined : allowed
      const oracle = measure(queries, (query) => exact.search(query, k, filter).slots)
      const byGraph = measure(queries, (query) => graph.search(query, k, filter).slots)
      const byPlan = measure(queries, (query) => planned.search(query, k, filter).slots)
      console.log(
        [
          kind.padEnd(10),
          `${share * 100} %`.padStart(6),
          `exact ${oracle.text}`,
          `graph ${byGraph.text} recall ${recall(oracle.answers, byGraph.answers)} speed ${(oracle.p50 / byGraph.p50).toFixed(2)}x`,
          `planner ${byPlan.text} recall ${recall(oracle.answers, byPlan.answers)} speed ${(oracle.p50 / byPlan.p50).toFixed(2)}x`,
          `-> ${planned.plan(k, filter).engine}`
        ].join(" | ")
      )
    }
  }
}

const measure = (queries: ReadonlyArray<Float32Array>, search: (query: Float32Array) => Int32Array) => {
  for (const query of queries.slice(0, 20)) search(query)
  const answers: Array<Int32Array> = []
  const micros = queries.map((query) => {
    const from = performance.now()
    answers.push(search(query))
    return (performance.now() - from) * 1_000
  })
  micros.sort((a, b) => a - b)
  const p50 = micros[micros.length >> 1]!
  return { answers, p50, text: `p50 ${p50.toFixed(0)} max ${micros.at(-1)!.toFixed(0)} us` }
}

const recall = (oracle: ReadonlyArray<Int32Array>, answers: ReadonlyArray<Int32Array>): string => {
  let found = 0
  let wanted = 0
  oracle.forEach((right, i) => {
    const got = new Set(answers[i])
    wanted += right.length
    for (const slot of right) if (got.has(slot)) found++
  })
  return (found / wanted).toFixed(4)
}

const randomFilter = (random: () => number, count: number, share: number): Bitmap => {
  const allowed = new Bitmap()
  for (let slot = 0; slot < count; slot++) if (random() < share) allowed.set(slot)
  return allowed
}

const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, x, i) => sum + x * b[i]!, 0)

const readRows = (path: string): Array<Float32Array> => {
  const bytes = readFileSync(path)
  const floats = new Float32Array(new Uint8Array(bytes).buffer)
  return Array.from({ length: floats.length / dims }, (_, i) => floats.subarray(i * dims, (i + 1) * dims))
}

await main()
