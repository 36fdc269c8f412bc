/**
 * Moving average of actual cost divided by estimated cost, per result count k; multiplies the planner's estimates (rows
 * re-ranked, lists probed). `fade` moves the factor towards 1 whenever another engine answers, so that a penalised
 * engine is tried again.
 */

/** Searches that the average looks back on. */
const searchesAveraged = 8
/** Share of the correction that is left after a search that another engine answered. */
const fadeFactor = 0.998
/** Result counts between two powers of this share one factor. */
const countBase = 4

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
    this.#factors[bucketOf(k)] = 1 + (this.factorFor(k) - 1) * fadeFactor
  }
}

const bucketOf = (k: number): number => Math.ceil(Math.log(Math.max(1, k)) / Math.log(countBase))
