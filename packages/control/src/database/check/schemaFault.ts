/**
 * Whether `control.db` has the tables of its version, and a header that lets it be written. A flipped bit in the name of a
 * column is a schema like any other to SQLite's own check, and one in the header's version makes a file that can only be
 * read: statements fail only when they are used.
 */
import { closeSync, openSync, readSync } from "node:fs"
import { Database } from "@muniment/sqlite/Database"
import { controlMigrations } from "../migrations/controlMigrations.ts"

/** Undefined: it has, or is of a later release. */
export const schemaFault = (database: Database): string | undefined => {
  const version = Number(database.value("PRAGMA user_version"))
  if (version > controlMigrations.length) return undefined
  const differing = tablesOf(database).symmetricDifference(tablesOfVersion(version))
  const names = new Set([...differing].map((table) => table.slice(0, table.indexOf(" "))))
  return names.size === 0
    ? undefined
    : `its tables are not those of version ${version}: ${[...names].toSorted().join(", ")}`
}

/** Where a header says which journal a writer needs: 2 is the write-ahead log. What SQLite does not know it never writes. */
const writeVersionAt = 18
const writeVersionMax = 2

/** Undefined: the file can be written as far as its header tells. */
export const headerFault = (filename: string): string | undefined => {
  const byte = new Uint8Array(1)
  const file = openSync(filename, "r")
  try {
    readSync(file, byte, 0, 1, writeVersionAt)
  } finally {
    closeSync(file)
  }
  return byte[0]! <= writeVersionMax ? undefined : `its header has the unknown write version ${byte[0]}`
}

const tablesOfVersion = (version: number): ReadonlySet<string> => {
  const database = new Database({ filename: ":memory:", isScratch: true })
  try {
    for (const { up } of controlMigrations.slice(0, version)) up(database)
    return tablesOf(database)
  } finally {
    database.close()
  }
}

/** Names of tables with their columns, and of indexes and triggers with their tables. */
const tablesOf = (database: Database): ReadonlySet<string> =>
  new Set(
    database
      .prepare(tablesSql)
      .allArrays()
      .map(([name, of]) => `${String(name)} ${String(of)}`)
  )

const tablesSql = `SELECT one.name, one.tbl_name || coalesce(
    (SELECT json_group_array(json_array(name, type, "notnull", dflt_value, pk)) FROM pragma_table_info(one.name)), '')
  FROM sqlite_schema AS one WHERE one.name NOT LIKE 'sqlite_%'`
