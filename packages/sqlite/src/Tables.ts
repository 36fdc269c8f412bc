/** What tables a database has, and what tables its migrations make: a flipped bit in its version or schema is a difference. */
import { Database } from "./Database.ts"
import type { Migration } from "./Migrate.ts"

/** Names of tables with their columns, and of indexes and triggers with their tables. */
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
