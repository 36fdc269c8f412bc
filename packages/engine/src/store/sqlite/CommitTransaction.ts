/**
 * The statements of one commit, on the event loop or on the commit thread: checks that the owner is current, applies
 * the commands' changes in order, and numbers them.
 *
 * Invariant: one synchronous SQLite transaction, durable when `run` returns. A fenced order changes nothing; after
 * an error the outcome is unknown.
 */
import type { Database } from "@muniment/sqlite/Database"
import type { SqlitePostings } from "./SqlitePostings.ts"
import { isSameScope, type ConversationScope } from "../Conversations.ts"
import { DamagedColumn, recordValues, sourcesOf, textOf, vectorBytes } from "./memoryColumns.ts"
import { type CopyContent, copyContent, metaOf } from "./namespaceMeta.ts"
import type { NamespaceKey } from "../NamespaceStore.ts"
import type { CommandChanges, MemoryChange, MemoryVector, StoredRecord, StoredResult } from "../Commit.ts"
import { columnsLength, type MemoryColumns } from "../../text/MemoryText.ts"
import type { SqliteConversations } from "./SqliteConversations.ts"
import { deleteTouchedSegments } from "./SqliteSegments.ts"

/** Plain data, since it may be sent to another thread. */
export interface CommitOrder {
  readonly key: NamespaceKey
  /** The file must have this epoch, and `seq` as its last change. */
  readonly epoch: number
  readonly seq: number
  /** First commit of this owner: it claims the next epoch. */
  readonly isClaim: boolean
  readonly group: ReadonlyArray<CommandChanges>
  readonly atMillis: number
}

/** A commit that the log holds. */
export interface LoggedOrder extends CommitOrder {
  /** Number of its record in the log. */
  readonly ordinal: number
  /** Whether it removes or replaces what earlier records hold. */
  readonly erases: boolean
}

export type CommitOutcome =
  | { readonly _tag: "Committed"; readonly seq: number; readonly epoch: number; readonly bytes: number }
  | { readonly _tag: "Fenced"; readonly epoch: number }

export class CommitTransaction {
  readonly #database: Database
  readonly #postings: SqlitePostings
  readonly #conversations: SqliteConversations
  /** Changes of the full text, for the end of the transaction. */
  #words: Array<() => void> = []

  constructor(database: Database, postings: SqlitePostings, conversations: SqliteConversations) {
    this.#database = database
    this.#postings = postings
    this.#conversations = conversations
  }

  run(order: CommitOrder): CommitOutcome {
    return this.#transaction(() => this.#apply(order))
  }

