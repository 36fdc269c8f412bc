/**
 * Kills, power cuts, flipped bits and other programs at the files, all on one data directory, for so many minutes:
 * `MUNIMENT_LONG_TESTS=1 MUNIMENT_TEST_MINUTES=60 npx vitest run --maxWorkers=1 test/crash/Storm.long.test.ts`.
 * Each life of the service prints its counts, so that a run that was cut off says how far it came.
 */
import { expect, it } from "vitest"
import { imageDisk, realDisk } from "../support/PowerCuts.ts"
import { longMinutes } from "../support/Repetitions.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { runStorm, stormSummary } from "./Storm.ts"

const minutes = longMinutes(3)

it(
  `${minutes} minutes of kills, power cuts, flipped bits and other programs lose nothing silently`,
  async () => {
    const seed = chosenSeed()
    const disk = realDisk(4_096)
    const where = disk === undefined ? "images" : "real disk"
    const report = await runStorm({
      disk: disk ?? imageDisk(),
      minutes,
      random: new SeededRandom(seed),
      onLife: (told) => console.log(`seed ${seed}, ${where}: ${told}`)
    })
    console.log(`storm of ${minutes} minutes, seed ${seed}, ${where}: ${stormSummary(report)}`)
    console.log(JSON.stringify(report, null, 1))
    expect(report).toMatchObject({ lost: [], early: [], silent: [], wronglySetAside: [], faults: [] })
    for (const count of [report.acknowledged, report.kills + report.cuts, report.checks, report.readers])
      expect(count).toBeGreaterThan(0)
  },
  minutes * 60_000 + 3_600_000
)
