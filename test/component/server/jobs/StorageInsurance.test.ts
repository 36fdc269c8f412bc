/** The daily storage job over real namespaces and a real ledger (contract: Plans and the daily job). */
import { describe, expect } from "vitest"
import { truncateSync } from "node:fs"
import { join } from "node:path"
import { Effect, type Layer } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { credits, storageMicroCreditsPerMemoryDay as price } from "@muniment/domain/Money"
import type { JobReport } from "@muniment/domain/Operations"
import { plans } from "@muniment/domain/Plans"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { JobLog } from "@muniment/control/jobs/JobLog"
import { Ledger } from "@muniment/control/credits/Ledger"
import { checkLedger } from "@muniment/control/LedgerCheck"
import type { AccountDay } from "@muniment/server/jobs/AccountStorage"
import { StorageInsurance } from "@muniment/server/jobs/StorageInsurance"
import { messageRecord, newMemory, StoreProbe } from "../../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import {
  balanceOf,
  dayMillis,
  dayName,
  deposit,
  makeAccount,
  memory,
  moment,
  namespaceOf,
  noon,
  numbersOf,
  start,
  type storageWorld,
  store,
  type WorldOptions
} from "./StorageWorld.ts"
import { effectOf, it, type Steps } from "../../../support/it.ts"

const run = StorageInsurance.use((insurance) => insurance.run())
/** After a start more than a day later: the operator says that the clock is right. */
const accept = StorageInsurance.use((insurance) => insurance.run({ acceptClock: true }))
const dryRun = StorageInsurance.use((insurance) => insurance.run({ dryRun: true }))
const total = ({ days }: JobReport, of: (account: AccountDay) => number): number =>
  days.flatMap(({ accounts }) => accounts).reduce((sum, account) => sum + of(account), 0)
const proof = Effect.map(checkLedger, ({ problems }) => expect(problems).toEqual([]))

/** A directory whose job is over for the day of `noon`. */
const world = <A>(work: () => Steps<Layer.Success<ReturnType<typeof storageWorld>>, A>, options?: WorldOptions) =>
  start(temporaryDirectory(), noon, effectOf(work()), options)

const during = (name: string, ...args: Parameters<typeof world>): void => it.effect(name, () => world(...args))

describe("a free account without balance", () => {
  during(
    "loses what two runs found older than seven days, every version; searches and counts agree at once",
    function* () {
      const account = yield* makeAccount("free", "free")
      const bound = moment(1) - 7 * dayMillis
      yield* store(account, [
        memory(1, bound - dayMillis, { uniqueKey: "k" }),
        memory(2, bound - 1, { uniqueKey: "k" }),
        memory(3, bound),
        memory(4, noon)
      ])
      yield* TestClock.setTime(moment(1) - 1)
      expect(yield* numbersOf(account)).toEqual([1, 2, 3, 4])
      yield* TestClock.setTime(moment(1))
      yield* run
      expect(yield* numbersOf(account)).toEqual([1, 2, 3, 4])
      const notice = StorageInsurance.use((insurance) => insurance.purgeNotice(account))
      expect(yield* notice).toEqual({ memories: 2, createdBefore: bound, from: moment(2) })
      yield* TestClock.setTime(moment(2))
      yield* run
      // The third is a day too old by now, and found by this run alone.
      expect(yield* numbersOf(account)).toEqual([3, 4])
      expect(yield* notice).toEqual({ memories: 1, createdBefore: bound + dayMillis, from: moment(3) })
      const key = yield* namespaceOf(account)
      const query = { text: "zebra number", vectors: new Map(), filter: {}, limit: 10, minRelevance: 0 }
      const search = yield* MemorySearch
      expect((yield* search.search([key], query)).hits.length).toBe(2)
      expect(yield* search.countMatching([key], query)).toBe(2)
      const host = yield* NamespaceHost
      expect(yield* host.answer(key, { _tag: "Counts" })).toMatchObject({ live: 2, latest: 2, rows: 2 })
      expect(yield* JobLog.use((log) => log.runs({ limit: 1 }))).toMatchObject([{ day: dayName(2), purged: 2 }])
      expect(yield* balanceOf(account)).toBe(0)
      yield* proof
    }
  )

  during("keeps its allowance, which insures nothing", function* () {
    const account = yield* makeAccount("free", "free")
    yield* store(account, [memory(1, noon - 8 * dayMillis)])
    for (const day of [1, 2]) {
      yield* TestClock.setTime(moment(day))
      yield* run
    }
    expect(yield* numbersOf(account)).toEqual([])
    expect(yield* Ledger.use((ledger) => ledger.purses(account))).toMatchObject({ allowance: credits(1_000) })
  })
})

