/** Rows of a data directory, for tests that move it. */
import { createHash } from "node:crypto"
import { cpSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { controlMigrations } from "@muniment/control/database/migrations/controlMigrations"
import { openMigrated } from "@muniment/engine/store/sqlite/namespaceFiles"
import { Database } from "@muniment/sqlite/Database"
import { migrate } from "@muniment/sqlite/Migrate"

/** Rows of a table, and a digest of all that they hold, in their order. */
export interface TableRows {
  readonly count: number
  readonly sha256: string
}

export const databasesOf = (directory: string): ReadonlyArray<string> => [
  "control.db",
  ...readdirSync(join(directory, "namespaces"))
    .toSorted()
    .flatMap((name) => (name.endsWith(".db") ? [`namespaces/${name}`] : []))
]

/** Which changes the log has synced is no matter of what is moved. */
const notMoved: ReadonlySet<string> = new Set(["change_record"])

/** Of every table of every database. */
export const tablesOf = (directory: string, columnsOf?: ColumnsOf): Record<string, TableRows> =>
  Object.fromEntries(
    databasesOf(directory).flatMap((file) => {
      const database = new DatabaseSync(join(directory, file))
      const names = database.prepare("SELECT name FROM sqlite_schema WHERE rootpage > 0 AND type = 'table'").all()
      const tables = names
        .map(({ name }) => String(name))
        .filter((name) => !notMoved.has(name))
        .flatMap((name) => {
          const columns = columnsOf === undefined ? "*" : columnsOf(file, name)
          return columns === undefined ? [] : [[`${file} ${name}`, rowsOf(database, name, columns)] as const]
        })
      database.close()
      return tables
    })
  )

/** As they stand in a SELECT; undefined: not that table. */
export type ColumnsOf = (file: string, table: string) => string | undefined

const rowsOf = (database: DatabaseSync, name: string, columns: string): TableRows => {
  const hash = createHash("sha256")
  let count = 0
  for (const row of database.prepare(`SELECT ${columns} FROM "${name}"`).iterate()) {
    count++
    for (const value of Object.values(row)) {
      hash.update(value instanceof Uint8Array ? value : String(value))
      hash.update(`\0${value === null ? "null" : typeof value}\0`)
    }
  }
  return { count, sha256: hash.digest("hex") }
}

/** A copy whose files are of this release, as its start on one machine makes them. */
export const migratedCopy = (directory: string, to: string): string => {
  cpSync(directory, to, { recursive: true })
  for (const file of databasesOf(to)) {
    const filename = join(to, file)
    if (file !== "control.db") openMigrated(filename).close()
    else
      Database.using(filename, (database) => migrate(database, controlMigrations, { snapshot: `${filename}.before` }))
  }
  return to
}

/** Tables that later releases write in another form. */
const rewritten = /fulltext|^vector$|^meta$|^sqlite_/

/** Columns that tables of both directories have. */
export const columnsKeptSince =
  (before: string, after: string): ColumnsOf =>
  (file, table) => {
    if (rewritten.test(table)) return undefined
    const newer = new Set(columnNames(join(after, file), table))
    const common = columnNames(join(before, file), table).filter((column) => newer.has(column))
    return common.length === 0 ? undefined : common.map((column) => `"${column}"`).join(", ")
  }

const columnNames = (filename: string, table: string): ReadonlyArray<string> => {
  const database = new DatabaseSync(filename)
  const columns = database.prepare("SELECT name FROM pragma_table_info(?)").all(table)
  database.close()
  return columns.map(({ name }) => String(name))
}