  /** Carries out commits of the log in their order, as one transaction; those that the file has are passed over. */
  follow(orders: ReadonlyArray<LoggedOrder>): CopyContent {
    return this.#transaction(() => {
      const before = copyContent(this.#database)
      let { erasureDue, ordinal } = before
      for (const order of orders.filter((one) => one.ordinal > before.ordinal)) {
        const outcome = this.#apply(order)
        if (outcome._tag === "Fenced") {
          const { epoch, seq } = copyContent(this.#database)
          throw new DamagedColumn(
            `record ${order.ordinal} of the log follows epoch ${order.epoch} and change ${order.seq}; the file is at ${epoch} and ${seq}`
          )
        }
        ordinal = order.ordinal
        if (order.erases) erasureDue = ordinal
      }
      this.#setMeta("ordinal", ordinal)
      if (erasureDue !== before.erasureDue) this.#setMeta("erasure_due", erasureDue)
      return copyContent(this.#database)
    })
  }

  /**
   * The full text is changed last: FTS5 writes out what it holds before each statement that can be undone by itself, as
   * an insert with a trigger is, and then a row of 100 took twice the processor time (71 instead of 38 us).
   */
  #transaction<Outcome>(step: () => Outcome): Outcome {
    this.#words = []
    return this.#database.transaction(() => {
      const outcome = step()
      for (const change of this.#words) change()
      return outcome
    })
  }

  #apply({ atMillis, epoch, group, isClaim, key, seq: expectedSeq }: CommitOrder): CommitOutcome {
    const found = Number(metaOf(this.#database, "epoch") ?? 0)
    const isOwner = found === epoch && Number(metaOf(this.#database, "seq") ?? 0) === expectedSeq
    if (!isOwner) return { _tag: "Fenced", epoch: found }
    if (isClaim) {
      this.#setMeta("epoch", epoch + 1)
      this.#setMeta("account", key.account)
      this.#setMeta("agent", key.agentId)
    }
    let seq = expectedSeq
    for (const { changes, conversation, idempotency } of group) {
      for (const change of changes) this.#change(change, ++seq)
      if (conversation !== undefined) this.#conversations.apply(conversation, atMillis)
      if (idempotency !== undefined) this.#storeResult(idempotency, atMillis)
    }
    deleteTouchedSegments(this.#database, group)
    this.#setMeta("seq", seq)
    const bytes = Number(metaOf(this.#database, "bytes"))
    return { _tag: "Committed", seq, epoch: isClaim ? epoch + 1 : epoch, bytes }
  }

  #change(change: MemoryChange, seq: number): void {
    const database = this.#database
    switch (change._tag) {
      case "Put": {
        this.#eraseSourceTurns(change.slot, change.record)
        database.prepare(putSql).run(...recordValues(change.slot, seq, change.record))
        this.#putWords(change)
        this.#noteSources(change)
        if (change.record.origin === "conversation") this.#conversations.keepMessage(change.record, change.record)
        if (change.vector === undefined) database.prepare("DELETE FROM vector WHERE slot = ?").run(change.slot)
        else this.#putVector(change.slot, seq, change.vector, false)
        return
      }
      case "Patch": {
        const { record } = change
        database
          .prepare("UPDATE memory SET tags = ?, expires_at = ?, updated_at = ? WHERE slot = ?")
          .run(JSON.stringify(record.tags), record.expiresAt ?? null, record.updatedAt, change.slot)
        this.#putWords(change)
        return
      }
      case "Remove": {
        this.#eraseSourceTurns(change.slot)
        database.prepare("DELETE FROM memory WHERE slot = ?").run(change.slot)
        this.#words.push(() => this.#postings.remove(change.slot))
        return
      }
      case "PutPassage": {
        const { end, memory, slot, start, traits, vector } = change
        database.prepare(putPassageSql).run(slot, memory, start, end, traits)
        this.#words.push(() => this.#postings.put(slot, change.columns))
        if (vector !== undefined) this.#putVector(slot, seq, vector, true)
        return
      }
      case "RemovePassage": {
        database.prepare("DELETE FROM passage WHERE slot = ?").run(change.slot)
        this.#words.push(() => this.#postings.remove(change.slot))
        return
      }
      case "Surround":
        this.#words.push(() => this.#postings.resize(change.slot, columnsLength(change.columns)))
        return
      case "Reindex":
        this.#words.push(() => this.#postings.put(change.slot, change.columns))
        return
      case "Embed":
        return this.#putVector(change.slot, seq, change.vector, change.isPassage)
    }
  }

  /** Before a memory is removed or moves to another conversation, or a message is corrected: erases its turns. */
  #eraseSourceTurns(slot: number, next?: ConversationScope): void {
    const row = this.#database
      .prepare("SELECT subject_id, thread_id, origin, sources FROM memory WHERE slot = ? AND sources IS NOT NULL")
      .get(slot)
    if (row === undefined) return
    const scope = { subjectId: textOf(row["subject_id"]), threadId: textOf(row["thread_id"]) }
    if (next === undefined || row["origin"] === "conversation" || !isSameScope(scope, next))
      this.#conversations.eraseSources(scope, sourcesOf(row) ?? [])
  }

  /** The words that a message has from those around it follow from their order and are not stored. */
  #putWords({ columns, record, slot }: StoredRecord & { readonly columns: MemoryColumns }): void {
    const own = record.position === undefined ? columns : { ...columns, neighbours: [] }
    this.#words.push(() => this.#postings.put(slot, own, columnsLength(columns)))
  }

  /** An extracted memory keeps its sources for life. */
  #noteSources({ record, slot }: StoredRecord): void {
    if (record.origin !== "extraction") return
    const note = this.#database.prepare("INSERT OR IGNORE INTO memory_source (key, memory) VALUES (?, ?)")
    for (const { key } of record.sources ?? []) note.run(key, slot)
  }

  #storeResult({ fingerprint, key, result }: StoredResult, atMillis: number): void {
    this.#database
      .prepare("INSERT INTO idempotency (key, fingerprint, at, result) VALUES (?, ?, ?, ?)")
      .run(key, fingerprint, atMillis, result)
  }

  #putVector(slot: number, seq: number, { model, values }: MemoryVector, isPassage: boolean): void {
    this.#database.prepare(isPassage ? putPassageVectorSql : putVectorSql).run(slot, seq, model, vectorBytes(values))
  }

  #setMeta(key: string, value: number | string): void {
    this.#database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)").run(key, value)
  }
}

// A replacement keeps `created_seq`, which orders versions.
const putSql = `INSERT INTO memory (slot, created_seq, id, kind, subject_id, thread_id, data, tags, mentions, event_time,
    confidence, content_hash, created_at, updated_at, expires_at, unique_key, origin, sources, neighbours, position,
    speaker, traits)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (slot) DO UPDATE SET subject_id = excluded.subject_id, thread_id = excluded.thread_id, data = excluded.data,
    tags = excluded.tags, mentions = excluded.mentions, event_time = excluded.event_time, confidence = excluded.confidence,
    content_hash = excluded.content_hash, updated_at = excluded.updated_at, expires_at = excluded.expires_at,
    unique_key = excluded.unique_key, sources = excluded.sources, neighbours = excluded.neighbours,
    speaker = excluded.speaker, traits = excluded.traits`

const putPassageSql = "INSERT INTO passage (slot, memory, starts, ends, traits) VALUES (?, ?, ?, ?, ?)"
const putPassageVectorSql = "UPDATE passage SET seq = ?2, model = ?3, value = ?4 WHERE slot = ?1"

// INSERT OR REPLACE took at least four times as long (41 us instead of 5 to 10).
const putVectorSql = `INSERT INTO vector (slot, seq, model, value) VALUES (?, ?, ?, ?)
  ON CONFLICT (slot) DO UPDATE SET seq = excluded.seq, model = excluded.model, value = excluded.value`
