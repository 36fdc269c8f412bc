/**
 * Checks that `control.db` has the tables of its version. A flipped bit in the name of a column is a schema like any
 * other to SQLite's own check: statements fail only when they are used.
 */
import { Database } from "@muniment/sqlite/Database"
import { controlMigrations } from "../migrations/controlMigrations.ts"

/** Undefined: it has, or is of a later release. */
export const schemaFault = (database: Database): string | undefined => {
  const version = Number(database.value("PRAGMA user_version"))
  const tables = tablesOf(database)
  const known = controlMigrations.length
  if (version > known) {
    return tables.symmetricDifference(tablesOfVersion(known)).size === 0 && changesVersion(database) === known
      ? `it says version ${version}, its tables and its changes are those of version ${known}`
      : undefined
  }
  const differing = tables.symmetricDifference(tablesOfVersion(version))
  const names = new Set([...differing].map((table) => table.slice(0, table.indexOf(" "))))
  return names.size === 0
    ? undefined
    : `its tables are not those of version ${version}: ${[...names].toSorted().join(", ")}`
}

/** Version that the newest change was made in; a later release that has changed something has its own there. */
const changesVersion = (database: Database): number =>
  Number(database.value("SELECT version FROM change_record ORDER BY number DESC LIMIT 1"))

const tablesByVersion = new Map<number, ReadonlySet<string>>()

const tablesOfVersion = (version: number): ReadonlySet<string> => {
  const known = tablesByVersion.get(version)
  if (known !== undefined) return known
  const database = new Database({ filename: ":memory:", isScratch: true })
  try {
    for (const { up } of controlMigrations.slice(0, version)) up(database)
    const tables = tablesOf(database)
    tablesByVersion.set(version, tables)
    return tables
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