describe("a free account with a balance", () => {
  it.effect(
    "keeps everything and pays 3,330 millionths for each live memory: versions yes, expired and later ones no",
    () =>
      world(function* () {
        const account = yield* makeAccount("free", "free")
        yield* deposit(account, credits(1), "one")
        yield* store(account, [
          memory(1, noon - 30 * dayMillis, { uniqueKey: "k" }),
          memory(2, noon - 20 * dayMillis, { uniqueKey: "k" }),
          memory(3, noon, { expiresAt: moment(1) }),
          memory(4, noon, { expiresAt: moment(1) + 1 })
        ])
        yield* store(account, [memory(5, moment(1)), memory(6, moment(1) + 1)], "another agent")
        const { days } = yield* dryRun
        yield* TestClock.setTime(moment(1) + 5)
        yield* run
        expect(days).toEqual([
          {
            day: dayName(1),
            accounts: [
              {
                account: "free",
                plan: "free",
                live: 4,
                expired: 1,
                purged: 0,
                marked: 0,
                insured: 4,
                chargedMicro: 4 * price,
                meteredMicro: 0
              }
            ]
          }
        ])
        expect(price).toBe(3_330)
        expect(yield* balanceOf(account)).toBe(credits(1) - 4 * 3_330)
        expect(yield* numbersOf(account)).toEqual([1, 2])
        expect(yield* numbersOf(account, "another agent")).toEqual([5, 6])
        yield* proof
      })
  )

  it.effect(
    "that is too small pays what it has, keeps everything that day, is warned on the next, and then loses it",
    () =>
      world(function* () {
        const account = yield* makeAccount("free", "free")
        yield* deposit(account, price + 1, "little")
        yield* store(account, [memory(1, noon - 8 * dayMillis), memory(2, noon - 8 * dayMillis)])
        yield* TestClock.setTime(moment(1))
        yield* run
        expect([yield* balanceOf(account), yield* numbersOf(account)]).toEqual([0, [1, 2]])
        yield* TestClock.setTime(moment(2))
        yield* run
        expect(yield* numbersOf(account)).toEqual([1, 2])
        yield* TestClock.setTime(moment(3))
        yield* run
        expect(yield* numbersOf(account)).toEqual([])
        yield* proof
      })
  )

  during("that has far more money than memories is insured until the last time that a date can hold", function* () {
    const account = yield* makeAccount("rich", "free")
    yield* store(account, [memory(1, noon)])
    yield* deposit(account, 1_000_000_000_000, "riches")
    expect(yield* (yield* StorageInsurance).insuredUntil(account)).toBe(8.64e15)
  })

  during("gets the time of the first run that finds the balance used up", function* () {
    const account = yield* makeAccount("free", "free")
    const insurance = yield* StorageInsurance
    const told = insurance.insuredUntil(account)
    expect(yield* told).toBeUndefined()
    yield* store(account, [memory(1, noon), memory(2, noon), memory(3, noon, { expiresAt: noon })])
    expect(yield* told).toBeUndefined()
    const amounts = [1, 2 * price - 1, 2 * price, 2 * price + 1, 7 * price]
    for (const [at, amount] of amounts.entries()) {
      yield* deposit(account, amount - (yield* balanceOf(account)), `amount ${at}`)
      const until = yield* told
      let days = at * 10 + 1
      for (; (yield* balanceOf(account)) > 0; days++) {
        yield* TestClock.setTime(moment(days))
        yield* run
      }
      // The run before found something and used it up; this one would find nothing.
      expect(until).toBe(moment(days))
      for (; days <= (at + 1) * 10; days++) {
        yield* TestClock.setTime(moment(days))
        yield* run
        yield* store(account, [memory(days * 10, moment(days)), memory(days * 10 + 1, moment(days))])
      }
      yield* NamespaceHost.use((host) =>
        Effect.flatMap(namespaceOf(account), (key) =>
          host.removeAll(key, { _tag: "RemoveCreatedBefore", beforeMillis: moment(days - 1) })
        )
      )
    }
  })
})
describe("other plans", () => {
  const few = { ...plans, starter: { ...plans.starter, memoriesIncluded: 2 } }

  it.effect("lose only expired memories; what exceeds the included number is metered, never removed", () =>
    world(
      function* () {
        const [starter, pro, owner] = [
          yield* makeAccount("starter", "starter"),
          yield* makeAccount("pro", "pro"),
          yield* makeAccount("owner", "owner")
        ]
        for (const account of [starter, pro, owner]) {
          yield* deposit(account, credits(5), account.name)
          const old = [1, 2, 3, 4, 5].map((number) => memory(number, noon - 30 * dayMillis))
          yield* store(account, [...old, memory(6, noon, { expiresAt: noon + 1 })])
        }
        const [day] = (yield* dryRun).days
        yield* TestClock.setTime(moment(1))
        yield* run
        expect(
          day!.accounts.map(({ account, expired, meteredMicro, purged }) => ({
            account,
            expired,
            meteredMicro,
            purged
          }))
        ).toEqual([
          { account: "starter", expired: 1, meteredMicro: 3 * price, purged: 0 },
          { account: "pro", expired: 1, meteredMicro: 0, purged: 0 },
          { account: "owner", expired: 1, meteredMicro: 0, purged: 0 }
        ])
        for (const account of [starter, pro, owner]) {
          expect([yield* balanceOf(account), yield* numbersOf(account)]).toEqual([credits(5), [1, 2, 3, 4, 5]])
        }
        const receivable = (yield* Ledger.use((ledger) => ledger.balances)).find(({ name }) =>
          name.startsWith("asset:receivable")
        )
        expect(receivable).toMatchObject({ name: `asset:receivable:${starter.id}`, debits: 3 * price })
        const insurance = yield* StorageInsurance
        expect(yield* insurance.insuredUntil(starter)).toBeUndefined()
        yield* proof
      },
      { plans: few }
    )
  )

  it.effect("count four messages of conversations as a memory, rounded up by account", () =>
    world(
      function* () {
        const starter = yield* makeAccount("starter", "starter")
        const message = (number: number) => {
          const record = messageRecord(number, `message ${number}`, { createdAt: noon })
          return newMemory(record, undefined)
        }
        yield* store(starter, [memory(1, noon), memory(2, noon), message(3), message(4), message(5)])
        yield* store(starter, [message(6), message(7)], "other")
        const [day] = (yield* dryRun).days
        // Two memories and five messages, of which two are included.
        expect(day!.accounts).toMatchObject([{ live: 4, meteredMicro: 2 * price }])
      },
      { plans: few }
    )
  )

  it("include 50,000 memories for starter, 500,000 for pro, and any number for the owner", () => {
    const included = [plans.starter, plans.pro, plans.owner].map(({ memoriesIncluded }) => memoriesIncluded)
    expect(included).toEqual([50_000, 500_000, undefined])
  })
})

