/**
 * The clock that jobs believe: the last time that the service saw is kept in `control.db`, and a clock that has stepped by
 * more than a day since then, forwards or backwards, is believed only once the operator says so. A machine that was
 * switched off for longer than that looks the same.
 *
 * Invariant: while the step stands, the time seen stays as it was, so that a clock which comes back is right again.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import type { ClockStep } from "@muniment/domain/Operations"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"
import { Limits } from "@muniment/domain/Limits"
import { JobLog } from "@muniment/control/jobs/JobLog"
import { Rounds } from "@muniment/worker/Rounds"
import { lastDueDay } from "./JobDays.ts"

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
