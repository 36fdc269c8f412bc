/**
 * Log of the daily job by (job, UTC day, account), the last day it finished, what is marked to be purged, and the last
 * time that the service saw. Rows and marks are written by `Ledger.chargeStorage` and `Ledger.recordRun` in the
 * transaction that charges, and read here. Rows are of the storage job alone: another job needs a writer of its own, and a condition in
 * `LedgerCheck`, which reads all of them as charges.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { MicroCredits } from "@muniment/domain/Money"
import { dayMillis } from "@muniment/domain/CalendarDay"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

/** The job recorded by `Ledger.chargeStorage` and `Ledger.recordRun`. */
export const storageJob = "storage"

/** Sums of a job's day over all accounts. */
export interface DaySums {
  readonly job: string
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  readonly accounts: number
  readonly memories: number
  readonly expired: number
  readonly purged: number
  readonly insured: number
  readonly charged: MicroCredits
  readonly metered: MicroCredits
  /** When the last account's row was written. */
  readonly at: number
}

/** Memories that a run found to purge. */
export interface PurgeMark {
  /** When that run began. */
  readonly runAt: number
  /** Memories created before this time are removed by the first run a day later, if nothing changes. */
  readonly createdBefore: number
  /** Their number, superseded versions included. */
  readonly memories: number
}

export class JobLog extends Context.Service<
  JobLog,
  {
    readonly lastDay: (job: string) => Effect.Effect<string | undefined>
    /** Marks the day as finished for all accounts; an earlier day changes nothing. */
    readonly markDay: (job: string, day: string) => Effect.Effect<void, ControlFailure>
    readonly isDone: (job: string, day: string, accountId: string) => Effect.Effect<boolean>
    readonly purgeMark: (accountId: string) => Effect.Effect<PurgeMark | undefined>
    /** Milliseconds; undefined in a new directory. */
    readonly clockSeenAt: Effect.Effect<number | undefined>
    readonly noteClock: (seenAt: number) => Effect.Effect<void, ControlFailure>
    /** Notes the time as right: a job goes on from `newestDay`, if it had come further. */
    readonly acceptClock: (seenAt: number, newestDay: string) => Effect.Effect<void, ControlFailure>
    /** Newest day first. */
    readonly runs: (page: { readonly limit: number }) => Effect.Effect<ReadonlyArray<DaySums>>
  }
>()("muniment/control/JobLog") {
  static readonly layer = Layer.effect(
    JobLog,
    Effect.gen(function* () {
      const { read, sql, write } = yield* ControlDatabase
      const noteClock = (seenAt: number) => sql`INSERT INTO job_clock (id, seen_at) VALUES (1, ${seenAt})
        ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`
      return JobLog.of({
        lastDay: (job) =>
          read(
            Effect.map(
              sql<{ readonly last_day: string }>`SELECT last_day FROM job_state WHERE job = ${job}`,
              ([row]) => row?.last_day
            )
          ),
        markDay: Effect.fn("JobLog.markDay")(function* (job, day) {
          yield* write(sql`INSERT INTO job_state (job, last_day) VALUES (${job}, ${day})
            ON CONFLICT (job) DO UPDATE SET last_day = excluded.last_day WHERE job_state.last_day < excluded.last_day`)
        }),
        isDone: (job, day, accountId) =>
          read(
            Effect.map(
              sql`SELECT 1 FROM job_run WHERE job = ${job} AND day = ${day} AND account = ${accountId}`,
              (rows) => rows.length > 0
            )
          ),
        purgeMark: (accountId) =>
          read(
            Effect.map(
              sql<PurgeMark>`SELECT run_at AS runAt, created_before AS createdBefore, memories FROM purge_mark
                WHERE account = ${accountId}`,
              ([mark]) => mark
            )
          ),
        clockSeenAt: read(
          Effect.map(sql<{ readonly seen_at: number }>`SELECT seen_at FROM job_clock`, ([row]) => row?.seen_at)
        ),
        noteClock: Effect.fn("JobLog.noteClock")(function* (seenAt) {
          yield* write(noteClock(seenAt))
        }),
        acceptClock: Effect.fn("JobLog.acceptClock")(function* (seenAt, newestDay) {
          yield* write(
            Effect.andThen(
              noteClock(seenAt),
              sql`UPDATE job_state SET last_day = ${newestDay} WHERE last_day > ${newestDay}`
            )
          )
        }),
        runs: ({ limit }) =>
          read(sql<DaySums>`SELECT job, day, count(*) AS accounts, sum(memories) AS memories, sum(expired) AS expired,
              sum(purged) AS purged, sum(insured) AS insured, sum(charged) AS charged, sum(metered) AS metered,
              max(at) AS at
            FROM job_run GROUP BY day, job ORDER BY day DESC, job LIMIT ${limit}`)
      })
    })
  )
}

