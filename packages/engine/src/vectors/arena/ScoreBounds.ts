/**
 * How far a score may lie from the float32 inner product that it stands for, and how far it usually does.
 *
 * A row y of a unit vector x is scaled so that x.y = 1: its residual r = x - y is orthogonal to x. So for a unit query q
 * with t = q.x, the part of q along x takes no part in q.r, and |q.r| <= sqrt(1 - t^2) |r| (Cauchy-Schwarz on what is
 * left of q). The query's own codes add at most |e| |y|. A bound on t in terms of the score s follows, as t moves away
 * from s only where the bound grows.
 */

/** Float32 vectors of unit norm have norms of 1 with this error at most; their sums and scores round as little. */
const rounding = 1e-5
/** The square of a residual inherits twice the error of the norm. */
const squareRounding = 2e-6
/** Largest error of a query's codes: half a step of 1 / 8,191 of its largest component in each of `width` components. */
const queryErrorMax = (largest: number, width: number): number => (largest / 8_191 / 2) * Math.sqrt(width)

/** Bounds of the true inner products for one query. */
export class ScoreBounds {
  readonly #queryError: number

  /** Takes the query's largest component after its rotation, and the number of components. */
  constructor(largest: number, width: number) {
    this.#queryError = queryErrorMax(largest, width)
  }

  /** Nothing that scores at most `score`, with a residual of at most `residual`, is truly above this. */
  upper(score: number, residual: number): number {
    return score + this.#error(Math.max(0, score - this.#slackOf(residual)), residual)
  }

  /** As `upper`, for everything that scores `score` or less. */
  upperBelow(score: number, residual: number): number {
    // Up to here the bound grows with the score; beyond, no inner product of unit vectors is above 1.
    return score < 1 - residual * residual ? this.upper(score, residual) : 1 + rounding
  }

  /** Least true score of a row that scores `score`. */
  lower(score: number, residual: number): number {
    return score - this.#error(Math.max(0, score - residual - this.#slackOf(residual)), residual)
  }

  /** `least`: the least |t| that is possible where the bound is needed. */
  #error(least: number, residual: number): number {
    const across = Math.sqrt(Math.max(0, 1 - least * least))
    return across * Math.sqrt(residual * residual + squareRounding) + this.#slackOf(residual)
  }

  #slackOf(residual: number): number {
    return this.#queryError * (1 + residual) + rounding
  }
}

/** Scores within this many deviations above a place are counted as near it. */
const nearDeviations = 2
/** With this share of the best near the last of them it is crowded, and 8-bit scores miss about a twelfth of the best. */
const crowdShare = 0.4
/** No two errors together reach this many deviations. */
const openDeviations = 10
/** Steps of a row's codes from 0 to its largest component. */
const codesMax = 127

/**
 * Standard deviation of the error of a score: the bounds above always hold, and are wider than nearly every error. The
 * residual of a row has no direction of its own. Of a unit query q with t = q.x, the error is the part of q across x
 * times a residual in one of `dims` directions: normally distributed, with a standard deviation of
 * sqrt(1 - t^2) |r| / sqrt(dims).
 */
export const scoreDeviation = (score: number, dims: number): number => {
  // The largest of `dims` normal components, in units of 1 / sqrt(dims); a step's error is spread evenly.
  const residual = Math.sqrt(2 * Math.log(Math.max(2, dims))) / codesMax / Math.sqrt(12)
  return (Math.sqrt(Math.max(0, 1 - score * score)) * residual) / Math.sqrt(dims)
}

/**
 * From which score on 8 bits leave open which are the `place` best; undefined where they tell nearly all of them.
 * `scores` are descending. What lies above the place is enough to see a crowd, so no more need to be known.
 */
export const openFrom = (scores: ArrayLike<number>, place: number, dims: number): number | undefined => {
  const last = scores[place - 1]
  if (last === undefined) return undefined
  const deviation = scoreDeviation(last, dims)
  const nearest = scores[place - 1 - Math.ceil(place * crowdShare)]
  if (nearest === undefined || nearest > last + nearDeviations * deviation) return undefined
  return last - openDeviations * deviation
}
