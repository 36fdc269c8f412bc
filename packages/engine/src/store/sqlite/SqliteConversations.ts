/**
 * `Conversations` in SQLite: the reads, and the sweep of what has expired. Commits write them on the commit thread
 * (`ConversationWrites`), and tell what they erased.
 */
import type { Effect, Semaphore } from "effect"
import type { Database } from "@muniment/sqlite/Database"
import type { MemoryRecord, MessageSource } from "@muniment/domain/Memory"
import { Limits } from "@muniment/domain/Limits"
import {
  againPrefix,
  type ConversationAdvance,
  type ConversationChange,
  type ConversationContext,
  type ConversationErasure,
  type Conversations,
  type ConversationScope,
  ErasureLog,
  type ErasureMark,
  type KeptTurn,
  type MessagePlace,
  type PendingCount,
  type PendingReading,
  type ScopedReading,
  scopeText,
  type StoredMessages
} from "../Conversations.ts"
import type { StoreError } from "../StoreError.ts"
import { textOf } from "./memoryColumns.ts"
import { guarded } from "./storeErrorOf.ts"
import { sumChanged, type SummedTable, summedTables } from "./rowSums.ts"

/**
 * The writes of conversations inside the transaction of a commit: marks, turns, summaries and pending extractions.
 *
 * Invariant: every change that takes something from a conversation is noted in the erasure log.
 */
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
const idOf = (database: Database, scope: ConversationScope): number | undefined => {
  const row = database.prepare("SELECT id FROM conversation WHERE scope = ?").get(scopeText(scope))
  return row === undefined ? undefined : Number(row["id"])
}

const withinSql = "(?1 IS NULL OR subject_id = ?1) AND (?2 IS NULL OR thread_id = ?2)"
const withinValues = ({ subjectId, threadId }: ConversationScope) => [subjectId ?? null, threadId ?? null] as const

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

const noSummary = setColumns({ summary: "NULL", summary_at: "NULL", summary_expires_at: "NULL" })
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

/** Turns, and summaries, that one sweep removes: a few milliseconds. The rest waits for the next sweep. */
const sweptMax = 500

export class SqliteConversations implements Conversations {
  readonly #database: Database
  /** Lower bound of the next expiry in the file; exact after each sweep. */
  #nextExpiry: number | undefined
  readonly #erasures = new ErasureLog()
  readonly #writing: Semaphore.Semaphore

  constructor(database: Database, writing: Semaphore.Semaphore) {
    this.#database = database
    this.#writing = writing
    this.#nextExpiry = this.#earliestExpiry()
  }

  get nextExpiry(): number | undefined {
    return this.#nextExpiry
  }

  context(scope: ConversationScope, nowMillis: number): Effect.Effect<ConversationContext, StoreError> {
    return guarded(() => {
      const kept = this.#database
        .prepare("SELECT summary, summary_expires_at FROM conversation WHERE scope = ?")
        .get(scopeText(scope))
      const turns = this.#database.prepare(turnsSql).all(scopeText(scope), nowMillis)
      const isOver = typeof kept?.["summary_expires_at"] === "number" && kept["summary_expires_at"] <= nowMillis
      const summary = kept?.["summary"]
      return {
        turns: turns.map(turnOf),
        summary: isOver || typeof summary !== "string" ? undefined : summary,
        summaryExpiresAt: isOver ? undefined : timeOf(kept?.["summary_expires_at"]),
        readAt: this.#erasures.mark()
      }
    })
  }

  isErasedSince(scope: ConversationScope, mark: ErasureMark): boolean {
    return this.#erasures.hasSince(mark, scopeText(scope))
  }

