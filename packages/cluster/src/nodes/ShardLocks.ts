/**
 * The locks of shards in PostgreSQL, as Effect Cluster keeps them, given back in a way that a node with hundreds of them
 * can afford: those of a moment in one statement, and by a node that leaves all at once. They share one connection, an
 * operation has a deadline from when it is asked, and one that misses it costs the node all its shards.
 *
 * Invariants: a shard that moves is given back once its entities have ended. A node that leaves gives all of them back
 * before that: which commits count is decided by the log, and the next owner of a namespace waits for its release there.
 */
import { Clock, Context, Deferred, Effect, Layer, type Scope, Semaphore } from "effect"
import { type ClusterError, type RunnerAddress, RunnerStorage, type ShardId, SqlRunnerStorage } from "effect/cluster"
import { make } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { untilDatabaseAnswers, asked } from "../log/LogDatabase.ts"
import type { NodeSignals } from "../log/NodeSignals.ts"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"

const tables = "muniment_cluster"

/** Between two looks at the members that no signal has asked for: heartbeats that have ended are found so. */
const lookEachMillis = 1_000
/** For shards that others are about to give back; Effect asks for those that are still missing a second later. */
const awaitedMillis = 1_000
/** From the first shard that is to be given back until the statement: entities of others end meanwhile. */
const gatherMillis = 20

type Storage = RunnerStorage.RunnerStorage["Service"]
type Signals = Pick<NodeSignals, "next" | "tell">
type Address = RunnerAddress.RunnerAddress

/** Shards that are given back together. */
interface Batch {
  readonly shards: Array<ShardId.ShardId>
  readonly given: Deferred.Deferred<void, ClusterError.PersistenceError>
}

/** Provides `RunnerStorage` over the database of the `SqlClient`. */
export const shardLocksLayer = (signals: Signals) =>
  Layer.effect(
    RunnerStorage.RunnerStorage,
    Effect.gen(function* () {
      const session = new LockSession(yield* SqlClient)
      const stored = Layer.build(SqlRunnerStorage.layerStorage({ prefix: tables }))
      const storage = Context.get(
        yield* Effect.provideService(stored, SqlClient, session.client),
        RunnerStorage.RunnerStorage
      )
      const locks = new ShardLocks({ storage, session, signals, scope: yield* Effect.scope })
      return RunnerStorage.RunnerStorage.of({
        ...storage,
        getRunners: locks.getRunners,
        register: (runner, healthy) => locks.telling(storage.register(runner, healthy)),
        setRunnerHealth: (address, healthy) => locks.telling(storage.setRunnerHealth(address, healthy)),
        unregister: locks.unregister,
        acquire: locks.acquire,
        release: locks.release
      })
    })
  ).pipe(Layer.provide(Layer.effectDiscard(Effect.orDie(untilDatabaseAnswers(migrated)))))

interface Parts {
  readonly storage: Storage
  readonly session: LockSession
  readonly signals: Signals
  /** Scope of the storage. */
  readonly scope: Scope.Scope
}

