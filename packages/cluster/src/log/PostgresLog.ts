/**
 * The commit log that several nodes share, in PostgreSQL. Commits of all namespaces that wait share one statement, and
 * so one round trip and one sync; an append returns when that has committed.
 *
 * Invariants: a commit is appended only while its namespace's tenure, epoch, sequence number and ordinal are what its
 * owner knows, decided under the lock of the namespace's row in the statement that appends; a claim takes that lock,
 * so it sees all that was acknowledged, and nothing of an earlier owner comes after it; after a fault the outcome of
 * what was not told is unknown, and the namespace takes nothing until it is claimed again.
 */
import { Context, Deferred, Effect, Layer, Queue, type Redacted, type Scope } from "effect"
import { PgClient } from "@effect/sql-pg/PgClient"
import { SqlClient } from "effect/sql/SqlClient"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { CopyState, NamespaceLog, NewCommit } from "@muniment/engine/log/CommitLog"
import { LogDamaged, LogFault, LogFenced } from "@muniment/engine/log/LogError"
import { processTag, recordBytesMax, recordFlags, recordKinds, writeRecord } from "@muniment/engine/log/logFormat"
import { type LogRecord, type ReadEntry, recordOf } from "@muniment/engine/log/RecordReader"
import { Rounds } from "@muniment/worker/Rounds"
import { AppendLines, LeftTexts } from "./AppendLines.ts"
import { asked, logDatabase, rootOf, untilDatabaseAnswers } from "./LogDatabase.ts"
import { migrateLog } from "./logSchema.ts"
import { type Destination, markLeft } from "./MoveMarks.ts"
import { NodeLease, NodeSignals } from "./NodeSignals.ts"
import { Releases } from "./Releases.ts"
import { SharedSecrets } from "./SharedSecrets.ts"

interface PostgresLogOptions {
  /** `postgres://user:password@host:port/database?sslmode=...` */
  readonly url: Redacted.Redacted
  /** Name of this node; no two that run have the same. */
  readonly node: string
}

/** State from which an owner begins. Ordinals count the records of the namespace. */
export interface Claim {
  /** Grows by one with every claim and removal of the namespace: the one before it was the last tenure of anybody. */
  readonly tenure: bigint
  /** Position after the last commit; undefined: there was none. */
  readonly state: CopyState | undefined
  readonly lastOrdinal: number
  /** The newest base, which holds everything up to its ordinal. */
  readonly base: { readonly object: string; readonly ordinal: number } | undefined
  /** Digest of the agent that was erased under this tag (`eraseAgent`). */
  readonly erased: string | undefined
}

/** A namespace that this node serves; with it every commit that is under way. */
interface Owned {
  readonly tenure: bigint
  readonly incarnation: number
  state: CopyState | undefined
  ordinal: number
}

interface Append {
  readonly tag: NamespaceTag
  readonly bytes: number
  readonly owned: Owned
  readonly commit: NewCommit
  readonly ordinal: number
  readonly record: Buffer
  readonly done: Deferred.Deferred<void, LogFenced | LogFault>
}

interface OwnerRow {
  readonly epoch: bigint | null
  readonly seq: bigint | null
  readonly ordinal: bigint
  readonly tenure: bigint
  readonly erased_through: bigint
  readonly base_object: string | null
  readonly base_ordinal: bigint
  readonly erased: string | null
}

/** In flight at once: the next batch is gathered while one is on its way. */
const writers = 2
const batchMax = 256
const batchBytesMax = 8_388_608
/** Bytes of one answer; the client refuses more than 16 MiB. */
const pageBytesMax = 4_194_304
const pageMax = 256
/** Between two looks whether the last owner's lease has ended, of a namespace. */
const claimEachMillis = 100
/** After the end of a lease, so that the database finds it ended. */
const leaseEndMillis = 10

