/**
 * `NamespaceStore` on SQLite: `<dataDir>/namespaces/<tag>.db`, WAL, `synchronous=FULL`. File names are
 * hashes; account and agent are written inside, so that a directory can be rebuilt from the files.
 *
 * Invariants: a commit is one synchronous transaction, so no fiber can look between two statements;
 * the epoch is claimed by the first commit and checked by every one, in the same transaction; an
 * error during a commit leaves its outcome unknown, and the owner must reopen (reliability.md).
 */
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { Database } from "@muniment/sqlite/Database"
import { migrate } from "@muniment/sqlite/Migrate"
import { FullText } from "../recall/FullText.ts"
import { isSameScope, type ConversationScope } from "./Conversations.ts"
import { namespaceMigrations } from "./namespaceMigrations.ts"
import { checkOwner, metaOf } from "./namespaceMeta.ts"
import {
  NamespaceStore,
  StoreFenced,
  type Change,
  type CommitUnit,
  type MemoryRow,
  type NamespaceKey,
  type OpenNamespace,
  type SlotRange,
  type StoredResult,
  type StoredVector,
  type StoreError
} from "./NamespaceStore.ts"
import { recordOf, recordValues, rowOf, sourcesOf, textOf, vectorBytes, vectorOf } from "./memoryColumns.ts"
import { SqliteConversations } from "./SqliteConversations.ts"
import { takeCensus } from "./SqliteCensus.ts"
import { SqliteSegments } from "./SqliteSegments.ts"
import { guarded } from "./storeError.ts"

/** Rows read before other fibers get a turn: 1 to 4 ms of work, most of it for vectors. */
const rowsPerTurn = 250

export const sqliteNamespaceStore = (dataDirectory: string): Layer.Layer<NamespaceStore> => {
  const directory = join(dataDirectory, "namespaces")
  return Layer.sync(NamespaceStore, () => {
    mkdirSync(directory, { recursive: true })
    return {
      open: (key) => openNamespace(directory, key),
      census: (key, options) => takeCensus(directory, key, options)
    }
  })
}

const openNamespace = Effect.fn("NamespaceStore.open")(function* (directory: string, key: NamespaceKey) {
  const filename = join(directory, `${key.tag}.db`)
  const database = yield* Effect.acquireRelease(
    guarded(() => {
      const opened = new Database({ filename })
      try {
        migrate(opened, namespaceMigrations, { snapshot: copyPath(filename) })
        return opened
      } catch (error) {
        opened.close()
        throw error
      }
    }),
    (opened) => Effect.sync(() => opened.close())
  )
  const file = yield* guarded(() => new NamespaceFile(database, key))
  return file satisfies OpenNamespace
})

class NamespaceFile implements OpenNamespace {
  readonly key: NamespaceKey
  readonly lastSeq: number
  readonly fullText: FullText
  readonly conversations: SqliteConversations
  readonly segments: SqliteSegments
  readonly snapshotPath: string
  readonly #database: Database
  readonly #epochSeen: number
  #claimedEpoch: number | undefined
  #mayHaveCopies = true

  constructor(database: Database, key: NamespaceKey) {
    this.#database = database
    this.key = key
    this.snapshotPath = `${database.filename.slice(0, -".db".length)}.hnsw`
    this.fullText = new FullText(database.handle)
    this.lastSeq = this.#meta("seq")
    this.#epochSeen = this.#meta("epoch")
    checkOwner(database, key)
    this.conversations = new SqliteConversations(database)
    this.segments = new SqliteSegments(database, (seq) => this.#isOwner(this.#meta("epoch"), seq))
  }

  eachRow(visit: (row: MemoryRow) => void): Effect.Effect<void, StoreError> {
    return this.#inTurns(
      "SELECT slot, id, created_seq, kind, subject_id, thread_id, tags, event_time, created_at, expires_at, unique_key FROM memory WHERE slot >= ? AND slot < ? ORDER BY slot LIMIT ?",
      (columns) => visit(rowOf(columns)),
      everySlot
    )
  }

