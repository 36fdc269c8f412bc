/**
 * The statements of commits that the log holds, on the commit thread: applies the commands' changes in order, and numbers
 * them.
 *
 * Invariants: one synchronous SQLite transaction; a commit is carried out only behind the one that it follows, by epoch and
 * sequence number; one that the file has is passed over.
 */
import { Limits } from "@muniment/domain/Limits"
import type { Database } from "@muniment/sqlite/Database"
import { ConversationWrites } from "./SqliteConversations.ts"
import { SqlitePostings, type SlotSums } from "./SqlitePostings.ts"
import { extrasText } from "../MemoryRow.ts"
import { type ConversationScope, type ErasureLog, isSameScope } from "../Conversations.ts"
import { DamagedColumn, jsonOf, recordValues, sourcesOf, textOf, vectorBytes } from "./memoryColumns.ts"
import { type CopyContent, copyContent, type MetaValues, writeMeta } from "./namespaceMeta.ts"
import { memorySum, memorySumColumns, memorySumOf, rowSum } from "./rowSums.ts"
import type { NamespaceKey } from "../NamespaceStore.ts"
import type { CommandChanges, MemoryChange, MemoryVector, StoredRecord, StoredResult } from "../Commit.ts"
import { columnsLength, type MemoryColumns } from "../../text/MemoryText.ts"
import { SqliteEvents } from "./SqliteEvents.ts"
import { deleteTouchedSegments } from "./SqliteSegments.ts"

/** A commit that the log holds. */
export interface LoggedOrder {
  /** Number of its record in the log. */
  readonly ordinal: number
  readonly key: NamespaceKey
  /** The file must have this epoch, and `seq` as its last change. */
  readonly epoch: number
  readonly seq: number
  /** First commit of this owner: it claims the next epoch. */
  readonly isClaim: boolean
  readonly group: ReadonlyArray<CommandChanges>
  readonly atMillis: number
  /** Whether it removes or replaces what earlier records hold. */
  readonly erases: boolean
}

export class CommitTransaction {
  readonly #database: Database
  readonly #postings: SqlitePostings
  readonly #conversations: ConversationWrites
  readonly #events: SqliteEvents
  /** Changes of the full text, for the end of the transaction. */
  #words: Array<() => void> = []

  /** `erasures` notes the conversations that lose something. */
  constructor(database: Database, erasures: ErasureLog) {
    this.#database = database
    this.#postings = new SqlitePostings(database.handle)
    this.#conversations = new ConversationWrites(database, erasures)
    this.#events = new SqliteEvents(database)
  }

  /** Carries out commits of the log in their order, as one transaction; those that the file has are passed over. */
  follow(orders: ReadonlyArray<LoggedOrder>): CopyContent {
    return this.#transaction(() => {
      const before = copyContent(this.#database)
      const lacking = orders.filter((one) => one.ordinal > before.ordinal)
      if (lacking.length === 0) return before
      const at: Mutable<FilePosition> = { epoch: before.epoch, seq: before.seq }
      const values: Mutable<MetaValues> = {}
      for (const order of lacking) {
        if (!follows(order, at))
          throw new DamagedColumn(
            `record ${order.ordinal} of the log follows epoch ${order.epoch} and change ${order.seq}; the file is at ${at.epoch} and ${at.seq}`
          )
        Object.assign(values, this.#apply(order))
        Object.assign(at, values)
        values.ordinal = order.ordinal
        if (order.erases) values.erasure_due = order.ordinal
      }
      return writeMeta(this.#database, values)
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

  /** -> what is to be stored in `meta`. */
  #apply({
    atMillis,
    epoch,
    group,
    isClaim,
    key,
    seq: expectedSeq
  }: LoggedOrder): MetaValues & { readonly seq: number } {
    let seq = expectedSeq
    for (const { changes, conversation, idempotency } of group) {
      for (const change of changes) {
        seq++
        this.#events.note(change, seq, atMillis)
        this.#change(change, seq)
      }
      if (conversation !== undefined) this.#conversations.apply(conversation, atMillis)
      if (idempotency !== undefined) this.#storeResult(idempotency, atMillis)
    }
    deleteTouchedSegments(this.#database, group)
    if (!isClaim) return { seq }
    const born = epoch === 0 ? { born: atMillis } : {}
    return { seq, epoch: epoch + 1, account: key.account, agent: key.agentId, ...born }
  }

  #change(change: MemoryChange, seq: number): void {
    const database = this.#database
    switch (change._tag) {
      case "Put": {
        const replaced = this.#eraseSourceTurns(change.slot, change.record)
        const values = recordValues(change.slot, seq, change.record)
        database.prepare(putSql).run(...values)
        const sum = replaced === undefined ? memorySumOf(values.slice(0, -1)) : this.#sumOf(change.slot) - replaced
        this.#putWords(change, {
          row: sum,
          vector: change.vector === undefined ? null : vectorSum(change.slot, seq, change.vector)
        })
        this.#noteSources(change)
        if (change.record.origin === "conversation") this.#conversations.keepMessage(change.record, change.record)
        if (change.vector === undefined) database.prepare("DELETE FROM vector WHERE slot = ?").run(change.slot)
        else this.#putVector(change.slot, seq, change.vector, false)
        return
      }
      case "Patch": {
        const { record, slot } = change
        const before = this.#sumOf(slot)
        const { expiresAt = null, neighbours, tags, uniqueKey = null, updatedAt } = record
        const values = [
          JSON.stringify(tags),
          expiresAt,
          updatedAt,
          uniqueKey,
          jsonOf(neighbours),
          extrasText(record) ?? null
        ]
        database.prepare(patchSql).run(...values, slot)
        this.#putWords(change, { row: this.#sumOf(slot) - before, vector: undefined })
        return
      }
      case "Remove": {
        if (change.keepsTurns !== true) this.#eraseSourceTurns(change.slot)
        database.prepare("DELETE FROM memory WHERE slot = ?").run(change.slot)
        this.#words.push(() => this.#postings.remove(change.slot))
        return
      }
      case "PutPassage": {
        const { end, memory, slot, start, traits, vector } = change
        database.prepare(putPassageSql).run(slot, memory, start, end, traits)
        const sums = {
          row: rowSum([slot, memory, start, end, traits]),
          vector: vector === undefined ? null : vectorSum(slot, seq, vector)
        }
        this.#words.push(() => this.#postings.put(slot, change.columns, undefined, sums))
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
      case "Embed": {
        const { slot, vector } = change
        this.#putVector(slot, seq, vector, change.isPassage)
        this.#words.push(() => this.#postings.sumVector(slot, vectorSum(slot, seq, vector)))
        return
      }
    }
  }

  /**
   * Before a memory is removed or moves to another conversation, or a message is corrected: erases its turns. -> the sum of
   * its row; undefined: there is none.
   */
  #eraseSourceTurns(slot: number, next?: ConversationScope): number | undefined {
    const row = this.#database.prepare(sourcesSql).get(slot)
    if (row === undefined) return undefined
    const scope = { subjectId: textOf(row["subject_id"]), threadId: textOf(row["thread_id"]) }
    if (next === undefined || row["origin"] === "conversation" || !isSameScope(scope, next))
      this.#conversations.eraseSources(scope, sourcesOf(row) ?? [])
    return Number(row["sum"])
  }

