/** Jobs and a clock that steps (contract: Plans and the daily job). */
import { describe, expect } from "vitest"
import { Clock, Effect, References } from "effect"
import { TestClock } from "effect/testing"
import type { Account } from "@muniment/domain/Account"
import { credits, storageMicroCreditsPerMemoryDay as price } from "@muniment/domain/Money"
import { JobLog } from "@muniment/control/jobs/JobLog"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { JobClock } from "@muniment/server/jobs/JobClock"
import { StorageInsurance } from "@muniment/server/jobs/StorageInsurance"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import {
  balanceOf,
  dayMillis,
  dayName,
  deposit,
  makeAccount,
  memory,
  moment,
  noon,
  numbersOf,
  start,
  storageWorld,
  store
} from "./StorageWorld.ts"
import { it } from "../../../support/it.ts"

const run = StorageInsurance.use((insurance) => insurance.run())
const accept = StorageInsurance.use((insurance) => insurance.run({ acceptClock: true }))
const step = JobClock.use((clock) => clock.step)
const hour = 3_600_000

/** One account that pays for its memory, and one that does not pay for an old one. */
const fill = Effect.gen(function* () {
  const [rich, poor] = [yield* makeAccount("rich", "free"), yield* makeAccount("poor", "free")]
  yield* deposit(rich, credits(1), "one")
  yield* store(rich, [memory(1, noon)])
  yield* store(poor, [memory(1, noon - 6 * dayMillis - hour)])
  return { rich, poor }
})

const standing = Effect.fnUntraced(function* ({ poor, rich }: { readonly rich: Account; readonly poor: Account }) {
  return [yield* balanceOf(rich), yield* numbersOf(poor)]
})

describe("a start by a clock that has stepped", () => {
  for (const days of [40, 400, -40]) {
    it.effect(
      `of ${days} days charges and purges nothing, after a restart neither, and goes on when it is back`,
      function* () {
        const directory = temporaryDirectory()
        const accounts = yield* start(directory, noon, fill)
        const stepped = noon + days * dayMillis
        for (const now of [stepped, stepped + hour]) {
          const work = Effect.gen(function* () {
            expect(yield* step).toEqual({ seenAt: noon, now })
            expect(yield* Effect.flip(run)).toMatchObject({ _tag: "Conflict", code: "clock_step" })
            expect(yield* JobLog.use((log) => log.runs({ limit: 100 }))).toEqual([])
            expect(yield* standing(accounts)).toEqual([credits(1), [1]])
          })
          yield* start(directory, now, work)
        }
        const back = Effect.gen(function* () {
          expect(yield* step).toBeUndefined()
          expect((yield* JobLog.use((log) => log.runs({ limit: 100 }))).map(({ day }) => day)).toEqual([dayName(1)])
          expect(yield* standing(accounts)).toEqual([credits(1) - price, [1]])
        })
        yield* start(directory, moment(1), back)
      }
    )
  }

  it.effect("is believed when the operator says so, and by the next starts; no day is charged twice", function* () {
    const directory = temporaryDirectory()
    const accounts = yield* start(directory, noon, fill)
    yield* start(
      directory,
      noon + 3 * dayMillis,
      Effect.gen(function* () {
        expect((yield* accept).days.map(({ day }) => day)).toEqual([1, 2, 3].map(dayName))
        expect(yield* step).toBeUndefined()
        expect(yield* standing(accounts)).toEqual([credits(1) - 3 * price, [1]])
      })
    )
    // It was wrong after all: the days that were settled stay settled.
    yield* start(directory, noon + hour, Effect.andThen(accept, Effect.asVoid(step)))
    yield* start(
      directory,
      moment(1),
      Effect.gen(function* () {
        expect(yield* standing(accounts)).toEqual([credits(1) - 3 * price, [1]])
        for (const day of [2, 3, 4]) {
          yield* TestClock.setTime(moment(day))
          yield* run
        }
        expect(yield* balanceOf(accounts.rich)).toBe(credits(1) - 4 * price)
        expect((yield* checkLedger).problems).toEqual([])
      })
    )
  })
})

