/**
 * Trend of a series of samples: the least-squares line through it, the change that line means over the run with its 95
 * % confidence interval (Student's t), and a verdict.
 *
 * Samples of one process follow one another and are not independent, so the interval is somewhat too
 * narrow: a verdict of drift is a reason to look, one of flat within the tolerance is safe.
 */
export interface Point {
  readonly x: number
  readonly y: number
}

export interface Slope {
  readonly mean: number
  /** Change of the line from the first sample to the last, in units of y. */
  readonly change: number
  /** Half the width of its 95 % interval; NaN below three samples. */
  readonly margin: number
}

/**
 * flat: the bad end of the interval lies within the tolerance. improves: the whole interval lies beyond it in the
 * good direction. drifts: the change is beyond the tolerance in the bad direction and the interval leaves out zero.
 * undecided: the samples vary too much.
 */
export type Verdict = "flat" | "drifts" | "improves" | "undecided"

export const slopeOf = (points: ReadonlyArray<Point>): Slope => {
  const count = points.length
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / count
  const mean = points.reduce((sum, { y }) => sum + y, 0) / count
  const squaresX = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0)
  const slope = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - mean), 0) / squaresX
  const residual = points.reduce((sum, { x, y }) => sum + (y - mean - slope * (x - meanX)) ** 2, 0)
  const span = (points.at(-1)?.x ?? Number.NaN) - (points[0]?.x ?? Number.NaN)
  const error = count < 3 ? Number.NaN : Math.sqrt(residual / (count - 2) / squaresX)
  return { mean, change: slope * span, margin: studentT(count - 2) * error * span }
}

export const verdictOf = ({ change, margin }: Slope, tolerance: number, worse: "up" | "down"): Verdict => {
  const harm = worse === "up" ? change : -change
  if (harm + margin <= tolerance) return harm + margin < -tolerance ? "improves" : "flat"
  return harm > margin && harm > tolerance ? "drifts" : "undecided"
}

/** Two-sided 95 % quantile (Abramowitz and Stegun 26.7.5); the first two have to be exact. */
const studentT = (freedom: number): number => {
  if (freedom < 1) return Number.NaN
  if (freedom === 1) return 12.706
  if (freedom === 2) return 4.303
  const z = 1.959964
  const cube = (z ** 3 + z) / 4
  const fifth = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96
  const seventh = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384
  return z + cube / freedom + fifth / freedom ** 2 + seventh / freedom ** 3
}
