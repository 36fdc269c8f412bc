/**
 * Versioned migrations of one `Database`. The version is `PRAGMA user_version`, which SQLite keeps in
 * the file's header and rolls back with the transaction.
 *
 * Invariants: each migration commits together with its version (those of a new file all at once), so a kill at any
 * statement leaves a complete version and the next open continues; before the first pending migration of its tables a
 * database with tables is copied, checked and synced; a file of a newer release is refused and not changed.
 */
import { Schema } from "effect"
import { renameSync, rmSync } from "node:fs"
import { dirname } from "node:path"
import { syncClosed } from "./ClosedFile.ts"
import { Database, SqliteError } from "./Database.ts"
import { classified } from "./SqliteError.ts"

export interface Migration {
  /** Counts from 1 without gaps. */
  readonly version: number
  readonly name: string
  /** Leaves every column as it is, and at most adds some: no copy is made of the file before it. */
  readonly keepsRows?: true
  /** Runs in a transaction. */
  readonly up: (database: Database) => void
}

export interface MigrateOptions {
  /** Start of the snapshot's path; its version is appended: `<snapshot>.v3`. */
  readonly snapshot: string
}

export interface Migrated {
  readonly from: number
  readonly to: number
  /** Copy of the previous state; undefined if there was none or nothing changed. */
  readonly snapshot: string | undefined
}

/** The file was written by a newer release; this one could lose data that it does not know. */
export class NewerDatabase extends Schema.TaggedError<NewerDatabase>()("NewerDatabase", {
  filename: Schema.String,
  found: Schema.Int,
  known: Schema.Int
}) {
  override get message(): string {
    return `${this.filename} has version ${this.found}, this release knows ${this.known}; start a later release, or restore a backup from before the upgrade`
  }
}

/** Throws `SqliteError`, `NewerDatabase`, or what a migration throws. */
export const migrate = (
  database: Database,
  migrations: ReadonlyArray<Migration>,
  options: MigrateOptions
): Migrated => {
  migrations.forEach(({ name, version }, index) => {
    if (version !== index + 1) throw new Error(`migration "${name}" has version ${version}, expected ${index + 1}`)
  })
  const from = versionOf(database)
  const known = migrations.length
  if (from > known) throw new NewerDatabase({ filename: database.filename, found: from, known })

  const pending = migrations.slice(from)
  const snapshot =
    pending.some(({ keepsRows }) => keepsRows !== true) && holdsTables(database)
      ? writeSnapshot(database, `${options.snapshot}.v${from}`)
      : undefined
  const step = ({ up, version }: Migration): void => {
    up(database)
    database.exec(`PRAGMA user_version=${version}`)
  }
  // A new file has nothing to lose between two versions: one commit, and one sync, instead of one for each.
  if (from === 0 && !holdsTables(database)) database.transaction(() => pending.forEach(step))
  else for (const migration of pending) database.transaction(() => step(migration))
  return { from, to: known, snapshot }
}

const versionOf = (database: Database): number => Number(database.value("PRAGMA user_version"))

const holdsTables = (database: Database): boolean => database.value("SELECT EXISTS (SELECT 1 FROM sqlite_schema)") === 1

/** The final name appears only when the copy is complete, checked and synced. */
const writeSnapshot = (database: Database, path: string): string => {
  const unfinished = `${path}.tmp`
  classified("snapshot", () => rmSync(unfinished, { force: true }))
  database.prepare("VACUUM INTO ?").run(unfinished)
  verifySnapshot(unfinished)
  classified("snapshot", () => {
    syncClosed(unfinished)
    renameSync(unfinished, path)
    syncClosed(dirname(path))
  })
  return path
}

const verifySnapshot = (path: string): void => {
  const copy = new Database({ filename: path, readOnly: true })
  try {
    const verdict = copy.value("PRAGMA integrity_check(1)")
    if (verdict !== "ok") {
      throw new SqliteError({
        reason: "corrupt",
        operation: "snapshot",
        cause: new Error(String(verdict))
      })
    }
  } finally {
    copy.close()
  }
}

/**
 * Names of tables with their columns, and of indexes and triggers with their tables: a flipped bit in a database's version or
 * schema is a difference to those that its migrations make.
 */
export const tablesOf = (database: Database): ReadonlySet<string> =>
  new Set(
    database
      .prepare(tablesSql)
      .allArrays()
      .map(([name, of]) => `${String(name)} ${String(of)}`)
  )

const tablesSql = `SELECT one.name, one.tbl_name || coalesce(
    (SELECT json_group_array(json_array(name, type, "notnull", dflt_value, pk)) FROM pragma_table_info(one.name)), '')
  FROM sqlite_schema AS one WHERE one.name NOT LIKE 'sqlite_%'`

const tablesByVersion = new Map<Migration | undefined, ReadonlySet<string>>()

/** Those that the migrations leave; `prepare` registers the functions that they call. */
export const tablesAfter = (
  migrations: ReadonlyArray<Migration>,
  prepare: (database: Database) => void = () => undefined
): ReadonlySet<string> => {
  const last = migrations.at(-1)
  const known = tablesByVersion.get(last)
  if (known !== undefined) return known
  const database = new Database({ filename: ":memory:", isScratch: true })
  try {
    prepare(database)
    for (const { up } of migrations) up(database)
    const tables = tablesOf(database)
    tablesByVersion.set(last, tables)
    return tables
  } finally {
    database.close()
  }
}