it.effect(
  "a clock that steps while the service runs is noticed by the next run, and by the job's own moment",
  function* () {
    let shift = 0
    const clock = yield* Clock.Clock
    const shifted: Clock.Clock = {
      ...clock,
      sleep: (duration) => clock.sleep(duration),
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + shift,
      currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + shift)
    }
    yield* TestClock.setTime(noon)
    const work = Effect.gen(function* () {
      const accounts = yield* fill
      yield* store(accounts.rich, [memory(2, noon, { expiresAt: noon + 10 * dayMillis })])
      shift = 40 * dayMillis
      expect(yield* Effect.flip(run)).toMatchObject({ code: "clock_step" })
      yield* TestClock.setTime(moment(1))
      expect(yield* standing(accounts)).toEqual([credits(1), [1]])
      // Housekeeping removes by the time seen last.
      yield* TestClock.adjust(2 * 60_000)
      shift = 0
      expect(yield* numbersOf(accounts.rich)).toEqual([1, 2])
      expect((yield* run).days.map(({ day }) => day)).toEqual([dayName(1)])
    })
    yield* Effect.provide(work, storageWorld(temporaryDirectory(), { maintainMillis: 60_000 })).pipe(
      Effect.provideService(Clock.Clock, shifted),
      Effect.provideService(References.MinimumLogLevel, "None")
    )
  }
)

it.effect("twelve days of a clock that goes on charge and purge on time, without anybody's word", () =>
  start(
    temporaryDirectory(),
    noon,
    Effect.gen(function* () {
      const { poor, rich } = yield* fill
      // The oldest is a week old after eight days: from then on each day is like the one before.
      for (let day = 1; day <= 12; day++) {
        yield* TestClock.setTime(moment(day))
        yield* run
        expect(yield* balanceOf(rich)).toBe(credits(1) - day * price)
        // Stored on the evening of each day but the first: kept for a week, marked, and removed a day later.
        yield* store(poor, [memory(1 + day, moment(day) + 1)])
        const oldest = Math.max(day - 8, 1)
        const kept = Array.from({ length: day - oldest + 1 }, (_, at) => 1 + oldest + at)
        expect(yield* numbersOf(poor), `day ${day}`).toEqual(day < 3 ? [1, ...kept] : kept)
      }
      expect(yield* step).toBeUndefined()
      expect((yield* checkLedger).problems).toEqual([])
    })
  )
)

describe("a mark", () => {
  const old = Effect.gen(function* () {
    const account = yield* makeAccount("poor", "free")
    yield* store(account, [memory(1, noon - 8 * dayMillis)])
    yield* TestClock.setTime(moment(1))
    yield* run
    return account
  })
  const notice = (account: Account) => StorageInsurance.use((insurance) => insurance.purgeNotice(account))

  it.effect("is cleared by a deposit, even one that is spent before the next run", () =>
    start(
      temporaryDirectory(),
      noon,
      Effect.gen(function* () {
        const account = yield* old
        expect(yield* notice(account)).toMatchObject({ memories: 1, from: moment(2) })
        yield* deposit(account, price, "in")
        expect(yield* notice(account)).toBeUndefined()
        yield* deposit(account, -price, "out")
        yield* TestClock.setTime(moment(2))
        yield* run
        expect(yield* numbersOf(account)).toEqual([1])
        yield* TestClock.setTime(moment(3))
        yield* run
        expect(yield* numbersOf(account)).toEqual([])
      })
    )
  )

  it.effect("is not cleared by what is taken from the balance", () =>
    start(
      temporaryDirectory(),
      noon,
      Effect.gen(function* () {
        const account = yield* old
        const other = yield* makeAccount("other", "free")
        yield* deposit(other, 2 * price, "in")
        yield* deposit(other, -price, "out")
        expect(yield* notice(account)).toMatchObject({ memories: 1 })
      })
    )
  )

  it.effect("is not agreed on by a run on the same day", function* () {
    const directory = temporaryDirectory()
    const account = yield* start(directory, noon, fill)
    // Missed for a day, caught up an hour before the next moment.
    yield* start(directory, noon + dayMillis, Effect.void)
    yield* start(directory, moment(3) - hour, accept)
    const work = Effect.gen(function* () {
      expect(yield* JobLog.use((log) => log.runs({ limit: 1 }))).toMatchObject([{ day: dayName(3), purged: 0 }])
      expect(yield* numbersOf(account.poor)).toEqual([1])
      yield* TestClock.setTime(moment(4))
      yield* run
      expect(yield* numbersOf(account.poor)).toEqual([])
    })
    yield* start(directory, moment(3), work)
  })
})
