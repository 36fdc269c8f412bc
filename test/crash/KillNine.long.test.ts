/**
 * Durability at the length of the promise: 200 kills of a service with its model, whose loading is most of such a
 * cycle, and 800 of one without. Each kill is printed, so that a run that was cut off says how far it came;
 * `MUNIMENT_TEST_COUNT` is the number of kills of each.
 */
import { expect, it } from "vitest"
import { killNineSummary, runKillNine } from "../support/KillNine.ts"
import { longCount } from "../support/Repetitions.ts"
import { chosenSeed } from "../support/SeededRandom.ts"
import { withoutModel } from "../support/SharedServer.ts"

it.each([
  { name: "with a model", kills: longCount(200), environment: {} },
  { name: "without a model", kills: longCount(800), environment: withoutModel }
])(
  "$kills kills $name lose no acknowledged write, double no retried one, and leave rows, full text and vectors in agreement",
  async ({ environment, kills, name }) => {
    const seed = chosenSeed()
    const onCycle = (cycle: number) => console.log(`kill ${cycle} of ${kills} (seed ${seed}, ${name}): all was right`)
    const report = await runKillNine(kills, seed, { environment, onCycle })
    console.log(killNineSummary(seed, report))
    expect(report).toMatchObject({ cycles: kills, lost: [], duplicates: [], refused: [], faults: [], notErased: [] })
    for (const count of Object.values(report.acknowledged)) expect(count).toBeGreaterThan(0)
  },
  3_600_000
)
