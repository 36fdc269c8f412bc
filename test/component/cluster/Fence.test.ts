/**
 * What the fence is for: an owner whose lease ended while it stood still wakes up and writes. The same history with the
 * fence taken out of the database has to go wrong, or no other test of it would hold anything.
 */
import { expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { openPostgresLog } from "@muniment/cluster/log/PostgresLog"
import { endLeases, inDatabase } from "../../support/ClusterDatabase.ts"
import { logCommit, logTag } from "../../support/CommitLogs.ts"
import { usePostgres } from "../../support/usePostgres.ts"

const server = usePostgres()

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
const stale = Effect.fnUntraced(function* (without: ReadonlyArray<string>) {
  const name = `fence_${databases++}`
  const url = server.url(name)
  yield* inDatabase(server.url(), (sql) => sql.unsafe(`CREATE DATABASE ${name}`))
  const first = yield* openPostgresLog({ url, node: "first" })
  const second = yield* openPostgresLog({ url, node: "second" })
  for (const statement of without) yield* inDatabase(url, (sql) => sql.unsafe(statement))
  yield* first.claim(tag)
  yield* first.attach(tag, { epoch: 1, seq: 0 })
  for (let seq = 0; seq < written; seq++) yield* first.append(logCommit(1, seq))
  yield* inDatabase(url, endLeases)
  yield* second.claim(tag)
  yield* second.append({ ...logCommit(1, written), isClaim: true })
  const woken = yield* Effect.exit(first.append(logCommit(1, written)))
  const doubled = yield* inDatabase(
    url,
    (sql) => sql`SELECT from_seq FROM muniment_log.namespace_log GROUP BY from_seq HAVING count(*) > 1`
  )
  return { isAcknowledged: Exit.isSuccess(woken), doubled: doubled.length }
})

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
