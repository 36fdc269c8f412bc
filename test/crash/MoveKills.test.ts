/**
 * Moves between a directory of the first build, grown, and a cluster are killed at random moments and repeated. After each
 * kill neither side is half: the cluster has nothing or everything, the new directory is refused or whole; and at the end
 * every row of every table is the same.
 */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startMuniment } from "../support/CliProcess.ts"
import { ClusterMoves } from "../support/ClusterMoves.ts"
import { growFirstBuild, unpackFirstBuild } from "../support/FirstBuild.ts"
import { migratedCopy, tablesOf } from "../support/movedRows.ts"
import { repetitions } from "../support/Repetitions.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { patienceMillis } from "../support/TestServer.ts"

const rounds = repetitions(4)
/** After so many kills of a move it is left alone. */
const killsMax = 3
const memories = 300

let moves: ClusterMoves

beforeAll(async () => {
  moves = await ClusterMoves.start()
}, patienceMillis)
afterAll(() => moves?.stop())

/** Kills the command so many milliseconds after its start, if it runs by then; -> whether it had ended well. */
const killedAfter = async (millis: number, args: ReadonlyArray<string>, environment: Record<string, string>) => {
  const { ended, process } = startMuniment(["migrate", ...args], environment)
  const timer = setTimeout(() => process.kill("SIGKILL"), millis)
  const { code, err } = await ended
  clearTimeout(timer)
  if (code !== null) expect(code, err).toBe(0)
  return code === 0
}

/** Of the cluster; none while it has no tables. */
const ownersIn = (database: string): Promise<number> =>
  moves.in(database, (sql) =>
    Effect.gen(function* () {
      const [table] = yield* sql<{ there: boolean }>`SELECT to_regclass('muniment_log.move') IS NOT NULL AS there`
      if (table?.there !== true) return 0
      const [row] = yield* sql<{ owners: number }>`SELECT count(*)::int4 AS owners FROM muniment_log.namespace_owner`
      return row!.owners
    })
  )

describe(`moves that are killed, ${rounds} rounds there and back`, () => {
  it("lose and double nothing, and leave no side half", { timeout: rounds * patienceMillis }, async () => {
    const random = new SeededRandom(chosenSeed())
    let kills = 0
    /** Of a move that is left alone, as far as is known. */
    let longest = 1_500
    const untilDone = async (args: ReadonlyArray<string>, environment: Record<string, string>, look: () => unknown) => {
      for (let attempt = 0; ; attempt++) {
        const begun = performance.now()
        const isLast = attempt === killsMax
        const limit = isLast
          ? patienceMillis
          : random.between(Math.floor(longest / 8), Math.ceil(longest / (attempt === 0 ? 2 : 1)))
        if (await killedAfter(limit, args, environment)) {
          longest = performance.now() - begun
          return
        }
        kills++
        await look()
      }
    }
    for (let round = 0; round < rounds; round++) {
      const database = `round_${round}`
      await moves.make(database)
      const from = join(moves.root, `box-${round}`)
      const to = join(moves.root, `again-${round}`)
      unpackFirstBuild(from)
      growFirstBuild(from, memories)
      const expected = tablesOf(migratedCopy(from, join(moves.root, `migrated-${round}`)))
      const whole = readdirSync(join(from, "namespaces")).filter((name) => name.endsWith(".db")).length + 1
      const environment = moves.environment(database, from)
      await untilDone(["--to", "cluster"], environment, async () =>
        expect([0, whole]).toContain(await ownersIn(database))
      )
      expect(await ownersIn(database)).toBe(whole)
      await untilDone(["--from", "cluster", "--to", to], environment, async () => {
        expect(await ownersIn(database)).toBe(whole)
        if (!existsSync(join(to, "control.db")) || existsSync(join(to, "restore-unfinished"))) return
        expect(tablesOf(to)).toEqual(expected)
      })
      expect(tablesOf(to)).toEqual(expected)
    }
    expect(kills).toBeGreaterThan(0)
  })
})
