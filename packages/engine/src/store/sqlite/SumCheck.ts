/**
 * Differences between a namespace's file and its sums, and between its schema and this release's. Runs on the thread of
 * checks, beside commits: each statement compares rows and sums of one moment.
 *
 * Invariant: names tables and slots, never content.
 */
import { Database } from "@muniment/sqlite/Database"
import { placesOf } from "./CopyComparison.ts"
import { recordOf, recordsSql } from "./memoryColumns.ts"
import { copyContent } from "./namespaceMeta.ts"
import { namespaceMigrations } from "./namespaceMigrations.ts"
import {
  passageSumColumns,
  registerRowSum,
  summedTables,
  sumOf,
  sumOfColumns,
  type SummedTable,
  vectorSumColumns
} from "./rowSums.ts"
import { SqlitePostings } from "./SqlitePostings.ts"
import { storeErrorOf } from "./storeErrorOf.ts"

/** Slots that one step checks. */
const slotsPerStep = 1_000
/** Memories that are named of one step. */
const memoriesNamedMax = 5

export interface SumVerdict {
  readonly faults: ReadonlyArray<string>
  /** The slot to go on with; undefined: that was the last one. */
  readonly next: number | undefined
}

/** Of the slots from `from` on, and of what has none before the first of them. */
export const sumFaults = (database: Database, agentId: string, from: number): SumVerdict => {
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