export const openPostgresLog = Effect.fn("PostgresLog.open")(function* ({
  node,
  url
}: PostgresLogOptions): Effect.fn.Return<PostgresLog, LogFault, Scope.Scope> {
  const connected = (connections: number) =>
    Effect.map(Layer.build(logDatabase(url, connections)), (context) => Context.get(context, PgClient))
  // The lease has a connection of its own: behind appends it could end.
  const [sql, leaseSql, listeningSql] = yield* Effect.mapError(
    Effect.all([connected(writers + 2), connected(1), connected(1)]),
    (cause) => new LogFault({ cause })
  )
  yield* Effect.mapError(untilDatabaseAnswers(Effect.provideService(migrateLog, SqlClient, sql)), (cause) =>
    cause._tag === "LogFault" ? cause : new LogFault({ cause: rootOf(cause) })
  )
  const signals = yield* NodeSignals.open(sql, listeningSql)
  const releases = yield* Releases.open(node, sql, signals)
  const lease = yield* untilDatabaseAnswers(NodeLease.open(node, leaseSql))
  const leftTexts = yield* LeftTexts.open(node, sql)
  const log = new PostgresLog({ sql, lease, leftTexts, releases, signals }, yield* Queue.sliding<void>(1))
  for (let writer = 0; writer < writers; writer++)
    yield* Rounds.each({ name: "appends", take: log.woken, work: () => log.writeWaiting, again: Effect.void })
  return log
})

interface Parts {
  readonly sql: SqlClient
  readonly lease: NodeLease
  readonly leftTexts: LeftTexts
  readonly releases: Releases
  readonly signals: NodeSignals
}

export class PostgresLog implements NamespaceLog<ReadEntry> {
  readonly signals: NodeSignals
  readonly leftTexts: LeftTexts
  readonly #sql: SqlClient
  readonly #lease: NodeLease
  readonly #releases: Releases
  readonly #lines = new AppendLines<Append>()
  readonly #owned = new Map<NamespaceTag, Owned>()
  /** Something may be waiting that no writer has seen. */
  readonly #wake: Queue.Queue<void>

  constructor({ lease, leftTexts, releases, signals, sql }: Parts, wake: Queue.Queue<void>) {
    this.signals = signals
    this.leftTexts = leftTexts
    this.#sql = sql
    this.#lease = lease
    this.#releases = releases
    this.#wake = wake
  }

  /**
   * Makes this node the owner, at once if the namespace was released or its owner's lease has ended, otherwise when it
   * does. Afterwards nothing of an earlier owner can be appended; it also decides outcomes that were unknown.
   */
  readonly claim = (tag: NamespaceTag): Effect.Effect<Claim, LogFault> =>
    Effect.suspend(() => {
      const signal = this.signals.next()
      return Effect.flatMap(this.#tryClaim(tag), (claim) =>
        claim === undefined
          ? Effect.andThen(this.#untilDue(tag, signal), this.claim(tag))
          : Effect.as(tag === processTag ? this.signals.tell : Effect.void, claim)
      )
    })

  /** Undefined: the last owner may still answer. */
  #tryClaim(tag: NamespaceTag): Effect.Effect<Claim | undefined, LogFault> {
    return Effect.suspend(() => {
      const { incarnation, node } = this.#lease
      const sql = this.#sql
      this.#owned.delete(tag)
      this.#releases.forget(tag)
      const rows = asked(sql<OwnerRow>`SELECT * FROM muniment_log.claim(${tag}, ${node}, ${incarnation}::int8)`)
      return Effect.map(rows, ([row]) => {
        if (row === undefined) return
        const state =
          row.epoch === null || row.seq === null ? undefined : { epoch: Number(row.epoch), seq: Number(row.seq) }
        const lastOrdinal = Number(row.ordinal)
        this.#owned.set(tag, { tenure: row.tenure, incarnation, state, ordinal: lastOrdinal })
        const base =
          row.base_object === null ? undefined : { object: row.base_object, ordinal: Number(row.base_ordinal) }
        return { tenure: row.tenure, state, lastOrdinal, base, erased: row.erased ?? undefined }
      })
    }).pipe(
      // Also when its caller has given up: it may have happened.
      Effect.onError(() => Effect.sync(() => this.#disown(tag)))
    )
  }

  /** Whether the database has this node as the owner is not known: if it does, another one must not wait for it. */
  #disown(tag: NamespaceTag): void {
    this.#owned.delete(tag)
    this.#releases.doubt(tag)
  }

  /** Until the last owner may have ended. Nodes wait for `control.db` all their lives, and are told when it is free. */
  #untilDue(tag: NamespaceTag, signal: Effect.Effect<void>): Effect.Effect<void, LogFault> {
    if (tag !== processTag) return Effect.sleep(claimEachMillis)
    const sql = this.#sql
    const lasts = asked(sql<{ millis: number }>`
      SELECT (extract(epoch FROM l.expires_at - clock_timestamp()) * 1000)::float8 AS millis
      FROM muniment_log.namespace_owner o
      JOIN muniment_log.node_lease l ON l.node = o.node AND l.incarnation = o.incarnation WHERE o.tag = ${tag}`)
    return Effect.flatMap(lasts, ([lease]) =>
      Effect.asVoid(Effect.timeoutOption(signal, Math.max(0, lease?.millis ?? 0) + leaseEndMillis))
    )
  }

