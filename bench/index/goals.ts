/**
 * The goals of the index, as ratios within one run on hard vectors at recall@10 of at least .99,
 * and the ratios that a later run is checked against.
 *
 * Ours is what the service uses (`auto`); of a peer's curve the point counts where it crosses that recall.
 */
import { median } from "../kit/Measure.ts"
import type { Goal } from "../kit/Report.ts"
import { contenderNames as names, singleEngines } from "./contenders.ts"
import { crossingAt, type Curve, highestRecall } from "./Curve.ts"
import type { SetFigures } from "./measureSet.ts"
import { recallGoal } from "./search.ts"

/** A ratio and what a reader should know of it. */
export interface Comparison {
  readonly ratio: number | undefined
  readonly note: string
}

const latencyCounts = [10_000, 100_000, 300_000]
const peerCounts = [10_000, 100_000]
const writeCounts = [10_000, 100_000]
const filterCount = 100_000
const coldCount = 10_000
const coldMillisMax = 3
/** `auto` may be 5 % slower than the best single engine. */
const plannerShareMin = 0.95

export const goalsOf = (all: ReadonlyArray<SetFigures>): ReadonlyArray<Goal> => {
  const at = (count: number) => all.find(({ set }) => set.name === "hard" && set.count === count)
  const goal = (name: string, wanted: number, figures: SetFigures | undefined, compare: Compare): Goal => {
    const { ratio, note } = figures === undefined ? { ratio: undefined, note: "" } : compare(figures)
    return { name, bound: "at least", wanted, found: ratio, unit: "x", note }
  }
  const atEach = (counts: ReadonlyArray<number>, name: string, wanted: number, compare: Compare) =>
    counts.map((count) => goal(`${name}, ${count.toLocaleString("en-US")}`, wanted, at(count), compare))
  const cold = at(coldCount)?.cold.find(({ name }) => name === names.auto)?.millis
  return [
    ...atEach(latencyCounts, "latency against hnswlib-node", 2, latency(names.hnswlib)),
    ...[0.1, 0.01, 0.001].flatMap((share, i) =>
      atEach([filterCount], `filter ${share * 100} % against hnswlib-node`, [10, 300, 5_000][i]!, filtered(share))
    ),
    ...atEach(writeCounts, "upsert against hnswlib-node", 50, written("adds")),
    ...atEach(writeCounts, "replace against hnswlib-node", 200, written("replacements")),
    ...atEach(writeCounts, "memory against hnswlib-node", 4, memory),
    {
      name: "cold open, 10,000",
      bound: "at most",
      wanted: coldMillisMax,
      found: cold,
      unit: "ms",
      note: "segments in SQLite to first answer"
    },
    ...atEach(peerCounts, "latency against sqlite-vec", 50, latency(names.sqliteVec)),
    ...atEach(peerCounts, "latency against LanceDB HNSW_SQ", 10, latency(names.lance)),
    ...atEach(peerCounts, "auto against the best single engine", plannerShareMin, planner)
  ]
}

/** Name -> ratio for the baseline. */
export const ratiosOf = (all: ReadonlyArray<SetFigures>): Readonly<Record<string, number>> => {
  const comparisons: ReadonlyArray<readonly [string, Compare]> = [
    ["latency against hnswlib-node", latency(names.hnswlib)],
    ["latency against sqlite-vec", latency(names.sqliteVec)],
    ["latency against LanceDB", latency(names.lance)],
    ["filter 10 % against hnswlib-node", filtered(0.1)],
    ["filter 1 % against hnswlib-node", filtered(0.01)],
    ["filter 0.1 % against hnswlib-node", filtered(0.001)],
    ["auto against the best single engine", planner],
    ["upsert against hnswlib-node", written("adds")],
    ["replace against hnswlib-node", written("replacements")],
    ["memory against hnswlib-node", memory]
  ]
  return Object.fromEntries(
    all.flatMap((figures) =>
      comparisons.flatMap(([name, compare]) => {
        const { ratio } = compare(figures)
        return ratio === undefined || !Number.isFinite(ratio)
          ? []
          : [[`${figures.set.name} ${figures.set.count}, ${name}`, ratio] as const]
      })
    )
  )
}

