/** The service over time, as `GET /admin/series` gives it, and its charts. */
import type { Series, SeriesPoint, SeriesWindow } from "@muniment/domain/Operations"
import { useState } from "preact/hooks"
import { call } from "../service/api.ts"
import { useLoad } from "../service/load.ts"
import { amount, dollars } from "../service/operator.ts"
import { bytes, decimal, duration, millis } from "../service/text.ts"
import { count } from "../service/words.ts"
import { Show } from "../ui/Notice.tsx"
import { type ChartFrame, TimeChart } from "../ui/TimeChart.tsx"

export const Charts = (given: { readonly of: "service" | "money"; readonly first: SeriesWindow }) => {
  const [window, choose] = useState(given.first)
  const { loaded } = useLoad((signal) => getSeries(window, signal), [window], refreshOf(window))
  return (
    <section class="stack" aria-label="Over time">
      <div class="head">
        <h2>Over time</h2>
        <Segments label={`Time shown, ${given.of}`} value={window} options={windowNames} onValue={choose} />
      </div>
      <Show of={loaded}>
        {(series) => (
          <div class="charts">
            {given.of === "service" ? <ServiceCharts series={series} /> : <MoneyCharts series={series} />}
          </div>
        )}
      </Show>
    </section>
  )
}

const ServiceCharts = ({ series }: { readonly series: Series }) => {
  const frame = frameOf(series)
  const { points } = series
  return (
    <>
      <TimeChart
        title="Calls a second"
        frame={frame}
        isArea
        text={decimal}
        lines={[{ name: "calls", tone: "a", values: perSecond(series, ({ calls }) => calls) }]}
      />
      <TimeChart
        title="Time of a call"
        frame={frame}
        text={millis}
        lines={[
          { name: "p50", tone: "a", values: points.map(({ p50Millis }) => p50Millis) },
          { name: "p99", tone: "b", values: points.map(({ p99Millis }) => p99Millis) }
        ]}
      />
      <TimeChart
        title="Errors and refusals"
        frame={frame}
        text={count}
        lines={[
          { name: "errors", tone: "c", values: points.map(({ errors }) => errors) },
          { name: "too many requests", tone: "b", values: points.map(({ refused }) => refused) }
        ]}
      />
      <TimeChart
        title="Processors in use"
        frame={frame}
        isArea
        text={decimal}
        lines={[{ name: "processors", tone: "a", values: points.map(({ processors }) => processors) }]}
      />
      <TimeChart
        title="Memories"
        frame={frame}
        isArea
        text={count}
        lines={[{ name: "memories", tone: "a", values: points.map(({ memories }) => memories) }]}
      />
      <TimeChart
        title="Sizes"
        frame={frame}
        isBinary
        text={bytes}
        lines={[
          { name: "memories", tone: "a", values: points.map((point) => point.bytes) },
          { name: "process", tone: "b", values: points.map(({ residentBytes }) => residentBytes) }
        ]}
      />
    </>
  )
}

const MoneyCharts = ({ series }: { readonly series: Series }) => {
  const frame = frameOf(series)
  return (
    <>
      <TimeChart
        title={`Credits for calls, every ${duration(series.stepMillis / 1_000)}`}
        frame={frame}
        isArea
        text={amount}
        lines={[{ name: "credits", tone: "a", values: series.points.map(({ charged }) => charged) }]}
      />
      <TimeChart
        title="USDC received in all"
        frame={frame}
        isArea
        text={dollars}
        lines={[{ name: "USD", tone: "a", values: series.points.map(({ receivedUsd }) => receivedUsd) }]}
      />
    </>
  )
}

/** One of a few choices, side by side. */
const Segments = <A extends string>(given: {
  readonly label: string
  readonly value: A
  readonly options: ReadonlyArray<readonly [A, string]>
  readonly onValue: (value: A) => void
}) => (
  <fieldset class="segments">
    <legend class="hidden">{given.label}</legend>
    {given.options.map(([value, title]) => (
      <label key={value}>
        <input type="radio" name={given.label} checked={value === given.value} onChange={() => given.onValue(value)} />
        <span>{title}</span>
      </label>
    ))}
  </fieldset>
)

/** The service over time, as `GET /admin/series` gives it, and as lines of charts. */
export const getSeries = (window: SeriesWindow, signal: AbortSignal, points?: number): Promise<Series> =>
  call("GET", "/admin/series", { query: { window, points }, signal })

const windowNames: ReadonlyArray<readonly [SeriesWindow, string]> = [
  ["hour", "Hour"],
  ["day", "Day"],
  ["week", "Week"],
  ["month", "Month"]
]

/** How often a chart of the window is worth asking for, milliseconds. */
const refreshOf = (window: SeriesWindow): number => (window === "hour" ? 10_000 : 60_000)

/** The whole window, also where little of it was measured: a month is a month wide. */
const frameOf = ({ from, points, stepMillis, to }: Series): ChartFrame => ({
  times: points.map(({ at }) => at),
  from,
  to,
  stepMillis
})

/** A count of a step as one of each second. */
const perSecond = ({ points, stepMillis }: Series, of: (point: SeriesPoint) => number): ReadonlyArray<number> =>
  points.map((point) => of(point) / (stepMillis / 1_000))
