/**
 * The daily storage job (contract: Plans and the daily job): at 00:10 UTC each account's expired memories are
 * removed, and a free account pays for its storage from its balance or keeps one week of it.
 *
 * Invariants: each (UTC day, account) is settled once, whatever crashes, reruns and downtime there are; days are
 * settled in order, missed ones at the next start, before the server listens, or when the clock is confirmed; one run at a time; nothing
 * is charged for days before the first start of a data directory; nothing is done by a clock that has stepped
 * (`JobClock`).
 */
import { Cause, Clock, Context, Effect, Layer, Schedule, Semaphore, Metric } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import type { Account } from "@muniment/domain/Account"
import { Conflict, Unavailable } from "@muniment/domain/Errors"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"
import { Limits } from "@muniment/domain/Limits"
import type { JobReport } from "@muniment/domain/Operations"
import { plans } from "@muniment/domain/Plans"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { JobLog, storageJob } from "@muniment/control/jobs/JobLog"
import { Rounds } from "@muniment/worker/Rounds"
import {
  type AccountDay,
  type AccountStorage,
  type DayOfRun,
  makeAccountStorage,
  type PlanTable,
  type PurgeNotice,
  type Rehearsed
} from "./AccountStorage.ts"
import { clockStepText, JobClock, dayAfter, dueDays, jobSchedule, lastDueDay, momentOf } from "./JobClock.ts"

/** The last time that a date can hold (ECMA-262, section 21.4.1.1); a large balance insures few memories beyond it. */
const lastMillis = 8.64e15
/** Interval of progress messages of a long catch-up. */
const progressMillis = 1_000

interface RunOptions {
  readonly dryRun?: boolean
  readonly acceptClock?: boolean
}

export class StorageInsurance extends Context.Service<
  StorageInsurance,
  {
    /**
     * Settles every day that is due; waits for a run in progress. A dry run answers the same and changes
     * nothing; when no day is due it rehearses the next one. Fails as `clock_step` while the clock is not believed;
     * `acceptClock` believes it.
     */
    readonly run: (options?: RunOptions) => Effect.Effect<JobReport, Conflict | ControlFailure>
    readonly purgeNotice: (account: Account) => Effect.Effect<PurgeNotice | undefined>
    /**
     * Time of the first run that finds the balance used up, if nothing changes. Undefined on plans that
     * keep memories for good, and when nothing is stored or paid.
     */
    readonly insuredUntil: (account: Account) => Effect.Effect<number | undefined>
  }
>()("muniment/server/StorageInsurance") {
  /** Catches up, then runs on schedule. */
  static readonly layerWith = (options: { readonly plans: PlanTable }) =>
    Layer.effect(
      StorageInsurance,
      Effect.gen(function* () {
        const service = yield* make(options.plans)
        // That the clock is not believed was said by `JobClock`.
        const run = Effect.catchTag(service.run(), "Conflict", () => Effect.void)
        yield* attempted(run)
        yield* Rounds.add({
          name: "daily job",
          schedule: Schedule.cron(jobSchedule.cron, jobSchedule.zone),
          work: run
        })
        return service
      })
    )
  static readonly layer = StorageInsurance.layerWith({ plans })
}

interface Parts {
  readonly accounts: Accounts["Service"]
  readonly jobs: JobLog["Service"]
  readonly storage: AccountStorage
  readonly clock: JobClock["Service"]
}

const make = Effect.fnUntraced(function* (planTable: PlanTable) {
  const parts: Parts = {
    accounts: yield* Accounts,
    jobs: yield* JobLog,
    storage: yield* makeAccountStorage(planTable),
    clock: yield* JobClock
  }
  const turns = yield* Semaphore.make(1)

  const run = Effect.fn("StorageInsurance.run")(function* ({ acceptClock = false, dryRun = false }: RunOptions = {}) {
    if (dryRun) return yield* turns.withPermit(rehearsal(parts))
    if (acceptClock) yield* parts.clock.accept
    return yield* turns.withPermit(Effect.andThen(demandClock(parts), settlement(parts)))
  })

  const insuredUntil = Effect.fn("StorageInsurance.insuredUntil")(function* (account: Account) {
    const days = yield* parts.storage.insuredDays(account, yield* Clock.currentTimeMillis)
    if (days === undefined) return undefined
    const lastDay = (yield* parts.jobs.lastDay(storageJob)) ?? (yield* newestDueDay)
    return Math.min(momentOf(dayAfter(lastDay)) + days * dayMillis, lastMillis)
  })

  return StorageInsurance.of({ run, insuredUntil, purgeNotice: parts.storage.purgeNotice })
})

const demandClock = Effect.fnUntraced(function* ({ clock }: Parts) {
  const step = yield* clock.step
  if (step !== undefined) return yield* new Conflict({ code: "clock_step", error: clockStepText(step) })
})

