/**
 * One open namespace file, the copy that follows the log: its reads in SQL, and what housekeeping writes.
 *
 * Invariants: commits come by the commit thread, through a connection of its own, and writes of the two take turns, since
 * waiting for SQLite's own lock would block the event loop. What the thread writes is visible to reads shortly before the
 * image follows: records are compared with the image, and every posting is checked against its slot's stamp.
 */
import { rmSync } from "node:fs"
import type { SQLOutputValue } from "node:sqlite"
import { Effect, Semaphore } from "effect"
import type { MemoryRecord } from "@muniment/domain/Memory"
import type { Condition } from "@muniment/domain/Where"
import type { Database } from "@muniment/sqlite/Database"
import type { CommitThread, Followed, FollowedEntry } from "./CommitThread.ts"
import {
  DamagedColumn,
  passageOf,
  passagesSql,
  recordOf,
  recordsSql,
  rowOf,
  rowsSql,
  textCondition,
  vectorOf,
  vectorsOfSlots,
  vectorsSql
} from "./memoryColumns.ts"
import { copyContent, metaOf, requireOwner, writeMeta } from "./namespaceMeta.ts"
import { copyPath } from "./namespaceFiles.ts"
import { namespaceMigrations } from "./namespaceMigrations.ts"
import { SqliteConversations } from "./SqliteConversations.ts"
import { SqliteEvents } from "./SqliteEvents.ts"
import { SqlitePostings } from "./SqlitePostings.ts"
import { SqliteSegments } from "./SqliteSegments.ts"
import { guarded } from "./storeErrorOf.ts"
import type { StoredRecord, StoredResult } from "../Commit.ts"
import type { ConversationChange, ConversationScope } from "../Conversations.ts"
import type { MemoryRow, PassageRow } from "../MemoryRow.ts"
import type { EventPage, NamespaceKey, SlotRange, StoredVector } from "../NamespaceStore.ts"
import type { StoreError } from "../StoreError.ts"

/** Rows read in one turn: 1 to 4 ms, most of it for vectors. */
const rowsPerTurn = 250

export class NamespaceFile {
  readonly key: NamespaceKey
  readonly lastSeq: number
  readonly postings: SqlitePostings
  readonly conversations: SqliteConversations
  readonly segments: SqliteSegments
  readonly snapshotPath: string
  readonly #database: Database
  readonly #thread: CommitThread
  readonly #events: SqliteEvents
  readonly #writing = Semaphore.makeUnsafe(1)
  /** Of the owner that this is. */
  #epoch: number
  #mayHaveCopies = true