describe("the days of the job", () => {
  during("are settled by the clock, at 00:10 and not before", function* () {
    const account = yield* makeAccount("free", "free")
    yield* deposit(account, credits(1), "one")
    yield* store(account, [memory(1, noon)])
    yield* TestClock.setTime(moment(1) - 1)
    yield* Effect.yieldNow
    expect(yield* balanceOf(account)).toBe(credits(1))
    for (const [day, paid] of [1, 2, 3].entries()) {
      yield* TestClock.setTime(moment(day + 1))
      // The run by hand waits for the one the clock has set off.
      yield* run
      expect(yield* balanceOf(account)).toBe(credits(1) - paid * price)
    }
    expect((yield* JobLog.use((log) => log.runs({ limit: 10 }))).map(({ day }) => day)).toEqual([
      dayName(3),
      dayName(2),
      dayName(1)
    ])
  })

  during("are settled once, by however many runs at once", function* () {
    const account = yield* makeAccount("free", "free")
    yield* deposit(account, credits(1), "one")
    yield* store(account, [memory(1, noon)])
    yield* TestClock.setTime(moment(1))
    const reports = yield* Effect.all([run, run, run], { concurrency: "unbounded" })
    expect(reports.flatMap(({ days }) => days).length).toBeLessThanOrEqual(1)
    expect((yield* run).days).toEqual([])
    expect(yield* balanceOf(account)).toBe(credits(1) - price)
  })

  it.effect("that were missed are settled when the clock is confirmed, each by what was live then", () => {
    const directory = temporaryDirectory()
    const account = start(
      directory,
      noon,
      Effect.gen(function* () {
        const made = yield* makeAccount("free", "free")
        yield* deposit(made, 5 * price, "five days")
        yield* store(made, [memory(1, noon), memory(2, noon, { expiresAt: moment(3) })])
        return made
      })
    )
    return Effect.flatMap(account, (account) =>
      start(
        directory,
        moment(9),
        Effect.gen(function* () {
          const log = yield* JobLog
          yield* accept
          // Two memories on days 1 and 2, one on day 3 uses the balance up; a week is over on day 8, which marks it.
          const runs = (yield* log.runs({ limit: 20 })).map(({ charged, expired, purged }) => [
            charged / price,
            expired,
            purged
          ])
          expect(runs.toReversed()).toEqual([
            [2, 0, 0],
            [2, 0, 0],
            [1, 1, 0],
            ...Array.from({ length: 4 }, () => [0, 0, 0]),
            [0, 0, 0],
            [0, 0, 0]
          ])
          expect(yield* balanceOf(account)).toBe(0)
          // One run has settled all these days.
          expect(yield* numbersOf(account)).toEqual([1])
          expect((yield* run).days).toEqual([])
          yield* TestClock.setTime(moment(10))
          yield* run
          expect(yield* numbersOf(account)).toEqual([])
          yield* proof
        })
      )
    )
  })

  it.effect("are skipped when they are more than a month ago", () => {
    const directory = temporaryDirectory()
    const prepare = Effect.gen(function* () {
      const account = yield* makeAccount("free", "free")
      yield* deposit(account, credits(10), "ten")
      yield* store(account, [memory(1, noon)])
      return account
    })
    return Effect.flatMap(start(directory, noon, prepare), (account) =>
      start(
        directory,
        moment(100),
        Effect.gen(function* () {
          yield* accept
          expect(yield* balanceOf(account)).toBe(credits(10) - Limits.jobCatchUpDaysMax * price)
          expect((yield* JobLog.use((log) => log.runs({ limit: 1 })))[0]?.day).toBe(dayName(100))
        })
      )
    )
  })

  it.effect("cost nothing before the first start, or before the account existed", () => {
    let isBroken = false
    const step = Effect.suspend(() => (isBroken ? Effect.die(new Error("crash")) : Effect.void))
    return world(
      function* () {
        expect((yield* dryRun).days.map(({ day }) => day)).toEqual([dayName(1)])
        // The job of the day fails, and is made up for once there is an account with an imported memory.
        isBroken = true
        yield* TestClock.setTime(moment(1) + 1)
        expect((yield* Effect.exit(run))._tag).toBe("Failure")
        isBroken = false
        const account = yield* makeAccount("late", "free")
        yield* deposit(account, credits(1), "one")
        yield* store(account, [memory(1, moment(1) - dayMillis)])
        expect(yield* run).toEqual({ dryRun: false, days: [{ day: dayName(1), accounts: [] }] })
        expect(yield* balanceOf(account)).toBe(credits(1))
      },
      { step }
    )
  })
})

