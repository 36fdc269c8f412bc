/**
 * What the steps of a search cost on this machine, in microseconds: measured at start on rows of noise, in some
 * 20 ms, so that the planner's choice fits the processor it runs on.
 */
import { Bitmap } from "./Bitmap.ts"
import { trainCodebook } from "./Codebook.ts"
import { CodeLists } from "./CodeLists.ts"
import { seededSequence } from "./SeededSequence.ts"
import type { Slab } from "./Slab.ts"
import { VectorArena } from "./VectorArena.ts"

export interface IndexCosts {
  /** What every search costs: the query's codes, the answer. */
  readonly searchMicros: number
  /** A row of an exact scan. */
  readonly rowMicros: number
  /** A row at a place that only its code tells. */
  readonly scatteredRowMicros: number
  /** A slot looked at in a bitmap. */
  readonly bitMicros: number
  /** A one-bit code. */
  readonly codeMicros: number
  /** A centroid compared with the query. */
  readonly centroidMicros: number
  /** A step of a graph's walk; hnswlib's, which is not measured here. */
  readonly stepMicros: number
}

/** Of the machine that bench/index/README.md describes, for tests and where nothing was measured. */
export const typicalCosts: IndexCosts = {
  searchMicros: 5,
  rowMicros: 0.02,
  scatteredRowMicros: 0.05,
  bitMicros: 0.0001,
  codeMicros: 0.004,
  centroidMicros: 0.03,
  stepMicros: 2
}

const rows = 4_096
const repetitions = 15
const results = 10

/** The width of the models we know; costs of others are near enough in proportion. */
const dims = 384

/** `now` is a clock in milliseconds. */
export const measureCosts = (slab: Slab, now: () => number): IndexCosts => {
  const arena = new VectorArena(dims, slab)
  const random = seededSequence(dims)
  const noise = () => {
    const vector = Float32Array.from({ length: dims }, () => random() - 0.5)
    const norm = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0))
    return vector.map((x) => x / norm)
  }
  const itself = noise()
  for (let slot = 0; slot < rows; slot++) arena.set(slot, slot === 0 ? itself : noise(), slot)
  const queries = Array.from({ length: repetitions }, noise)
  const medianMicros = (search: (query: Float32Array) => unknown): number => {
    const times = queries.map((query) => {
      const start = now()
      search(query)
      return (now() - start) * 1_000
    })
    return times.sort((left, right) => left - right)[repetitions >> 1]!
  }
  const scan = (among: Bitmap) => (query: Float32Array) => arena.best(arena.prepare(query), results, among, undefined)
  const few = Bitmap.of(Array.from({ length: rows / 64 }, (_value, at) => (at * 37) % rows))

  scan(arena.live)(queries[0]!)
  const searchMicros = medianMicros(scan(Bitmap.of([0])))
  const rowMicros = Math.max(0, medianMicros(scan(arena.live)) - searchMicros) / rows
  const scatteredRowMicros = Math.max(rowMicros, Math.max(0, medianMicros(scan(few)) - searchMicros) / few.count())
  const lists = new CodeLists(arena, ready(trainCodebook(arena, 1))!)
  arena.live.forEach((slot) => lists.add(slot))
  // A query that finds itself at once: from then on codes are looked at, and no row is scored.
  const flat = () => lists.search(arena.prepare(itself), 1, undefined, 1)
  flat()
  const flatMicros = medianMicros(flat)
  lists.release()
  arena.close()
  return {
    ...typicalCosts,
    searchMicros,
    rowMicros,
    scatteredRowMicros,
    codeMicros: Math.max(0, flatMicros - searchMicros) / rows
  }
}

const ready = <A>(steps: Generator<void, A>): A => {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
