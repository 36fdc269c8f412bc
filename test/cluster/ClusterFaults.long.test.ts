/** A cluster under faults at the length of the promise: a hundred rounds of each, in slices of one seed each. */
import { describe, expect, it } from "vitest"
import { longCount } from "../support/Repetitions.ts"
import { chosenSeed } from "../support/SeededRandom.ts"
import { faultSummary, runClusterFaults } from "./ClusterFaults.ts"
import { faults } from "./faults/faults.ts"

const rounds = longCount(100 * faults.length)

describe(`a cluster under faults, ${rounds} rounds`, () => {
  it("loses no acknowledged write, doubles none, reads none too late, and keeps its books", async () => {
    const seed = chosenSeed()
    const report = await runClusterFaults(rounds, seed)
    console.log(faultSummary(seed, report))
    expect(report).toMatchObject({ lost: [], doubled: [], stale: [], refused: [], books: [] })
    expect(report.takeovers).toHaveLength(rounds)
    expect(report.acknowledged).toBeGreaterThan(rounds)
  }, 3_600_000)
})
