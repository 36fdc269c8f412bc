/** A point of the series as numbers, for the seconds in memory and the minutes in a file; and several of them as one. */
import type { SeriesPoint } from "@muniment/domain/Operations"

/** In the order of a record; a later version appends, so that `recordBytes` tells records of two versions apart. */
const fields = [
  "at",
  "calls",
  "errors",
  "refused",
  "p50Millis",
  "p99Millis",
  "processors",
  "residentBytes",
  "memories",
  "bytes",
  "charged",
  "receivedUsd"
] as const satisfies ReadonlyArray<keyof SeriesPoint>

export const recordBytes = fields.length * Float64Array.BYTES_PER_ELEMENT

/** Null is kept as NaN. */
export const writeRecord = (point: SeriesPoint, view: DataView, offset: number): void => {
  for (const [at, field] of fields.entries()) view.setFloat64(offset + at * 8, point[field] ?? Number.NaN, true)
}

/** Undefined: nothing was written there, or not wholly. */
export const readRecord = (view: DataView, offset: number): SeriesPoint | undefined => {
  const at = view.getFloat64(offset, true)
  if (!(at > 0)) return undefined
  const number = (field: number): number => {
    const value = view.getFloat64(offset + field * 8, true)
    return Number.isFinite(value) ? value : 0
  }
  const orNull = (field: number): number | null => {
    const value = view.getFloat64(offset + field * 8, true)
    return Number.isFinite(value) ? value : null
  }
  return {
    at,
    calls: number(1),
    errors: number(2),
    refused: number(3),
    p50Millis: orNull(4),
    p99Millis: orNull(5),
    processors: number(6),
    residentBytes: number(7),
    memories: orNull(8),
    bytes: number(9),
    charged: number(10),
    receivedUsd: number(11)
  }
}

/** Points gathered into steps; `points` are in order of time. */
export const inSteps = (points: ReadonlyArray<SeriesPoint>, stepMillis: number): ReadonlyArray<SeriesPoint> =>
  [...Map.groupBy(points, ({ at }) => Math.floor(at / stepMillis) * stepMillis)].map(([at, parts]) => merged(at, parts))

const merged = (at: number, parts: ReadonlyArray<SeriesPoint>): SeriesPoint => {
  const last = parts.at(-1)!
  const sum = (of: (point: SeriesPoint) => number): number => parts.reduce((total, point) => total + of(point), 0)
  const called = parts.filter(({ p50Millis }) => p50Millis !== null)
  const calls = called.reduce((total, point) => total + point.calls, 0)
  return {
    ...last,
    at,
    calls: sum((point) => point.calls),
    errors: sum((point) => point.errors),
    refused: sum((point) => point.refused),
    p50Millis: calls === 0 ? null : rounded(sum(({ calls: weight, p50Millis }) => weight * (p50Millis ?? 0)) / calls),
    p99Millis: calls === 0 ? null : Math.max(...called.map(({ p99Millis }) => p99Millis ?? 0)),
    processors: rounded(sum((point) => point.processors) / parts.length),
    charged: sum((point) => point.charged)
  }
}

const rounded = (value: number): number => Math.round(value * 100) / 100
