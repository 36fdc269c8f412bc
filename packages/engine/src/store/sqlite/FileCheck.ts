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
import { differencesOf, followExpected, placesOf, takeSnapshot } from "./CopyComparison.ts"
import { contentOf, recordOf, recordsSql } from "./memoryColumns.ts"
import { type CopyContent, copyContent } from "./namespaceMeta.ts"
import { demandKnownVersion, namespaceMigrations, versionWithSums } from "./namespaceMigrations.ts"
import { storeErrorOf } from "./storeErrorOf.ts"
import {
  passageSumColumns,
  registerRowSum,
  type SummedTable,
  summedTables,
  sumOf,
  sumOfColumns,
  vectorSumColumns
} from "./rowSums.ts"
import { SqlitePostings } from "./SqlitePostings.ts"

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

/**
 * Differences between a namespace's file and its sums, and between its schema and this release's. Runs on the thread of
 * checks, beside commits: each statement compares rows and sums of one moment.
 *
 * Invariant: names tables and slots, never content.
 */

/** Slots that one step checks. */
const slotsPerStep = 1_000
/** Memories that are named of one step. */
const memoriesNamedMax = 5

interface SumVerdict {
  readonly faults: ReadonlyArray<string>
  /** The slot to go on with; undefined: that was the last one. */
  readonly next: number | undefined
}

/** Of the slots from `from` on, and of what has none before the first of them. */
const sumFaults = (database: Database, agentId: string, from: number): SumVerdict => {
  registerRowSum(database)
  const slots = database.prepare(slotsSql).allArrays(from, slotsPerStep)
  const isLast = slots.length < slotsPerStep
  const to = isLast ? Number.MAX_SAFE_INTEGER : Number(slots.at(-1)![0]) + 1
  const faults = from === 0 ? [...schemaFaults(database), ...faultsWithoutSlot(database)] : []
  faults.push(...memoryFaults(database, agentId, from, to))
  for (const [table, sql] of slotSums) {
    const differing = database.prepare(sql).allArrays(from, to)
    faults.push(...told(table, new Set(differing.map(([slot]) => Number(slot)))))
  }
  return { faults, next: isLast ? undefined : to }
}

const told = (table: string, slots: ReadonlySet<number | null>): ReadonlyArray<string> =>
  slots.size === 0 ? [] : [`${placesOf(table, slots)}: not what its sum says`]

const memoryFaults = (database: Database, agentId: string, from: number, to: number): ReadonlyArray<string> => {
  const faults: Array<string> = []
  for (const row of database.prepare(memoriesSql).allArrays(from, to)) {
    try {
      recordOf(agentId, row)
    } catch (cause) {
      const error = storeErrorOf(cause)
      if (error._tag !== "StoreDamaged") throw cause
      if (faults.length < memoriesNamedMax) faults.push(`table memory, slot ${String(row[0])}: ${error.reason}`)
    }
  }
  return faults
}

const faultsWithoutSlot = (database: Database): ReadonlyArray<string> => {
  const faults: Array<string> = []
  try {
    copyContent(database)
  } catch (cause) {
    const error = storeErrorOf(cause)
    if (error._tag !== "StoreDamaged") throw cause
    faults.push(error.reason)
  }
  for (const [table, sql] of tableSums)
    if (database.prepare(sql).get() !== undefined) faults.push(...told(table, new Set([null])))
  return faults
}

/** SQLite accepts a changed default or trigger; and words that are removed must be overwritten. */
const schemaFaults = (database: Database): ReadonlyArray<string> => {
  const [found, wanted] = [schemaOf(database), newestSchema()]
  const differing = new Set([...found.symmetricDifference(wanted)].map((one) => one.split(" ", 1)[0]!))
  const faults = [...differing].map((name) => `the schema of ${name} is not that of this release`)
  const erases = database.prepare("SELECT v FROM fulltext_config WHERE k = 'secure-delete'").get()?.["v"]
  return erases === 1 ? faults : [...faults, "table fulltext does not overwrite removed words"]
}

/** Without white space, which differs between ways to the same version. */
const schemaOf = (database: Database): ReadonlySet<string> =>
  new Set(
    database
      .prepare("SELECT name, type, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'")
      .allArrays()
      .map(([name, ...rest]) => `${String(name)} ${rest.join(" ").replaceAll(/\s/g, "")}`)
  )

let newest: ReadonlySet<string> | undefined

const newestSchema = (): ReadonlySet<string> => {
  if (newest !== undefined) return newest
  const database = new Database({ filename: ":memory:", isScratch: true })
  try {
    for (const { up } of namespaceMigrations) up(database)
    return (newest = schemaOf(database))
  } finally {
    database.close()
  }
}

const slotsSql = "SELECT slot FROM fulltext_length WHERE slot >= ? ORDER BY slot LIMIT ?"
const memoriesSql = `${recordsSql("memory", "memory.slot >= ? AND memory.slot < ?")} ORDER BY memory.slot`

const inRange = "fulltext_length.slot >= ?1 AND fulltext_length.slot < ?2"

/** Slots with a row in a table that is not what the table of lengths says. */
const otherwise = (table: string, sum: string, columns: ReadonlyArray<string>): string =>
  `SELECT ${table}.slot FROM ${table} LEFT JOIN fulltext_length ON fulltext_length.slot = ${table}.slot
   WHERE ${table}.slot >= ?1 AND ${table}.slot < ?2 AND fulltext_length.${sum} IS NOT ${sumOfColumns(columns, table)}`

/** Slots of the table of lengths whose row is in none of the tables. */
const lacking = (...tables: ReadonlyArray<string>): string =>
  tables
    .map((table) => `AND NOT EXISTS (SELECT 1 FROM ${table} AS one WHERE one.slot = fulltext_length.slot)`)
    .join(" ")

const slotSums: ReadonlyArray<readonly [string, string]> = [
  ["memory", `SELECT slot FROM fulltext_length WHERE ${inRange} ${lacking("memory", "passage")}`],
  ["passage", otherwise("passage", "sum", passageSumColumns)],
  ["passage", `${otherwise("passage", "vector_sum", vectorSumColumns)} AND passage.model IS NOT NULL`],
  ["vector", otherwise("vector", "vector_sum", vectorSumColumns)],
  [
    "vector",
    `SELECT slot FROM fulltext_length WHERE ${inRange} AND vector_sum IS NOT NULL
     ${lacking("vector", "(SELECT slot FROM passage WHERE model IS NOT NULL)")}`
  ],
  [
    "fulltext_length or fulltext",
    `SELECT slot FROM fulltext_length LEFT JOIN fulltext ON fulltext.rowid = fulltext_length.slot
     WHERE ${inRange} AND text_sum IS NOT ${SqlitePostings.textSum}`
  ]
]

const tableSums = (Object.keys(summedTables) as ReadonlyArray<SummedTable>).map(
  (table) => [table, `SELECT 1 FROM ${table} WHERE sum IS NOT ${sumOf(table)} LIMIT 1`] as const
)
