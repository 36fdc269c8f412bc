/**
 * Recall against latency: a contender's points along its own knob, and the latency at which the
 * curve crosses a recall, interpolated between the two points around it (latency on a log scale).
 */

export interface CurvePoint {
  /** The knob's value. */
  readonly width: number
  readonly recall: number
  readonly p50Micros: number
  readonly p99Micros: number
  /** Medians of the rounds. */
  readonly roundMicros: ReadonlyArray<number>
}

export interface Curve {
  readonly name: string
  readonly knob: string
  /** Along the knob, cheapest first. */
  readonly points: ReadonlyArray<CurvePoint>
}

export interface Crossing {
  readonly p50Micros: number
  readonly roundMicros: ReadonlyArray<number>
  /** The first knob value that reaches the recall. */
  readonly width: number
}

/** Undefined when the curve never reaches the recall. */
export const crossingAt = ({ points }: Curve, recall: number): Crossing | undefined => {
  const at = points.findIndex((point) => point.recall >= recall)
  const above = points[at]
  if (above === undefined) return undefined
  const below = points[at - 1]
  const share = below === undefined ? 1 : (recall - below.recall) / (above.recall - below.recall)
  const between = (low: number | undefined, high: number): number =>
    low === undefined ? high : low ** (1 - share) * high ** share
  return {
    width: above.width,
    p50Micros: between(below?.p50Micros, above.p50Micros),
    roundMicros: above.roundMicros.map((micros, round) => between(below?.roundMicros[round], micros))
  }
}

export const highestRecall = ({ points }: Curve): number => Math.max(...points.map(({ recall }) => recall))
