/**
 * The error of SQLite and the file system below it, classified by what the caller does next: `full` answers 507,
 * `corrupt` quarantines the file, `busy` can be retried, and an `io` error during a commit leaves its outcome unknown.
 */
import { Schema } from "effect"

export const SqliteFailure = Schema.Literals(["full", "busy", "corrupt", "io", "constraint", "other"])
export type SqliteFailure = typeof SqliteFailure.Type

export class SqliteError extends Schema.TaggedError<SqliteError>()("SqliteError", {
  reason: SqliteFailure,
  /** The operation without bound values, which are memory content. */
  operation: Schema.String,
  /** Extended result code of SQLite (https://sqlite.org/rescode.html). */
  errcode: Schema.optionalKey(Schema.Int),
  cause: Schema.Defect()
}) {
  override get message(): string {
    const told = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return `${this.operation} failed (${this.reason}): ${told}`
  }

  /** The name under which `effect/sql` looks for the result code. */
  get errno(): number | undefined {
    return this.errcode
  }
}

/** Classifies an error of SQLite or the file system; undefined for any other error. */
export const classifySqlite = (cause: unknown, operation: string): SqliteError | undefined => {
  if (cause instanceof SqliteError) return cause
  if (!(cause instanceof Error)) return undefined
  if ("errcode" in cause && typeof cause.errcode === "number") {
    const { errcode } = cause
    return new SqliteError({ reason: failureOfCode(errcode), operation, errcode, cause })
  }
  if ("syscall" in cause && "code" in cause) {
    const isFull = cause.code === "ENOSPC" || cause.code === "EDQUOT"
    return new SqliteError({ reason: isFull ? "full" : "io", operation, cause })
  }
  return undefined
}

/** Runs `step`; errors of SQLite are rethrown as `SqliteError`, others unchanged. */
export const classified = <A>(operation: string, step: () => A): A => {
  try {
    return step()
  } catch (cause) {
    throw classifySqlite(cause, operation) ?? cause
  }
}

// SQLite turns ENOSPC of a write into SQLITE_FULL, but growing the shared-memory file of the log
// reports SQLITE_IOERR_SHMSIZE: on a full disk that is what an open sees first.
const ioerrShmsize = 4_874

const failureOfCode = (errcode: number): SqliteFailure => {
  if (errcode === ioerrShmsize) return "full"
  switch (errcode & 0xff) {
    case 13: // SQLITE_FULL
      return "full"
    case 5: // SQLITE_BUSY
    case 6: // SQLITE_LOCKED
      return "busy"
    case 11: // SQLITE_CORRUPT
    case 26: // SQLITE_NOTADB
      return "corrupt"
    case 10: // SQLITE_IOERR
    case 14: // SQLITE_CANTOPEN
      return "io"
    case 19: // SQLITE_CONSTRAINT
      return "constraint"
    default:
      return "other"
  }
}
