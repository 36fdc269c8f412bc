/**
 * How `control.db` fails for its callers: the disk is full (507), or the file, its disk or the log that nodes share cannot
 * be used now (503), and what was being written is there or not. What is wrong with a statement is a defect.
 */
import type { SqlError } from "effect/sql"
import { InsufficientStorage, Unavailable } from "@muniment/domain/Errors"
import type { SqliteError } from "@muniment/sqlite/SqliteError"
import { sqliteErrorOf } from "@muniment/sqlite/SqliteClient"
import { ChangeLogUnusable } from "./ChangeLog.ts"

export type ControlFailure = InsufficientStorage | Unavailable

/** Undefined: the statement is to blame. */
export const controlFailureOf = (error: SqlError.SqlError): ControlFailure | undefined => {
  const { reason } = error
  // A connection whose transaction could not be ended serves again once it can.
  if (reason.cause instanceof ChangeLogUnusable || reason._tag === "ConnectionError") return controlUnavailable()
  const sqlite = sqliteErrorOf(error)
  if (sqlite === undefined) return undefined
  if (sqlite.reason === "full") return diskFull()
  return ofTheDisk.has(sqlite.reason) ? controlUnavailable() : undefined
}

const ofTheDisk: ReadonlySet<SqliteError["reason"]> = new Set(["io", "busy", "corrupt"])

export const controlUnavailable = (): Unavailable =>
  new Unavailable({
    code: "control_unavailable",
    error:
      "the store of the service's accounts failed; whether a write was done is unknown: repeat it with the same Idempotency-Key"
  })

const diskFull = (): InsufficientStorage =>
  new InsufficientStorage({ code: "insufficient_storage", error: "the disk is full; free space and retry" })
