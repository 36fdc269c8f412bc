/**
 * Compares a namespace's file with what the commit log makes of its records, row by row of every table. Runs on the
 * thread of checks, over two files that nothing else writes: a snapshot of the file, and the expected one, made from
 * the log up to the snapshot's last record.
 *
 * Invariants: a difference names tables and slots, never content; what housekeeping removes without a commit, such as
 * expired turns, old results and old events, may be missing and is no difference.
 */
import { Database } from "@muniment/sqlite/Database"
import { COLUMNS } from "../../text/MemoryText.ts"
import { CommitTransaction, type LoggedOrder } from "./CommitTransaction.ts"
import { openMigrated } from "./namespaceFiles.ts"
import { type CopyContent, copyContent } from "./namespaceMeta.ts"
import { ErasureLog } from "../Conversations.ts"

/** Writes a copy of the file, open or not, as of one moment; returns what it holds. */
export const takeSnapshot = (filename: string, snapshot: string): CopyContent => {
  const database = new Database({ filename })
  try {
    database.prepare("VACUUM INTO ?").run(snapshot)
  } finally {
    database.close()
  }
  return snapshotContent(snapshot)
}

/** Of a file that nothing else writes. */
export const snapshotContent = (snapshot: string): CopyContent => {
  const database = new Database({ filename: snapshot, readOnly: true })
  try {
    return copyContent(database)
  } finally {
    database.close()
  }
}

/** Carries out records in the expected file, which needs not last; creates it. */
export const followExpected = (filename: string, orders: ReadonlyArray<LoggedOrder>): void => {
  const database = openMigrated(filename)
  try {
    database.exec("PRAGMA synchronous=OFF")
    new CommitTransaction(database, new ErasureLog()).follow(orders)
  } finally {
    database.close()
  }
}

/** What the snapshot has otherwise than the expected file. */
export const differencesOf = (snapshot: string, expected: string): ReadonlyArray<string> => {
  const database = new Database({ filename: snapshot })
  try {
    database.prepare("ATTACH ? AS expected").run(expected)
    return compared.flatMap(({ mayLack, rows, table }) => {
      const [found, wanted] = [rows("main"), rows("expected")]
      const differing = [...slotsOf(database, `${found} EXCEPT ${wanted}`)]
      if (mayLack !== true) differing.push(...slotsOf(database, `${wanted} EXCEPT ${found}`))
      return differing.length === 0 ? [] : [`${placesOf(table, new Set(differing))}: not what the commit log says`]
    })
  } finally {
    database.close()
  }
}

interface Compared {
  readonly table: string
  /** The query of the rows in a schema; the first column is a slot where rows have one. */
  readonly rows: (schema: string) => string
  /** Housekeeping removes rows without a commit. */
  readonly mayLack?: boolean
}

const whole = (table: string): Compared => ({ table, rows: (schema) => `SELECT * FROM ${schema}.${table}` })

/** Rows of a table of conversations: their scope takes the place of the number that the file gave them. */
const ofConversations = (table: string, columns: string, mayLack: boolean): Compared => ({
  table,
  mayLack,
  rows: (schema) =>
    `SELECT NULL, scope, ${columns} FROM ${schema}.${table} AS one JOIN ${schema}.conversation AS told ON told.id = one.conversation`
})

const compared: ReadonlyArray<Compared> = [
  { table: "schema", rows: (schema) => `SELECT NULL, type, name, tbl_name, sql FROM ${schema}.sqlite_schema` },
  {
    table: "meta",
    rows: (schema) =>
      `SELECT NULL, key, value FROM ${schema}.meta WHERE key NOT IN ('erasure_due', 'born', 'event_floor', 'sum')`
  },
  whole("memory"),
  whole("vector"),
  whole("passage"),
  { table: "memory_source", rows: (schema) => `SELECT memory, key FROM ${schema}.memory_source` },
  {
    table: "fulltext",
    rows: (schema) => `SELECT rowid, ${COLUMNS.map((name) => `"${name}"`).join(", ")} FROM ${schema}.fulltext`
  },
  whole("fulltext_length"),
  {
    table: "idempotency",
    mayLack: true,
    rows: (schema) => `SELECT NULL, key, fingerprint, at, result FROM ${schema}.idempotency`
  },
  { ...whole("event"), rows: (schema) => `SELECT NULL, * FROM ${schema}.event`, mayLack: true },
  {
    table: "conversation",
    rows: (schema) => `SELECT NULL, scope, subject_id, thread_id, next_position FROM ${schema}.conversation`
  },
  {
    table: "conversation (summaries)",
    mayLack: true,
    rows: (schema) =>
      `SELECT NULL, scope, summary, summary_at, summary_expires_at FROM ${schema}.conversation WHERE summary IS NOT NULL`
  },
  ofConversations("conversation_mark", "one.key, one.is_read, one.memory", false),
  ofConversations(
    "conversation_turn",
    "one.key, one.role, one.content, one.created_at, one.expires_at, one.name, one.sent_at",
    true
  ),
  ofConversations(
    "conversation_pending",
    "one.id, one.messages, one.kinds, one.conversation_date, one.expires_at",
    true
  )
]

const slotsOf = (database: Database, sql: string): ReadonlyArray<number | null> =>
  database
    .prepare(sql)
    .allArrays()
    .map(([slot]) => (slot === null ? null : Number(slot)))

/** Slots that are named of one table. */
const slotsMax = 5

/** A table and the first of some slots; null: a row without one. */
export const placesOf = (table: string, differing: ReadonlySet<number | null>): string => {
  const slots = [...differing].filter((slot) => slot !== null)
  const named = slots.slice(0, slotsMax).join(", ")
  const more = slots.length > slotsMax ? ` and ${slots.length - slotsMax} more` : ""
  const where = slots.length === 0 ? "" : `, slot ${named}${more}`
  return `table ${table}${where}`
}
