/** Measurements of strict recall, as tables, goals and ratios. */
import { figure, type Goal, type ReportTable } from "../kit/Report.ts"
import type { DistributionFigures } from "./measureDistribution.ts"
import { recallGoal } from "./search.ts"

export const strictTables = (all: ReadonlyArray<DistributionFigures>): ReadonlyArray<ReportTable> => {
  if (all.length === 0) return []
  return [recallTable(all), costTable(all)]
}

const recallTable = (all: ReadonlyArray<DistributionFigures>): ReportTable => ({
  title: "Sets that 8-bit scores order wrongly: recall@10 and p50 us",
  columns: [
    "set, vectors",
    "auto: recall",
    "us",
    "strict: recall",
    "us",
    "us, fresh connection",
    "hnswlib-node: recall",
    "ef",
    "us",
    "hnswlib-node by strict"
  ],
  rows: all.map(({ freshMicros, peer, rows, set }) => {
    const { autoMicros, autoRecall, strictMicros, strictRecall } = rows[0]!
    return [
      `${set.name}, ${set.count.toLocaleString("en-US")}`,
      autoRecall.toFixed(3),
      autoMicros,
      strictRecall.toFixed(3),
      strictMicros,
      freshMicros,
      peer.recall.toFixed(3),
      String(peer.width),
      peer.micros,
      `${figure(peer.ratio)}x`
    ]
  }),
  note: certifiedText(all)
})

/** The share of strict answers that were certified: of all sets together, or of those where some were not. */
const certifiedText = (all: ReadonlyArray<DistributionFigures>): string => {
  const certified = all.map(({ rows, set }) => ({ name: set.name, share: rows[0]!.certifiedShare }))
  const open = certified.filter(({ share }) => share < 1)
  return open.length === 0
    ? "Every strict answer was certified."
    : `Strict answers that were certified: ${open.map(({ name, share }) => `${figure(share * 100)} % of ${name}`).join(", ")}; of the others all.`
}

const costTable = (all: ReadonlyArray<DistributionFigures>): ReportTable => ({
  title: "Strict recall by k and filter: its us, and by how many times that is more than auto's",
  columns: ["set", ...(all[0]?.rows ?? []).map(({ k, share }) => caseText(k, share))],
  rows: all.map(({ rows, set }) => [
    set.name,
    ...rows.map(({ costRatio, strictMicros }) => `${figure(strictMicros)}, ${figure(costRatio)}x`)
  ])
})

const caseText = (k: number, share: number): string =>
  share === 1 ? `k ${k}` : `k ${k}, filter ${figure(share * 100)} %`

export const strictGoals = (all: ReadonlyArray<DistributionFigures>): ReadonlyArray<Goal> => [
  leastRecall("strict", recallGoal, all, ({ strictRecall }) => strictRecall),
  leastRecall("auto", autoRecallGoal, all, ({ autoRecall }) => autoRecall)
]

/** Of the default search, on sets that are made against it. */
const autoRecallGoal = 0.97

const leastRecall = (
  mode: string,
  wanted: number,
  all: ReadonlyArray<DistributionFigures>,
  recallOf: (row: DistributionFigures["rows"][number]) => number
): Goal => {
  const least = all
    .flatMap(({ rows, set }) =>
      rows.filter(({ k }) => k === 10).map((row) => ({ name: set.name, recall: recallOf(row) }))
    )
    .toSorted((left, right) => left.recall - right.recall)[0]
  return {
    name: `recall@10 of ${mode}, least of the sets`,
    bound: "at least",
    wanted,
    found: least?.recall,
    unit: "",
    note: least?.name ?? ""
  }
}

export const strictRatios = (all: ReadonlyArray<DistributionFigures>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    all.flatMap(({ peer, rows, set }) => {
      const [recall, speed] = strictRatioNames(set.name, set.count)
      return [
        [recall, rows[0]!.strictRecall],
        [speed, peer.ratio]
      ]
    })
  )

/** Of recall, and of speed. */
export const strictRatioNames = (set: string, count: number): readonly [recall: string, speed: string] => [
  `${set} ${count}, recall@10 of strict`,
  `${set} ${count}, strict against hnswlib-node`
]
