/**
 * Log of the daily job by (job, UTC day, account), the last day it finished, what is marked to be purged, and the last
 * time that the service saw. Rows and marks are written by `Ledger.chargeStorage` and `Ledger.recordRun` in the
 * transaction that charges, and read here. Rows are of the storage job alone: another job needs a writer of its own, and a condition in
 * `LedgerCheck`, which reads all of them as charges.
 */
import { Context, Effect, Layer } from "effect"
import type { MicroCredits } from "@muniment/domain/Money"
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