/**
 * Changes by the consolidation of memories, by ids and keys, never by what they say; and how far the memories of each
 * agent were looked at.
 *
 * Invariant: an entry is durable before its change is committed to the agent's file, so no change lacks its entry. One
 * that is not marked as done may have come to nothing: the file tells.
 */

/** A memory with the unique key that it had. */
interface KeyedMemory {
  readonly id: string
  readonly key: string
}

export interface ConsolidationEntry {
  readonly id: string
  readonly account: string
  readonly namespace: NamespaceTag
  readonly agentId: string
  /** Milliseconds. */
  readonly at: number
  readonly action: "merge" | "replace" | "end"
  /** Superseded memories, oldest first. */
  readonly memories: ReadonlyArray<string>
  /** Id of what supersedes them. */
  readonly into: string
  /** The unique key that all of them have since. */
  readonly key: string
  /** All versions of what was superseded. */
  readonly versions: ReadonlyArray<KeyedMemory>
}

export interface LoggedConsolidation extends ConsolidationEntry {
  readonly isDone: boolean
  readonly undoneAt: number | undefined
}

/** Begin of the next look at an agent's memories: behind the last one that was looked at. */
export interface ConsolidationMark {
  readonly createdAt: number
  readonly id: string
  /** When it was looked at. */
  readonly at: number
}

export interface ConsolidationHistory {
  readonly made: ReadonlySet<string>
  readonly restored: ReadonlySet<string>
}

export interface ListedConsolidations {
  readonly account?: string | undefined
  readonly limit: number
}

/** Its keys are hashes of what memories said, which may be erased meanwhile. */
const keptDays = 90

export class ConsolidationLog extends Context.Service<
  ConsolidationLog,
  {
    /** Before the change is committed; forgets entries of `keptDays` ago. */
    readonly begin: (entry: ConsolidationEntry) => Effect.Effect<void, ControlFailure>
    readonly done: (id: string) => Effect.Effect<void, ControlFailure>
    /** The change came to nothing. */
    readonly drop: (id: string) => Effect.Effect<void, ControlFailure>
    readonly undone: (id: string, at: number) => Effect.Effect<void, ControlFailure>
    readonly find: (id: string) => Effect.Effect<LoggedConsolidation | undefined>
    /** Newest first. */
    readonly list: (query: ListedConsolidations) => Effect.Effect<ReadonlyArray<LoggedConsolidation>>
    /** Ids of the memories that consolidations of an agent made, and of those that an operator made stand as before. */
    readonly historyOf: (namespace: NamespaceTag) => Effect.Effect<ConsolidationHistory>
    readonly markOf: (namespace: NamespaceTag) => Effect.Effect<ConsolidationMark | undefined>
    readonly mark: (
      namespace: NamespaceTag,
      account: string,
      mark: ConsolidationMark,
      isDue: boolean
    ) => Effect.Effect<void, ControlFailure>
    /** Marks an agent that was looked at: it has changed since. */
    readonly markDue: (namespace: NamespaceTag) => Effect.Effect<void, ControlFailure>
    /** Agents that were looked at and have not changed since. */
    readonly settled: Effect.Effect<ReadonlySet<NamespaceTag>>
  }