describe("a dry run", () => {
  const fill = Effect.gen(function* () {
    const accounts = yield* Effect.forEach(["a", "b", "c"], (name) =>
      makeAccount(name, name === "c" ? "starter" : "free")
    )
    yield* deposit(accounts[0]!, 7 * price, "seven")
    for (const account of accounts) {
      yield* store(account, [
        memory(1, noon - 8 * dayMillis),
        memory(2, noon - 6 * dayMillis),
        memory(3, noon - 4 * dayMillis, { expiresAt: moment(2) }),
        memory(4, noon - 2 * dayMillis)
      ])
    }
  })
  const few = { ...plans, starter: { ...plans.starter, memoriesIncluded: 1 } }

  it.effect("answers what the run then answers, over several days, and changes nothing", function* () {
    const directory = temporaryDirectory()
    yield* start(directory, noon, fill, { plans: few })
    yield* start(directory, moment(1), Effect.void, { plans: few })
    // The clock of this start is not believed, so the days are still due.
    const work = Effect.gen(function* () {
      const before = yield* Ledger.use((ledger) => ledger.balances)
      const rehearsed = yield* dryRun
      expect(rehearsed.days.map(({ day }) => day)).toEqual([2, 3, 4, 5, 6].map(dayName))
      expect(yield* dryRun).toEqual(rehearsed)
      expect(yield* Ledger.use((ledger) => ledger.balances)).toEqual(before)
      expect(yield* JobLog.use((log) => log.runs({ limit: 100 }))).toHaveLength(1)
      expect(yield* accept).toEqual({ ...rehearsed, dryRun: false })
      // Four memories on the first day.
      expect(total(rehearsed, ({ chargedMicro }) => chargedMicro)).toBe(3 * price)
      expect(total(rehearsed, ({ expired }) => expired)).toBe(3)
      expect(total(rehearsed, ({ purged }) => purged)).toBe(1)
    })
    yield* start(directory, moment(6), work, { plans: few })
  })

  it.effect("rehearses the next day when none is due", () =>
    world(
      function* () {
        yield* fill
        const rehearsed = yield* dryRun
        expect((yield* run).days).toEqual([])
        yield* TestClock.setTime(moment(1))
        expect(rehearsed.days).toMatchObject([
          { day: dayName(1), accounts: [{ account: "a" }, { purged: 0, marked: 1 }, {}] }
        ])
        expect((yield* JobLog.use((log) => log.runs({ limit: 1 })))[0]).toMatchObject({ day: dayName(1) })
      },
      { plans: few }
    )
  )
})

