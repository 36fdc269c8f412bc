/**
 * Numbers over time as lines on a picture that scales, with the value under the pointer, and the same as a table. What
 * is missing is a gap. The lines are drawn for those who see them; a screen reader gets a sentence and the table.
 */
import { useMemo, useState } from "preact/hooks"
import { timeMarks } from "../service/dates.ts"
import { exactMoment, moment, shownIf } from "../service/text.ts"
import { Table } from "./Table.tsx"

interface ChartLine {
  readonly name: string
  /** One of `a`, `b`, `c`: colour and dashes by the style sheet. */
  readonly tone: "a" | "b" | "c"
  /** Null: not known. */
  readonly values: ReadonlyArray<number | null>
}

export interface ChartFrame {
  /** Starts of the steps, in order. */
  readonly times: ReadonlyArray<number>
  readonly from: number
  readonly to: number
  readonly stepMillis: number
}

const width = 600
const height = 150
const tableRows = 60

export const TimeChart = (given: {
  readonly title: string
  readonly frame: ChartFrame
  readonly lines: ReadonlyArray<ChartLine>
  readonly text: (value: number) => string
  /** The space below the first line is filled. */
  readonly isArea?: boolean
  /** The scale ends at a power of two, as sizes do. */
  readonly isBinary?: boolean
  /** The scale reaches it, whatever the values. */
  readonly atLeast?: number
}) => {
  const { atLeast = 0, frame, isArea = false, isBinary = false, lines, text, title } = given
  const top = useMemo(
    () => roundTop(Math.max(atLeast, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))), isBinary),
    [lines]
  )
  const [at, setAt] = useState<number | undefined>(undefined)
  const last = frame.times.length - 1
  const shown = at !== undefined && at <= last ? at : last
  const x = (time: number): number => ((time - frame.from) / (frame.to - frame.from)) * width
  const y = (value: number): number => height - (value / top) * height
  const point = (event: PointerEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    const time = frame.from + ((event.clientX - box.left) / box.width) * (frame.to - frame.from)
    setAt(nearest(frame.times, time))
  }
  return (
    <figure class="chart card">
      <figcaption>
        <strong>{title}</strong>
        <span class="legend">
          {lines.map(({ name, tone, values }) => (
            <span key={name}>
              <i class={`line-${tone}`} aria-hidden="true" /> {name}{" "}
              <b>{shownIf(at === undefined ? values.findLast((value) => value !== null) : values[shown], text)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      {last < 0 ? (
        <p class="muted small">Nothing was measured in this time yet.</p>
      ) : (
        <div class="plot">
          <div class="scale" aria-hidden="true">
            {[top, top / 2, 0].map((value) => (
              <span key={value}>{text(value)}</span>
            ))}
          </div>
          <svg
            viewBox={`0 0 ${width} ${height}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={sentence(title, lines, text)}
            onPointerMove={point}
            onPointerLeave={() => setAt(undefined)}
          >
            {[0, height / 2, height].map((mark) => (
              <line key={mark} class="mark" x1="0" x2={width} y1={mark} y2={mark} />
            ))}
            {isArea && lines[0] !== undefined && <path class="area" d={areaOf(frame, lines[0].values, x, y)} />}
            {lines.toReversed().map(({ name, tone, values }) => (
              <g key={name}>
                <path class={`line-${tone}`} d={pathOf(frame, values, x, y)} />
                <path class={`line-${tone} dot`} d={dotsOf(frame, values, x, y)} />
              </g>
            ))}
            {at !== undefined && frame.times[shown] !== undefined && (
              <line class="at" x1={x(frame.times[shown])} x2={x(frame.times[shown])} y1="0" y2={height} />
            )}
          </svg>
          <div class="times" aria-hidden="true">
            {timeMarks(frame.from, frame.to).map(({ at: time, text: label }) => (
              <span key={time} style={{ left: `${(x(time) / width) * 100}%` }}>
                {label}
              </span>
            ))}
          </div>
          <p class="small muted reading" aria-hidden="true">
            {at === undefined && "Last: "}
            {shownIf(frame.times[shown], momentOf(frame))}
          </p>
        </div>
      )}
      {last >= 0 && <AsTable {...given} />}
    </figure>
  )
}

/** With seconds where a minute has more than one step. */
const momentOf = ({ stepMillis, times }: ChartFrame): ((at: number) => string) =>
  stepMillis < minuteMillis || times.some((time, at) => time - (times[at - 1] ?? -Infinity) < minuteMillis)
    ? exactMoment
    : moment

const minuteMillis = 60_000

const AsTable = (given: {
  readonly title: string
  readonly frame: ChartFrame
  readonly lines: ReadonlyArray<ChartLine>
  readonly text: (value: number) => string
}) => {
  const { frame, lines, text, title } = given
  const [isOpen, setOpen] = useState(false)
  const every = Math.max(1, Math.ceil(frame.times.length / tableRows))
  const rows = frame.times
    .map((time, at) => ({ time, at }))
    .filter(({ at }) => (frame.times.length - 1 - at) % every === 0)
  return (
    <details class="small" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        As a table<span class="hidden">: {title}</span>
      </summary>
      {isOpen && (
        <Table
          label={`${title}, as a table`}
          rows={rows.toReversed()}
          keyOf={({ time }) => String(time)}
          columns={[
            { title: "Time", cell: ({ time }) => momentOf(frame)(time) },
            ...lines.map(({ name, values }) => ({
              title: name,
              isNumber: true,
              cell: ({ at }: { readonly at: number }) => shownIf(values[at], text)
            }))
          ]}
        />
      )}
    </details>
  )
}

const sentence = (title: string, lines: ReadonlyArray<ChartLine>, text: (value: number) => string): string =>
  `${title}. ${lines
    .map(({ name, values }) => {
      const known = values.filter((value) => value !== null)
      return known.length === 0
        ? `${name}: nothing measured`
        : `${name}: last ${text(known.at(-1) ?? 0)}, lowest ${text(Math.min(...known))}, highest ${text(Math.max(...known))}`
    })
    .join(". ")}.`

/** The next of 2, 4, 10, 20, ..., whose halves are round, too; where all is 0, two. */
const roundTop = (highest: number, isBinary: boolean): number => {
  if (highest <= 0) return 2
  if (isBinary) return 2 ** Math.ceil(Math.log2(highest))
  const ten = 10 ** Math.floor(Math.log10(highest))
  return [1, 2, 4, 10].map((step) => step * ten).find((step) => step >= highest) ?? highest
}

const nearest = (times: ReadonlyArray<number>, time: number): number =>
  times.reduce((best, each, at) => (Math.abs(each - time) < Math.abs((times[best] ?? 0) - time) ? at : best), 0)

type Place = (value: number) => number

/** Runs of steps without a gap, as indexes. */
const runsOf = (
  { stepMillis, times }: ChartFrame,
  values: ReadonlyArray<number | null>
): ReadonlyArray<ReadonlyArray<number>> => {
  const runs: Array<Array<number>> = []
  for (const [at, time] of times.entries()) {
    if (values[at] === null || values[at] === undefined) continue
    const run = runs.at(-1)
    const before = run?.at(-1)
    if (run !== undefined && before === at - 1 && time - (times[before] ?? 0) <= stepMillis * 2) run.push(at)
    else runs.push([at])
  }
  return runs
}

const rounded = (value: number): string => value.toFixed(1)

const pathOf = (frame: ChartFrame, values: ReadonlyArray<number | null>, x: Place, y: Place): string =>
  runsOf(frame, values)
    .map((run) => `M${run.map((at) => `${rounded(x(frame.times[at] ?? 0))} ${rounded(y(values[at] ?? 0))}`).join("L")}`)
    .join("")

/** Steps between two gaps, which have no line: strokes without a length, whose round ends are seen. */
const dotsOf = (frame: ChartFrame, values: ReadonlyArray<number | null>, x: Place, y: Place): string =>
  runsOf(frame, values)
    .flatMap(([at, next]) =>
      at === undefined || next !== undefined
        ? []
        : `M${rounded(x(frame.times[at] ?? 0))} ${rounded(y(values[at] ?? 0))}h0`
    )
    .join("")

const areaOf = (frame: ChartFrame, values: ReadonlyArray<number | null>, x: Place, y: Place): string =>
  runsOf(frame, values)
    .map((run) => {
      const points = run.map((at) => `${rounded(x(frame.times[at] ?? 0))} ${rounded(y(values[at] ?? 0))}`)
      const [first, last] = [run[0] ?? 0, run.at(-1) ?? 0].map((at) => rounded(x(frame.times[at] ?? 0)))
      return `M${first} ${height}L${points.join("L")}L${last} ${height}Z`
    })
    .join("")
