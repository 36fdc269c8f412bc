/**
 * The full-text table of one namespace: FTS5 over columns that are already tokens joined by spaces,
 * and the number of tokens of each row. The durable half of the lexical index; ranking is done in
 * `LexicalIndex`, FTS5's query language is never used, so no query text can reach its parser.
 *
 * Invariants: tokeniser `ascii`, because it takes every non-ASCII character as part of a token and so
 * passes ours unchanged whatever Unicode version SQLite was built with; `secure-delete` on, so that a
 * removed row's terms leave the index at once. They leave the file only if the connection has
 * `PRAGMA secure_delete = ON`, and the log at the next truncating checkpoint: both are the owner's.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { COLUMNS, columnsLength } from "./MemoryText.ts"
import type { MemoryColumns } from "./MemoryText.ts"

/** One (row, column) that contains a term. Ascending by slot. */
export interface TermOccurrences {
  readonly slot: number
  /** Index into `COLUMNS`. */
  readonly column: number
  readonly count: number
}

const COLUMN_LIST = COLUMNS.map((column) => `"${column}"`).join(", ")
const COLUMN_CASES = COLUMNS.map((column, index) => `WHEN '${column}' THEN ${index}`).join(" ")

export class FullText {
  readonly #insert: StatementSync
  readonly #insertLength: StatementSync
  readonly #delete: StatementSync
  readonly #deleteLength: StatementSync
  readonly #postings: StatementSync
  readonly #lengths: StatementSync
  readonly #count: StatementSync

  /** Opens the tables; `FullText.create` must have run on this file. */
  constructor(database: DatabaseSync) {
    const places = COLUMNS.map(() => "?").join(", ")
    this.#insert = database.prepare(`INSERT INTO fulltext(rowid, ${COLUMN_LIST}) VALUES (?, ${places})`)
    this.#insertLength = database.prepare("INSERT INTO fulltext_length(slot, tokens) VALUES (?, ?)")
    this.#delete = database.prepare("DELETE FROM fulltext WHERE rowid = ?")
    this.#deleteLength = database.prepare("DELETE FROM fulltext_length WHERE slot = ?")
    // An occurrence each, in the order of FTS5's own lists: by row, then column. Grouping here would sort them anew.
    // All in one row, because a row for each took four times as long (1.3 us an occurrence).
    this.#postings = database.prepare(
      `SELECT json_group_array(doc * ${COLUMNS.length} + CASE col ${COLUMN_CASES} END) AS packed FROM fulltext_instance WHERE term = ?`
    )
    this.#lengths = database.prepare("SELECT slot, tokens FROM fulltext_length ORDER BY slot")
    this.#lengths.setReturnArrays(true)
    this.#count = database.prepare("SELECT count(*) AS count FROM fulltext_length")
  }

  /** Part of the namespace's first migration; harmless on a file that has the tables. */
  static create(database: DatabaseSync): void {
    database.exec(`
      CREATE VIRTUAL TABLE IF NOT EXISTS fulltext
        USING fts5(${COLUMN_LIST}, tokenize = 'ascii', detail = full, columnsize = 0);
      INSERT INTO fulltext(fulltext, rank) VALUES ('secure-delete', 1);
      CREATE VIRTUAL TABLE IF NOT EXISTS fulltext_instance USING fts5vocab(fulltext, instance);
      CREATE TABLE IF NOT EXISTS fulltext_length (slot INTEGER PRIMARY KEY, tokens INTEGER NOT NULL) STRICT;
    `)
  }

  /**
   * Passes every stored token through `baseOf`, for a migration after the tokeniser has learnt to bring
   * more forms to one. Lengths stay as they are. Runs inside the caller's transaction.
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

  /** Writes a slot's row, replacing what it held. Runs inside the caller's transaction. */
  put(slot: number, columns: MemoryColumns): void {
    this.remove(slot)
    this.#insert.run(slot, ...COLUMNS.map((column) => columns[column].join(" ")))
    this.#insertLength.run(slot, columnsLength(columns))
  }

  /** Erases a slot's row; nothing happens if there is none. */
  remove(slot: number): void {
    if (this.#deleteLength.run(slot).changes > 0) this.#delete.run(slot)
  }

  postings(term: string): Array<TermOccurrences> {
    const packed = String(this.#postings.get(term)?.["packed"] ?? "[]")
    const found: Array<{ slot: number; column: number; count: number }> = []
    for (const occurrence of JSON.parse(packed) as ReadonlyArray<number>) {
      const column = occurrence % COLUMNS.length
      const slot = (occurrence - column) / COLUMNS.length
      const last = found.at(-1)
      if (last?.slot === slot && last.column === column) last.count++
      else found.push({ slot, column, count: 1 })
    }
    return found
  }

  /** Visits every row with its number of tokens, ascending by slot. */
  forEachLength(visit: (slot: number, tokens: number) => void): void {
    for (const [slot, tokens] of this.#lengths.iterate() as Iterable<ReadonlyArray<unknown>>) {
      visit(Number(slot), Number(tokens))
    }
  }

  count(): number {
    return Number(this.#count.get()?.["count"] ?? 0)
  }
}
