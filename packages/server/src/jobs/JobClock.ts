/**
 * The clock that jobs believe: the last time that the service saw is kept in `control.db`, and a clock that has stepped by
 * more than a day since then, forwards or backwards, is believed only once the operator says so. A machine that was
 * switched off for longer than that looks the same.
 *
 * Invariant: while the step stands, the time seen stays as it was, so that a clock which comes back is right again.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { dayMillis, dayOf } from "@muniment/domain/CalendarDay"
import type { ClockStep } from "@muniment/domain/Operations"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"
import { Limits } from "@muniment/domain/Limits"
import { JobLog } from "@muniment/control/jobs/JobLog"
import { Rounds } from "@muniment/worker/Rounds"

export class JobClock extends Context.Service<
  JobClock,
  {
    /** Undefined: jobs may believe the clock. */
    readonly step: Effect.Effect<ClockStep | undefined>
    /** The clock's time, or the time seen last while that one is not believed: nothing expires early. */
    readonly expiresBy: Effect.Effect<number>
    /** The operator says that the clock is right. */
    readonly accept: Effect.Effect<void, ControlFailure>
  }
>()("muniment/server/JobClock") {
  static readonly layer = Layer.effect(
    JobClock,
    Effect.suspend(() => make)
  )
}

export const clockStepText = ({ now, seenAt }: ClockStep): string =>
  `the clock says ${timeText(now)} and the service last saw ${timeText(seenAt)}: the daily job waits. If the clock is right (the machine was off), confirm with: npm run muniment -- jobs run --accept-clock`

const timeText = (atMillis: number): string => new Date(atMillis).toISOString()

const make = Effect.gen(function* () {
  const jobs = yield* JobLog
  let seenAt = yield* jobs.clockSeenAt

  const step = Effect.map(Clock.currentTimeMillis, (now): ClockStep | undefined =>
    seenAt === undefined || Math.abs(now - seenAt) <= dayMillis ? undefined : { seenAt, now }
  )
  const note = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    yield* jobs.noteClock(now)
    seenAt = now
  })

  let isTold = false
  const observe = Effect.flatMap(step, (stepped) => {
    if (stepped === undefined) {
      isTold = false
      return note
    }
    if (isTold) return Effect.void
    isTold = true
    return Effect.logWarning(
      "the clock has stepped; the daily job waits for: npm run muniment -- jobs run --accept-clock",
      stepped
    )
  })
  const observeOnce = Effect.catch(observe, ({ code }) =>
    Effect.logWarning("the time seen was not written down", { code })
  )
  yield* observeOnce
  yield* Rounds.add({ name: "clock of the jobs", schedule: Schedule.spaced(Limits.clockSeenMillis), work: observe })
  yield* Effect.addFinalizer(() => observeOnce)

  return JobClock.of({
    step,
    expiresBy: Effect.flatMap(step, (stepped) =>
      stepped === undefined ? Clock.currentTimeMillis : Effect.succeed(Math.min(stepped.now, stepped.seenAt))
    ),
    accept: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      yield* jobs.acceptClock(now, lastDueDay(now))
      seenAt = now
    })
  })
})

/** From the start of a day to its moment; `jobSchedule` says the same. */
const momentMillis = 600_000
/**
 * Days of the daily job (contract: Plans and the daily job): its moment on UTC day D is D 00:10, and D is due from
 * that moment on. Days are written `YYYY-MM-DD`, so their order is that of the text.
 */
export const jobSchedule = { cron: "10 0 * * *", zone: "UTC" }

export const dayAfter = (day: string, days = 1): string => dayOf(Date.parse(day) + days * dayMillis)

export const momentOf = (day: string): number => Date.parse(day) + momentMillis

/** The newest day whose moment has come. */
export const lastDueDay = (nowMillis: number): string => dayOf(nowMillis - momentMillis)

/** The next moment after `nowMillis`. */
export const nextRunMillis = (nowMillis: number): number => momentOf(dayAfter(lastDueDay(nowMillis)))

/** Days after `lastDay` that are due, oldest first, and the number of older ones that are skipped. */
export const dueDays = (
  lastDay: string,
  nowMillis: number
): { readonly days: ReadonlyArray<string>; readonly skipped: number } => {
  const missed = Math.round((Date.parse(lastDueDay(nowMillis)) - Date.parse(lastDay)) / dayMillis)
  const count = Math.min(Math.max(missed, 0), Limits.jobCatchUpDaysMax)
  const newest = lastDueDay(nowMillis)
  return {
    days: Array.from({ length: count }, (_, at) => dayAfter(newest, at + 1 - count)),
    skipped: Math.max(missed, 0) - count
  }
}
