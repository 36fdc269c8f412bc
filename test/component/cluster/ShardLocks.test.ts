/** The locks of shards over a real PostgreSQL: who leaves gives back all at once, who stays what it is asked for. */
import { PgClient } from "@effect/sql-pg/PgClient"
import { Context, Effect, Fiber, Layer } from "effect"
import { Runner, RunnerAddress, RunnerStorage, ShardId, ShardingConfig } from "effect/cluster"
import { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { expect } from "vitest"
import { logDatabase } from "@muniment/cluster/log/LogDatabase"
import { NodeSignals } from "@muniment/cluster/log/NodeSignals"
import { shardLocksLayer } from "@muniment/cluster/nodes/ShardLocks"
import { it } from "../../support/it.ts"
import { usePostgres } from "../../support/usePostgres.ts"

const server = usePostgres()

const shards = Array.from({ length: 1_024 }, (_, at) => ShardId.make("default", at + 1))
const one = RunnerAddress.make("127.0.0.1", 1)
const runner = Runner.make({ address: one, groups: ["default"], weight: 1 })
const other = RunnerAddress.make("127.0.0.1", 2)

const signalsOf = Effect.gen(function* () {
  const sql = Context.get(yield* Layer.build(Layer.fresh(logDatabase(server.url(), 2))), PgClient)
  return yield* NodeSignals.open(sql, sql)
})

/** What the session of the locks is asked goes to `statements`. */
const locksWith = Effect.fnUntraced(function* (statements: Array<string>) {
  const database = Layer.effect(
    SqlClient,
    Effect.map(SqlClient, (sql) => watched(sql, statements))
  ).pipe(Layer.provide(logDatabase(server.url(), 4)))
  const context = yield* Layer.build(
    shardLocksLayer(yield* signalsOf).pipe(
      Layer.provide(database),
      Layer.provide(ShardingConfig.layer({ shardsPerGroup: shards.length, shardLockExpiration: 15_000 })),
      Layer.fresh
    )
  )
  return Context.get(context, RunnerStorage.RunnerStorage)
})

const watched = (sql: SqlClient, statements: Array<string>): SqlClient => {
  const watch = (connection: Connection): Connection => {
    const noted =
      <A>(method: (text: string, values: ReadonlyArray<unknown>, ...rest: Array<undefined>) => A): typeof method =>
      (text, ...rest) => {
        statements.push(text)
        return method.call(connection, text, ...rest)
      }
    return Object.assign(Object.create(connection) as Connection, {
      executeRaw: noted(connection.executeRaw),
      executeValues: noted(connection.executeValues),
      executeUnprepared: noted(connection.executeUnprepared)
    })
  }
  const reserve = Effect.map(sql.reserve, watch)
  return new Proxy(sql, { get: (target, name) => (name === "reserve" ? reserve : Reflect.get(target, name)) })
}

const locksOf = Effect.suspend(() => locksWith([]))

it.live("a node that stays gives back the shards of a moment in one statement, and keeps the others", function* () {
  const statements: Array<string> = []
  const [mine, theirs] = yield* Effect.all([locksWith(statements), locksOf])
  expect(yield* mine.acquire(one, shards)).toHaveLength(shards.length)
  const given = shards.slice(0, 700)
  statements.length = 0
  yield* Effect.forEach(given, (shard) => mine.release(one, shard), { concurrency: "unbounded" })
  expect(statements).toHaveLength(1)
  const acquired = yield* theirs.acquire(other, shards)
  expect(new Set(acquired)).toEqual(new Set(given))
  expect(yield* mine.refresh(one, shards)).toHaveLength(shards.length - given.length)
})

it.live("a node gets shards that others are about to give back as soon as they do", function* () {
  const [mine, theirs] = yield* Effect.all([locksOf, locksOf])
  yield* mine.acquire(one, shards)
  const given = shards.slice(0, 300)
  const acquired = yield* Effect.forkChild(theirs.acquire(other, given), { startImmediately: true })
  yield* Effect.forEach(given, (shard) => mine.release(one, shard), { concurrency: "unbounded" })
  expect(yield* Fiber.join(acquired)).toHaveLength(given.length)
})

it.live(
  "a node whose session was ended holds nothing, gives back what it is asked for, and can lock again",
  function* () {
    const [mine, theirs] = yield* Effect.all([locksOf, locksOf])
    yield* mine.acquire(one, shards)
    const sql = Context.get(yield* Layer.build(Layer.fresh(logDatabase(server.url(), 1))), PgClient)
    yield* sql`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted`
    // As Effect Cluster does.
    yield* Effect.eventually(mine.release(one, shards[0]!))
    expect(yield* theirs.acquire(other, shards.slice(0, 500))).toHaveLength(500)
    expect(new Set(yield* mine.acquire(one, shards))).toEqual(new Set(shards.slice(500)))
  }
)

it.live("what one node tells the others hear, once they listen", function* () {
  const [mine, theirs] = yield* Effect.all([signalsOf, signalsOf])
  // Each is woken when it listens, too.
  yield* theirs.next()
  const heard = yield* Effect.forkChild(theirs.next())
  yield* mine.tell
  yield* Fiber.join(heard)
})

it.live("a node that leaves has given back all of them when it is gone from the list", function* () {
  const [mine, theirs] = yield* Effect.all([locksOf, locksOf])
  expect(yield* mine.acquire(one, shards)).toHaveLength(shards.length)
  yield* mine.register(runner, true)
  expect(yield* theirs.getRunners).toEqual([[runner, true]])
  yield* mine.unregister(one)
  expect(yield* theirs.getRunners).toEqual([])
  expect(yield* theirs.acquire(other, shards)).toHaveLength(shards.length)
})
