/** Commits whose wait for the synchronous standby is cancelled: PostgreSQL answers them as if they were on the standby. */
import { Effect, Fiber } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { afterAll, beforeAll, describe, expect } from "vitest"
import { asked } from "@muniment/cluster/log/LogDatabase"
import { openPostgresLog } from "@muniment/cluster/log/PostgresLog"
import { inDatabase } from "../../support/ClusterDatabase.ts"
import { logCommit, logTag } from "../../support/CommitLogs.ts"
import { PostgresServer } from "../../../scripts/cluster/PostgresServer.ts"
import { Standby } from "../../support/Standby.ts"
import { it } from "../../support/it.ts"

let server: PostgresServer
let standby: Standby
beforeAll(async () => {
  server = await PostgresServer.start()
  standby = await Standby.start(server)
})
afterAll(async () => {
  await standby?.stop()
  await server?.stop()
})

const inServer = <A, E>(use: (sql: SqlClient) => Effect.Effect<A, E>) =>
  Effect.suspend(() => inDatabase(server.url(), use))

/** Ends the wait of the session that waits for the standby with that statement. */
const endWait = (by: "pg_cancel_backend" | "pg_terminate_backend", statement: string) =>
  inServer((sql) =>
    sql
      .unsafe(
        `SELECT ${by}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND starts_with(query, '${statement}')`
      )
      .pipe(Effect.repeat({ until: (rows) => rows.length > 0 }))
  )

/** While nothing reaches the standby. */
const withoutStandby = <A, E, R>(steps: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => standby.link.hold()),
    () => steps,
    () => Effect.sync(() => standby.link.mend())
  )

describe("a commit whose wait for the standby is ended", () => {
  const append = (number: number, by: "pg_cancel_backend" | "pg_terminate_backend") =>
    Effect.scoped(
      Effect.gen(function* () {
        const log = yield* openPostgresLog({ url: server.url(), node: `node ${number}` })
        yield* log.claim(logTag(number))
        yield* log.attach(logTag(number), { epoch: 1, seq: 0 })
        yield* log.append(logCommit(number, 0))
        const outcome = yield* withoutStandby(
          Effect.gen(function* () {
            const appending = yield* Effect.forkScoped(Effect.flip(log.append(logCommit(number, 1))))
            yield* endWait(by, "SELECT append")
            return yield* Fiber.join(appending)
          })
        )
        expect(outcome._tag).toBe("LogFault")
        // The claim is on the standby, and so is what came before it.
        expect((yield* log.claim(logTag(number))).state).toEqual({ epoch: 1, seq: 2 })
        yield* log.append(logCommit(number, 2))
        return outcome.message
      })
    )

  it.live("is a fault of the log when it is cancelled", function* () {
    expect(yield* append(1, "pg_cancel_backend")).toContain("may not be on the standby")
  })

  it.live("is a fault of the log when its session is ended", () => append(2, "pg_terminate_backend"))

  it.live("is a fault of a transaction of several statements", function* () {
    yield* inServer((sql) => sql`CREATE TABLE steps (step int)`)
    const outcome = yield* withoutStandby(
      Effect.gen(function* () {
        const steps = inServer((sql) =>
          asked(
            sql.withTransaction(Effect.andThen(sql`INSERT INTO steps VALUES (1)`, sql`INSERT INTO steps VALUES (2)`))
          )
        )
        const running = yield* Effect.forkChild(Effect.flip(steps))
        yield* endWait("pg_cancel_backend", "COMMIT")
        return yield* Fiber.join(running)
      })
    )
    expect(outcome._tag).toBe("LogFault")
  })
})
