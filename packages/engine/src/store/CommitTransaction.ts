/**
 * The statements of one commit, on whichever thread they run: checks that the file is as its owner left
 * it, applies the units in their order, numbers their changes.
 *
 * Invariant: one synchronous SQLite transaction, durable when `run` returns. An order that is fenced has
 * changed nothing; after an error the outcome is unknown (reliability.md).
 */
import type { Database } from "@muniment/sqlite/Database"
import type { FullText } from "../recall/FullText.ts"
import { isSameScope, type ConversationScope } from "./Conversations.ts"
import { recordValues, sourcesOf, textOf, vectorBytes } from "./memoryColumns.ts"
import { metaOf } from "./namespaceMeta.ts"
import type { Change, CommitUnit, NamespaceKey } from "./NamespaceStore.ts"
import type { SqliteConversations } from "./SqliteConversations.ts"
import { outdateSegments } from "./SqliteSegments.ts"

/** Plain data: it may have to travel to another thread. */
export interface CommitOrder {
  readonly key: NamespaceKey
  /** What the file must say of its owner and its last change. */
  readonly epoch: number
  readonly seq: number
  /** The owner's first commit: it takes the next epoch. */
  readonly isClaim: boolean
  readonly units: ReadonlyArray<CommitUnit>
  readonly atMillis: number
}

export type CommitOutcome =
  | { readonly _tag: "Committed"; readonly seq: number; readonly epoch: number }
  | { readonly _tag: "Fenced"; readonly epoch: number }

export class CommitTransaction {
  readonly #database: Database
  readonly #fullText: FullText
  readonly #conversations: SqliteConversations

  constructor(database: Database, fullText: FullText, conversations: SqliteConversations) {
    this.#database = database
    this.#fullText = fullText
    this.#conversations = conversations
  }

  run(order: CommitOrder): CommitOutcome {
    return this.#database.transaction(() => this.#apply(order))
  }

  #apply({ atMillis, epoch, isClaim, key, seq: expectedSeq, units }: CommitOrder): CommitOutcome {
    const found = Number(metaOf(this.#database, "epoch") ?? 0)
    const isOwner = found === epoch && Number(metaOf(this.#database, "seq") ?? 0) === expectedSeq
    if (!isOwner) return { _tag: "Fenced", epoch: found }
    if (isClaim) {
      this.#setMeta("epoch", epoch + 1)
      this.#setMeta("account", key.account)
      this.#setMeta("agent", key.agentId)
    }
    let seq = expectedSeq
    for (const unit of units) {
      for (const change of unit.changes) this.#change(change, ++seq)
      if (unit.conversation !== undefined) this.#conversations.apply(unit.conversation, atMillis)
      if (unit.idempotency !== undefined) {
        const { fingerprint, key: idempotencyKey, result } = unit.idempotency
        this.#database
          .prepare("INSERT INTO idempotency (key, fingerprint, at, result) VALUES (?, ?, ?, ?)")
          .run(idempotencyKey, fingerprint, atMillis, result)
      }
    }
    outdateSegments(this.#database, units)
    this.#setMeta("seq", seq)
    return { _tag: "Committed", seq, epoch: isClaim ? epoch + 1 : epoch }
  }

  #change(change: Change, seq: number): void {
    const database = this.#database
    switch (change._tag) {
      case "Put": {
        this.#forgetTurnsOf(change.slot, change.record)
        database.prepare(putSql).run(...recordValues(change.slot, seq, change.record))
        this.#fullText.put(change.slot, change.columns)
        if (change.vector === undefined) database.prepare("DELETE FROM vector WHERE slot = ?").run(change.slot)
        else this.#putVector(change.slot, seq, change.vector.model, change.vector.values)
        return
      }
      case "Patch": {
        const { record } = change
        database
          .prepare("UPDATE memory SET tags = ?, expires_at = ?, updated_at = ? WHERE slot = ?")
          .run(JSON.stringify(record.tags), record.expiresAt ?? null, record.updatedAt, change.slot)
        this.#fullText.put(change.slot, change.columns)
        return
      }
      case "Remove": {
        this.#forgetTurnsOf(change.slot)
        database.prepare("DELETE FROM memory WHERE slot = ?").run(change.slot)
        this.#fullText.remove(change.slot)
        return
      }
      case "Embed":
        return this.#putVector(change.slot, seq, change.vector.model, change.vector.values)
    }
  }

  /** Before a memory goes, or moves from its thread to another: the turns that it was taken from go. */
  #forgetTurnsOf(slot: number, next?: ConversationScope): void {
    const row = this.#database
      .prepare("SELECT subject_id, thread_id, sources FROM memory WHERE slot = ? AND sources IS NOT NULL")
      .get(slot)
    if (row === undefined) return
    const scope = { subjectId: textOf(row["subject_id"]), threadId: textOf(row["thread_id"]) }
    if (next === undefined || !isSameScope(scope, next)) this.#conversations.forgetSources(scope, sourcesOf(row) ?? [])
  }

  #putVector(slot: number, seq: number, model: string, values: Float32Array): void {
    this.#database.prepare(putVectorSql).run(slot, seq, model, vectorBytes(values))
  }

  #setMeta(key: string, value: number | string): void {
    this.#database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)").run(key, value)
  }
}

// `created_seq` orders versions and survives an update in place; everything else is the record's.
const putSql = `INSERT INTO memory (slot, created_seq, id, kind, subject_id, thread_id, data, tags, mentions, event_time,
    confidence, content_hash, created_at, updated_at, expires_at, unique_key, origin, sources, neighbours)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (slot) DO UPDATE SET subject_id = excluded.subject_id, thread_id = excluded.thread_id, data = excluded.data,
    tags = excluded.tags, mentions = excluded.mentions, event_time = excluded.event_time, confidence = excluded.confidence,
    content_hash = excluded.content_hash, updated_at = excluded.updated_at, expires_at = excluded.expires_at,
    unique_key = excluded.unique_key, sources = excluded.sources, neighbours = excluded.neighbours`

// Not INSERT OR REPLACE, which took four times as long (41 us of CPU instead of some 5 to 10).
const putVectorSql = `INSERT INTO vector (slot, seq, model, value) VALUES (?, ?, ?, ?)
  ON CONFLICT (slot) DO UPDATE SET seq = excluded.seq, model = excluded.model, value = excluded.value`
