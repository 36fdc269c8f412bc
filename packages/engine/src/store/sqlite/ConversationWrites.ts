/**
 * The writes of conversations inside the transaction of a commit: marks, turns, summaries and pending extractions.
 *
 * Invariant: every change that takes something from a conversation is noted in the erasure log.
 */
import type { MemoryRecord, MessageSource } from "@muniment/domain/Memory"
import { Limits } from "@muniment/domain/Limits"
import type { Database } from "@muniment/sqlite/Database"
import {
  scopeText,
  type ConversationAdvance,
  type ConversationChange,
  type ConversationScope,
  type PendingReading
} from "../Conversations.ts"
import type { ErasureLog } from "../ErasureLog.ts"
import { sumChanged, summedTables, type SummedTable } from "./rowSums.ts"

export class ConversationWrites {
  readonly #database: Database
  readonly #erasures: ErasureLog

  constructor(database: Database, erasures: ErasureLog) {
    this.#database = database
    this.#erasures = erasures
  }

  apply(change: ConversationChange, atMillis: number): void {
    if (change._tag !== "Advance") this.#erasures.add(undefined)
    switch (change._tag) {
      case "Advance":
        return this.#advance(change, atMillis)
      case "Forget": {
        const forget = this.#database.prepare(`DELETE FROM conversation WHERE ${withinSql}`)
        forget.run(...withinValues(change.within))
        return
      }
      case "DropTurns": {
        this.#database.prepare(dropSummariesSql).run(change.beforeMillis)
        this.#database.prepare("DELETE FROM conversation_turn WHERE created_at < ?").run(change.beforeMillis)
      }
    }
  }

