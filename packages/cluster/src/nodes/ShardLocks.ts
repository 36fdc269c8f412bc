/**
 * The locks of shards in PostgreSQL, as Effect Cluster keeps them, given back in a way that a node with hundreds of them
 * can afford: one at a time, and by a node that leaves all at once. They share one connection, an operation has a deadline
 * from when it is asked, and one that misses it costs the node all its shards.
 *
 * Which commits count is decided by the log: a lock that is free before its namespaces have closed makes their next owner
 * wait, nothing more.
 */
import { Effect, Layer, Semaphore } from "effect"
import { RunnerStorage, SqlRunnerStorage } from "effect/cluster"

const tables = "muniment_cluster"

/** Provides `RunnerStorage` over the database of the `SqlClient`. */
export const shardLocksLayer = Layer.effect(
  RunnerStorage.RunnerStorage,
  Effect.gen(function* () {
    const storage = yield* RunnerStorage.RunnerStorage
    const line = yield* Semaphore.make(1)
    let isLeaving = false
    let hasLeft = false
    return RunnerStorage.RunnerStorage.of({
      ...storage,
      unregister: (address) =>
        Effect.andThen(
          Effect.sync(() => void (isLeaving = true)),
          storage.unregister(address)
        ),
      release: (address, shardId) =>
        line.withPermit(
          Effect.suspend(() => {
            if (hasLeft) return Effect.void
            if (!isLeaving) return storage.release(address, shardId)
            return Effect.tap(
              storage.releaseAll(address),
              Effect.sync(() => void (hasLeft = true))
            )
          })
        )
    })
  })
).pipe(Layer.provide(SqlRunnerStorage.layerWith({ prefix: tables })))
