/**
 * How many rows a search of the codes scores: what usual vectors need, and how many times more these did. Codes tell
 * little of vectors without structure, and a search for a hundred results then scores most of what it looks at.
 */

/** Fitted to counts at k 10 and 100 on real and synthetic vectors (bench/index). */
const rowsPerBest = 2
/** Searches that the excess looks back on. */
const memory = 8
/** Of the excess, what is left after each search that another engine answered because of it. */
const fading = 0.998
/** Excesses are kept for k up to powers of this. */
const base = 4

/** Rows scored for k of n codes: each new best one, and those that the error of the estimate lets through. */
export const usualRows = (k: number, codes: number): number => rowsPerBest * k * Math.log(Math.E + codes / k)

export class ScoredRows {
  readonly #excesses: Array<number> = []

  /** How many times more rows than usual a search for k results scores. */
  excessFor(k: number): number {
    return this.#excesses[placeOf(k)] ?? 1
  }

  /** A search that looked at so many codes scored so many rows. */
  note(k: number, codes: number, scored: number): void {
    if (k === 0 || codes === 0) return
    const excess = this.excessFor(k)
    this.#excesses[placeOf(k)] = excess + (scored / Math.min(codes, usualRows(k, codes)) - excess) / memory
  }

  /** Another engine answered, so nothing was found out: in time it is tried again. */
  fade(k: number): void {
    this.#excesses[placeOf(k)] = 1 + (this.excessFor(k) - 1) * fading
  }
}

const placeOf = (k: number): number => Math.ceil(Math.log(Math.max(1, k)) / Math.log(base))
