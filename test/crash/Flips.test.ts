/** Flipped bits do no silent damage: the short form of `Flips.long.test.ts`. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { directoryToFlip, erasedFiles, runFlips } from "./Flips.ts"

const flips = 10

it.live.each([["logs and files"], ["files whose records are erased"]])(
  `%s: ${flips} flipped bits leave every agent whole, or named`,
  ([where]) =>
    Effect.gen(function* () {
      const seed = chosenSeed()
      const random = new SeededRandom(seed)
      const work = temporaryDirectory()
      const prepared = yield* directoryToFlip(work, random)
      expect(prepared.setAside).toEqual([])
      const kinds = where === "logs and files" ? undefined : [erasedFiles]
      const report = yield* runFlips(work, prepared, flips, random, kinds)
      console.log(`seed ${seed}, ${where}: ${JSON.stringify(report)}`)
      expect(report).toMatchObject({ flips, silent: [] })
    })
)
