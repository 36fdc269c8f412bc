/**
 * What the fence is for: an owner whose lease ended while it stood still wakes up and writes. The same history with the
 * fence taken out of the database has to go wrong, or no other test of it would hold anything.
 */
import { expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { afterAll, beforeAll } from "vitest"
import { logDatabase } from "@muniment/cluster/log/LogDatabase"
import { openPostgresLog } from "@muniment/cluster/log/PostgresLog"
import { logCommit, logTag } from "../../support/CommitLogs.ts"
import { PostgresServer } from "../../../scripts/cluster/PostgresServer.ts"

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server?.stop())

const tag = logTag(1)
const written = 3

/** The comparison under the lock of the row ... */
const withoutState = `CREATE OR REPLACE FUNCTION muniment_log.admits(
  o muniment_log.namespace_owner, a_tenure bigint, a_epoch bigint, a_seq bigint, a_ordinal bigint
) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'`
/** ... and the number that no two records of a namespace have. */
const withoutNumbers = "ALTER TABLE muniment_log.namespace_log DROP CONSTRAINT namespace_log_pkey"

let databases = 0

/** -> what the owner that woke up was told, and places in the history for which there are two records. */
const stale = (without: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const name = `fence_${databases++}`
    const inDatabase = <A, E>(database: string, use: (sql: SqlClient) => Effect.Effect<A, E>) =>
      Effect.scoped(Effect.provide(SqlClient.use(use), logDatabase(server.url(database), 1)))
    yield* inDatabase("postgres", (sql) => sql.unsafe(`CREATE DATABASE ${name}`))
    const first = yield* openPostgresLog({ url: server.url(name), node: "first" })
    const second = yield* openPostgresLog({ url: server.url(name), node: "second" })
    for (const statement of without) yield* inDatabase(name, (sql) => sql.unsafe(statement))
    yield* first.claim(tag)
    yield* first.attach(tag, { epoch: 1, seq: 0 })
    for (let seq = 0; seq < written; seq++) yield* first.append(logCommit(1, seq))
    yield* inDatabase(
      name,
      (sql) =>
        sql`UPDATE muniment_log.node_lease SET expires_at = clock_timestamp() - interval '1 s', incarnation = incarnation + 1`
    )
    yield* second.claim(tag)
    yield* second.append({ ...logCommit(1, written), isClaim: true })
    const woken = yield* Effect.exit(first.append(logCommit(1, written)))
    const doubled = yield* inDatabase(
      name,
      (sql) => sql`SELECT from_seq FROM muniment_log.namespace_log GROUP BY from_seq HAVING count(*) > 1`
    )
    return { isAcknowledged: Exit.isSuccess(woken), doubled: doubled.length }
  }).pipe(Effect.scoped)

const refused = { isAcknowledged: false, doubled: 0 }

it.live("an owner that wakes up acknowledges nothing, and nothing is there twice", () =>
  Effect.map(stale([]), (outcome) => expect(outcome).toEqual(refused))
)

it.live("nor with half of the fence: no two records have one number", () =>
  Effect.map(stale([withoutState]), (outcome) => expect(outcome).toEqual(refused))
)

it.live("without the fence both owners' writes are acknowledged, of which one is lost", () =>
  Effect.map(stale([withoutState, withoutNumbers]), (outcome) =>
    expect(outcome).toEqual({ isAcknowledged: true, doubled: 1 })
  )
)