  readonly attach = (tag: NamespaceTag, state: CopyState): Effect.Effect<void> =>
    Effect.sync(() => {
      const owned = this.#owned.get(tag)
      if (owned !== undefined) owned.state ??= state
    })

  /** In the background, until the database has heard it: the next owner would wait for this node's lease. */
  readonly release = (tag: NamespaceTag): Effect.Effect<void> =>
    Effect.sync(() => {
      const owned = this.#owned.get(tag)
      this.#owned.delete(tag)
      if (owned !== undefined) this.#releases.tell(tag, owned.tenure)
    })

  readonly append = (commit: NewCommit): Effect.Effect<ReadEntry, LogFenced | LogFault> =>
    Effect.suspend(() => {
      const { changes, epoch, fromSeq, isClaim, tag } = commit
      const owned = this.#owned.get(tag)
      if (owned === undefined || !isAt(owned, { epoch, seq: fromSeq }))
        return Effect.fail(new LogFenced({ tag, epoch: owned?.state?.epoch ?? 0 }))
      const ordinal = owned.ordinal + 1
      const record = recordBytes(commit, ordinal)
      owned.ordinal = ordinal
      owned.state = { epoch: isClaim ? epoch + 1 : epoch, seq: fromSeq + changes }
      const done = Deferred.makeUnsafe<void, LogFenced | LogFault>()
      this.#lines.put({ tag, bytes: record.byteLength, owned, commit, ordinal, record, done })
      Queue.offerUnsafe(this.#wake, undefined)
      return Effect.map(Deferred.await(done), () => ({ ordinal, record: recordOf(record, ordinal, tag) }))
    })

  /** Appended records are durable. */
  readonly whenSynced = (): Effect.Effect<void> => Effect.void

  readonly tail = (
    tag: NamespaceTag,
    afterOrdinal: number
  ): Effect.Effect<ReadonlyArray<ReadEntry>, LogDamaged | LogFault> =>
    Effect.gen({ self: this }, function* () {
      const sql = this.#sql
      const [owner] = yield* asked(sql<OwnerRow>`SELECT * FROM muniment_log.namespace_owner WHERE tag = ${tag}`)
      if (owner === undefined) return []
      const base = Number(owner.base_ordinal)
      if (afterOrdinal < base && owner.base_object !== null)
        return yield* new LogDamaged({ reason: `records of ${tag} up to ${base} are only in its base` })
      const entries: Array<ReadEntry> = []
      for (let last = Math.max(afterOrdinal, base); last < Number(owner.ordinal);) {
        const page = yield* this.#page(tag, last)
        for (const { is_refused: isRefused, ordinal, record } of page) {
          if (Number(ordinal) !== ++last)
            return yield* new LogDamaged({ reason: `record ${last} of ${tag} is missing` })
          if (isRefused) continue
          if (record === null)
            return yield* new LogDamaged({ reason: `record ${last} of ${tag} was erased, and its copy lacks it` })
          entries.push({ ordinal: last, record: yield* checkedRecord(record, last, tag) })
        }
        if (page.length === 0) return yield* new LogDamaged({ reason: `record ${last + 1} of ${tag} is missing` })
      }
      return entries
    })

  readonly refuse = (tag: NamespaceTag, ordinal: number): Effect.Effect<void, LogFenced | LogFault> =>
    this.#asOwner(tag, (sql, tenure) =>
      Effect.map(sql<OwnerRow>`SELECT * FROM muniment_log.refuse(${tag}, ${tenure}, ${ordinal}::int8)`, ([row]) => {
        const owned = this.#owned.get(tag)
        if (row === undefined || owned === undefined) return row
        owned.state = { epoch: Number(row.epoch), seq: Number(row.seq) }
        return row
      })
    ).pipe(Effect.asVoid)

