/**
 * Sums of rows: SQLite has no page checksums, and a flipped bit in a value is as good a value to it. Every table has a
 * sum of each row (docs/format.md, "Sums"), except those of which SQLite compares every column with an index.
 *
 * Invariant: where a statement changes some columns of a row, the sum changes by the difference of what these columns make
 * of it. A row that was damaged before stays damaged, and no write makes its damage good.
 */
import type { SQLInputValue, SQLOutputValue } from "node:sqlite"
import { crc32 } from "node:zlib"
import type { Database } from "@muniment/sqlite/Database"

/** CRC-32 of the values as text, each ended by a zero byte, then of those that are bytes; as an i32. */
export const rowSum = (values: Iterable<SQLInputValue | SQLOutputValue>): number => {
  let text = ""
  let bytes: NodeJS.ArrayBufferView | undefined
  for (const value of values) {
    if (typeof value === "object" && value !== null) bytes = value
    else text += value === null ? "\u0001\0" : `${value}\0`
  }
  const sum = crc32(text)
  return (bytes === undefined ? sum : crc32(bytes, sum)) | 0
}

/** Lets statements of this connection call `row_sum(value, ...)`. */
export const registerRowSum = (database: Database): void => {
  const options = { deterministic: true, varargs: true }
  database.handle.function("row_sum", options, (...values: ReadonlyArray<SQLOutputValue>) => rowSum(values))
}

/** Tables with the sum of a row in the row, and the columns of which it is: all that no index covers, and the keys. */
export const summedTables = {
  idempotency: ["key", "fingerprint", "at", "result"],
  conversation: ["scope", "subject_id", "thread_id", "summary", "summary_at", "summary_expires_at", "next_position"],
  conversation_mark: ["conversation", "key", "is_read", "memory"],
  conversation_turn: ["conversation", "key", "role", "content", "created_at", "expires_at", "name", "sent_at"],
  conversation_pending: ["id", "conversation", "messages", "kinds", "conversation_date", "expires_at"],
  event: ["number", "type", "id", "kind", "subject", "superseded_by", "at"]
} as const

export type SummedTable = keyof typeof summedTables

/** The sum of a row of a table in SQL; `changed`: what takes the place of columns. */
export const sumOf = (table: SummedTable, changed: Readonly<Record<string, string>> = {}): string =>
  `row_sum(${summedTables[table].map((column) => changed[column] ?? `${table}.${column}`).join(", ")})`

/** An assignment of an UPDATE that changes columns of the table. */
export const sumChanged = (table: SummedTable, changed: Readonly<Record<string, string>>): string =>
  `sum = ${table}.sum - ${sumOf(table)} + ${sumOf(table, changed)}`

/** The sum of some columns in SQL. */
export const sumOfColumns = (columns: ReadonlyArray<string>, table: string): string =>
  `row_sum(${columns.map((column) => `${table}."${column}"`).join(", ")})`

/** Of `row_sum` in `fulltext_length`: without `data`, which `content_hash` is of; `extras` count where they are there. */
export const memorySumColumns = [
  "slot",
  "created_seq",
  "id",
  "kind",
  "subject_id",
  "thread_id",
  "tags",
  "mentions",
  "event_time",
  "confidence",
  "content_hash",
  "created_at",
  "updated_at",
  "expires_at",
  "unique_key",
  "origin",
  "sources",
  "neighbours",
  "position",
  "speaker",
  "traits"
] as const
/** The sum of a row of `memory` in SQL. */
export const memorySum = `CASE WHEN memory.extras IS NULL THEN ${sumOfColumns(memorySumColumns, "memory")}
  ELSE ${sumOfColumns([...memorySumColumns, "extras"], "memory")} END`
/** Of `memorySumColumns`, and of `extras` behind them. */
export const memorySumOf = (values: ReadonlyArray<SQLInputValue | SQLOutputValue>): number =>
  rowSum(values.at(-1) === null ? values.slice(0, -1) : values)
export const passageSumColumns = ["slot", "memory", "starts", "ends", "traits"] as const
/** Of `vector_sum`, for a row of `vector` or of `passage`. */
export const vectorSumColumns = ["slot", "seq", "model", "value"] as const
