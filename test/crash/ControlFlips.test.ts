/** Flipped bits in `control.db` and what it is made from do no silent damage. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { controlToFlip, flipControl } from "./ControlFlips.ts"

const flips = 6

it.live(
  `${flips} flipped bits in control.db, its base and the logs are mended or named`,
  () =>
    Effect.gen(function* () {
      const seed = chosenSeed()
      const random = new SeededRandom(seed)
      const image = yield* controlToFlip(temporaryDirectory(), random)
      const report = yield* flipControl(temporaryDirectory(), image, flips, random)
      console.log(`seed ${seed}: ${JSON.stringify(report, undefined, 2)}`)
      expect(report).toMatchObject({ raw: [], silent: [] })
    }),
  3_600_000
)
