/**
 * Searches without and with filters: every contender's answers are compared with the truth first,
 * then all of them are timed in turns.
 */
import { type Contestant, interleaved, median, timed } from "../kit/Measure.ts"
import { type Contender, postFilterWidth, type Slots } from "./Contender.ts"
import { crossingAt, type Curve } from "./Curve.ts"
import { recallOf, type Truth, truthOf } from "./Truth.ts"
import { type Filter, practiceOf, queriesOf, type VectorSet } from "./VectorSet.ts"

export interface Entrant {
  readonly name: string
  readonly contender: Contender
}

export interface Effort {
  readonly k: number
  readonly rounds: number
  /** Time a contender may take in a round, so that a scan of 50 ms does not last for ever. */
  readonly roundMillis: number
}

export interface FilterRow {
  readonly name: string
  readonly filterKind: string
  readonly filter: Filter
  readonly recall: number
  readonly p50Micros: number
  readonly roundMicros: ReadonlyArray<number>
}

/** The recall that latencies are compared at. */
export const recallGoal = 0.99
/** Least recall of every contender at its best setting, even on noise; below it the contender is misused. */
const recallCredible = 0.5
/** Wider settings than one that finds everything only cost. */
const recallEnough = 0.9995
const operationsMin = 5

export const searchCurves = async (
  entrants: ReadonlyArray<Entrant>,
  set: VectorSet,
  truth: Truth,
  effort: Effort
): Promise<ReadonlyArray<Curve>> => {
  const queries = queriesOf(set)
  await practise(entrants, set, effort)
  const settings: Array<Verified & { readonly entrant: Entrant; readonly width: number }> = []
  for (const entrant of entrants) {
    for (const width of entrant.contender.knob.values) {
      const search = (query: Float32Array) => entrant.contender.search(query, effort.k, width)
      const verified = await verify(queries, truth, search)
      settings.push({ ...verified, entrant, width })
      if (verified.recall >= recallEnough) break
    }
  }
  for (const { name } of entrants) {
    const best = Math.max(...settings.filter(({ entrant }) => entrant.name === name).map(({ recall }) => recall))
    if (!(best >= recallCredible)) throw new Error(`${name} finds ${best} of what is right on ${set.name} vectors`)
  }
  const timings = await timeInTurns(settings, queries, effort)
  return entrants.map(({ name, contender }) => ({
    name,
    knob: contender.knob.name,
    points: settings.flatMap(({ entrant, width, recall }, at) => {
      const { p50Micros, p99Micros, roundMicros } = timings[at]!
      return entrant.name === name ? [{ width, recall, p50Micros, p99Micros, roundMicros }] : []
    })
  }))
}

/** Each contender at the setting with which it reaches the recall without a filter, else its best. */
export const filteredSearches = async (
  entrants: ReadonlyArray<Entrant>,
  curves: ReadonlyArray<Curve>,
  set: VectorSet,
  filter: Filter,
  effort: Effort
): Promise<ReadonlyArray<FilterRow>> => {
  const queries = queriesOf(set)
  const truth = truthOf(set, effort.k, filter.allowed)
  const searches: Array<Verified & { readonly name: string; readonly filterKind: string }> = []
  for (const [at, { name, contender }] of entrants.entries()) {
    const width = crossingAt(curves[at]!, recallGoal)?.width ?? contender.knob.values.at(-1)!
    const search = (query: Float32Array) => contender.searchWhere(query, effort.k, width, filter)
    searches.push({ ...(await verify(queries, truth, search)), name, filterKind: contender.filterKind })
    if (contender.filterKind !== "callback") continue
    const after = (query: Float32Array) => postFiltered(contender, query, effort.k, width, filter)
    const filterKind = `post-filter of ${postFilterWidth}`
    searches.push({ ...(await verify(queries, truth, after)), name, filterKind })
  }
  const timings = await timeInTurns(searches, queries, effort)
  return searches.map(({ name, filterKind, recall }, at) => {
    const { p50Micros, roundMicros } = timings[at]!
    return { name, filterKind, filter, recall, p50Micros, roundMicros }
  })
}

/** A service too has searched for a while before its latency is measured. */
const practise = async (entrants: ReadonlyArray<Entrant>, set: VectorSet, { k }: Effort): Promise<void> => {
  for (const { contender } of entrants) {
    const from = performance.now()
    for (const query of practiceOf(set)) {
      await contender.search(query, k, contender.knob.values[0]!)
      if (performance.now() - from > practiceMillisMax) break
    }
    await contender.settle()
  }
}

const practiceMillisMax = 5_000

interface Verified {
  readonly search: (query: Float32Array) => unknown
  readonly recall: number
  readonly medianMillis: number
}

/** Recall over all queries; over the first few when they take too long to ask them all. */
const verify = async (
  queries: ReadonlyArray<Float32Array>,
  truth: Truth,
  search: (query: Float32Array) => Slots | Promise<Slots>
): Promise<Verified> => {
  const answers: Array<Slots> = []
  const times: Array<number> = []
  const from = performance.now()
  for (const query of queries) {
    const { result, millis } = await timed(() => search(query))
    // A view of a contender's own memory would change with its next answer.
    answers.push(Array.from(result))
    times.push(millis)
    if (performance.now() - from > verifyMillisMax) break
  }
  return { search, recall: recallOf(truth.slice(0, answers.length), answers), medianMillis: median(times) }
}

const verifyMillisMax = 10_000

const timeInTurns = (
  searches: ReadonlyArray<Verified>,
  queries: ReadonlyArray<Float32Array>,
  { rounds, roundMillis }: Effort
) => {
  const contestants: ReadonlyArray<Contestant> = searches.map(({ search, medianMillis }) => ({
    name: "",
    run: (turn) => search(queries[turn % queries.length]!),
    operations: Math.max(operationsMin, Math.min(queries.length, Math.ceil(roundMillis / medianMillis)))
  }))
  return interleaved(contestants, { rounds, operations: queries.length, warmup: operationsMin })
}

const postFiltered = async (
  contender: Contender,
  query: Float32Array,
  k: number,
  width: number,
  { allowed }: Filter
): Promise<Slots> => {
  const found = await contender.search(query, postFilterWidth, Math.max(width, postFilterWidth))
  return Array.from(found)
    .filter((slot) => allowed.has(slot))
    .slice(0, k)
}
