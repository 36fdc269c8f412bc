/**
 * The session of PostgreSQL that holds a node's locks of shards. Effect 4.1 reserves it, keeps it to itself, and gives
 * locks back one by one, two statements each; here it is seen as it is reserved, so that many go in one.
 *
 * Invariant: what is given back are locks of this session, which end with it.
 */
import { Effect } from "effect"
import type { ShardId } from "effect/cluster"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import { asked } from "../log/LogDatabase.ts"

/** Effect's number of a lock: of the first group of shards, and there is one. */
const numberOf = ({ id }: ShardId.ShardId): number => 1_000_000 + id

const statement = `SELECT pg_advisory_unlock(classid::int4, objid::int4) FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND pid = pg_backend_pid() AND objid::int8 = ANY($1::int8[])`

export class LockSession {
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
