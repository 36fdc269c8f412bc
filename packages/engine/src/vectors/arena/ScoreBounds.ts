/**
 * Bounds of how far a score may lie from the float32 inner product that it stands for.
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

  /** What scores `score` is truly at least this. */
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