  readonly erase = (tag: NamespaceTag, throughOrdinal: number): Effect.Effect<number, LogFenced | LogFault> =>
    this.#asOwner(tag, (sql, tenure) =>
      Effect.map(
        sql<{ erased: bigint }>`
          SELECT erase AS erased FROM muniment_log.erase(${tag}, ${tenure}, ${throughOrdinal}::int8)`,
        ([row]) => row && Number(row.erased)
      )
    )

  /** Its base is condemned in the same step. */
  readonly remove = (tag: NamespaceTag): Effect.Effect<void, LogFenced | LogFault> =>
    this.#asOwner(tag, (sql, tenure) =>
      Effect.map(sql<OwnerRow>`SELECT * FROM muniment_log.remove(${tag}, ${tenure})`, ([row]) => row)
    ).pipe(Effect.andThen(Effect.sync(() => void this.#owned.delete(tag))))

  /** Bases of the namespace to which no row points, now or ever again. */
  readonly condemned = (tag: NamespaceTag): Effect.Effect<ReadonlyArray<string>, LogFault> => {
    const sql = this.#sql
    const rows = asked(
      sql<{ object: string }>`SELECT object FROM muniment_log.stray WHERE tag = ${tag} AND is_condemned`
    )
    return Effect.map(rows, (found) => found.map(({ object }) => object))
  }

  /** By the owner of its namespace, after a condemned base was removed: what an earlier owner points to is fenced. */
  readonly forgetCondemned = (object: string): Effect.Effect<void, LogFault> => {
    const sql = this.#sql
    return Effect.asVoid(asked(sql`DELETE FROM muniment_log.stray WHERE object = ${object} AND is_condemned`))
  }

  /** From now on no node opens this tag for that agent; another agent that gets the tag is not concerned. */
  readonly eraseAgent = (tag: NamespaceTag, agent: string): Effect.Effect<void, LogFault> => {
    const sql = this.#sql
    return Effect.asVoid(
      asked(sql`INSERT INTO muniment_log.namespace_owner (tag, erased) VALUES (${tag}, ${agent})
        ON CONFLICT (tag) DO UPDATE SET erased = excluded.erased`)
    )
  }

  /**
   * By the owner of `owner`, who knows that the agent has come again: nodes open it from now on. Both rows are
   * locked in the order of their tags, as by appends.
   */
  readonly readmitAgent = (owner: NamespaceTag, tag: NamespaceTag, agent: string): Effect.Effect<void, LogFault> =>
    Effect.suspend(() => {
      const sql = this.#sql
      const tenure = this.#owned.get(owner)?.tenure
      if (tenure === undefined) return Effect.void
      const readmitted = sql`WITH held AS MATERIALIZED (
          SELECT tag, tenure, erased FROM muniment_log.namespace_owner WHERE tag IN (${owner}, ${tag})
          ORDER BY tag FOR UPDATE)
        UPDATE muniment_log.namespace_owner o SET erased = NULL FROM held agent, held owner
          WHERE o.tag = ${tag} AND agent.tag = ${tag} AND agent.erased = ${agent}
            AND owner.tag = ${owner} AND owner.tenure = ${tenure}`
      return Effect.asVoid(asked(readmitted))
    })

  /**
   * Points to a base that holds everything up to `ordinal`, and drops the records that it covers; the base that counts
   * no more.
   */
  readonly rebase = (
    tag: NamespaceTag,
    ordinal: number,
    object: string
  ): Effect.Effect<string | undefined, LogFenced | LogFault> =>
    this.#asOwner(tag, (sql, tenure) =>
      Effect.map(
        sql<{ old_object: string | null }>`
          SELECT * FROM muniment_log.rebase(${tag}, ${tenure}, ${ordinal}::int8, ${object})`,
        ([row]) => row && { old: row.old_object ?? undefined }
      )
    ).pipe(Effect.map(({ old }) => old))

  /** The node that owns the namespace and whose lease has not ended. */
  readonly ownerOf = (tag: NamespaceTag): Effect.Effect<string | undefined, LogFault> => {
    const sql = this.#sql
    const rows = asked(sql<{ node: string }>`SELECT o.node FROM muniment_log.namespace_owner o
      JOIN muniment_log.node_lease l ON l.node = o.node AND l.incarnation = o.incarnation
      WHERE o.tag = ${tag} AND l.expires_at > clock_timestamp()`)
    return Effect.map(rows, ([row]) => row?.node)
  }

  /** By the owner of `tag`: the data of the cluster is there now. */
  readonly markLeft = (tag: NamespaceTag, to: Destination): Effect.Effect<void, LogFenced | LogFault> =>
    Effect.asVoid(this.#asOwner(tag, (sql, tenure) => Effect.provideService(markLeft(tag, tenure, to), SqlClient, sql)))

  /** Over the connections of the log. */
  readonly withDatabase = <A, E>(use: Effect.Effect<A, E, SqlClient>): Effect.Effect<A, E> =>
    Effect.provideService(use, SqlClient, this.#sql)

  /** Secrets that all nodes know beside the log. */
  secretsUnder(secret: Redacted.Redacted): SharedSecrets {
    return new SharedSecrets(this.#sql, secret)
  }

  /** Whether this node owns the namespace, and a copy with this content has neither more nor less than its log. */
  isWhole(tag: NamespaceTag, content: CopyState & { readonly ordinal: number }): boolean {
    const owned = this.#owned.get(tag)
    return owned !== undefined && isAt(owned, content) && content.ordinal <= owned.ordinal
  }

  /** Whether this node may still answer reads of the namespace: asked after a look and before its answer. */
  isCurrent(tag: NamespaceTag): boolean {
    const owned = this.#owned.get(tag)
    return owned !== undefined && this.#lease.isCurrent(owned.incarnation)
  }

  /** Something may be waiting. */
  get woken(): Effect.Effect<void> {
    return Queue.take(this.#wake)
  }

  /** Writes the commits that wait, many in one statement. */
  get writeWaiting(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      for (let batch = this.#take(); batch.length > 0; batch = this.#take()) {
        // Another writer takes what comes, and what this batch has no room for.
        Queue.offerUnsafe(this.#wake, undefined)
        yield* Effect.ensuring(
          this.#write(batch),
          Effect.sync(() => this.#lines.finish(batch))
        )
      }
    })
  }

  #take(): ReadonlyArray<Append> {
    return this.#lines.take(batchMax, batchBytesMax)
  }

  #write(batch: ReadonlyArray<Append>): Effect.Effect<void> {
    const column = <A>(of: (append: Append) => A): ReadonlyArray<A> => batch.map(of)
    const sql = this.#sql
    const rows = sql<{ tag: NamespaceTag }>`SELECT append AS tag FROM muniment_log.append(
      ${column(({ tag }) => tag)}::text[], ${column(({ owned }) => owned.tenure)}::int8[],
      ${column(({ commit }) => commit.epoch)}::int8[], ${column(({ commit }) => commit.fromSeq)}::int8[],
      ${column(({ commit }) => (commit.isClaim ? commit.epoch + 1 : commit.epoch))}::int8[],
      ${column(({ commit }) => commit.fromSeq + commit.changes)}::int8[],
      ${column(({ ordinal }) => ordinal)}::int8[], ${column(({ record }) => record)}::bytea[])`
    // After a defect too the outcome is unknown, and whoever waits must hear of it.
    const answered = Effect.catchDefect(asked(rows), (cause) => Effect.fail(new LogFault({ cause })))
    return Effect.matchEffect(answered, {
      onSuccess: (kept) => {
        const tags = new Set(kept.map(({ tag }) => tag))
        return Effect.forEach(
          batch,
          (append) =>
            tags.has(append.tag)
              ? Deferred.succeed(append.done, undefined)
              : this.#fail(append, new LogFenced({ tag: append.tag, epoch: append.commit.epoch })),
          { discard: true }
        )
      },
      onFailure: (fault) => Effect.forEach(batch, (append) => this.#fail(append, fault), { discard: true })
    })
  }

  /** Fails an append, and those that wait behind it: they were numbered on top of it. */
  #fail(append: Append, error: LogFenced | LogFault): Effect.Effect<void> {
    if (this.#owned.get(append.tag) === append.owned) {
      if (error._tag === "LogFault") this.#disown(append.tag)
      else this.#owned.delete(append.tag)
    }
    const behind = this.#lines.drop(append.tag)
    return Effect.forEach([append, ...behind], ({ done }) => Deferred.fail(done, error), { discard: true })
  }

  #asOwner<A, E>(
    tag: NamespaceTag,
    change: (sql: SqlClient, tenure: bigint) => Effect.Effect<A | undefined, E>
  ): Effect.Effect<A, LogFenced | LogFault> {
    return Effect.suspend(() => {
      const owned = this.#owned.get(tag)
      const fenced = () => Effect.fail(new LogFenced({ tag, epoch: owned?.state?.epoch ?? 0 }))
      if (owned === undefined) return fenced()
      return Effect.flatMap(asked(change(this.#sql, owned.tenure)), (changed) =>
        changed === undefined ? fenced() : Effect.succeed(changed)
      )
    })
  }

  #page(tag: NamespaceTag, after: number) {
    const sql = this.#sql
    return asked(
      sql<{ ordinal: bigint; is_refused: boolean; record: Uint8Array | null }>`
        SELECT ordinal, is_refused, record FROM (
          SELECT l.*, sum(octet_length(record)) OVER (ORDER BY ordinal) AS bytes, row_number() OVER (ORDER BY ordinal) AS at
          FROM muniment_log.namespace_log l WHERE tag = ${tag} AND ordinal > ${after}::int8
          ORDER BY ordinal LIMIT ${pageMax}) page
        WHERE at = 1 OR COALESCE(bytes, 0) <= ${pageBytesMax}::int8 ORDER BY ordinal`
    )
  }
}

const isAt = ({ state }: Owned, { epoch, seq }: CopyState): boolean => state?.epoch === epoch && state.seq === seq

const recordBytes = (commit: NewCommit, ordinal: number): Buffer => {
  const target = Buffer.alloc(recordBytesMax(commit.body))
  const length = writeRecord(target, 0, commit.body, {
    kind: recordKinds.commit,
    flags: commit.isClaim ? recordFlags.claim : 0,
    tag: commit.tag,
    epoch: commit.epoch,
    changes: commit.changes,
    fromSeq: commit.fromSeq,
    atMillis: commit.atMillis,
    ordinal,
    unsynced: 0
  })
  return target.subarray(0, length)
}

const checkedRecord = (bytes: Uint8Array, ordinal: number, tag: NamespaceTag): Effect.Effect<LogRecord, LogDamaged> =>
  Effect.try({
    try: () => recordOf(Buffer.from(bytes), ordinal, `of ${tag}`),
    catch: (cause) => (cause instanceof LogDamaged ? cause : new LogDamaged({ reason: String(cause) }))
  })
