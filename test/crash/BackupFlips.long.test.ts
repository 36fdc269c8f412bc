/** Flipped bits in backups are named by `backup verify`. */
import { expect, it } from "vitest"
import { longCount } from "../support/Repetitions.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { backupsToFlip, flipBackups } from "./BackupFlips.ts"

const flips = longCount(100)

it(`${flips} flipped bits in backups are named`, async () => {
  const seed = chosenSeed()
  const report = await flipBackups(await backupsToFlip(), flips, new SeededRandom(seed))
  console.log(`seed ${seed}: ${JSON.stringify(report, undefined, 2)}`)
  expect(report.silent).toEqual([])
}, 3_600_000)
