/**
 * How many times more than expected searches have taken of something lately, so that the planner expects it too: of
 * rows that they scored, where codes tell little of vectors without structure; of lists that they looked into, where
 * a filter lets little through around the query.
 */

/** Searches that an excess looks back on. */
const memory = 8
/** Of the excess, what is left after each search that another engine answered because of it. */
const fading = 0.998
/** Excesses are kept for k up to powers of this. */
const base = 4

export class Excess {
  readonly #excesses: Array<number> = []

  /** 1 where nothing is known of searches for k results. */
  of(k: number): number {
    return this.#excesses[placeOf(k)] ?? 1
  }

  /** A search took so many times what was expected. */
  note(k: number, ratio: number): void {
    const excess = this.of(k)
    this.#excesses[placeOf(k)] = excess + (ratio - excess) / memory
  }

  /** Another engine answered, so nothing was found out: in time it is tried again. */
  fade(k: number): void {
    this.#excesses[placeOf(k)] = 1 + (this.of(k) - 1) * fading
  }
}

const placeOf = (k: number): number => Math.ceil(Math.log(Math.max(1, k)) / Math.log(base))
