/** Random choices that a seed replays (mulberry32). */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** 0 <= x < 1 */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** An integer from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  pick<A>(choices: ReadonlyArray<A>): A | undefined {
    return choices[this.between(0, choices.length - 1)]
  }
}

/** The seed of `MUNIMENT_TEST_SEED`, to replay a run, else a new one. */
export const chosenSeed = (): number => Number(process.env["MUNIMENT_TEST_SEED"] ?? Date.now() % 1_000_000_007)