  /** Erases the turns that a memory was taken from, and the summary of its conversation. */
  eraseSources(scope: ConversationScope, sources: ReadonlyArray<MessageSource>): void {
    const conversation = idOf(this.#database, scope)
    if (conversation === undefined || sources.length === 0) return
    this.#erasures.add(scopeText(scope))
    const remove = this.#database.prepare("DELETE FROM conversation_turn WHERE conversation = ? AND key = ?")
    for (const { key } of sources) remove.run(conversation, key)
    this.#database.prepare(`UPDATE conversation SET ${noSummary} WHERE id = ?`).run(conversation)
  }

  /** Marks the message behind a memory as stored, and counts its position. */
  keepMessage(scope: ConversationScope, { id, position, sources = [] }: MemoryRecord): void {
    const conversation = this.#ensure(scope)
    for (const { key } of sources) this.#database.prepare(markStoredSql).run(conversation, key, id)
    if (position !== undefined) this.#database.prepare(countPositionSql).run(position + 1, conversation)
  }

  #ensure(scope: ConversationScope): number {
    const known = idOf(this.#database, scope)
    if (known !== undefined) return known
    this.#database.prepare(foundSql).run(scopeText(scope), scope.subjectId ?? null, scope.threadId ?? null)
    return idOf(this.#database, scope)!
  }

  #advance(change: ConversationAdvance, atMillis: number): void {
    const { awaits, expiresAt, processed, reads, scope, summary, summaryExpiresAt, turns, withheld = [] } = change
    const database = this.#database
    const conversation = this.#ensure(scope)
    this.eraseSources(
      scope,
      withheld.map((key) => ({ key }))
    )
    const mark = database.prepare(markReadSql)
    for (const key of processed) mark.run(conversation, key)
    const append = database.prepare(appendSql)
    for (const { content, key, name, role, sentAt } of turns.slice(-Limits.conversationContextMax)) {
      append.run(conversation, key, role, content, atMillis, expiresAt ?? null, name ?? null, sentAt ?? null)
    }
    database.prepare(trimSql).run(conversation, conversation, Limits.conversationContextMax)
    if (summary !== undefined) {
      database.prepare(summarySql).run(summary, atMillis, summaryExpiresAt ?? null, conversation)
    }
    if (awaits !== undefined) {
      const { conversationDate, id, messages } = awaits
      const keys = JSON.stringify(messages)
      database
        .prepare(awaitSql)
        .run(id, conversation, keys, wantedText(awaits), conversationDate, awaits.expiresAt ?? null)
    }
    if (reads !== undefined) database.prepare("DELETE FROM conversation_pending WHERE id = ?").run(reads)
  }
}

/** Number of a conversation in its file; undefined: it has none. */
export const idOf = (database: Database, scope: ConversationScope): number | undefined => {
  const row = database.prepare("SELECT id FROM conversation WHERE scope = ?").get(scopeText(scope))
  return row === undefined ? undefined : Number(row["id"])
}

export const withinSql = "(?1 IS NULL OR subject_id = ?1) AND (?2 IS NULL OR thread_id = ?2)"
export const withinValues = ({ subjectId, threadId }: ConversationScope) =>
  [subjectId ?? null, threadId ?? null] as const

/** The column of the kinds: a list of them, or an object where there are instructions too. */
const wantedText = ({ instructions, kinds }: Pick<PendingReading, "instructions" | "kinds">): string | null => {
  if (instructions !== undefined) return JSON.stringify({ instructions, kinds })
  return kinds === undefined ? null : JSON.stringify(kinds)
}

/** Assignments of an UPDATE of `conversation`, with its sum. */
const setColumns = (values: Readonly<Record<string, string>>): string =>
  [...Object.entries(values).map(([column, value]) => `${column} = ${value}`), sumChanged("conversation", values)].join(
    ", "
  )

/** A new row with the sum of its columns, given in their order. */
const insertInto = (table: SummedTable): string => {
  const columns = summedTables[table]
  const places = columns.map((_, at) => `?${at + 1}`).join(", ")
  return `INTO ${table} (${columns.join(", ")}, sum) VALUES (${places}, row_sum(${places}))`
}

export const noSummary = setColumns({ summary: "NULL", summary_at: "NULL", summary_expires_at: "NULL" })
const awaitSql = `INSERT OR IGNORE ${insertInto("conversation_pending")}`
const summarySql = `UPDATE conversation SET ${setColumns({ summary: "?1", summary_at: "?2", summary_expires_at: "?3" })}
  WHERE id = ?4`
const foundSql = `INSERT INTO conversation (scope, subject_id, thread_id, sum)
  VALUES (?1, ?2, ?3, row_sum(?1, ?2, ?3, NULL, NULL, NULL, 0))`
const markReadSql = `INSERT INTO conversation_mark (conversation, key, is_read, sum) VALUES (?1, ?2, 1, row_sum(?1, ?2, 1, NULL))
  ON CONFLICT (conversation, key) DO UPDATE SET is_read = 1, ${sumChanged("conversation_mark", { is_read: "1" })}`
const markStoredSql = `INSERT INTO conversation_mark (conversation, key, is_read, memory, sum)
  VALUES (?1, ?2, 0, ?3, row_sum(?1, ?2, 0, ?3))
  ON CONFLICT (conversation, key) DO UPDATE SET memory = ?3, ${sumChanged("conversation_mark", { memory: "?3" })}`
const countPositionSql = `UPDATE conversation SET ${setColumns({ next_position: "?1" })} WHERE id = ?2 AND next_position < ?1`
const appendSql = `INSERT OR REPLACE ${insertInto("conversation_turn")}`
const trimSql = `DELETE FROM conversation_turn WHERE conversation = ? AND turn NOT IN
  (SELECT turn FROM conversation_turn WHERE conversation = ? ORDER BY turn DESC LIMIT ?)`
// A summary may contain a removed turn, however new the summary is.
const dropSummariesSql = `UPDATE conversation SET ${noSummary} WHERE summary_at < ?1
  OR summary IS NOT NULL AND id IN (SELECT conversation FROM conversation_turn WHERE created_at < ?1)`
