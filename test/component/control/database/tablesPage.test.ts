/** The tables of control.db in .github/ARCHITECTURE.md, compared with those of a fresh file. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { controlOf } from "../MemoryLog.ts"

const page = readFileSync(new URL("../../../../.github/ARCHITECTURE.md", import.meta.url), "utf8")

/** Table -> its columns in the order of names. Notes are in parentheses or behind wide space; a comma goes on below. */
const shownTables = (): Record<string, ReadonlyArray<string>> => {
  const [, block = ""] = /Tables of `control\.db`.*?```text\n(.*?)```/s.exec(page) ?? []
  const tables: Record<string, Array<string>> = {}
  let columns: Array<string> = []
  let goesOn = false
  for (const line of block.trimEnd().split("\n")) {
    const [, name = "", rest = ""] = /^(\S*)\s+(.*)$/.exec(line) ?? []
    if (name !== "") columns = tables[name] = []
    else if (!goesOn) continue
    const [named = ""] = rest.replaceAll(/\([^)]*\)/g, "").split(/ {3,}/)
    columns.push(...named.split(/[,+]/).map((column) => column.trim()))
    goesOn = named.endsWith(",")
  }
  return Object.fromEntries(
    Object.entries(tables).map(([name, found]) => [name, found.filter((column) => column !== "").toSorted()])
  )
}

it.effect("the page shows every table with its columns, and no other", () =>
  Effect.gen(function* () {
    const { read, sql } = yield* ControlDatabase
    const rows = yield* read(
      sql<{ readonly table: string; readonly column: string }>`
        SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
        WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY c.name`
    )
    const real: Record<string, Array<string>> = {}
    for (const { column, table } of rows) (real[table] ??= []).push(column)
    expect(shownTables()).toEqual(real)
  }).pipe(Effect.provide(controlOf(temporaryDirectory())))
)