  eachVector(
    visit: (vector: StoredVector) => void,
    ranges: ReadonlyArray<SlotRange> = [everySlot]
  ): Effect.Effect<void, StoreError> {
    const sql = "SELECT slot, seq, model, value FROM vector WHERE slot >= ? AND slot < ? ORDER BY slot LIMIT ?"
    return Effect.forEach(ranges, (range) => this.#inTurns(sql, (columns) => visit(vectorOf(columns)), range), {
      discard: true
    })
  }

  commit(expectedSeq: number, units: ReadonlyArray<CommitUnit>, atMillis: number): Effect.Effect<number, StoreError> {
    return Effect.flatMap(
      guarded(() => this.#database.transaction(() => this.#apply(expectedSeq, units, atMillis))),
      (outcome) => (outcome instanceof StoreFenced ? Effect.fail(outcome) : Effect.succeed(outcome))
    )
  }

  storedResult(idempotencyKey: string): Effect.Effect<StoredResult | undefined, StoreError> {
    return guarded(() => {
      const row = this.#database
        .prepare("SELECT key, fingerprint, result FROM idempotency WHERE key = ?")
        .get(idempotencyKey)
      return row === undefined
        ? undefined
        : { key: String(row["key"]), fingerprint: String(row["fingerprint"]), result: String(row["result"]) }
    })
  }

  forgetResultsBefore(atMillis: number): Effect.Effect<number, StoreError> {
    return guarded(() => Number(this.#database.prepare("DELETE FROM idempotency WHERE at < ?").run(atMillis).changes))
  }

  record(slot: number): Effect.Effect<MemoryRecord | undefined, StoreError> {
    return guarded(() => {
      const row = this.#database.prepare("SELECT * FROM memory WHERE slot = ?").get(slot)
      return row === undefined ? undefined : recordOf(this.key.agentId, row)
    })
  }

  records(slots: ReadonlyArray<number>) {
    return guarded(() => {
      // One statement: a map asks for thousands, and a call of its own for each costs more than the row.
      const rows = this.#database.prepare(recordsSql).all(JSON.stringify(slots))
      const found = new Map(rows.map((row) => [Number(row["slot"]), row]))
      return slots.flatMap((slot) => {
        const row = found.get(slot)
        return row === undefined ? [] : [{ slot, record: recordOf(this.key.agentId, row) }]
      })
    })
  }

  slotOf(id: string): Effect.Effect<number | undefined, StoreError> {
    return guarded(() => {
      const row = this.#database.prepare("SELECT slot FROM memory WHERE id = ?").get(id)
      return row === undefined ? undefined : Number(row["slot"])
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

  slotsWithoutVector(
    model: string,
    afterSlot: number,
    limit: number
  ): Effect.Effect<ReadonlyArray<number>, StoreError> {
    return guarded(() =>
      this.#database
        .prepare(
          `SELECT slot FROM memory WHERE slot > ? AND NOT EXISTS
           (SELECT 1 FROM vector WHERE vector.slot = memory.slot AND vector.model = ?) ORDER BY slot LIMIT ?`
        )
        .all(afterSlot, model, limit)
        .map((row) => Number(row["slot"]))
    )
  }

  countWithoutVector(model: string): Effect.Effect<number, StoreError> {
    return guarded(() => {
      const row = this.#database
        .prepare("SELECT (SELECT count(*) FROM memory) - (SELECT count(*) FROM vector WHERE model = ?) AS missing")
        .get(model)
      return Number(row?.["missing"] ?? 0)
    })
  }

  checkpoint(mode: "PASSIVE" | "TRUNCATE"): Effect.Effect<void, StoreError> {
    return guarded(() => this.#database.checkpoint(mode))
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

  /** Runs inside the transaction: a `StoreFenced` result has changed nothing. */
  #apply(expectedSeq: number, units: ReadonlyArray<CommitUnit>, atMillis: number): number | StoreFenced {
    const epoch = this.#meta("epoch")
    if (!this.#isOwner(epoch, expectedSeq)) return new StoreFenced({ epoch })
    if (this.#claimedEpoch === undefined) {
      this.#setMeta("epoch", epoch + 1)
      this.#setMeta("account", this.key.account)
      this.#setMeta("agent", this.key.agentId)
    }
    let seq = expectedSeq
    for (const unit of units) {
      for (const change of unit.changes) this.#change(change, ++seq)
      if (unit.conversation !== undefined) this.conversations.apply(unit.conversation, atMillis)
      if (unit.idempotency !== undefined) {
        const { key, fingerprint, result } = unit.idempotency
        this.#database
          .prepare("INSERT INTO idempotency (key, fingerprint, at, result) VALUES (?, ?, ?, ?)")
          .run(key, fingerprint, atMillis, result)
      }
    }
    this.segments.outdate(units)
    this.#setMeta("seq", seq)
    this.#claimedEpoch ??= epoch + 1
    return seq
  }

  /** Whether the file is as this owner left it: of its epoch, with `seq` as its last change. */
  #isOwner(epoch: number, seq: number): boolean {
    return epoch === (this.#claimedEpoch ?? this.#epochSeen) && this.#meta("seq") === seq
  }

  #change(change: Change, seq: number): void {
    const database = this.#database
    switch (change._tag) {
      case "Put": {
        this.#forgetTurnsOf(change.slot, change.record)
        database.prepare(putSql).run(...recordValues(change.slot, seq, change.record))
        this.fullText.put(change.slot, change.columns)
        if (change.vector === undefined) database.prepare("DELETE FROM vector WHERE slot = ?").run(change.slot)
        else this.#putVector(change.slot, seq, change.vector.model, change.vector.values)
        return
      }
      case "Patch": {
        const { record } = change
        database
          .prepare("UPDATE memory SET tags = ?, expires_at = ?, updated_at = ? WHERE slot = ?")
          .run(JSON.stringify(record.tags), record.expiresAt ?? null, record.updatedAt, change.slot)
        this.fullText.put(change.slot, change.columns)
        return
      }
      case "Remove": {
        this.#forgetTurnsOf(change.slot)
        database.prepare("DELETE FROM memory WHERE slot = ?").run(change.slot)
        this.fullText.remove(change.slot)
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
    if (next === undefined || !isSameScope(scope, next)) this.conversations.forgetSources(scope, sourcesOf(row) ?? [])
  }

  #putVector(slot: number, seq: number, model: string, values: Float32Array): void {
    this.#database
      .prepare("INSERT OR REPLACE INTO vector (slot, seq, model, value) VALUES (?, ?, ?, ?)")
      .run(slot, seq, model, vectorBytes(values))
  }

  #meta(key: "seq" | "epoch"): number {
    return Number(metaOf(this.#database, key) ?? 0)
  }

  #setMeta(key: string, value: number | string): void {
    this.#database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)").run(key, value)
  }

  /** Visits the rows of a query that takes (from slot, to slot, limit), giving other fibers a turn between chunks. */
  #inTurns(
    sql: string,
    visit: (columns: Record<string, unknown>) => void,
    { from, to }: SlotRange
  ): Effect.Effect<void, StoreError> {
    return Effect.flatMap(
      guarded(() => {
        const rows = this.#database.prepare(sql).all(from, to, rowsPerTurn)
        for (const row of rows) visit(row)
        return rows.length < rowsPerTurn ? to : Number(rows[rows.length - 1]!["slot"]) + 1
      }),
      (next) =>
        next === to ? Effect.void : Effect.andThen(Effect.yieldNow, this.#inTurns(sql, visit, { from: next, to }))
    )
  }
}

const everySlot: SlotRange = { from: 0, to: Number.MAX_SAFE_INTEGER }

// `created_seq` orders versions and survives an update in place; everything else is the record's.
const putSql = `INSERT INTO memory (slot, created_seq, id, kind, subject_id, thread_id, data, tags, mentions, event_time,
    confidence, content_hash, created_at, updated_at, expires_at, unique_key, origin, sources, neighbours)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (slot) DO UPDATE SET subject_id = excluded.subject_id, thread_id = excluded.thread_id, data = excluded.data,
    tags = excluded.tags, mentions = excluded.mentions, event_time = excluded.event_time, confidence = excluded.confidence,
    content_hash = excluded.content_hash, updated_at = excluded.updated_at, expires_at = excluded.expires_at,
    unique_key = excluded.unique_key, sources = excluded.sources, neighbours = excluded.neighbours`

const recordsSql = "SELECT memory.* FROM json_each(?) AS wanted CROSS JOIN memory ON memory.slot = wanted.value"

/** Where a migration leaves its copy, but for the version. */
const copyPath = (filename: string): string => `${filename}.before-migration`
