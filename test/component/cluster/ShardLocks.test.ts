/** The locks of shards over a real PostgreSQL: who leaves gives back all at once, who stays one by one. */
import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { RunnerAddress, RunnerStorage, ShardId, ShardingConfig } from "effect/cluster"
import { afterAll, beforeAll } from "vitest"
import { logDatabase } from "@muniment/cluster/log/LogDatabase"
import { shardLocksLayer } from "@muniment/cluster/nodes/ShardLocks"
import { PostgresServer } from "../../../scripts/cluster/PostgresServer.ts"

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server?.stop())

const shards = Array.from({ length: 1_024 }, (_, at) => ShardId.make("default", at + 1))
const one = RunnerAddress.make("127.0.0.1", 1)
const other = RunnerAddress.make("127.0.0.1", 2)

const locksOf = Effect.suspend(() =>
  Layer.build(
    shardLocksLayer.pipe(
      Layer.provide(logDatabase(server.url(), 4)),
      Layer.provide(ShardingConfig.layer({ shardsPerGroup: shards.length, shardLockExpiration: 15_000 }))
    )
  )
).pipe(Effect.map((context) => Context.get(context, RunnerStorage.RunnerStorage)))

it.live("a node that stays gives back the shards it is asked for, however many at once, and keeps the others", () =>
  Effect.gen(function* () {
    const [mine, theirs] = yield* Effect.all([locksOf, locksOf])
    expect(yield* mine.acquire(one, shards)).toHaveLength(shards.length)
    const given = shards.slice(0, 700)
    yield* Effect.forEach(given, (shard) => mine.release(one, shard), { concurrency: "unbounded" })
    expect(yield* theirs.acquire(other, shards)).toHaveLength(given.length)
  }).pipe(Effect.scoped)
)

it.live("a node that leaves gives back all of them with the first", () =>
  Effect.gen(function* () {
    const [mine, theirs] = yield* Effect.all([locksOf, locksOf])
    expect(yield* mine.acquire(one, shards)).toHaveLength(shards.length)
    yield* mine.unregister(one)
    yield* mine.release(one, shards[0]!)
    expect(yield* theirs.acquire(other, shards)).toHaveLength(shards.length)
  }).pipe(Effect.scoped)
)
