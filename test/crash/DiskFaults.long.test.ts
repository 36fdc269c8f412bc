/** Faults of the disk at random calls lose, double and break nothing. */
import { expect, it } from "vitest"
import { longCount } from "../support/Repetitions.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { runDiskFaults } from "./DiskFaults.ts"

const count = longCount(500)

it(`${count} failed writes and syncs of logs, files and control.db lose and double nothing`, async () => {
  const seed = chosenSeed()
  const onFault = (fired: number) => console.log(`fault ${fired} of ${count} (seed ${seed})`)
  const report = await runDiskFaults(count, new SeededRandom(seed), onFault)
  console.log(`seed ${seed}: ${JSON.stringify(report)}`)
  expect(report).toMatchObject({ fired: count, faults: [] })
}, 3_600_000)
