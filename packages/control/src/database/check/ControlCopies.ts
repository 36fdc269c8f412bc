/**
 * The files beside `control.db` that it is checked with, and made again from: the base, a whole copy of an earlier
 * moment with its SHA-256; a snapshot of now; and what the base and the commit log's changes make. Every step is
 * synchronous, and runs on a thread of its own (`ControlCheck.ts`), or at a start.
 *
 * Invariants: a base whose bytes are not those of its sum is none; a base appears with its sum or not at all; a
 * difference names tables and counts rows, and never says what they hold.
 */
import { Data, Effect, Option, Schema } from "effect"
import { existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { copyClosed, sha256OfClosed, syncClosed } from "@muniment/sqlite/ClosedFile"
import { attempt, Database, type DatabaseOptions } from "@muniment/sqlite/Database"
import { migrate, tablesAfter, tablesOf } from "@muniment/sqlite/Migrate"
import { replacePrivateFile } from "@muniment/trust/PrivateFile"
import { classifySqlite, SqliteError } from "@muniment/sqlite/SqliteError"
import {
  type ChangeLog,
  type ChangeLogUnusable,
  changeNumberOf,
  type ControlChange,
  emptyNumber,
  followChanges,
  noteNumber
} from "../ChangeLog.ts"
import { controlMigrations } from "../migrations/controlMigrations.ts"

export interface ControlCopies {
  readonly filename: string
  readonly base: string
  readonly baseNote: string
  readonly snapshot: string
  readonly expected: string
  /** A file that is there while `control.db` is known to be damaged: the next start makes it again. */
  readonly damaged: string
}

export const controlCopies = (dataDirectory: string): ControlCopies => {
  const filename = join(dataDirectory, "control.db")
  return {
    filename,
    base: `${filename}.base`,
    baseNote: `${filename}.base.json`,
    snapshot: `${filename}.snapshot`,
    expected: `${filename}.expected`,
    damaged: `${filename}.damaged`
  }
}

/** Note of a base: `control.db` after change `number`, and when that was found whole, in milliseconds. */
const BaseNote = Schema.Struct({ number: Schema.Int, sha256: Schema.String, checkedAt: Schema.Int })
const decodeNote = Schema.decodeUnknownOption(Schema.fromJsonString(BaseNote))

/** An empty file counts as absent: SQLite then removes its log, too. */
export const isAbsent = (filename: string): boolean => !existsSync(filename) || statSync(filename).size === 0

/** Note of the base, whose bytes are not looked at; undefined: there is none. */
export const notedBase = ({ base, baseNote }: ControlCopies): typeof BaseNote.Type | undefined =>
  existsSync(base) && existsSync(baseNote)
    ? Option.getOrUndefined(decodeNote(readFileSync(baseNote, "utf8")))
    : undefined

/** The number of the base; 0: there is none that is whole. */
export const baseNumber = (copies: ControlCopies): number => {
  const noted = notedBase(copies)
  return noted !== undefined && noted.sha256 === sha256OfClosed(copies.base) ? noted.number : 0
}

/** Before removed text has left the files: a base of an earlier moment has it. */
export const removeBase = ({ base, baseNote }: ControlCopies): void => {
  rmSync(baseNote, { force: true })
  removeWithLogs(base)
}

/** Writes a copy as of now; returns its number. */
export const takeSnapshot = (copies: ControlCopies): number => {
  const { filename, snapshot } = copies
  removeWithLogs(snapshot)
  using({ filename }, (database) => database.prepare("VACUUM INTO ?").run(snapshot))
  return snapshotNumber(copies)
}

export const snapshotNumber = ({ snapshot }: ControlCopies): number =>
  using({ filename: snapshot, readOnly: true }, changeNumberOf)

/** Begins the expected file: the base, or at 0 the empty database. */
export const beginExpected = ({ base, expected }: ControlCopies, from: number): void => {
  removeWithLogs(expected)
  if (from > 0) return copyClosed(base, expected)
  using({ filename: expected }, (database) => {
    migrate(database, controlMigrations, { snapshot: `${expected}.before-migration` })
    database.transaction(() => noteNumber(database, emptyNumber, null))
  })
}

/** Carries out changes; undefined: they do not follow what the expected file has. */
export const followExpected = ({ expected }: ControlCopies, changes: Iterable<ControlChange>): number | undefined =>
  followChanges(expected, changes)

/** Rows of the snapshot that differ from the expected file. */
export const differencesOf = ({ expected, snapshot }: ControlCopies): ReadonlyArray<string> =>
  using({ filename: snapshot }, (database) => {
    database.prepare("ATTACH ? AS expected").run(expected)
    const schemas = (schema: string) =>
      `SELECT type, name, tbl_name, sql FROM ${schema}.sqlite_schema WHERE name NOT LIKE 'sqlite_%'`
    if (differing(database, schemas) > 0) return ["the tables are not what the commit log says"]
    return contentTables(database).flatMap((table) => {
      const rows = differing(database, (schema) => `SELECT * FROM ${schema}."${table}"`)
      return rows === 0 ? [] : [`table ${table}: ${rows} rows are not as the commit log says`]
    })
  })

/** The snapshot becomes the base. */
export const adoptSnapshot = (copies: ControlCopies, checkedAt: number): void => {
  const { base, baseNote, snapshot } = copies
  const number = using({ filename: snapshot, readOnly: true }, changeNumberOf)
  const sha256 = sha256OfClosed(snapshot)
  syncClosed(snapshot)
  removeBase(copies)
  renameSync(snapshot, base)
  syncClosed(dirname(base))
  replacePrivateFile(baseNote, `${JSON.stringify({ number, sha256, checkedAt })}\n`)
}

/** The expected file becomes `control.db`, which nobody may have open. */
export const adoptExpected = ({ expected, filename }: ControlCopies): void => {
  using({ filename: expected }, (database) => database.checkpoint("TRUNCATE"))
  syncClosed(expected)
  for (const ending of logEndings) rmSync(`${filename}${ending}`, { force: true })
  renameSync(expected, filename)
  syncClosed(dirname(filename))
}

/** Removes the files of a check, also of a killed one. */
export const removeComparison = ({ expected, snapshot }: ControlCopies): void => {
  removeWithLogs(snapshot)
  removeWithLogs(expected)
}

const logEndings = ["-wal", "-shm"] as const

const removeWithLogs = (path: string): void => {
  for (const ending of ["", ...logEndings]) rmSync(`${path}${ending}`, { force: true })
}

const using = <A>(options: DatabaseOptions, look: (database: Database) => A): A => {
  const database = new Database(options)
  try {
    return look(database)
  } finally {
    database.close()
  }
}

/** `change_record` says which changes the log had synced, which the log cannot tell. */
const contentTables = (database: Database): ReadonlyArray<string> =>
  database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .all()
    .map(({ name }) => String(name))
    .filter((name) => name !== "change_record")

/** How many rows one of the two has and the other lacks: the larger number. */
const differing = (database: Database, rows: (schema: string) => string): number => {
  const [found, wanted] = [rows("main"), rows("expected")]
  const counts = [`${found} EXCEPT ${wanted}`, `${wanted} EXCEPT ${found}`].map((sql) =>
    Number(database.value(`SELECT count(*) FROM (${sql})`))
  )
  return Math.max(...counts)
}

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

/**
 * Repair of a `control.db` that is damaged, or gone while its base is there: at the start it is made again from the
 * base and the commit log. Runs before anything opens it.
 *
 * Invariant: the file is replaced only by one that has all changes that the log has, and those that the file itself kept
 * for the log; otherwise it is left untouched, and refused if it cannot be read.
 */
export const mendControl = Effect.fn("ControlDatabase.mend")(function* (
  dataDirectory: string,
  logs: ChangeLog
): Effect.fn.Return<void, ControlDatabaseDamaged | ChangeLogUnusable | SqliteError> {
  const copies = controlCopies(dataDirectory)
  yield* attempt("remove what a check left", () => removeComparison(copies))
  const fault = yield* attempt("read", () => faultOf(copies))
  const isDamaged = fault !== undefined || existsSync(copies.damaged)
  if (!isDamaged) return
  if (yield* makeAgain(copies, logs)) {
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

/** Changes that the file kept because the log had not synced them; none of a file that cannot be read. */
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
