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
import { make } from "effect/sql/Migrator"
import { untilDatabaseAnswers } from "../log/LogDatabase.ts"
import type { NodeSignals } from "../log/NodeSignals.ts"

const tables = "muniment_cluster"

/** Between two looks at the members that no signal has asked for: heartbeats that have ended are found so. */
export const lookEachMillis = 1_000

/** Provides `RunnerStorage` over the database of the `SqlClient`. */
export const shardLocksLayer = (signals: Pick<NodeSignals, "next" | "tell">) =>
  Layer.effect(
    RunnerStorage.RunnerStorage,
    Effect.gen(function* () {
      const storage = yield* RunnerStorage.RunnerStorage
      const line = yield* Semaphore.make(1)
      let hasLeft = false
      /** Since the last look. */
      let signal: Effect.Effect<void> = Effect.void
      const telling = <A, E>(change: Effect.Effect<A, E>) =>
        Effect.tap(change, () => {
          signal = Effect.void
          return signals.tell
        })
      return RunnerStorage.RunnerStorage.of({
        ...storage,
        // Asked again as soon as it has answered: it waits until there may be something new.
        getRunners: Effect.suspend(() =>
          Effect.timeoutOption(signal, lookEachMillis).pipe(
            Effect.andThen(Effect.sync(() => void (signal = signals.next()))),
            Effect.andThen(storage.getRunners)
          )
        ),
        register: (runner, healthy) => telling(storage.register(runner, healthy)),
        setRunnerHealth: (address, healthy) => telling(storage.setRunnerHealth(address, healthy)),
        // Who sees that it is gone finds its locks free: those who miss them at first try again a second later.
        unregister: (address) =>
          line
            .withPermit(
              Effect.tap(
                storage.releaseAll(address),
                Effect.sync(() => void (hasLeft = true))
              )
            )
            .pipe(Effect.ignore, Effect.andThen(telling(storage.unregister(address)))),
        release: (address, shardId) =>
          line.withPermit(Effect.suspend(() => (hasLeft ? Effect.void : storage.release(address, shardId))))
      })
    })
  ).pipe(
    Layer.provide(SqlRunnerStorage.layerStorage({ prefix: tables })),
    Layer.provide(Layer.effectDiscard(Effect.orDie(untilDatabaseAnswers(migrated))))
  )

/** As `SqlRunnerStorage.layerWith`, but that a database that misses a deadline is asked again. */
const migrated = make({})({
  loader: SqlRunnerStorage.migrations({ prefix: tables }),
  table: `${tables}_runner_migrations`
})