it.effect(
  "a namespace that cannot be read is named; the account is charged for the others, and other accounts are settled",
  function* () {
    const directory = temporaryDirectory()
    const [hurt, whole] = yield* start(
      directory,
      noon,
      Effect.gen(function* () {
        const accounts = [yield* makeAccount("hurt", "free"), yield* makeAccount("whole", "free")] as const
        for (const account of accounts) {
          yield* deposit(account, credits(1), account.name)
          yield* store(account, [memory(1, noon), memory(2, noon)])
          yield* store(account, [memory(3, noon)], "another agent")
        }
        return accounts
      })
    )
    const { tag } = yield* start(directory, noon, namespaceOf(hurt))
    truncateSync(join(directory, "namespaces", `${tag}.db`), 5_000)
    const work = Effect.gen(function* () {
      expect([yield* balanceOf(hurt), yield* balanceOf(whole)]).toEqual([credits(1) - price, credits(1) - 3 * price])
      const [first, second] = (yield* dryRun).days[0]!.accounts
      expect(first).toMatchObject({
        account: "hurt",
        live: 1,
        problem: expect.stringContaining(`namespaces/${tag}.db`)
      })
      expect(second).not.toHaveProperty("problem")
      yield* proof
    })
    yield* start(directory, moment(1), work)
  }
)

it.effect("a namespace with nothing to remove is counted and not opened", function* () {
  const directory = temporaryDirectory()
  const probe = new StoreProbe()
  const fill = Effect.gen(function* () {
    const account = yield* makeAccount("free", "free")
    yield* store(account, [memory(1, noon)])
    yield* store(account, [memory(2, noon - 8 * dayMillis)], "old")
    yield* store(account, [memory(3, noon, { expiresAt: noon + 1 })], "expired")
  })
  yield* start(directory, noon, fill)
  yield* start(directory, moment(1), Effect.void, { probe })
  expect([probe.count("census"), probe.count("open")]).toEqual([3, 1])
  yield* start(directory, moment(2), Effect.void, { probe })
  // The bound of the mark is counted too, and twice more the agent that is empty by now and retired.
  expect([probe.count("census"), probe.count("open")]).toEqual([11, 2])
})
