/**
 * `Postings` in SQLite: an FTS5 table over columns that are already tokens joined by spaces, and the number of
 * tokens of each row. `LexicalIndex` ranks; FTS5's query language is never used, so no query text reaches its parser.
 *
 * Invariants: tokeniser `ascii`, which counts every non-ASCII character as part of a token and so passes ours
 * unchanged, whatever Unicode version SQLite was built with. `secure-delete` is on, so a removed row's terms leave
 * the FTS index at once; they leave the file through the connection's `PRAGMA secure_delete = ON` and the log at the
 * next truncating checkpoint.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { Database } from "@muniment/sqlite/Database"
import type { Mention } from "@muniment/domain/Memory"
import { cutsOf } from "@muniment/language/text/Passages"
import type { Analyzer } from "@muniment/language/text/Tokenizer"
import {
  COLUMNS,
  columnsLength,
  type MemoryColumns,
  memoryUnits,
  type SearchableMemory
} from "../../text/MemoryText.ts"
import type { Postings, TermOccurrences } from "../NamespaceStore.ts"
import { rowSum } from "./rowSums.ts"
import { orStoreError } from "./storeErrorOf.ts"

const COLUMN_LIST = COLUMNS.map((column) => `"${column}"`).join(", ")
const COLUMN_CASES = COLUMNS.map((column, index) => `WHEN '${column}' THEN ${index}`).join(" ")

/** Sums of the other rows of a slot (docs/format.md, "Sums"). */
export interface SlotSums {
  /** Of the memory or passage; of one that changes: by how much its sum changes. */
  readonly row: number
  /** Null: it has no vector; undefined: that stays. */
  readonly vector: number | null | undefined
}

export class SqlitePostings implements Postings {
  readonly #database: DatabaseSync
  /** Others than `#occurrences`, by text, from their first use on: a connection reads or writes, and seldom does both. */
  readonly #statements = new Map<string, StatementSync>()
  readonly #occurrences: StatementSync

  /** Opens the tables of the newest version, and fails if they are not there. */
  constructor(database: DatabaseSync) {
    this.#database = database
    this.#occurrences = database.prepare(occurrencesSql)
  }

  /** Creates the tables. */
  static create(database: DatabaseSync): void {
    SqlitePostings.createFirst(database)
    SqlitePostings.addSums(database)
  }

  /** Creates the tables of the first version. */
  static createFirst(database: DatabaseSync): void {
    database.exec(`
      CREATE VIRTUAL TABLE IF NOT EXISTS fulltext
        USING fts5(${COLUMN_LIST}, tokenize = 'ascii', detail = full, columnsize = 0);
      INSERT INTO fulltext(fulltext, rank) VALUES ('secure-delete', 1);
      CREATE VIRTUAL TABLE IF NOT EXISTS fulltext_instance USING fts5vocab(fulltext, instance);
      CREATE TABLE IF NOT EXISTS fulltext_length (slot INTEGER PRIMARY KEY, tokens INTEGER NOT NULL) STRICT;
    `)
  }

  /** Adds the columns of sums, empty. */
  static addSums(database: DatabaseSync): void {
    for (const column of SqlitePostings.sums) database.exec(`ALTER TABLE fulltext_length ADD COLUMN ${column} INTEGER`)
  }

  static readonly sums = ["sum", "vector_sum", "text_sum"] as const

  /** The sum of a text in SQL, of the rows of both tables. */
  static readonly textSum = `row_sum(fulltext_length.slot, ${COLUMNS.map((name) => `fulltext."${name}"`).join(", ")}) + fulltext_length.tokens`

