/**
 * Reads a database file again and says what is damaged: b-trees and indexes of every table, and of the file of a
 * namespace every row with its sum, every memory with its content hash, and what is not as the commit log says. Runs on
 * a thread of its own (`CheckWorker.ts`), one step at a time.
 *
 * Invariants: every step opens the file anew, so that nothing of it is remembered by a connection; the file is not changed;
 * a fault names tables and slots, never content.
 */
import { existsSync, statSync } from "node:fs"
import { Database } from "@muniment/sqlite/Database"
import type { LogEntry } from "../../log/CommitLog.ts"
import type { RecordReader } from "../../log/RecordReader.ts"
import { orderOf } from "./commitBody.ts"
import { differencesOf, followExpected, takeSnapshot } from "./CopyComparison.ts"
import { contentOf } from "./memoryColumns.ts"
import type { CopyContent } from "./namespaceMeta.ts"
import { demandKnownVersion, versionWithSums } from "./namespaceMigrations.ts"
import { sumFaults } from "./SumCheck.ts"
import { storeErrorOf } from "./storeErrorOf.ts"

export type CheckRequest =
  | { readonly _tag: "Tables"; readonly filename: string; readonly isNamespace: boolean }
  | { readonly _tag: "Table"; readonly filename: string; readonly table: string }
  | { readonly _tag: "Rows"; readonly filename: string; readonly agentId: string; readonly from: number }
  /** The steps of a comparison with the commit log (`CopyComparison.ts`). */
  | { readonly _tag: "Snapshot"; readonly filename: string; readonly snapshot: string }
  | { readonly _tag: "Expect"; readonly filename: string; readonly entries: ReadonlyArray<LogEntry> }
  | { readonly _tag: "Differences"; readonly filename: string; readonly expected: string }

export type CheckReply =
  /** `tables` is empty if there is no file. */
  | { readonly _tag: "Tables"; readonly bytes: number; readonly tables: ReadonlyArray<string> }
  | { readonly _tag: "Taken"; readonly content: CopyContent }
  | { readonly _tag: "Checked"; readonly faults: ReadonlyArray<string>; readonly next: number | undefined }
  /** The file could not be read now, or is of a later release; that says nothing about its content. */
  | { readonly _tag: "Unreadable"; readonly message: string }

/** Memories whose hashes are compared in one step. */
const rowsPerStep = 1_000
/** Faults that are listed of one step. */
const faultsMax = 5

/** `reader`: of the commit log that namespaces' files follow. */
export const answerCheck = (request: CheckRequest, reader: RecordReader | undefined): CheckReply => {
  try {
    return stepOf(request, reader)
  } catch (cause) {
    const error = storeErrorOf(cause)
    return error._tag === "StoreDamaged" && error.newer === undefined
      ? { _tag: "Checked", faults: [error.reason], next: undefined }
      : { _tag: "Unreadable", message: cause instanceof Error ? cause.message : String(cause) }
  }
}

const stepOf = (request: CheckRequest, reader: RecordReader | undefined): CheckReply => {
  const { filename } = request
  switch (request._tag) {
    case "Tables":
      if (!existsSync(filename)) return { _tag: "Tables", bytes: 0, tables: [] }
      return Database.using(filename, (database) => tablesOf(database, request.isNamespace))
    case "Table":
      return checked(Database.using(filename, (database) => treeFaults(database, request.table)))
    case "Rows":
      return Database.using(filename, (database) => rowFaults(database, request.agentId, request.from))
    case "Snapshot":
      return { _tag: "Taken", content: takeSnapshot(filename, request.snapshot) }
    case "Expect": {
      if (reader === undefined) throw new Error("this thread was started without a log")
      const orders = request.entries.map((entry) => orderOf(reader.read(entry)))
      followExpected(filename, orders)
      return checked([])
    }
    case "Differences":
      return checked(differencesOf(filename, request.expected))
  }
}

const checked = (faults: ReadonlyArray<string>): CheckReply => ({ _tag: "Checked", faults, next: undefined })

const tablesOf = (database: Database, isNamespace: boolean): CheckReply => {
  if (isNamespace) demandKnownVersion(database)
  const rows = database.prepare(tablesSql).all()
  return { _tag: "Tables", bytes: statSync(database.filename).size, tables: rows.map((row) => String(row["name"])) }
}

/** Those of the full text too: SQLite compares its index with its content. */
const tablesSql = `SELECT name FROM sqlite_schema WHERE type = 'table'
  AND (rootpage > 0 OR sql LIKE '% USING fts5(%') ORDER BY name`

const treeFaults = (database: Database, table: string): ReadonlyArray<string> => {
  const name = `"${table.replaceAll('"', '""')}"`
  return (
    database
      // Not `quick_check`, which leaves out whether an index holds what its table holds.
      .prepare(`PRAGMA integrity_check(${name})`)
      .all()
      .map((row) => String(Object.values(row)[0]))
      .filter((finding) => finding !== "ok")
      .slice(0, faultsMax)
      .map((finding) => `table ${table}: ${finding}`)
  )
}

const rowFaults = (database: Database, agentId: string, from: number): CheckReply =>
  Number(database.value("PRAGMA user_version")) < versionWithSums
    ? contentFaults(database, agentId, from)
    : { _tag: "Checked", ...sumFaults(database, agentId, from) }

/** Of a file of a version without sums. */
const contentFaults = (database: Database, agentId: string, from: number): CheckReply => {
  const rows = database.prepare(contentSql).allArrays(from, rowsPerStep)
  const faults: Array<string> = []
  for (const row of rows) {
    try {
      const [, kind, data, contentHash] = row
      contentOf(agentId, kind, data, contentHash)
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

const contentSql = "SELECT slot, kind, data, content_hash FROM memory WHERE slot >= ? ORDER BY slot LIMIT ?"
