/** Flipped bits do no silent damage: the short form of `Flips.long.test.ts`. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { directoryToFlip, runFlips } from "./Flips.ts"

const flips = 30

it.live(`${flips} flipped bits in logs and files leave every agent whole, or named`, () =>
  Effect.gen(function* () {
    const seed = chosenSeed()
    const random = new SeededRandom(seed)
    const work = temporaryDirectory()
    const prepared = yield* directoryToFlip(work, random)
    expect(prepared.setAside).toEqual([])
    const report = yield* runFlips(work, prepared, flips, random)
    console.log(`seed ${seed}: ${JSON.stringify(report)}`)
    expect(report).toMatchObject({ flips, silent: [] })
  })
)