  processed(scope: ConversationScope, keys: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>, StoreError> {
    return guarded(() => {
      const conversation = idOf(this.#database, scope)
      if (conversation === undefined) return new Set<string>()
      const statement = this.#database.prepare(
        "SELECT 1 FROM conversation_mark WHERE conversation = ? AND key = ? AND is_read = 1"
      )
      return new Set(keys.filter((key) => statement.get(conversation, key) !== undefined))
    })
  }

  stored(scope: ConversationScope, keys: ReadonlyArray<string>): Effect.Effect<StoredMessages, StoreError> {
    return guarded(() => {
      const conversation = idOf(this.#database, scope)
      if (conversation === undefined) return new Map<string, string | undefined>()
      const statement = this.#database.prepare(storedSql)
      return new Map(
        keys.flatMap((key) => {
          const mark = statement.get(conversation, key)
          return mark === undefined ? [] : [[key, textOf(mark["id"])] as const]
        })
      )
    })
  }

  slots(messages: ReadonlyArray<MessagePlace>): Effect.Effect<ReadonlyArray<number | undefined>, StoreError> {
    return guarded(() => {
      const asked = JSON.stringify(messages.map(({ key, scope }) => [scopeText(scope), key]))
      const rows = this.#database.prepare(slotsSql).allArrays(asked)
      const slots = new Map(rows.map(([at, slot]) => [Number(at), Number(slot)]))
      return messages.map((_, at) => slots.get(at))
    })
  }

  nextPosition(scope: ConversationScope): Effect.Effect<number, StoreError> {
    return guarded(() => {
      const row = this.#database.prepare("SELECT next_position FROM conversation WHERE scope = ?").get(scopeText(scope))
      return Number(row?.["next_position"] ?? 0)
    })
  }

  pendingReadings(limit: number, after = 0): Effect.Effect<ReadonlyArray<ScopedReading>, StoreError> {
    return guarded(() => this.#database.prepare(pendingSql).all(after, limit).map(readingOf))
  }

  get pendingCount(): Effect.Effect<PendingCount, StoreError> {
    return guarded(() => {
      const row = this.#database.prepare(pendingCountSql).get()
      return { count: Number(row?.["count"]), sinceMillis: timeOf(row?.["since"]) }
    })
  }

  finds(erasure: ConversationErasure): Effect.Effect<boolean, StoreError> {
    return guarded(() => {
      if (erasure._tag === "DropTurns")
        return this.#database.prepare(findsOldSql).get(erasure.beforeMillis) !== undefined
      const found = this.#database.prepare(`SELECT 1 FROM conversation WHERE ${withinSql} LIMIT 1`)
      return found.get(...withinValues(erasure.within)) !== undefined
    })
  }

  sweep(nowMillis: number): Effect.Effect<number, StoreError> {
    const sweep = guarded(() => {
      if (this.#nextExpiry === undefined || this.#nextExpiry > nowMillis) return 0
      const swept = this.#database.transaction(() =>
        [sweepTurnsSql, sweepSummariesSql].reduce(
          (sum, sql) => sum + Number(this.#database.prepare(sql).run(nowMillis, sweptMax).changes),
          0
        )
      )
      this.#nextExpiry = this.#earliestExpiry()
      return swept
    })
    return this.#writing.withPermit(sweep)
  }

  /** After a commit: `erased` are the scopes of conversations that lost something; undefined in the list: any. */
  follow(changes: ReadonlyArray<ConversationChange>, erased: ReadonlyArray<string | undefined>): void {
    for (const scope of erased) this.#erasures.add(scope)
    for (const change of changes) if (change._tag === "Advance") this.#noteExpiry(change)
  }

  #noteExpiry({ expiresAt, summaryExpiresAt }: ConversationAdvance): void {
    const expiries = [this.#nextExpiry, expiresAt, summaryExpiresAt].filter((time) => time !== undefined)
    if (expiries.length > 0) this.#nextExpiry = Math.min(...expiries)
  }

  #earliestExpiry(): number | undefined {
    const row = this.#database.prepare(earliestSql).get()
    const times = Object.values(row ?? {}).filter((time) => typeof time === "number")
    return times.length === 0 ? undefined : Math.min(...times)
  }
}

const timeOf = (column: unknown): number | undefined => (typeof column === "number" ? column : undefined)

const turnOf = (columns: Readonly<Record<string, unknown>>): KeptTurn => {
  const role = columns["role"]
  return {
    key: String(columns["key"]),
    role: role === "assistant" || role === "system" ? role : "user",
    name: textOf(columns["name"]),
    content: String(columns["content"]),
    sentAt: textOf(columns["sent_at"]),
    expiresAt: timeOf(columns["expires_at"])
  }
}

const readingOf = (columns: Readonly<Record<string, unknown>>): ScopedReading => {
  return {
    id: String(columns["id"]),
    scope: { subjectId: textOf(columns["subject_id"]), threadId: textOf(columns["thread_id"]) },
    messages: JSON.parse(String(columns["messages"])) as ScopedReading["messages"],
    ...wantedOf(textOf(columns["kinds"])),
    conversationDate: String(columns["conversation_date"]),
    expiresAt: timeOf(columns["expires_at"]),
    place: Number(columns["place"])
  }
}

type Wanted = Pick<ScopedReading, "kinds" | "instructions">

const wantedOf = (text: string | undefined): Wanted => {
  const wanted = text === undefined ? undefined : (JSON.parse(text) as ReadonlyArray<string> | Partial<Wanted>)
  if (wanted === undefined || "length" in wanted) return { kinds: wanted }
  return { instructions: wanted.instructions, kinds: wanted.kinds }
}

/** Behind every row that is not read again. */
const againPlace = 2 ** 40
const pendingSql = `SELECT conversation_pending.id AS id, subject_id, thread_id, messages, kinds, conversation_date, expires_at,
  conversation_pending.rowid + iif(conversation_pending.id GLOB '${againPrefix}*', ${againPlace}, 0) AS place
  FROM conversation_pending JOIN conversation ON conversation.id = conversation
  WHERE place > ? ORDER BY place LIMIT ?`
const pendingCountSql = `SELECT count(*) AS count,
  min(memory.created_at) FILTER (WHERE pending.id NOT GLOB '${againPrefix}*') AS since FROM conversation_pending AS pending
  LEFT JOIN conversation_mark AS mark
    ON mark.conversation = pending.conversation AND mark.key = json_extract(pending.messages, '$[0].key')
  LEFT JOIN memory ON memory.id = mark.memory`
const storedSql = `SELECT memory.id AS id FROM conversation_mark LEFT JOIN memory ON memory.id = conversation_mark.memory
  WHERE conversation = ? AND key = ? AND conversation_mark.memory IS NOT NULL`
const slotsSql = `SELECT asked.key, memory.slot FROM json_each(?1) AS asked
  JOIN conversation ON conversation.scope = asked.value ->> 0
  JOIN conversation_mark AS mark ON mark.conversation = conversation.id AND mark.key = asked.value ->> 1
  JOIN memory ON memory.id = mark.memory`
const turnsSql = `SELECT key, role, name, content, sent_at, expires_at FROM conversation_turn
  WHERE conversation = (SELECT id FROM conversation WHERE scope = ?1) AND (expires_at IS NULL OR expires_at > ?2)
  ORDER BY turn`
const findsOldSql = `SELECT 1 WHERE EXISTS (SELECT 1 FROM conversation_turn WHERE created_at < ?1)
  OR EXISTS (SELECT 1 FROM conversation WHERE summary_at < ?1)`
const sweepTurnsSql = `DELETE FROM conversation_turn WHERE turn IN
  (SELECT turn FROM conversation_turn WHERE expires_at <= ? LIMIT ?)`
const sweepSummariesSql = `UPDATE conversation SET ${noSummary} WHERE id IN
  (SELECT id FROM conversation WHERE summary_expires_at <= ? LIMIT ?)`
const earliestSql = `SELECT (SELECT min(expires_at) FROM conversation_turn) AS turn,
  (SELECT min(summary_expires_at) FROM conversation) AS summary`
