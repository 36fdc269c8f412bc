/** The kills of `LogKills.test.ts` at the length of the promise. */
import { expect, it } from "vitest"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { runLogKills } from "./LogKills.ts"

const kills = 800

it(`loses, doubles, reorders and brings back nothing in ${kills} kills over the log`, async () => {
  const seed = chosenSeed()
  const report = await runLogKills(kills, new SeededRandom(seed))
  console.log(`seed ${seed}: ${JSON.stringify(report)}`)
  expect(report).toMatchObject({ cuts: kills, faults: [] })
}, 3_600_000)
