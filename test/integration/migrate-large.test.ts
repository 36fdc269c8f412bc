/**
 * A directory of the first build, grown to thousands of memories, moves into a cluster and back: every row of
 * every table is the same, and what the first build wrote is there as it wrote it.
 */
import { join } from "node:path"
import { expect, it } from "vitest"
import { runMuniment } from "../support/CliProcess.ts"
import { ClusterMoves } from "../support/ClusterMoves.ts"
import { growFirstBuild, unpackFirstBuild } from "../support/FirstBuild.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { columnsKeptSince, migratedCopy, tablesOf } from "../support/movedRows.ts"
import { patienceMillis } from "../support/TestServer.ts"

/** In the long run those of the promise. */
const memories = isLongRun ? 20_000 : 2_000
const agents = 8
/** Each of the moves, and each of the four comparisons of all rows, takes up to a minute of a busy machine. */
const steps = 6

it(`${memories} memories move into a cluster and back`, { timeout: steps * patienceMillis }, async () => {
  const moves = await ClusterMoves.start()
  try {
    const from = join(moves.root, "box")
    const to = join(moves.root, "again")
    unpackFirstBuild(from)
    growFirstBuild(from, memories)
    const expected = tablesOf(migratedCopy(from, join(moves.root, "migrated")))
    const environment = moves.environment("postgres", from)
    const into = await runMuniment(["migrate", "--to", "cluster"], environment)
    expect(into).toMatchObject({ code: 0, err: "" })
    const back = await runMuniment(["migrate", "--from", "cluster", "--to", to], environment)
    expect(back).toMatchObject({ code: 0, err: "" })
    expect(tablesOf(to)).toEqual(expected)
    // Not by this release's migrations.
    const kept = columnsKeptSince(from, to)
    expect(tablesOf(to, kept)).toEqual(tablesOf(from, kept))
    const counts = Object.entries(expected).flatMap(([name, { count }]) => (name.endsWith(" memory") ? [count] : []))
    expect(counts).toHaveLength(agents)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(memories)
    for (const table of ["api_key", "wallet", "transfer", "payment", "memory_schema", "grant_revocation"])
      expect(expected[`control.db ${table}`]?.count).toBeGreaterThan(memories / 200)
  } finally {
    await moves.stop()
  }
})
