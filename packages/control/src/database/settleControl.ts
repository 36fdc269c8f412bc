/**
 * Upkeep of `control.db`, every minute: its write-ahead log is copied into the file, and the commit log is told, so
 * that it need not keep the changes; text that was removed leaves both logs.
 *
 * Invariant: an erasure stays due until both logs are without the text, also over a kill.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { CheckpointMode } from "@muniment/sqlite/Database"
import type { ChangeLogUnusable } from "./ChangeLog.ts"
import type { ControlChanges } from "./ControlChanges.ts"

/** `changes` undefined: there is no commit log. `forget` removes copies that may have what is to be erased. */
export const settleControl = Effect.fn("ControlDatabase.settle")(function* (
  sql: SqlClient.SqlClient,
  changes: ControlChanges | undefined,
  forget: () => void
): Effect.fn.Return<void, SqlError.SqlError | ChangeLogUnusable> {
  const [due] = yield* sql<{ readonly last: number | null }>`SELECT max(id) AS last FROM erasure_due`
  if (due!.last !== null) {
    forget()
    yield* erase(sql, changes, due!.last)
  }
  if (changes !== undefined) yield* changes.settle(checkpoint(sql, "PASSIVE"))
})

const erase = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  changes: ControlChanges | undefined,
  last: number
) {
  // Kept changes have the text too. Without a commit log none are kept, and the newest number stays.
  if (changes !== undefined) yield* sql.withTransaction(sql`DELETE FROM change_record`)
  if (!(yield* checkpoint(sql, "TRUNCATE"))) return
  const isErased = yield* (changes?.eraseLogged ?? Effect.void).pipe(
    Effect.as(true),
    Effect.catch((error) =>
      Effect.as(
        Effect.logWarning("removed text is not erased from the commit log yet", { error: error.message }),
        false
      )
    )
  )
  if (isErased) yield* sql.withTransaction(sql`DELETE FROM erasure_due WHERE id <= ${last}`)
})

/** Whether the file has everything; false while it is being read. */
const checkpoint = (sql: SqlClient.SqlClient, mode: CheckpointMode): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(
    sql<CheckpointRow>`PRAGMA wal_checkpoint(${sql.literal(mode)})`,
    ([row]) => row!.busy === 0 && row!.log === row!.checkpointed
  )

interface CheckpointRow {
  readonly busy: number
  /** Pages in the write-ahead log, and how many of them are in the file. */
  readonly log: number
  readonly checkpointed: number
}
