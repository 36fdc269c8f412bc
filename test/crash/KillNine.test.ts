/** Durability, the short form; `KillNine.long.test.ts` is the same over a thousand cycles. */
import { describe, expect, it } from "vitest"
import { killNineSummary, runKillNine } from "../support/KillNine.ts"
import { chosenSeed } from "../support/SeededRandom.ts"

describe("kill -9 under concurrent writers, 3 times", () => {
  it("loses no acknowledged write, doubles no retried one, and leaves rows, full text and vectors in agreement", async () => {
    const seed = chosenSeed()
    const report = await runKillNine(3, seed)
    console.log(killNineSummary(seed, report))
    expect(report).toMatchObject({ cycles: 3, lost: [], duplicates: [], refused: [], faults: [], notErased: [] })
    for (const count of Object.values(report.acknowledged)) expect(count).toBeGreaterThan(0)
    expect(report.cutOff).toBeGreaterThan(0)
  })
})
