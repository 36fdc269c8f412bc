/**
 * Which errors of SQLite say that `control.db` is damaged. Our statements fit our tables, and SQLite knows the formats that
 * it writes: one that cannot be prepared, and a format that it does not know, are damage.
 */
import { classifySqlite, SqliteError } from "@muniment/sqlite/SqliteError"

/** SQLITE_ERROR. */
const sqliteError = 1

/** The error with `corrupt` as its reason; undefined: it says nothing of the file's content. */
export const damageOf = (cause: unknown, operation: string): SqliteError | undefined => {
  const error = classifySqlite(cause, operation)
  if (error === undefined || (error.reason !== "corrupt" && error.errcode !== sqliteError)) return undefined
  return new SqliteError({
    reason: "corrupt",
    operation: error.operation,
    ...(error.errcode !== undefined && { errcode: error.errcode }),
    cause: error.cause
  })
}
