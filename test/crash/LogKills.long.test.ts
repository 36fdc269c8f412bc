/** The kills of `LogKills.test.ts` at the length of the promise. */
import { expect, it } from "vitest"
import { longCount } from "../support/Repetitions.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { runLogKills } from "./LogKills.ts"

const kills = longCount(800)

it(`loses, doubles, reorders and brings back nothing in ${kills} kills over the log`, async () => {
  const seed = chosenSeed()
  const onCut = (kill: number) => console.log(`kill ${kill} of ${kills} (seed ${seed}): all was right`)
  const report = await runLogKills(kills, new SeededRandom(seed), { onCut })
  console.log(`seed ${seed}: ${JSON.stringify(report)}`)
  expect(report).toMatchObject({ cuts: kills, faults: [] })
}, 3_600_000)