type Compare = (figures: SetFigures) => Comparison

const unknown: Comparison = { ratio: undefined, note: "" }

const latency =
  (peer: string): Compare =>
  ({ curves }) => {
    const [our, their] = [curveOf(curves, names.auto), curveOf(curves, peer)]
    if (our === undefined || their === undefined) return unknown
    const [ourCrossing, theirCrossing] = [crossingAt(our, recallGoal), crossingAt(their, recallGoal)]
    // A miss, not something that was not measured.
    if (ourCrossing === undefined) return { ratio: 0, note: `ours ends at recall ${recallText(our)}` }
    if (theirCrossing === undefined) return { ratio: undefined, note: `${peer} ends at recall ${recallText(their)}` }
    return byRounds(theirCrossing.roundMicros, ourCrossing.roundMicros)
  }

const filtered =
  (share: number): Compare =>
  ({ filters }) => {
    const rowOf = (wanted: string) =>
      filters.find(
        ({ name, filter, filterKind }) =>
          name === wanted && filter.attribute === "chance" && filter.share === share && !filterKind.startsWith("post")
      )
    const [our, their] = [rowOf(names.auto), rowOf(names.hnswlib)]
    if (our === undefined || their === undefined) return unknown
    const { ratio, note } = byRounds(their.roundMicros, our.roundMicros)
    return { ratio, note: `${note}; recall ${our.recall.toFixed(3)} and ${their.recall.toFixed(3)}` }
  }

const written =
  (kind: "adds" | "replacements"): Compare =>
  (figures) => {
    const rowOf = (wanted: string) => figures[kind].find(({ name }) => name === wanted)
    const [our, their] = [rowOf(names.auto), rowOf(names.hnswlib)]
    return our === undefined || their === undefined ? unknown : byRounds(their.roundMicros, our.roundMicros)
  }

const memory: Compare = (figures) => {
  const bytesOf = (wanted: string) => figures.memory.find(({ name }) => name === wanted)?.bytesPerVector
  const [our, their] = [bytesOf(names.auto), bytesOf(names.hnswlib)]
  if (our === undefined || their === undefined) return unknown
  return { ratio: their / our, note: `${our.toFixed(0)} and ${their.toFixed(0)} bytes a vector` }
}

/** The worst of all searches: the time of the single engine with the best median by that of `auto`, by rounds. */
const planner: Compare = ({ curves, filters }) => {
  const searches = [
    {
      what: "no filter",
      rows: curves.map(({ name, points }) => ({ name, roundMicros: points[0]?.roundMicros ?? [] }))
    },
    ...[...Map.groupBy(filters, ({ filter }) => `${filter.attribute} ${filter.share * 100} %`)].map(([what, rows]) => ({
      what,
      rows
    }))
  ]
  const worst = searches
    .flatMap(({ what, rows }) => {
      const auto = rows.find(({ name }) => name === names.auto)
      const [best] = rows
        .filter(({ name }) => singleEngines.includes(name))
        .toSorted((left, right) => median(left.roundMicros) - median(right.roundMicros))
      return auto === undefined || best === undefined
        ? []
        : [{ what, ratio: byRounds(best.roundMicros, auto.roundMicros).ratio ?? 0 }]
    })
    .toSorted((left, right) => left.ratio - right.ratio)[0]
  return worst === undefined ? unknown : { ratio: worst.ratio, note: `worst with: ${worst.what}` }
}

const byRounds = (theirs: ReadonlyArray<number>, ours: ReadonlyArray<number>): Comparison => {
  const ratios = theirs.map((micros, round) => micros / (ours[round] ?? Number.NaN))
  const [low, high] = [Math.min(...ratios), Math.max(...ratios)]
  return {
    ratio: median(ratios),
    note: `${Number(low.toPrecision(3))} to ${Number(high.toPrecision(3))} over the rounds`
  }
}

const curveOf = (curves: ReadonlyArray<Curve>, wanted: string): Curve | undefined =>
  curves.find(({ name }) => name === wanted)

const recallText = (curve: Curve): string => highestRecall(curve).toFixed(4)
