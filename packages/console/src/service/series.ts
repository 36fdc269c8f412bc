/** The service over time, as `GET /admin/series` gives it, and as lines of charts. */
import type { Series, SeriesPoint, SeriesWindow } from "@muniment/domain/Operations"
import type { ChartFrame } from "../ui/TimeChart.tsx"
import { call } from "./api.ts"

export const getSeries = (window: SeriesWindow, signal: AbortSignal, points?: number): Promise<Series> =>
  call("GET", "/admin/series", { query: { window, points }, signal })

export const windowNames: ReadonlyArray<readonly [SeriesWindow, string]> = [
  ["hour", "Hour"],
  ["day", "Day"],
  ["week", "Week"],
  ["month", "Month"]
]

/** How often a chart of the window is worth asking for, milliseconds. */
export const refreshOf = (window: SeriesWindow): number => (window === "hour" ? 10_000 : 60_000)

/** The whole window, also where little of it was measured: a month is a month wide. */
export const frameOf = ({ from, points, stepMillis, to }: Series): ChartFrame => ({
  times: points.map(({ at }) => at),
  from,
  to,
  stepMillis
})

/** A count of a step as one of each second. */
export const perSecond = ({ points, stepMillis }: Series, of: (point: SeriesPoint) => number): ReadonlyArray<number> =>
  points.map((point) => of(point) / (stepMillis / 1_000))
