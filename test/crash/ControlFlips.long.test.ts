/**
 * Flipped bits in `control.db` and what it is made from do no silent damage; printed as they come, so that a run that was
 * cut off says how far it came.
 */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { longCount } from "../support/Repetitions.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { controlToFlip, flipControl } from "./ControlFlips.ts"

const flips = longCount(300)
const printedEach = 10

it.live(
  `${flips} flipped bits in control.db, its base and the logs are mended or named`,
  () =>
    Effect.gen(function* () {
      const seed = chosenSeed()
      const random = new SeededRandom(seed)
      const image = yield* controlToFlip(temporaryDirectory(), random)
      const work = temporaryDirectory()
      for (let done = 0; done < flips; done += printedEach) {
        const report = yield* flipControl(work, image, Math.min(printedEach, flips - done), random)
        console.log(`seed ${seed}, after ${done} flips: ${JSON.stringify(report)}`)
        expect(report).toMatchObject({ raw: [], silent: [] })
      }
    }),
  3_600_000
)
