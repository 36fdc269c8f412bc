/**
 * Flipped bits do no silent damage: the flips of `Flips.test.ts` at the length of the promise, out of the bundle, since
 * every flip starts the engine's threads. Printed as they come, so that a run that was cut off says how far it came.
 */
import { expect, it } from "vitest"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { bundledModule } from "../support/BundledService.ts"
import { longCount } from "../support/Repetitions.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import type { BundledFlips } from "./Flips.ts"

const flips = longCount(300)
const printedEach = 10

it.each(["logs and files", "files whose records are erased"])(
  `%s: ${flips} flipped bits leave every agent whole, or named`,
  async (where) => {
    const { erasedFiles, flip, prepareFlips } = await bundledModule<BundledFlips>("test/crash/Flips.ts")
    const seed = chosenSeed()
    const random = new SeededRandom(seed)
    const work = temporaryDirectory()
    const prepared = await prepareFlips(work, random)
    expect(prepared.setAside).toEqual([])
    const kinds = where === "logs and files" ? undefined : [erasedFiles]
    for (let done = 0; done < flips; done += printedEach) {
      const report = await flip(work, prepared, Math.min(printedEach, flips - done), random, kinds)
      console.log(`seed ${seed}, ${where}, after ${done} flips: ${JSON.stringify(report)}`)
      expect(report).toMatchObject({ flips: Math.min(printedEach, flips - done), silent: [] })
    }
  },
  3_600_000
)
