/** The locks of shards over a real PostgreSQL: who leaves gives back all at once, who stays one by one. */
import { PgClient } from "@effect/sql-pg/PgClient"
import { expect, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { Runner, RunnerAddress, RunnerStorage, ShardId, ShardingConfig } from "effect/cluster"
import { afterAll, beforeAll } from "vitest"
import { logDatabase } from "@muniment/cluster/log/LogDatabase"
import { NodeSignals } from "@muniment/cluster/log/NodeSignals"
import { shardLocksLayer } from "@muniment/cluster/nodes/ShardLocks"
import { PostgresServer } from "../../../scripts/cluster/PostgresServer.ts"

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server?.stop())

const shards = Array.from({ length: 1_024 }, (_, at) => ShardId.make("default", at + 1))
const one = RunnerAddress.make("127.0.0.1", 1)
const runner = Runner.make({ address: one, groups: ["default"], weight: 1 })
const other = RunnerAddress.make("127.0.0.1", 2)

const signalsOf = Effect.gen(function* () {
  const sql = Context.get(yield* Layer.build(Layer.fresh(logDatabase(server.url(), 2))), PgClient)
  return yield* NodeSignals.open(sql, sql)
})

const locksOf = Effect.gen(function* () {
  const context = yield* Layer.build(
    shardLocksLayer(yield* signalsOf).pipe(
      Layer.provide(logDatabase(server.url(), 4)),
      Layer.provide(ShardingConfig.layer({ shardsPerGroup: shards.length, shardLockExpiration: 15_000 })),
      Layer.fresh
    )
  )
  return Context.get(context, RunnerStorage.RunnerStorage)
})

it.live("a node that stays gives back the shards it is asked for, however many at once, and keeps the others", () =>
  Effect.gen(function* () {
    const [mine, theirs] = yield* Effect.all([locksOf, locksOf])
    expect(yield* mine.acquire(one, shards)).toHaveLength(shards.length)
    const given = shards.slice(0, 700)
    yield* Effect.forEach(given, (shard) => mine.release(one, shard), { concurrency: "unbounded" })
    expect(yield* theirs.acquire(other, shards)).toHaveLength(given.length)
  }).pipe(Effect.scoped)
)

it.live("what one node tells the others hear, once they listen", () =>
  Effect.gen(function* () {
    const [mine, theirs] = yield* Effect.all([signalsOf, signalsOf])
    // Each is woken when it listens, too.
    yield* theirs.next()
    const heard = yield* Effect.forkChild(theirs.next())
    yield* mine.tell
    yield* Fiber.join(heard)
  }).pipe(Effect.scoped)
)

it.live("a node that leaves has given back all of them when it is gone from the list", () =>
  Effect.gen(function* () {
    const [mine, theirs] = yield* Effect.all([locksOf, locksOf])
    expect(yield* mine.acquire(one, shards)).toHaveLength(shards.length)
    yield* mine.register(runner, true)
    expect(yield* theirs.getRunners).toEqual([[runner, true]])
    yield* mine.unregister(one)
    expect(yield* theirs.getRunners).toEqual([])
    expect(yield* theirs.acquire(other, shards)).toHaveLength(shards.length)
  }).pipe(Effect.scoped)
)
