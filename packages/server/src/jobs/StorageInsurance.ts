/**
 * The daily storage job (specification sections 1 and 8, interface.md section 10.3): at 00:10 UTC each
 * account's expired memories go, and a free account's storage is paid from its balance or cut to a week.
 *
 * Invariants: each (UTC day, account) is settled once, whatever crashes, reruns and downtime there are; days
 * are settled in their order, those missed at the next start, before the server listens; one run at a
 * time; nothing is charged for days before the first start of a data directory.
 */
import { Cause, Clock, Context, Effect, Layer, Schedule, Semaphore } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import type { Account } from "@muniment/domain/Account"
import type { InsufficientStorage } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { JobReport } from "@muniment/domain/Operations"
import { plans } from "@muniment/domain/Plans"
import { Accounts } from "@muniment/ledger/Accounts"
import { JobLog, storageJob } from "@muniment/ledger/JobLog"
import { type AccountDay, type PlanTable, type Rehearsed, makeAccountStorage } from "./AccountStorage.ts"
import { dayAfter, dueDays, jobSchedule, lastDueDay, momentOf } from "./JobDays.ts"
import { countDay, daySums } from "./StorageMetrics.ts"

export { nextRunMillis } from "./JobDays.ts"

/** The last time that a date can hold (ECMA-262, section 21.4.1.1); a rich account's few memories are insured beyond. */
const lastMillis = 8.64e15
/** A catch-up that takes longer says so, again and again. */
const progressMillis = 1_000

export class StorageInsurance extends Context.Service<
  StorageInsurance,
  {
    /**
     * Settles every day that is due; waits for a run under way. A dry run answers the same and changes
     * nothing; when no day is due it tells of the next one, as things are now.
     */
    readonly run: (options?: { readonly dryRun?: boolean }) => Effect.Effect<JobReport, InsufficientStorage>
    /**
     * Time of the first run that finds the balance used up, if nothing changes. Undefined on plans that
     * keep memories for good, and when nothing is stored or paid.
     */
    readonly insuredUntil: (account: Account) => Effect.Effect<number | undefined>
  }
>()("muniment/server/StorageInsurance") {
  /** Catches up, then runs by the clock. */
  static readonly layerWith = (options: { readonly plans: PlanTable }) =>
    Layer.effect(
      StorageInsurance,
      Effect.gen(function* () {
        const service = yield* make(options.plans)
        yield* unattended(service.run())
        yield* unattended(service.run()).pipe(
          Effect.schedule(Schedule.cron(jobSchedule.cron, jobSchedule.zone)),
          Effect.forkScoped
        )
        return service
      })
    )
  static readonly layer = StorageInsurance.layerWith({ plans })
}

const make = Effect.fnUntraced(function* (planTable: PlanTable) {
  const accounts = yield* Accounts
  const jobs = yield* JobLog
  const storage = yield* makeAccountStorage(planTable)
  const turns = yield* Semaphore.make(1)

  const run = Effect.fn("StorageInsurance.run")(function* ({ dryRun = false }: { readonly dryRun?: boolean } = {}) {
    return yield* turns.withPermit(dryRun ? rehearsal : settlement)
  })

  const settlement = Effect.gen(function* () {
    const lastDay = yield* lastDayOrFirst
    const { days, skipped } = dueDays(lastDay, yield* Clock.currentTimeMillis)
    if (skipped > 0) yield* Effect.logWarning("days of the daily job are too long ago and left out", { days: skipped })
    const reports: Array<JobReport["days"][number]> = []
    for (const day of days) reports.push({ day, accounts: yield* settleDay(day) })
    return { dryRun: false, days: reports }
  })

  /** The last day that is settled. A directory's first one is the next: nobody is charged for days before. */
  const lastDayOrFirst = Effect.gen(function* () {
    const lastDay = yield* jobs.lastDay(storageJob)
    if (lastDay !== undefined) return lastDay
    const newest = yield* newestDueDay
    yield* jobs.markDay(storageJob, newest)
    return newest
  })

  const settleDay = Effect.fn("StorageInsurance.day")(function* (day: string) {
    const due = yield* accountsOf(day)
    let done = 0
    const settled = yield* Effect.forEach(
      due,
      (account) =>
        Effect.tap(storage.carryOut(account, day), () =>
          Effect.sync(() => {
            done++
          })
        ),
      { concurrency: Limits.jobAccountsConcurrent }
    ).pipe(toldAs(() => ({ day, done, accounts: due.length })))
    yield* jobs.markDay(storageJob, day)
    yield* countDay(settled)
    yield* Effect.logInfo("the daily storage job is done", { day, ...daySums(settled) })
    return settled
  })

  const rehearsal = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const lastDay = (yield* jobs.lastDay(storageJob)) ?? (yield* newestDueDay)
    const { days } = dueDays(lastDay, now)
    const left = new Map<string, Rehearsed>()
    const reports: Array<JobReport["days"][number]> = []
    for (const day of days.length > 0 ? days : [dayAfter(lastDay)]) {
      const rehearsed: Array<AccountDay> = []
      for (const account of yield* accountsOf(day)) {
        const { after, report } = yield* storage.rehearse(account, day, left.get(account.id))
        left.set(account.id, after)
        rehearsed.push(report)
      }
      reports.push({ day, accounts: rehearsed })
    }
    return { dryRun: true, days: reports }
  })

  /** Who was there at the day's moment and is not settled yet. */
  const accountsOf = Effect.fnUntraced(function* (day: string) {
    const there = (yield* accounts.list).filter(({ createdAt }) => createdAt <= momentOf(day))
    return yield* Effect.filter(there, ({ id }) => Effect.map(jobs.isDone(storageJob, day, id), (isDone) => !isDone))
  })

  const insuredUntil = Effect.fn("StorageInsurance.insuredUntil")(function* (account: Account) {
    const days = yield* storage.insuredDays(account, yield* Clock.currentTimeMillis)
    if (days === undefined) return undefined
    const lastDay = (yield* jobs.lastDay(storageJob)) ?? (yield* newestDueDay)
    return Math.min(momentOf(dayAfter(lastDay)) + days * dayMillis, lastMillis)
  })

  return StorageInsurance.of({ run, insuredUntil })
})

const newestDueDay = Effect.map(Clock.currentTimeMillis, lastDueDay)

/** Nobody waits for its answer: what it could not do is told to the log, and done by the next run. */
const unattended = (run: Effect.Effect<JobReport, InsufficientStorage>): Effect.Effect<void> =>
  Effect.matchCauseEffect(run, {
    onSuccess: () => Effect.void,
    onFailure: (cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.logError("the daily storage job stopped; the next run goes on where it was", { cause })
  })

/** Tells the log every second how far it is. */
const toldAs =
  (progress: () => Record<string, unknown>) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.raceFirst(
      work,
      Effect.suspend(() => Effect.logInfo("the daily storage job is at work", progress())).pipe(
        Effect.delay(progressMillis),
        Effect.forever
      )
    )