class ShardLocks {
  readonly #parts: Parts
  readonly #line = Semaphore.makeUnsafe(1)
  #hasLeft = false
  /** Takes shards until its statement begins. */
  #next: Batch | undefined
  /** Since the last look at the members. */
  #signal: Effect.Effect<void> = Effect.void

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Carries out a change of the members, tells the other nodes, and has this one look again at once. */
  readonly telling = <A, E>(change: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.tap(change, () => {
      this.#signal = Effect.void
      return this.#parts.signals.tell
    })

  /** Asked again as soon as it has answered: it waits until there may be something new. */
  readonly getRunners: Storage["getRunners"] = Effect.suspend(() =>
    Effect.timeoutOption(this.#signal, lookEachMillis).pipe(
      Effect.andThen(Effect.sync(() => void (this.#signal = this.#parts.signals.next()))),
      Effect.andThen(this.#parts.storage.getRunners)
    )
  )

  /** Who sees that it is gone finds its locks free: those who miss them at first try again a second later. */
  readonly unregister: Storage["unregister"] = (address) => {
    const { storage } = this.#parts
    const left = Effect.sync(() => void (this.#hasLeft = true))
    return this.#line
      .withPermit(Effect.andThen(storage.releaseAll(address), left))
      .pipe(Effect.ignore, Effect.andThen(this.telling(storage.unregister(address))))
  }

  /** The members learn of a new one before they have given it its shards: it waits for them. */
  readonly acquire: Storage["acquire"] = (address, shards) =>
    Effect.gen({ self: this }, function* () {
      const { signals, storage } = this.#parts
      const wanted = [...shards]
      const untilMillis = (yield* Clock.currentTimeMillis) + awaitedMillis
      const locked = Effect.suspend(() => (this.#hasLeft ? Effect.succeed([]) : storage.acquire(address, wanted)))
      for (;;) {
        const given = signals.next()
        const acquired = yield* this.#line.withPermit(locked)
        const leftMillis = untilMillis - (yield* Clock.currentTimeMillis)
        if (this.#hasLeft || acquired.length === wanted.length || leftMillis <= 0) return acquired
        yield* Effect.timeoutOption(given, leftMillis)
      }
    })

  readonly release: Storage["release"] = (address, shard) =>
    Effect.gen({ self: this }, function* () {
      const batch: Batch = (this.#next ??= { shards: [], given: Deferred.makeUnsafe() })
      batch.shards.push(shard)
      if (batch.shards.length === 1)
        yield* Effect.forkIn(Effect.delay(this.#giveBack(address, batch), gatherMillis), this.#parts.scope)
      return yield* Deferred.await(batch.given)
    })

  #giveBack(address: Address, { given, shards }: Batch): Effect.Effect<void> {
    const { session, signals, storage } = this.#parts
    const unlocked = Effect.catch(session.unlock(shards), () =>
      // Which builds the session anew.
      Effect.forEach(shards, (shard) => storage.release(address, shard), { discard: true })
    )
    return Effect.suspend(() => {
      this.#next = undefined
      return this.#hasLeft ? Effect.void : Effect.asVoid(unlocked)
    }).pipe(this.#line.withPermit, Deferred.into(given), Effect.andThen(signals.tell))
  }
}

/** As `SqlRunnerStorage.layerWith`, but that a database that misses a deadline is asked again. */
const migrated = make({})({
  loader: SqlRunnerStorage.migrations({ prefix: tables }),
  table: `${tables}_runner_migrations`
})

/** Effect's number of a lock: of the first group of shards, and there is one. */
const numberOf = ({ id }: ShardId.ShardId): number => 1_000_000 + id

const statement = `SELECT pg_advisory_unlock(classid::int4, objid::int4) FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND pid = pg_backend_pid() AND objid::int8 = ANY($1::int8[])`

/**
 * The session of PostgreSQL that holds a node's locks of shards. Effect 4.1 reserves it, keeps it to itself, and gives
 * locks back one by one, two statements each; here it is seen as it is reserved, so that many go in one.
 *
 * Invariant: what is given back are locks of this session, which end with it.
 */
class LockSession {
  /** For the storage: its reserved connection is the session. */
  readonly client: SqlClient
  /** Undefined: it has ended, or has not begun. */
  #connection: Connection | undefined

  constructor(sql: SqlClient) {
    const reserve = Effect.flatMap(sql.reserve, (connection) =>
      Effect.acquireRelease(
        Effect.sync(() => (this.#connection = connection)),
        () => Effect.sync(() => void (this.#connection === connection && (this.#connection = undefined)))
      )
    )
    this.client = new Proxy(sql, {
      get: (target, name) => (name === "reserve" ? reserve : Reflect.get(target, name))
    })
  }

  /** In one statement; without an answer some of them may be held. */
  unlock(shards: ReadonlyArray<ShardId.ShardId>) {
    return asked(
      Effect.suspend((): Effect.Effect<unknown, SqlError> =>
        this.#connection === undefined ? Effect.void : this.#connection.executeValues(statement, [shards.map(numberOf)])
      )
    )
  }
}
