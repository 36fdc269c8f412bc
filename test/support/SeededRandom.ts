/** Random choices that a seed replays. */
import { seededSequence } from "@muniment/engine/vectors/arena/Slab"

export class SeededRandom {
  /** 0 <= x < 1 */
  readonly next: () => number

  constructor(seed: number) {
    this.next = seededSequence(seed)
  }

  /** An integer from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  pick<A>(choices: ReadonlyArray<A>): A | undefined {
    return choices[this.between(0, choices.length - 1)]
  }
}

const chosen = new Set<number>()

/** The seed of `MUNIMENT_TEST_SEED`, to replay a run, else a new one. A test that fails names it (`namedSeeds.ts`). */
export const chosenSeed = (): number => {
  const seed = Number(process.env["MUNIMENT_TEST_SEED"] ?? Date.now() % 1_000_000_007)
  chosen.add(seed)
  return seed
}

/** Chosen since the last call: files share their process. */
export const takeSeeds = (): ReadonlyArray<number> => {
  const seeds = [...chosen]
  chosen.clear()
  return seeds
}
