/**
 * Moving average of actual cost divided by estimated cost, per result count k; multiplies the planner's estimates (rows
 * re-ranked, lists probed). `fade` moves the factor towards 1 whenever another engine answers, so that a penalised
 * engine is tried again.
 */

/** Searches that the average looks back on. */
const searchesAveraged = 8
/** Share of the correction that is left after a search that another engine answered. */
const fadeFactor = 0.998

export class CostCorrection {
  readonly #factors: Array<number> = []

  /** 1 before the first search for about k results. */
  factorFor(k: number): number {
    return this.#factors[bucketOf(k)] ?? 1
  }

  /** `ratio` is the actual cost of a search divided by its uncorrected estimate. */
  record(k: number, ratio: number): void {
    const factor = this.factorFor(k)
    this.#factors[bucketOf(k)] = factor + (ratio - factor) / searchesAveraged
  }

  fade(k: number): void {
    const bucket = bucketOf(k)
    const factor = this.#factors[bucket]
    if (factor !== undefined) this.#factors[bucket] = 1 + (factor - 1) * fadeFactor
  }
}

/** Result counts between two powers of 4 share one factor: the logarithm of k, rounded up, without a call of `log`. */
const bucketOf = (k: number): number => (33 - Math.clz32(Math.max(1, k) - 1)) >>> 1
