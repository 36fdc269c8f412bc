/** The figures of the index bench as tables and pictures. */
import { barChart, lineChart, type Picture } from "../kit/Chart.ts"
import { figure, type Goal, type ReportTable } from "../kit/Report.ts"
import { crossingAt, highestRecall, type Curve } from "./Curve.ts"
import type { SetFigures } from "./measureSet.ts"
import { recallGoal } from "./search.ts"

/** Searches below this recall stand in no picture. */
const recallShown = 0.85
/** Smaller sets are measured for the ratios alone. */
const countShown = 10_000

export const tablesOf = (figures: SetFigures): ReadonlyArray<ReportTable> => {
  const { name, count, dims } = figures.set
  if (count < countShown) return []
  const label = `${count.toLocaleString("en-US")} ${name} vectors`
  const dimension = `${dims} dimensions, local intrinsic dimension ${figures.intrinsicDimension.toFixed(1)}`
  return [
    { ...engineTable(figures), title: `${label}: search of the best 10, writes, memory, opening`, note: dimension },
    {
      ...filterTable(figures),
      title: `${label}: filters, p50 us`,
      note: `In brackets recall, where it is below ${recallGoal}.`
    }
  ]
}

export const picturesOf = (figures: SetFigures): ReadonlyArray<Picture> => {
  const { name, count } = figures.set
  if (count < countShown) return []
  const label = `${name}-${count / 1_000}k`
  return [
    lineChart({
      name: `recall-${label}`,
      title: `Recall@10 against latency, ${count.toLocaleString("en-US")} ${name} vectors`,
      x: { title: "p50, microseconds", log: true },
      y: { title: "recall@10", domain: [recallShown, 1] },
      series: figures.curves.map((curve) => ({
        name: curve.name,
        points: curve.points
          .filter(({ recall }) => recall >= recallShown)
          .map(({ p50Micros, recall }) => ({ x: p50Micros, y: recall }))
      }))
    })
  ]
}

/** One bar a goal that was measured; a ratio of 0 has no place on a log axis. */
export const goalsPicture = (goals: ReadonlyArray<Goal>): ReadonlyArray<Picture> => {
  const measured = goals.flatMap(({ name, found, unit }) =>
    found === undefined || !(found > 0) || unit !== "x" ? [] : [{ name, found }]
  )
  if (measured.length === 0) return []
  return [
    barChart({
      name: "goals",
      title: "Ours against the peers, hard vectors, recall@10 of at least .99",
      value: { title: "times better", log: true, domain: [0.5, Math.max(...measured.map(({ found }) => found)) * 4] },
      bars: measured.map(({ name, found }) => ({ name, value: found }))
    })
  ]
}

type Columns = Pick<ReportTable, "columns" | "rows">

const filterTable = ({ filters }: SetFigures): Columns => {
  const kinds = [...new Set(filters.map(({ filter }) => filterText(filter)))]
  const within = filters.filter(({ filterKind }) => !filterKind.startsWith("post"))
  const engines = [...Map.groupBy(within, ({ name, filterKind }) => `${name} (${filterKind})`)]
  return {
    columns: ["engine", ...kinds],
    rows: engines.map(([engine, rows]) => [
      engine,
      ...kinds.map((kind) => {
        const row = rows.find(({ filter }) => filterText(filter) === kind)
        if (row === undefined) return ""
        return `${figure(row.p50Micros)}${row.recall < recallGoal ? ` (${row.recall.toFixed(3)})` : ""}`
      })
    ])
  }
}

const filterText = ({ attribute, share }: { readonly attribute: string; readonly share: number }): string =>
  `${attribute === "near" ? "nearest" : "random"} ${share * 100} %`

const engineTable = ({ set, curves, adds, replacements, churns, cold, memory }: SetFigures): Columns => {
  const share = churns[0]?.share ?? 0
  return {
    columns: [
      "engine",
      `p50 us at recall ${recallGoal}`,
      "p99 us",
      "highest recall",
      `after churn of ${share * 100} %`,
      "upserts /s",
      "replacements /s",
      "bytes a vector",
      "in the file",
      "cold open ms"
    ],
    rows: curves.map((curve) => {
      const of = <Row extends { readonly name: string }>(rows: ReadonlyArray<Row>): Row | undefined =>
        rows.find(({ name }) => name === curve.name)
      const best = curve.points.find(({ recall }) => recall === highestRecall(curve))!
      const opened = of(cold)
      return [
        curve.name,
        crossingText(curve),
        best.p99Micros,
        best.recall.toFixed(4),
        of(churns)?.recallAfter.toFixed(4) ?? "",
        number(of(adds)?.perSecond),
        number(of(replacements)?.perSecond),
        number(of(memory)?.bytesPerVector),
        number(opened?.bytes, 1 / set.count),
        number(opened?.millis)
      ]
    })
  }
}

const crossingText = (curve: Curve): string => {
  const crossing = crossingAt(curve, recallGoal)
  if (crossing === undefined) return "never"
  return `${figure(crossing.p50Micros)}${curve.knob === "" ? "" : ` (${curve.knob} ${crossing.width})`}`
}

const number = (value: number | undefined, factor = 1): string => (value === undefined ? "" : figure(value * factor))