>()("muniment/control/ConsolidationLog") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

interface Row {
  readonly id: string
  readonly account: string
  readonly namespace: string
  readonly at: number
  readonly report: string
  readonly is_done: number
  readonly undone_at: number | null
}

const make = Effect.gen(function* () {
  const { read, sql, write } = yield* ControlDatabase
  return ConsolidationLog.of({
    begin: Effect.fn("ConsolidationLog.begin")(function* ({ account, at, id, namespace, ...report }) {
      const now = yield* Clock.currentTimeMillis
      yield* write(
        Effect.andThen(
          sql`DELETE FROM consolidation WHERE at < ${now - keptDays * dayMillis}`,
          sql`INSERT INTO consolidation ${sql.insert({ id, account, namespace, at, report: JSON.stringify(report) })}`
        )
      )
    }),
    done: Effect.fn("ConsolidationLog.done")(function* (id) {
      yield* write(sql`UPDATE consolidation SET is_done = 1 WHERE id = ${id}`)
    }),
    drop: Effect.fn("ConsolidationLog.drop")(function* (id) {
      yield* write(sql`DELETE FROM consolidation WHERE id = ${id}`)
    }),
    undone: Effect.fn("ConsolidationLog.undone")(function* (id, at) {
      yield* write(sql`UPDATE consolidation SET is_done = 1, undone_at = ${at} WHERE id = ${id}`)
    }),
    find: (id) =>
      read(Effect.map(sql<Row>`SELECT * FROM consolidation WHERE id = ${id}`, ([row]) => row && loggedOf(row))),
    list: ({ account, limit }) =>
      read(
        Effect.map(
          sql<Row>`SELECT * FROM consolidation
            WHERE ${account === undefined ? sql`TRUE` : sql`account = ${account}`} ORDER BY at DESC, id DESC LIMIT ${limit}`,
          (rows) => rows.map(loggedOf)
        )
      ),
    historyOf: (namespace) =>
      read(
        Effect.map(sql<Row>`SELECT * FROM consolidation WHERE namespace = ${namespace}`, (rows) => {
          const entries = rows.map(loggedOf)
          const undone = entries.filter(({ undoneAt }) => undoneAt !== undefined)
          return {
            made: new Set(entries.map(({ into }) => into)),
            restored: new Set(undone.flatMap(({ memories }) => memories))
          }
        })
      ),
    markOf: (namespace) =>
      read(
        Effect.map(
          sql<ConsolidationMark>`SELECT created_at AS createdAt, memory AS id, at FROM consolidation_mark
            WHERE namespace = ${namespace}`,
          ([mark]) => mark
        )
      ),
    mark: Effect.fn("ConsolidationLog.mark")(function* (namespace, account, { at, createdAt, id }, isDue) {
      const values = { namespace, account, created_at: createdAt, memory: id, at, is_due: isDue ? 1 : 0 }
      yield* write(sql`INSERT INTO consolidation_mark ${sql.insert(values)} ON CONFLICT (namespace) DO UPDATE SET
        created_at = excluded.created_at, memory = excluded.memory, at = excluded.at, is_due = excluded.is_due`)
    }),
    markDue: Effect.fn("ConsolidationLog.markDue")(function* (namespace) {
      yield* write(sql`UPDATE consolidation_mark SET is_due = 1 WHERE namespace = ${namespace}`)
    }),
    settled: read(
      Effect.map(
        sql<{ readonly namespace: string }>`SELECT namespace FROM consolidation_mark WHERE is_due = 0`,
        (rows) => new Set(rows.map(({ namespace }) => namespace))
      )
    )
  })
})

const loggedOf = ({ account, at, id, is_done, namespace, report, undone_at }: Row): LoggedConsolidation => ({
  ...(JSON.parse(report) as Omit<ConsolidationEntry, "id" | "account" | "namespace" | "at">),
  id,
  account,
  namespace,
  at,
  isDone: is_done === 1,
  undoneAt: undone_at ?? undefined
})
