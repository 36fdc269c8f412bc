/**
 * `NamespaceStore` on SQLite: `<dataDir>/namespaces/<tag>.db`, WAL, `synchronous=FULL`. File names are
 * hashes; account and agent are written inside, so that a directory can be rebuilt from the files.
 *
 * Invariants: a commit is one transaction that nobody can look into: it is synchronous on the loop, or
 * made on a thread through a connection of its own (CommitThread.ts); the epoch is claimed by the first
 * commit and checked by every one, in the same transaction; an error during a commit leaves its outcome
 * unknown, and the owner must reopen (reliability.md). Commits on a thread are seen by reads a moment
 * before the image follows: records are compared with the image, and a word's postings read in between
 * are put right by the image's own step, since every posting is checked against its slot's stamp.
 */
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer, Semaphore } from "effect"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { Database } from "@muniment/sqlite/Database"
import { migrate } from "@muniment/sqlite/Migrate"
import { FullText } from "../recall/FullText.ts"
import { openCommitThread, type CommitThread } from "./CommitThread.ts"
import { CommitTransaction, type CommitOrder, type CommitOutcome } from "./CommitTransaction.ts"
import { namespaceMigrations } from "./namespaceMigrations.ts"
import { checkOwner, metaOf } from "./namespaceMeta.ts"
import {
  NamespaceStore,
  StoreFenced,
  type CensusOptions,
  type CommitUnit,
  type MemoryRow,
  type NamespaceKey,
  type OpenNamespace,
  type SlotRange,
  type StoredResult,
  type StoredVector,
  type StoreError
} from "./NamespaceStore.ts"
import { recordColumns, recordOf, rowOf, vectorOf } from "./memoryColumns.ts"
import { SqliteConversations, type WriteTurn } from "./SqliteConversations.ts"
import { takeCensus } from "./SqliteCensus.ts"
import { SqliteSegments } from "./SqliteSegments.ts"
import { guarded } from "./storeError.ts"

/** Rows read before other fibers get a turn: 1 to 4 ms of work, most of it for vectors. */
const rowsPerTurn = 250

/** Which thread commits: the event loop's own, or one beside it, so that searches do not wait for writes. */
export type CommitPlace = "loop" | "thread"

export const sqliteNamespaceStore = (
  dataDirectory: string,
  { commitsOn }: { readonly commitsOn: CommitPlace } = { commitsOn: "loop" }
): Layer.Layer<NamespaceStore> =>
  Layer.effect(
    NamespaceStore,
    Effect.gen(function* () {
      const directory = join(dataDirectory, "namespaces")
      mkdirSync(directory, { recursive: true })
      const thread = commitsOn === "thread" ? yield* openCommitThread : undefined
      return {
        open: (key: NamespaceKey) => openNamespace(directory, key, thread),
        census: (key: NamespaceKey, options: CensusOptions) => takeCensus(directory, key, options)
      }
    })
  )

const openNamespace = Effect.fn("NamespaceStore.open")(function* (
  directory: string,
  key: NamespaceKey,
  thread: CommitThread | undefined
) {
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
    (opened) =>
      // First the thread's, so that this is the last connection, which empties the log. A thread that died has none.
      (thread === undefined ? Effect.void : Effect.ignore(thread.close(filename))).pipe(
        Effect.andThen(Effect.sync(() => opened.close()))
      )
  )
  const file = yield* guarded(() => new NamespaceFile(database, key, thread))
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
  readonly #thread: CommitThread | undefined
  readonly #transaction: CommitTransaction
  /** With a thread, the file has two connections that write: waiting for SQLite's lock would hold the loop. */
  readonly #alone: WriteTurn
  readonly #epochSeen: number
  #claimedEpoch: number | undefined
  #mayHaveCopies = true

  constructor(database: Database, key: NamespaceKey, thread: CommitThread | undefined) {
    this.#database = database
    this.#thread = thread
    const turns = Semaphore.makeUnsafe(1)
    this.#alone = thread === undefined ? (write) => write : (write) => turns.withPermit(write)
    this.key = key
    this.snapshotPath = `${database.filename.slice(0, -".db".length)}.hnsw`
    this.fullText = new FullText(database.handle)
    this.lastSeq = this.#meta("seq")
    this.#epochSeen = this.#meta("epoch")
    checkOwner(database, key)
    this.conversations = new SqliteConversations(database, { alone: this.#alone })
    this.segments = new SqliteSegments(database, (seq) => this.#isOwner(this.#meta("epoch"), seq), this.#alone)
    this.#transaction = new CommitTransaction(database, this.fullText, this.conversations)
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
    return Effect.suspend(() => {
      const order: CommitOrder = {
        key: this.key,
        epoch: this.#claimedEpoch ?? this.#epochSeen,
        seq: expectedSeq,
        isClaim: this.#claimedEpoch === undefined,
        units,
        atMillis
      }
      return Effect.flatMap(this.#carryOut(order), (outcome) => {
        if (outcome._tag === "Fenced") return Effect.fail(new StoreFenced({ epoch: outcome.epoch }))
        this.#claimedEpoch = outcome.epoch
        return Effect.succeed(outcome.seq)
      })
    })
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
    return this.#alone(
      guarded(() => Number(this.#database.prepare("DELETE FROM idempotency WHERE at < ?").run(atMillis).changes))
    )
  }

  record(slot: number): Effect.Effect<MemoryRecord | undefined, StoreError> {
    return guarded(() => {
      const [row] = this.#recordRows([slot])
      return row === undefined ? undefined : recordOf(this.key.agentId, row)
    })
  }

  records(slots: ReadonlyArray<number>) {
    return guarded(() => {
      const found = new Map(this.#recordRows(slots).map((row) => [Number(row[0]), row]))
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
    return this.#alone(guarded(() => this.#database.checkpoint(mode)))
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

  #carryOut(order: CommitOrder): Effect.Effect<CommitOutcome, StoreError> {
    const thread = this.#thread
    if (thread === undefined) return guarded(() => this.#transaction.run(order))
    return Effect.map(this.#alone(thread.commit(this.#database.filename, order)), ({ erased, outcome }) => {
      const conversations = order.units.flatMap(({ conversation }) =>
        conversation === undefined ? [] : [conversation]
      )
      if (outcome._tag === "Committed") this.conversations.follow(conversations, erased)
      return outcome
    })
  }

  /** One statement: a map asks for thousands, and a call of its own for each costs more than the row. */
  #recordRows(slots: ReadonlyArray<number>): ReadonlyArray<ReadonlyArray<unknown>> {
    return this.#database.prepare(recordsSql).allArrays(JSON.stringify(slots))
  }

  /** Whether the file is as this owner left it: of its epoch, with `seq` as its last change. */
  #isOwner(epoch: number, seq: number): boolean {
    return epoch === (this.#claimedEpoch ?? this.#epochSeen) && this.#meta("seq") === seq
  }

  #meta(key: "seq" | "epoch"): number {
    return Number(metaOf(this.#database, key) ?? 0)
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

const recordsSql = `SELECT ${recordColumns.map((column) => `memory.${column}`).join(", ")} FROM json_each(?) AS wanted CROSS JOIN memory ON memory.slot = wanted.value`

/** Where a migration leaves its copy, but for the version. */
const copyPath = (filename: string): string => `${filename}.before-migration`
