/**
 * What the steps of a search cost on this machine, in microseconds, so that the planner's choice fits the
 * processor it runs on. Measured once the service is up, on rows of noise, in steps of a few milliseconds between
 * which others have their turns: the engine compiles a kernel well only after it has run for a while.
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

/** The costs that planners go by; replaced when they have been measured. */
export interface CostBook {
  current: IndexCosts
}

const rows = 1_024
const rowsPerStep = 32
const searchesPerStep = 8
/** Searches before those that count. */
const warmups = 200
const repetitions = 31
const results = 10
/** The width of the models we know; costs of others are near enough in proportion. */
const dims = 384

/** Ends with the costs; `now` is a clock in milliseconds. */
export function* measureCosts(slab: Slab, now: () => number): Generator<void, IndexCosts> {
  const arena = new VectorArena(dims, slab)
  try {
    const noise = noiseOf(seededSequence(dims))
    for (let slot = 0; slot < rows; slot++) {
      arena.set(slot, noise(), slot)
      if (slot % rowsPerStep === 0) yield
    }
    const query = noise()
    const itself = arena.copyOf(0)
    const scan = (among: Bitmap) => () => arena.best(arena.prepare(query), results, arena.lay(among, undefined))
    const few = Bitmap.of(Array.from({ length: rows / 16 }, (_value, at) => (at * 37) % rows))
    const searchMicros = yield* medianMicros(scan(Bitmap.of([0])), now)
    const rowMicros = perUnit((yield* medianMicros(scan(arena.live), now)) - searchMicros, rows)
    const fewMicros = perUnit((yield* medianMicros(scan(few), now)) - searchMicros, few.count())
    const flatMicros = yield* flatScanMicros(arena, itself, now)
    return {
      ...typicalCosts,
      searchMicros,
      rowMicros,
      scatteredRowMicros: Math.max(rowMicros * scatter, fewMicros),
      codeMicros: perUnit(flatMicros - searchMicros, rows)
    }
  } finally {
    arena.close()
  }
}

/** Rows at places far apart are not in the nearest cache, which these few are. */
const scatter = 2.5

/** A query that finds itself at once: from then on codes are looked at, and no row is scored. */
function* flatScanMicros(arena: VectorArena, itself: Float32Array, now: () => number): Generator<void, number> {
  const codebook = yield* trainCodebook(arena, 1)
  if (codebook === undefined) return 0
  const lists = new CodeLists(arena, codebook)
  try {
    for (let slot = 0; slot < rows; slot++) {
      lists.add(slot)
      if (slot % rowsPerStep === 0) yield
    }
    return yield* medianMicros(() => lists.search(arena.prepare(itself), 1, undefined, () => 0), now)
  } finally {
    lists.release()
  }
}

function* medianMicros(search: () => unknown, now: () => number): Generator<void, number> {
  const times: Array<number> = []
  for (let round = -warmups; round < repetitions; round++) {
    const start = now()
    search()
    if (round >= 0) times.push((now() - start) * 1_000)
    if (round % searchesPerStep === 0) yield
  }
  return times.sort((left, right) => left - right)[repetitions >> 1]!
}

const noiseOf = (random: () => number) => () => {
  const vector = Float32Array.from({ length: dims }, () => random() - 0.5)
  const norm = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0))
  return vector.map((x) => x / norm)
}

const perUnit = (micros: number, units: number): number => Math.max(0, micros) / units