  constructor(database: Database, key: NamespaceKey, thread: CommitThread) {
    this.#database = database
    this.#thread = thread
    this.key = key
    this.snapshotPath = `${database.filename.slice(0, -".db".length)}.hnsw`
    this.postings = new SqlitePostings(database.handle)
    const { epoch, seq } = copyContent(database)
    this.lastSeq = seq
    this.#epoch = epoch
    requireOwner(database, key)
    this.conversations = new SqliteConversations(database, this.#writing)
    this.segments = new SqliteSegments(database, (seq) => this.#isCurrent(seq), this.#writing)
    this.#events = new SqliteEvents(database)
  }

  eachRow(visit: (row: MemoryRow) => void): Effect.Effect<void, StoreError> {
    return this.#eachChunk(rowsSql, (row) => visit(rowOf(row)), everySlot)
  }

  eachData(slots: ReadonlyArray<number>, visit: (slot: number, data: string) => void): Effect.Effect<void, StoreError> {
    const starts = Array.from({ length: Math.ceil(slots.length / rowsPerTurn) }, (_, turn) => turn * rowsPerTurn)
    const read = (from: number) =>
      guarded(() => {
        const some = JSON.stringify(slots.slice(from, from + rowsPerTurn))
        for (const [slot, data] of this.#database.prepare(dataOfSlots).allArrays(some))
          visit(Number(slot), String(data))
      })
    return Effect.forEach(starts, (from) => Effect.andThen(read(from), Effect.yieldNow), { discard: true })
  }

  eachPassage(visit: (passage: PassageRow) => void): Effect.Effect<void, StoreError> {
    return this.#eachChunk(passagesSql, (row) => visit(passageOf(row)), everySlot)
  }

  eachVector(
    visit: (vector: StoredVector) => void,
    ranges: ReadonlyArray<SlotRange> = [everySlot]
  ): Effect.Effect<void, StoreError> {
    return Effect.forEach(ranges, (range) => this.#eachChunk(vectorsSql, (row) => visit(vectorOf(row)), range), {
      discard: true
    })
  }

  vectors(slots: ReadonlyArray<number>): Effect.Effect<ReadonlyArray<StoredVector>, StoreError> {
    return guarded(() => this.#database.prepare(vectorsOfSlots).allArrays(JSON.stringify(slots)).map(vectorOf))
  }

  /** Carries out commits that the log holds and this file lacks; `conversations`: their changes of conversations. */
  follow(
    entries: ReadonlyArray<FollowedEntry>,
    conversations: ReadonlyArray<ConversationChange>
  ): Effect.Effect<Followed, StoreError> {
    const followed = this.#thread.follow(this.#database.filename, entries)
    return Effect.tap(this.#writing.withPermit(followed), ({ content, erased }) =>
      Effect.sync(() => {
        this.#epoch = content.epoch
        this.conversations.follow(conversations, erased)
      })
    )
  }

  /** Notes up to which record the log must be erased; 0: it was. */
  noteErasure(ordinal: number): Effect.Effect<void, StoreError> {
    return this.#writing.withPermit(
      guarded(() => {
        this.#database.transaction(() => {
          copyContent(this.#database)
          writeMeta(this.#database, { erasure_due: ordinal })
        })
      })
    )
  }

  storedResult(idempotencyKey: string, sinceMillis = 0): Effect.Effect<StoredResult | undefined, StoreError> {
    return guarded(() => {
      const row = this.#database
        .prepare("SELECT key, fingerprint, result FROM idempotency WHERE key = ? AND at >= ?")
        .get(idempotencyKey, sinceMillis)
      return row === undefined
        ? undefined
        : { key: String(row["key"]), fingerprint: String(row["fingerprint"]), result: String(row["result"]) }
    })
  }

  forgetResultsBefore(atMillis: number): Effect.Effect<number, StoreError> {
    return this.#writing.withPermit(
      guarded(() => Number(this.#database.prepare("DELETE FROM idempotency WHERE at < ?").run(atMillis).changes))
    )
  }

  events(after: number, limit: number): Effect.Effect<EventPage, StoreError> {
    return guarded(() => this.#events.page(after, limit))
  }

  forgetEvents(beforeMillis: number, changesKept: number): Effect.Effect<void, StoreError> {
    const portion = this.#writing.withPermit(guarded(() => this.#events.forget(beforeMillis, changesKept)))
    return Effect.repeat(Effect.tap(portion, Effect.yieldNow), { while: (hasMore) => hasMore }).pipe(Effect.asVoid)
  }

  record(slot: number): Effect.Effect<MemoryRecord | undefined, StoreError> {
    return guarded(() => {
      const [row] = this.#recordRows([slot])
      return row === undefined ? undefined : recordOf(this.key.agentId, row)
    })
  }

  records(slots: ReadonlyArray<number>): Effect.Effect<ReadonlyArray<StoredRecord>, StoreError> {
    return guarded(() => {
      const found = new Map(this.#recordRows(slots).map((row) => [Number(row[0]), row]))
      return slots.flatMap((slot) => {
        const row = found.get(slot)
        return row === undefined ? [] : [{ slot, record: recordOf(this.key.agentId, row) }]
      })
    })
  }

  slotsOfData({ from, to }: SlotRange, wanted: Condition): Effect.Effect<ReadonlyArray<number>, StoreError> {
    return guarded(() => {
      const { sql, values } = textCondition(wanted)
      const rows = this.#database
        .prepare(`SELECT slot FROM memory WHERE slot >= ? AND slot < ? AND (${sql})`)
        .allArrays(from, to, ...values)
      return rows.map(([slot]) => Number(slot))
    })
  }

  slotOf(id: string): Effect.Effect<number | undefined, StoreError> {
    return guarded(() => {
      const [found] = this.#database.prepare(slotOfIdSql).allArrays(id)
      const near = found === undefined ? this.#database.prepare(nearIdSql).allArrays(id, id) : [found]
      for (const [slot, named, own] of near)
        if (own !== named)
          throw new DamagedColumn(`table memory, slot ${String(slot)}: the index of ids has another id`)
      return found === undefined ? undefined : Number(found[0])
    })
  }

  slotsOfContent(contentHash: string, subjectId: string | undefined) {
    return guarded(() =>
      this.#database
        .prepare("SELECT slot FROM memory WHERE content_hash = ? AND subject_id IS ? ORDER BY created_seq DESC")
        .all(contentHash, subjectId ?? null)
        .map((row) => Number(row["slot"]))
    )
  }

  slotsTakenFrom(
    scope: ConversationScope | undefined,
    keys: ReadonlyArray<string>
  ): Effect.Effect<ReadonlyArray<number>, StoreError> {
    return guarded(() => {
      const sources = JSON.stringify(keys)
      const rows =
        scope === undefined
          ? this.#database.prepare(takenFromSql).all(sources)
          : this.#database.prepare(takenWithinSql).all(sources, scope.subjectId ?? null, scope.threadId ?? null)
      return rows.map((row) => Number(row["slot"]))
    })
  }

  countWithoutVector(model: string): Effect.Effect<number, StoreError> {
    return guarded(() => {
      const row = this.#database.prepare(countWithoutVectorSql).get(model)
      return Number(row?.["missing"] ?? 0)
    })
  }

  checkpoint(mode: "PASSIVE" | "TRUNCATE"): Effect.Effect<void, StoreError> {
    return this.#writing.withPermit(guarded(() => this.#database.checkpoint(mode)))
  }

  /** Moves SQLite's log into the file, on the thread. */
  get emptyLog(): Effect.Effect<void, StoreError> {
    return this.#writing.withPermit(this.#thread.empty(this.#database.filename))
  }

  get discardCopies(): Effect.Effect<void, StoreError> {
    return guarded(() => {
      if (!this.#mayHaveCopies) return
      const path = copyPath(this.#database.filename)
      for (const { version } of namespaceMigrations) {
        for (const copy of [`${path}.v${version}`, `${path}.v${version}.tmp`]) rmSync(copy, { force: true })
      }
      this.#mayHaveCopies = false
    })
  }

  /** One statement for all slots: a map reads thousands, and a call for each costs more than its row. */
  #recordRows(slots: ReadonlyArray<number>): ReadonlyArray<ReadonlyArray<SQLOutputValue>> {
    return this.#database.prepare(recordsOfSlots).allArrays(JSON.stringify(slots))
  }

  /** Whether this owner made the last commit: the file has its epoch, and `seq` as the last change. */
  #isCurrent(seq: number): boolean {
    const [epoch, last] = (["epoch", "seq"] as const).map((key) => Number(metaOf(this.#database, key) ?? 0))
    return epoch === this.#epoch && last === seq
  }

  /** Visits the rows of a query with parameters (from slot, to slot, limit); yields between chunks. */
  #eachChunk(
    sql: string,
    visit: (row: ReadonlyArray<SQLOutputValue>) => void,
    { from, to }: SlotRange
  ): Effect.Effect<void, StoreError> {
    return Effect.flatMap(
      guarded(() => {
        const rows = this.#database.prepare(sql).allArrays(from, to, rowsPerTurn)
        for (const row of rows) visit(row)
        return rows.length < rowsPerTurn ? to : Number(rows[rows.length - 1]![0]) + 1
      }),
      (next) =>
        next === to ? Effect.void : Effect.andThen(Effect.yieldNow, this.#eachChunk(sql, visit, { from: next, to }))
    )
  }
}

const everySlot: SlotRange = { from: 0, to: Number.MAX_SAFE_INTEGER }

/**
 * By the index of ids, each with the id that its row has: the index has no sums, and one flipped bit hides a memory. An id
 * that changed stays where it was, so that a search for what it was ends beside it.
 */
const slotOfIdSql = `SELECT near.slot, near.id, own.id FROM memory near LEFT JOIN memory own ON own.slot = near.slot
  WHERE near.id = ?`
const nearIdSql = `SELECT near.slot, near.id, own.id FROM (
    SELECT * FROM (SELECT slot, id FROM memory WHERE id < ? ORDER BY id DESC LIMIT 1)
    UNION ALL SELECT * FROM (SELECT slot, id FROM memory WHERE id > ? ORDER BY id LIMIT 1)) near
  LEFT JOIN memory own ON own.slot = near.slot`

const takenFromSql = `SELECT DISTINCT memory.slot AS slot FROM json_each(?) AS wanted
  JOIN memory_source ON memory_source.key = wanted.value JOIN memory ON memory.slot = memory_source.memory`
const takenWithinSql = `${takenFromSql} WHERE subject_id IS ? AND thread_id IS ?`

const countWithoutVectorSql = `SELECT (SELECT count(*) FROM memory) - (SELECT count(*) FROM vector WHERE model = ?1)
  + (SELECT count(DISTINCT passage.memory) FROM passage JOIN vector ON vector.slot = passage.memory
     WHERE vector.model = ?1 AND passage.model IS NOT ?1) AS missing`

const dataOfSlots = "SELECT slot, data FROM json_each(?) AS wanted CROSS JOIN memory ON memory.slot = wanted.value"
const recordsOfSlots = recordsSql("json_each(?) AS wanted CROSS JOIN memory", "memory.slot = wanted.value")