  /**
   * Replaces every stored token by `baseOf(token)`, for a migration after the tokeniser learned to merge more
   * forms. Lengths stay. Runs inside the caller's transaction.
   */
  static rewrite(database: DatabaseSync, baseOf: (token: string) => string): void {
    const read = database.prepare(`SELECT ${COLUMN_LIST} FROM fulltext WHERE rowid = ?`)
    const assignments = COLUMNS.map((column) => `"${column}" = ?`).join(", ")
    const write = database.prepare(`UPDATE fulltext SET ${assignments} WHERE rowid = ?`)
    for (const row of database.prepare("SELECT slot FROM fulltext_length").all()) {
      const slot = Number(row["slot"])
      const stored = read.get(slot) ?? {}
      const before = COLUMNS.map((column) => String(stored[column] ?? ""))
      const after = before.map((tokens) => tokens.split(" ").map(baseOf).join(" "))
      if (after.some((tokens, at) => tokens !== before[at])) write.run(...after, slot)
    }
  }

  /** Inserts or replaces a slot's row; `tokens`: the length of its document. Runs inside the caller's transaction. */
  put(slot: number, columns: MemoryColumns, tokens = columnsLength(columns), sums: SlotSums = noSums): void {
    const texts = COLUMNS.map((column) => columns[column].join(" "))
    const values = [slot, tokens, rowSum([slot, ...texts]) + tokens, sums.row, sums.vector ?? null] as const
    if (this.#prepared(updateLengthSql).run(...values, sums.vector === undefined ? 1 : 0).changes > 0)
      this.#prepared(deleteSql).run(slot)
    else this.#prepared(insertLengthSql).run(...values)
    this.#prepared(insertSql).run(slot, ...texts)
  }

  /** After the vector of a slot has changed. Runs inside the caller's transaction. */
  sumVector(slot: number, sum: number): void {
    this.#prepared(sumVectorSql).run(slot, sum)
  }

  /** Sets the length of a slot's document. Runs inside the caller's transaction. */
  resize(slot: number, tokens: number): void {
    this.#prepared(resizeSql).run(slot, tokens)
  }

  /** Removes a slot's row, if there is one. Runs inside the caller's transaction. */
  remove(slot: number): void {
    if (this.#prepared(deleteLengthSql).run(slot).changes > 0) this.#prepared(deleteSql).run(slot)
  }

  occurrences(term: string): ReadonlyArray<TermOccurrences> {
    return orStoreError(() => {
      const packed = String(this.#occurrences.get(term)?.["packed"] ?? "[]")
      const found: Array<{ slot: number; column: number; count: number }> = []
      for (const occurrence of JSON.parse(packed) as ReadonlyArray<number>) {
        const column = occurrence % COLUMNS.length
        const slot = (occurrence - column) / COLUMNS.length
        const last = found.at(-1)
        if (last?.slot === slot && last.column === column) last.count++
        else found.push({ slot, column, count: 1 })
      }
      return found
    })
  }

  hasPrefix(prefix: string): boolean {
    return orStoreError(() => this.#prepared(prefixedSql).get(prefix)?.["found"] === 1)
  }

  forEachLength(visit: (slot: number, tokens: number) => void): void {
    orStoreError(() => {
      const lengths = this.#prepared(lengthsSql)
      lengths.setReturnArrays(true)
      for (const [slot, tokens] of lengths.iterate() as Iterable<ReadonlyArray<unknown>>) {
        visit(Number(slot), Number(tokens))
      }
    })
  }

  count(): number {
    return Number(this.#prepared(countSql).get()?.["count"] ?? 0)
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

const insertSql = `INSERT INTO fulltext(rowid, ${COLUMN_LIST}) VALUES (?, ${COLUMNS.map(() => "?").join(", ")})`
const insertLengthSql = "INSERT INTO fulltext_length(slot, tokens, text_sum, sum, vector_sum) VALUES (?, ?, ?, ?, ?)"
const updateLengthSql = `UPDATE fulltext_length SET tokens = ?2, text_sum = ?3, sum = sum + ?4,
  vector_sum = CASE WHEN ?6 THEN vector_sum ELSE ?5 END WHERE slot = ?1`
const sumVectorSql = "UPDATE fulltext_length SET vector_sum = ?2 WHERE slot = ?1"
const resizeSql = "UPDATE fulltext_length SET text_sum = text_sum - tokens + ?2, tokens = ?2 WHERE slot = ?1"
const deleteSql = "DELETE FROM fulltext WHERE rowid = ?"
const deleteLengthSql = "DELETE FROM fulltext_length WHERE slot = ?"
// One entry per occurrence, in the order of FTS5's lists: by row, then column. Grouping in SQL would sort again.
// All in one JSON row: one row per occurrence took four times as long (1.3 us each).
const occurrencesSql = `SELECT json_group_array(doc * ${COLUMNS.length} + CASE col ${COLUMN_CASES} END) AS packed
  FROM fulltext_instance WHERE term = ?`
const prefixedSql =
  "SELECT EXISTS (SELECT 1 FROM fulltext_instance WHERE term >= ?1 AND term <= ?1 || char(0x10ffff)) AS found"
const lengthsSql = "SELECT slot, tokens FROM fulltext_length ORDER BY slot"
const countSql = "SELECT count(*) AS count FROM fulltext_length"

const noSums: SlotSums = { row: 0, vector: undefined }

/**
 * Makes the words of a namespace file anew from its memories, for a migration or a return to an earlier release.
 *
 * Invariants: only rows whose tokens change are written; what a message has of the length of those around it stays. Runs
 * inside the caller's transaction, on a file with sums.
 */
export const retokenise = (database: Database, analyzer: Analyzer): void => {
  const postings = new SqlitePostings(database.handle)
  const stored = database.handle.prepare(
    `SELECT ${COLUMNS.map((name) => `fulltext."${name}"`).join(", ")}, tokens FROM fulltext
       JOIN fulltext_length ON fulltext_length.slot = fulltext.rowid WHERE fulltext.rowid = ?`
  )
  const rewrite = (slot: number, columns: MemoryColumns): void => {
    const row = stored.get(slot)
    if (row === undefined) return
    const before = COLUMNS.map((name) => String(row[name]))
    if (COLUMNS.every((name, at) => columns[name].join(" ") === before[at])) return
    const length = before.reduce((sum, text) => sum + (text === "" ? 0 : text.split(" ").length), 0)
    postings.put(slot, columns, Number(row["tokens"]) - length + columnsLength(columns))
  }
  const passages = database.handle.prepare("SELECT slot, starts, ends FROM passage WHERE memory = ? ORDER BY starts")
  const memories = database.handle.prepare(
    "SELECT slot, kind, data, tags, mentions, event_time, neighbours FROM memory WHERE slot > ? ORDER BY slot LIMIT ?"
  )
  for (let after = -1, isMore = true; isMore;) {
    // In pages: a reader may not stay open over writes to what it reads, and a file can be larger than the memory.
    const page = memories.all(after, PAGE)
    for (const row of page) {
      after = Number(row["slot"])
      const further = passages.all(after).map((one) => ({
        slot: Number(one["slot"]),
        start: Number(one["starts"]),
        end: Number(one["ends"])
      }))
      // As it was cut; one that was not is not cut now.
      const units = memoryUnits(searchable(row), cutsOf(further) ?? [], analyzer)
      for (const [at, { columns }] of units.entries()) rewrite(at === 0 ? after : further[at - 1]!.slot, columns)
    }
    isMore = page.length === PAGE
  }
}

const PAGE = 256

const searchable = (row: Readonly<Record<string, unknown>>): SearchableMemory => ({
  kind: String(row["kind"]),
  data: JSON.parse(String(row["data"])),
  tags: JSON.parse(String(row["tags"])) as ReadonlyArray<string>,
  mentions: JSON.parse(String(row["mentions"])) as ReadonlyArray<Mention>,
  when: row["event_time"] === null ? undefined : String(row["event_time"]),
  neighbours: JSON.parse(String(row["neighbours"] ?? "[]")) as ReadonlyArray<string>
})
