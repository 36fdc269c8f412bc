/** Durability at the length of the promise: 200 cycles of kill -9, a thousand by five seeds. */
import { describe, expect, it } from "vitest"
import { killNineSummary, runKillNine } from "../support/KillNine.ts"
import { longCount } from "../support/Repetitions.ts"
import { chosenSeed } from "../support/SeededRandom.ts"

const kills = longCount(200)

describe(`kill -9 under concurrent writers, ${kills} times`, () => {
  it("loses no acknowledged write, doubles no retried one, and leaves rows, full text and vectors in agreement", async () => {
    const seed = chosenSeed()
    const report = await runKillNine(kills, seed)
    console.log(killNineSummary(seed, report))
    expect(report).toMatchObject({ cycles: kills, lost: [], duplicates: [], refused: [], faults: [], notErased: [] })
    for (const count of Object.values(report.acknowledged)) expect(count).toBeGreaterThan(0)
  }, 3_600_000)
})