  /** As the row of a memory is now. */
  #sumOf(slot: number): number {
    return Number(this.#database.prepare(sumSql).get(slot)?.["sum"])
  }

  /** The words that a message has from those around it follow from their order and are not stored. */
  #putWords({ columns, record, slot }: StoredRecord & { readonly columns: MemoryColumns }, sums: SlotSums): void {
    const own = record.position === undefined ? columns : { ...columns, neighbours: [] }
    this.#words.push(() => this.#postings.put(slot, own, columnsLength(columns), sums))
  }

  /** An extracted memory keeps its sources for life. */
  #noteSources({ record, slot }: StoredRecord): void {
    if (record.origin !== "extraction") return
    const note = this.#database.prepare("INSERT OR IGNORE INTO memory_source (key, memory) VALUES (?, ?)")
    for (const { key } of record.sources ?? []) note.run(key, slot)
  }

  #storeResult({ fingerprint, key, result }: StoredResult, atMillis: number): void {
    const values = [key, fingerprint, atMillis, result] as const
    // One that housekeeping has forgotten may still be here: the log does not say so, and a power cut may bring it back.
    this.#database.prepare("DELETE FROM idempotency WHERE key = ? AND at < ?").run(key, atMillis - keyReusedMillis)
    this.#database
      .prepare("INSERT INTO idempotency (key, fingerprint, at, result, sum) VALUES (?, ?, ?, ?, ?)")
      .run(...values, rowSum(values))
  }

  #putVector(slot: number, seq: number, { model, values }: MemoryVector, isPassage: boolean): void {
    this.#database.prepare(isPassage ? putPassageVectorSql : putVectorSql).run(slot, seq, model, vectorBytes(values))
  }
}

/** A key this old may be used again. Half of the time for which it is kept: clocks are set back. */
const keyReusedMillis = Limits.idempotencyRetentionMillis / 2

type Mutable<A> = { -readonly [Key in keyof A]: A[Key] }

type FilePosition = Pick<CopyContent, "epoch" | "seq">

const follows = (order: LoggedOrder, at: FilePosition): boolean => at.epoch === order.epoch && at.seq === order.seq

const vectorSum = (slot: number, seq: number, { model, values }: MemoryVector): number =>
  rowSum([slot, seq, model, vectorBytes(values)])

const sumSql = `SELECT ${memorySum} AS sum FROM memory WHERE slot = ?`
const sourcesSql = `SELECT subject_id, thread_id, origin, sources, ${memorySum} AS sum
  FROM memory WHERE slot = ?`

// A replacement keeps `created_seq`, which orders versions.
const putSql = `INSERT INTO memory (${memorySumColumns.join(", ")}, extras, data)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (slot) DO UPDATE SET subject_id = excluded.subject_id, thread_id = excluded.thread_id, data = excluded.data,
    tags = excluded.tags, mentions = excluded.mentions, event_time = excluded.event_time, confidence = excluded.confidence,
    content_hash = excluded.content_hash, updated_at = excluded.updated_at, expires_at = excluded.expires_at,
    unique_key = excluded.unique_key, sources = excluded.sources, neighbours = excluded.neighbours,
    speaker = excluded.speaker, traits = excluded.traits, extras = excluded.extras`

const patchSql = `UPDATE memory SET tags = ?, expires_at = ?, updated_at = ?, unique_key = ?, neighbours = ?,
  extras = ? WHERE slot = ?`

const putPassageSql = "INSERT INTO passage (slot, memory, starts, ends, traits) VALUES (?, ?, ?, ?, ?)"
const putPassageVectorSql = "UPDATE passage SET seq = ?2, model = ?3, value = ?4 WHERE slot = ?1"

// INSERT OR REPLACE took at least four times as long (41 us instead of 5 to 10).
const putVectorSql = `INSERT INTO vector (slot, seq, model, value) VALUES (?, ?, ?, ?)
  ON CONFLICT (slot) DO UPDATE SET seq = excluded.seq, model = excluded.model, value = excluded.value`
