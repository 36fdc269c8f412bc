/** Faults of the disk at random calls lose, double and break nothing: the short form of `DiskFaults.long.test.ts`. */
import { expect, it } from "vitest"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { runDiskFaults } from "./DiskFaults.ts"

const count = 25

it(`${count} failed writes and syncs of logs, files and control.db lose and double nothing`, async () => {
  const seed = chosenSeed()
  const report = await runDiskFaults(count, new SeededRandom(seed))
  console.log(`seed ${seed}: ${JSON.stringify(report)}`)
  expect(report).toMatchObject({ fired: count, faults: [] })
})
