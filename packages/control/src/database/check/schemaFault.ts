/**
 * Checks that `control.db` has the tables of its version. A flipped bit in the name of a column is a schema like any
 * other to SQLite's own check: statements fail only when they are used.
 */
import type { Database } from "@muniment/sqlite/Database"
import { tablesAfter, tablesOf } from "@muniment/sqlite/Tables"
import { controlMigrations } from "../migrations/controlMigrations.ts"

/** Undefined: it has, or is of a later release. */
export const schemaFault = (database: Database): string | undefined => {
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
