/**
 * Reads a database file again and says what is damaged: b-trees of every table, and of the file of a namespace every
 * memory with its content hash. Runs on a thread of its own (`CheckWorker.ts`), one step at a time.
 *
 * Invariants: every step opens the file anew, so that nothing of it is remembered by a connection; nothing is changed;
 * a fault names tables and slots, never content.
 */
import { existsSync, statSync } from "node:fs"
import { Database } from "@muniment/sqlite/Database"
import { NewerDatabase } from "@muniment/sqlite/Migrate"
import { recordColumns, recordOf } from "./memoryColumns.ts"
import { namespaceMigrations } from "./namespaceMigrations.ts"
import { storeErrorOf } from "./storeErrorOf.ts"

export type CheckRequest =
  | { readonly _tag: "Tables"; readonly filename: string; readonly isNamespace: boolean }
  | { readonly _tag: "Table"; readonly filename: string; readonly table: string }
  | { readonly _tag: "Rows"; readonly filename: string; readonly agentId: string; readonly from: number }

export type CheckReply =
  /** `tables` is empty if there is no file. */
  | { readonly _tag: "Tables"; readonly bytes: number; readonly tables: ReadonlyArray<string> }
  | { readonly _tag: "Checked"; readonly faults: ReadonlyArray<string>; readonly next: number | undefined }
  /** The file could not be read now, or is of a later release; that says nothing about its content. */
  | { readonly _tag: "Unreadable"; readonly message: string }

/** Memories whose hashes are compared in one step. */
const rowsPerStep = 1_000
/** Faults that are listed of one step. */
const faultsMax = 5

export const answerCheck = (request: CheckRequest): CheckReply => {
  try {
    return request._tag === "Tables" && !existsSync(request.filename)
      ? { _tag: "Tables", bytes: 0, tables: [] }
      : withFile(request.filename, (database) => stepOf(database, request))
  } catch (cause) {
    const error = storeErrorOf(cause)
    return error._tag === "StoreDamaged" && error.newer === undefined
      ? { _tag: "Checked", faults: [error.reason], next: undefined }
      : { _tag: "Unreadable", message: cause instanceof Error ? cause.message : String(cause) }
  }
}

const withFile = <A>(filename: string, use: (database: Database) => A): A => {
  const database = new Database({ filename })
  try {
    return use(database)
  } finally {
    database.close()
  }
}

const stepOf = (database: Database, request: CheckRequest): CheckReply => {
  switch (request._tag) {
    case "Tables":
      return tablesOf(database, request.isNamespace)
    case "Table":
      return { _tag: "Checked", faults: treeFaults(database, request.table), next: undefined }
    case "Rows":
      return rowFaults(database, request.agentId, request.from)
  }
}

const tablesOf = (database: Database, isNamespace: boolean): CheckReply => {
  const found = Number(database.value("PRAGMA user_version"))
  const known = namespaceMigrations.length
  if (isNamespace && found > known) throw new NewerDatabase({ filename: database.filename, found, known })
  const rows = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name")
    .all()
  return { _tag: "Tables", bytes: statSync(database.filename).size, tables: rows.map((row) => String(row["name"])) }
}

const treeFaults = (database: Database, table: string): ReadonlyArray<string> => {
  const name = `"${table.replaceAll('"', '""')}"`
  return database
    .prepare(`PRAGMA quick_check(${name})`)
    .all()
    .map((row) => String(Object.values(row)[0]))
    .filter((finding) => finding !== "ok")
    .slice(0, faultsMax)
    .map((finding) => `table ${table}: ${finding}`)
}

const rowFaults = (database: Database, agentId: string, from: number): CheckReply => {
  const rows = database.prepare(rowsSql).allArrays(from, rowsPerStep)
  const faults: Array<string> = []
  for (const row of rows) {
    try {
      recordOf(agentId, row)
    } catch (cause) {
      const error = storeErrorOf(cause)
      if (error._tag !== "StoreDamaged") throw cause
      if (faults.length < faultsMax) faults.push(`slot ${String(row[0])}: ${error.reason}`)
    }
  }
  const last = rows.at(-1)
  return {
    _tag: "Checked",
    faults,
    next: last === undefined || rows.length < rowsPerStep ? undefined : Number(last[0]) + 1
  }
}

const rowsSql = `SELECT ${recordColumns.join(", ")} FROM memory WHERE slot >= ? ORDER BY slot LIMIT ?`
