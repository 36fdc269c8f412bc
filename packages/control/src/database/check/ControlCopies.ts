/**
 * The files beside `control.db` that it is checked with, and made again from: the base, a whole copy of an earlier
 * moment with its SHA-256; a snapshot of now; and what the base and the commit log's changes make. Every step is
 * synchronous, and runs on a thread of its own (`ControlCheck.ts`), or at a start.
 *
 * Invariants: a base whose bytes are not those of its sum is none; a base appears with its sum or not at all; a
 * difference names tables and counts rows, and never says what they hold.
 */
import { existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { Option, Schema } from "effect"
import { copyClosed, sha256OfClosed, syncClosed } from "@muniment/sqlite/ClosedFile"
import { Database, type DatabaseOptions } from "@muniment/sqlite/Database"
import { migrate } from "@muniment/sqlite/Migrate"
import { replacePrivateFile } from "@muniment/trust/PrivateFile"
import type { ControlChange } from "../ChangeLog.ts"
import { changeNumberOf, emptyNumber, followChanges, noteNumber } from "../followChanges.ts"
import { controlMigrations } from "../migrations/controlMigrations.ts"

export interface ControlCopies {
  readonly filename: string
  readonly base: string
  readonly baseNote: string
  readonly snapshot: string
  readonly expected: string
  /** There while `control.db` is known to be damaged: the next start makes it again. */
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

/** What a base holds: `control.db` as it was after change `number`, and when that was found whole, in milliseconds. */
const BaseNote = Schema.Struct({ number: Schema.Int, sha256: Schema.String, checkedAt: Schema.Int })
const decodeNote = Schema.decodeUnknownOption(Schema.fromJsonString(BaseNote))

/** Without a byte it is as if it were not there: SQLite then removes its log, too. */
export const isAbsent = (filename: string): boolean => !existsSync(filename) || statSync(filename).size === 0

/** What is noted of the base, whose bytes are not looked at; undefined: there is none. */
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

/** What the snapshot has otherwise than the expected file. */
export const differencesOf = ({ expected, snapshot }: ControlCopies): ReadonlyArray<string> =>
  using({ filename: snapshot }, (database) => {
    database.prepare("ATTACH ? AS expected").run(expected)
    const schemas = (schema: string) =>
      `SELECT type, name, tbl_name, sql FROM ${schema}.sqlite_schema WHERE name NOT LIKE 'sqlite_%'`
    if (differing(database, schemas) > 0) return ["the tables are not what the commit log says"]
    return tablesOf(database).flatMap((table) => {
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

/** What a check leaves, also a killed one. */
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
const tablesOf = (database: Database): ReadonlyArray<string> =>
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