const settlement = Effect.fnUntraced(function* (parts: Parts) {
  const runAt = yield* Clock.currentTimeMillis
  const { days, skipped } = dueDays(yield* lastDayOrFirst(parts), runAt)
  if (skipped > 0) yield* Effect.logWarning("daily storage job skips days that are too long ago", { days: skipped })
  const reports: Array<JobReport["days"][number]> = []
  for (const day of days) reports.push({ day, accounts: yield* settleDay(parts, { day, runAt }) })
  return { dryRun: false, days: reports }
})

/** The last settled day. In a new directory the newest one counts as settled, without a charge. */
const lastDayOrFirst = Effect.fnUntraced(function* ({ jobs }: Parts) {
  const lastDay = yield* jobs.lastDay(storageJob)
  if (lastDay !== undefined) return lastDay
  const newest = yield* newestDueDay
  yield* jobs.markDay(storageJob, newest)
  return newest
})

const settleDay = Effect.fn("StorageInsurance.day")(function* (parts: Parts, { day, runAt }: DayOfRun) {
  const due = yield* accountsOf(parts, day)
  let done = 0
  const settled = yield* Effect.forEach(
    due,
    (account) =>
      Effect.tap(parts.storage.carryOut(account, { day, runAt }), () =>
        Effect.sync(() => {
          done++
        })
      ),
    { concurrency: Limits.jobAccountsConcurrent }
  ).pipe(withProgress(() => ({ day, done, accounts: due.length })))
  yield* parts.jobs.markDay(storageJob, day)
  yield* countDay(settled)
  yield* Effect.logInfo("daily storage job done", { day, ...daySums(settled) })
  return settled
})

const rehearsal = Effect.fnUntraced(function* (parts: Parts) {
  const now = yield* Clock.currentTimeMillis
  const lastDay = (yield* parts.jobs.lastDay(storageJob)) ?? (yield* newestDueDay)
  const { days } = dueDays(lastDay, now)
  const left = new Map<string, Rehearsed>()
  const reports: Array<JobReport["days"][number]> = []
  for (const day of days.length > 0 ? days : [dayAfter(lastDay)]) {
    const rehearsed: Array<AccountDay> = []
    for (const account of yield* accountsOf(parts, day)) {
      const runAt = Math.max(now, momentOf(day))
      const { after, report } = yield* parts.storage.rehearse(account, { day, runAt }, left.get(account.id))
      left.set(account.id, after)
      rehearsed.push(report)
    }
    reports.push({ day, accounts: rehearsed })
  }
  return { dryRun: true, days: reports }
})

/** Accounts that existed at the day's moment and are not settled yet. */
const accountsOf = Effect.fnUntraced(function* ({ accounts, jobs }: Parts, day: string) {
  const there = (yield* accounts.list).filter(({ createdAt }) => createdAt <= momentOf(day))
  return yield* Effect.filter(there, ({ id }) => Effect.map(jobs.isDone(storageJob, day, id), (isDone) => !isDone))
})

const newestDueDay = Effect.map(Clock.currentTimeMillis, lastDueDay)

/** Before the service listens: a failure is logged, and the next run resumes the job. */
const attempted = (run: Effect.Effect<unknown, ControlFailure>): Effect.Effect<void> =>
  Effect.matchCauseEffect(run, {
    onSuccess: () => Effect.void,
    onFailure: (cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
      const said = "daily storage job failed; the next run resumes it"
      const error = Cause.squash(cause)
      // The accounts' store can be lost at any moment, which is no fault of the job.
      return error instanceof Unavailable
        ? Effect.logWarning(said, { code: error.code })
        : Effect.logError(said, { cause })
    }
  })

/** Logs the progress every `progressMillis`. */
const withProgress =
  (progress: () => Record<string, unknown>) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.raceFirst(
      work,
      Effect.suspend(() => Effect.logInfo("daily storage job in progress", progress())).pipe(
        Effect.schedule(Schedule.spaced(progressMillis)),
        Effect.andThen(Effect.never)
      )
    )

const insuredMemories = Metric.gauge("storage_memories_insured", {
  description: "Memories that the last daily job kept because their account's balance paid for them."
})
const purgedMemories = Metric.counter("storage_memories_purged_total", {
  description: "Memories that the daily job removed because nothing insured them.",
  incremental: true
})
const expiredMemories = Metric.counter("storage_memories_expired_total", {
  description: "Memories past their own expiry that the daily job removed.",
  incremental: true
})

const daySums = (accounts: ReadonlyArray<AccountDay>) => {
  const sums = { accounts: accounts.length, expired: 0, purged: 0, insured: 0, chargedMicro: 0, problems: 0 }
  for (const { chargedMicro, expired, insured, problem, purged } of accounts) {
    sums.expired += expired
    sums.purged += purged
    sums.insured += insured
    sums.chargedMicro += chargedMicro
    if (problem !== undefined) sums.problems++
  }
  return sums
}

const countDay = (accounts: ReadonlyArray<AccountDay>): Effect.Effect<void> => {
  const { expired, insured, purged } = daySums(accounts)
  return Effect.all(
    [
      Metric.update(insuredMemories, insured),
      Metric.update(purgedMemories, purged),
      Metric.update(expiredMemories, expired)
    ],
    { discard: true }
  )
}
