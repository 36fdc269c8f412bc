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
import { COLUMNS, columnsLength } from "../../text/MemoryText.ts"
import type { MemoryColumns } from "../../text/MemoryText.ts"
import type { Postings, TermOccurrences } from "../Postings.ts"
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
  readonly #insert: StatementSync
  readonly #insertLength: StatementSync
  readonly #updateLength: StatementSync
  readonly #sumVector: StatementSync
  readonly #resize: StatementSync
  readonly #delete: StatementSync
  readonly #deleteLength: StatementSync
  readonly #occurrences: StatementSync
  readonly #prefixed: StatementSync
  readonly #lengths: StatementSync
  readonly #count: StatementSync

  /** Opens the tables of the newest version. */
  constructor(database: DatabaseSync) {
    const places = COLUMNS.map(() => "?").join(", ")
    this.#insert = database.prepare(`INSERT INTO fulltext(rowid, ${COLUMN_LIST}) VALUES (?, ${places})`)
    this.#insertLength = database.prepare(
      "INSERT INTO fulltext_length(slot, tokens, text_sum, sum, vector_sum) VALUES (?, ?, ?, ?, ?)"
    )
    this.#updateLength = database.prepare(
      `UPDATE fulltext_length SET tokens = ?2, text_sum = ?3, sum = sum + ?4,
         vector_sum = CASE WHEN ?6 THEN vector_sum ELSE ?5 END WHERE slot = ?1`
    )
    this.#sumVector = database.prepare("UPDATE fulltext_length SET vector_sum = ?2 WHERE slot = ?1")
    this.#resize = database.prepare(
      "UPDATE fulltext_length SET text_sum = text_sum - tokens + ?2, tokens = ?2 WHERE slot = ?1"
    )
    this.#delete = database.prepare("DELETE FROM fulltext WHERE rowid = ?")
    this.#deleteLength = database.prepare("DELETE FROM fulltext_length WHERE slot = ?")
    // One entry per occurrence, in the order of FTS5's lists: by row, then column. Grouping in SQL would sort again.
    // All in one JSON row: one row per occurrence took four times as long (1.3 us each).
    this.#occurrences = database.prepare(
      `SELECT json_group_array(doc * ${COLUMNS.length} + CASE col ${COLUMN_CASES} END) AS packed FROM fulltext_instance WHERE term = ?`
    )
    this.#prefixed = database.prepare(
      "SELECT EXISTS (SELECT 1 FROM fulltext_instance WHERE term >= ?1 AND term <= ?1 || char(0x10ffff)) AS found"
    )
    this.#lengths = database.prepare("SELECT slot, tokens FROM fulltext_length ORDER BY slot")
    this.#lengths.setReturnArrays(true)
    this.#count = database.prepare("SELECT count(*) AS count FROM fulltext_length")
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
    if (this.#updateLength.run(...values, sums.vector === undefined ? 1 : 0).changes > 0) this.#delete.run(slot)
    else this.#insertLength.run(...values)
    this.#insert.run(slot, ...texts)
  }

  /** After the vector of a slot has changed. Runs inside the caller's transaction. */
  sumVector(slot: number, sum: number): void {
    this.#sumVector.run(slot, sum)
  }

  /** Sets the length of a slot's document. Runs inside the caller's transaction. */
  resize(slot: number, tokens: number): void {
    this.#resize.run(slot, tokens)
  }

  /** Removes a slot's row, if there is one. Runs inside the caller's transaction. */
  remove(slot: number): void {
    if (this.#deleteLength.run(slot).changes > 0) this.#delete.run(slot)
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
    return orStoreError(() => this.#prefixed.get(prefix)?.["found"] === 1)
  }

  forEachLength(visit: (slot: number, tokens: number) => void): void {
    orStoreError(() => {
      for (const [slot, tokens] of this.#lengths.iterate() as Iterable<ReadonlyArray<unknown>>) {
        visit(Number(slot), Number(tokens))
      }
    })
  }

  count(): number {
    return Number(this.#count.get()?.["count"] ?? 0)
  }
}

const noSums: SlotSums = { row: 0, vector: undefined }
