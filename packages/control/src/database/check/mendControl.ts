/**
 * Repair of a `control.db` that is damaged, or gone while its base is there: at the start it is made again from the
 * base and the commit log. Runs before anything opens it.
 *
 * Invariant: the file is replaced only by one that has all changes that the log has, and those that the file itself kept
 * for the log; otherwise it is left untouched, and refused if it cannot be read.
 */
import { existsSync, rmSync, statSync } from "node:fs"
import { Data, Effect } from "effect"
import { attempt, Database } from "@muniment/sqlite/Database"
import type { ChangeLog, ChangeLogUnusable, ControlChange } from "../ChangeLog.ts"
import { emptyNumber } from "../followChanges.ts"
import {
  adoptExpected,
  baseNumber,
  beginExpected,
  type ControlCopies,
  controlCopies,
  followExpected,
  isAbsent,
  removeComparison
} from "./ControlCopies.ts"
import { tablesAfter, tablesOf } from "@muniment/sqlite/Tables"
import { controlMigrations } from "../migrations/controlMigrations.ts"
import { classifySqlite, SqliteError } from "@muniment/sqlite/SqliteError"

/** `control.db` is damaged, and base and log cannot make it again. */
export class ControlDatabaseDamaged extends Data.TaggedError("ControlDatabaseDamaged")<{
  readonly filename: string
  readonly fault: string
}> {
  override get message(): string {
    return `${this.filename} is damaged (${this.fault}), and its base and the commit log cannot make it again; restore it from a backup`
  }
}

/** A larger file is not read as a whole before the service starts; the scrubber does. */
const readBytesMax = 67_108_864

export const mendControl = Effect.fn("ControlDatabase.mend")(function* (
  dataDirectory: string,
  logs: ChangeLog | undefined
): Effect.fn.Return<void, ControlDatabaseDamaged | ChangeLogUnusable | SqliteError> {
  const copies = controlCopies(dataDirectory)
  yield* attempt("remove what a check left", () => removeComparison(copies))
  const fault = yield* attempt("read", () => faultOf(copies))
  const isDamaged = fault !== undefined || existsSync(copies.damaged)
  if (!isDamaged) return
  if (logs !== undefined && (yield* makeAgain(copies, logs))) {
    rmSync(copies.damaged, { force: true })
    yield* Effect.logError("control.db was damaged and is made again from its base and the commit log", { fault })
  } else if (fault !== undefined) return yield* new ControlDatabaseDamaged({ filename: copies.filename, fault })
})

/** Undefined: it is whole as far as SQLite can tell, or absent with no base. */
const faultOf = ({ base, filename }: ControlCopies): string | undefined => {
  if (isAbsent(filename)) return existsSync(base) ? "it is missing or empty" : undefined
  try {
    const database = new Database({ filename })
    try {
      const isSmall = statSync(filename).size <= readBytesMax
      const found = isSmall ? String(database.value("PRAGMA integrity_check(1)")) : "ok"
      return found === "ok" ? schemaFault(database) : found.replaceAll(/\s+/g, " ")
    } finally {
      database.close()
    }
  } catch (cause) {
    const error = damageOf(cause, "read")
    if (error === undefined) throw cause
    return error.message
  }
}

const makeAgain = Effect.fnUntraced(function* (copies: ControlCopies, logs: ChangeLog) {
  const log = yield* logs.current
  const from = yield* attempt("read the base", () => baseNumber(copies))
  const changes = yield* log.behind(from)
  const isFromEmpty = changes[0]?.number === emptyNumber && changes[0].changes === "base"
  if (from === 0 && !isFromEmpty) return false
  return yield* attempt("make it again", () => {
    const logged = changes.at(-1)?.number ?? from
    const kept = keptChanges(copies).filter(({ number }) => number > logged)
    beginExpected(copies, from)
    const isWhole = followExpected(copies, [...changes, ...kept]) === (kept.at(-1)?.number ?? logged)
    if (isWhole) adoptExpected(copies)
    else removeComparison(copies)
    return isWhole
  })
})

/** What the file kept because the log had not synced it; of a file that cannot be read nothing. */
const keptChanges = ({ filename }: ControlCopies): ReadonlyArray<ControlChange> => {
  if (!existsSync(filename)) return []
  try {
    const database = new Database({ filename })
    try {
      return (
        database
          // By their places: a damaged schema may name the columns otherwise.
          .prepare("SELECT * FROM change_record ORDER BY 1")
          .allArrays()
          .map(([number, version, changes]) => ({
            number: Number(number),
            version: Number(version),
            changes: changes instanceof Uint8Array ? changes : "base"
          }))
      )
    } finally {
      database.close()
    }
  } catch (cause) {
    if (damageOf(cause, "read") === undefined) throw cause
    return []
  }
}

/**
 * How the tables differ from those of the version; undefined: not at all, or they are of a later release. A flipped bit
 * in the name of a column is a schema like any other to SQLite's own check: statements fail only when they are used.
 */
const schemaFault = (database: Database): string | undefined => {
  const version = Number(database.value("PRAGMA user_version"))
  const tables = tablesOf(database)
  const known = controlMigrations.length
  if (version > known) {
    return tables.symmetricDifference(tablesAfter(controlMigrations)).size === 0 && changesVersion(database) === known
      ? `it says version ${version}, its tables and its changes are those of version ${known}`
      : undefined
  }
  const differing = tables.symmetricDifference(tablesAfter(controlMigrations.slice(0, Math.max(0, version))))
  const names = new Set([...differing].map((table) => table.slice(0, table.indexOf(" "))))
  return names.size === 0
    ? undefined
    : `its tables are not those of version ${version}: ${[...names].toSorted().join(", ")}`
}

/** Version that the newest change was made in; a later release that has changed something has its own there. */
const changesVersion = (database: Database): number =>
  Number(database.value("SELECT version FROM change_record ORDER BY number DESC LIMIT 1"))

/** SQLITE_ERROR. */
const sqliteError = 1

/**
 * The error with `corrupt` as its reason; undefined: it says nothing of the file's content. Our statements fit our
 * tables, and SQLite knows the formats that it writes: one that cannot be prepared, and a format that it does not know,
 * are damage.
 */
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
