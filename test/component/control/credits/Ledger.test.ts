/** Credits: what is held, charged, given back and granted; what survives a kill and what a full disk stops. */
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import type { Account } from "@muniment/domain/Account"
import { Limits } from "@muniment/domain/Limits"
import { credits } from "@muniment/domain/Money"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { JobLog } from "@muniment/control/jobs/JobLog"
import { Ledger } from "@muniment/control/credits/Ledger"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { crashImage } from "../CrashImage.ts"
import { moneyLayerOf } from "../MoneyLayers.ts"
import { it, itWith } from "../../../support/it.ts"

const fresh = itWith(() => moneyLayerOf(temporaryDirectory()))

const account: Account = { id: "acc_1", name: "one", plan: "free", createdAt: 0 }
const owner: Account = { id: "acc_2", name: "two", plan: "owner", createdAt: 0 }
const allowance = credits(1_000)

const read = { account, operation: "searchMemories", price: credits(2) }
const write = {
  account,
  operation: "createMemories",
  price: credits(5),
  durable: { token: "token", request: "request", namespaces: ["0123456789ab"] }
}
const give = (amount: number, key = "gift") =>
  Ledger.use((ledger) => ledger.adjust({ account, amount, key, reason: "a gift" }))
const proof = Effect.map(checkLedger, ({ problems }) => expect(problems).toEqual([]))

/** Statements that need room fail from here on. */
const fillDisk = ControlDatabase.use(({ sql }) =>
  Effect.gen(function* () {
    const [pages] = yield* sql<{ readonly page_count: number }>`PRAGMA page_count`
    yield* sql`PRAGMA max_page_count=${sql.literal(String(pages!.page_count))}`
  })
)

describe("Ledger: an actual cost below what is held", () => {
  fresh.effect("is charged under its own name, the allowance first, and the rest is free at once", function* () {
    const ledger = yield* Ledger
    yield* give(credits(50))
    const held = yield* ledger.reserve({ ...read, price: credits(1_040) })
    const actual = { operation: "actual", price: credits(1_010) }
    const settled = { charged: credits(1_010), purses: { allowance: 0, balance: credits(40) } }
    expect(yield* ledger.settle(held, actual)).toMatchObject(settled)
    expect(yield* ledger.settle(held, actual)).toMatchObject(settled)
    const charges = (yield* ledger.transactions(account.id, { limit: 10 })).filter(({ kind }) => kind === "charge")
    expect(charges.map(({ amount, operation }) => [operation, amount]).toSorted()).toEqual([
      ["actual", -credits(10)],
      ["actual", -credits(1_000)]
    ])
    yield* proof
  })

  fresh.effect("may be nothing, and is never more than what is held", function* () {
    const ledger = yield* Ledger
    const free = yield* ledger.settle(yield* ledger.reserve(read), { operation: "actual", price: 0 })
    expect(free).toMatchObject({ charged: 0, purses: { allowance } })
    const held = yield* ledger.reserve(read)
    const exit = yield* Effect.exit(ledger.settle(held, { operation: "actual", price: read.price + 1 }))
    expect(exit._tag).toBe("Failure")
    yield* ledger.void(held)
    expect(yield* ledger.purses(account)).toMatchObject({ allowance })
    yield* proof
  })

  fresh.effect("lets what the allowance of an earlier month had given expire", function* () {
    const ledger = yield* Ledger
    const held = yield* ledger.reserve({ ...read, price: credits(10) })
    yield* TestClock.setTime(Date.UTC(1970, 1, 2))
    expect(yield* ledger.purses(account)).toMatchObject({ allowance })
    yield* ledger.settle(held, { operation: "actual", price: credits(4) })
    expect(yield* ledger.purses(account)).toMatchObject({ allowance })
    yield* proof
  })

  it.effect("is charged wholly or not at all when the process is killed", function* () {
    const directory = temporaryDirectory()
    const charged = credits(1)
    const images = yield* Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* ledger.purses(account)
      yield* ledger.flush
      const held = yield* ledger.reserve(read)
      const underWay = crashImage(directory)
      yield* ledger.settle(held, { operation: "actual", price: charged })
      const settled = crashImage(directory)
      yield* ledger.flush
      return [underWay, settled, crashImage(directory)]
    }).pipe(Effect.provide(moneyLayerOf(directory)))
    const found: Array<number> = []
    for (const image of images) {
      yield* Effect.gen(function* () {
        found.push((yield* (yield* Ledger).purses(account)).allowance)
        yield* proof
      }).pipe(Effect.provide(moneyLayerOf(image)))
    }
    expect(found).toEqual([allowance, allowance, allowance - charged])
  })
})

describe("Ledger: purses", () => {
  fresh.effect("gives every account the allowance of the month, and no balance", function* () {
    const ledger = yield* Ledger
    expect(yield* ledger.purses(account)).toMatchObject({ balance: 0, allowance, isUnlimited: false })
    expect(yield* ledger.transactions(account.id, { limit: 10 })).toEqual([
      { id: 1, at: 0, kind: "allowance", purse: "allowance", calls: 1, amount: allowance }
    ])
  })

  fresh.effect("charges the allowance first, then the balance, and refuses what both cannot pay", function* () {
    const ledger = yield* Ledger
    yield* give(credits(3))
    const first = yield* ledger.reserve({ ...read, price: credits(1_001) })
    expect(yield* ledger.settle(first)).toMatchObject({
      charged: credits(1_001),
      purses: { allowance: 0, balance: credits(2), isUnlimited: false }
    })
    expect(yield* Effect.flip(ledger.reserve({ ...read, price: credits(2) + 1 }))).toMatchObject({
      _tag: "InsufficientCredits",
      price: credits(2) + 1,
      purses: { allowance: 0, balance: credits(2) }
    })
    const entries = yield* ledger.transactions(account.id, { limit: 2 })
    expect(entries).toMatchObject([
      { kind: "charge", operation: "searchMemories", purse: "balance", amount: -credits(1) },
      { kind: "charge", operation: "searchMemories", purse: "allowance", amount: -allowance }
    ])
    expect(yield* ledger.transactions(account.id, { limit: 1, before: entries[1]!.id })).toHaveLength(1)
    yield* proof
  })

  fresh.effect("never lets two calls at once spend the same credit", function* () {
    const ledger = yield* Ledger
    const calls = Array.from({ length: 600 }, () => Effect.result(ledger.reserve(read)))
    const outcomes = yield* Effect.all(calls, { concurrency: "unbounded" })
    expect(outcomes.filter(({ _tag }) => _tag === "Success")).toHaveLength(500)
  })

  fresh.effect("gives a hold back when the call failed, and charges a call once", function* () {
    const ledger = yield* Ledger
    const failed = yield* ledger.reserve(read)
    expect(yield* ledger.purses(account)).toMatchObject({ allowance: allowance - credits(2) })
    yield* ledger.void(failed)
    yield* ledger.void(failed)
    expect(yield* ledger.settle(failed)).toMatchObject({ charged: 0, purses: { allowance } })
    const done = yield* ledger.reserve(read)
    expect(yield* ledger.settle(done)).toEqual(yield* ledger.settle(done))
    yield* ledger.void(done)
    expect(yield* ledger.purses(account)).toMatchObject({ allowance: allowance - credits(2) })
    yield* proof
  })

  fresh.effect("writes the owner's prices up and never touches his purses", function* () {
    const ledger = yield* Ledger
    const { durable } = write
    const call = yield* ledger.reserve({ ...read, account: owner, price: credits(5_000), durable })
    expect(yield* ledger.settle(call)).toMatchObject({
      charged: 0,
      purses: { balance: 0, allowance: 0, isUnlimited: true }
    })
    expect(yield* ledger.transactions(owner.id, { limit: 10 })).toMatchObject([
      { kind: "charge", purse: "own-use", amount: -credits(5_000) }
    ])
    yield* proof
  })

  fresh.effect("records nothing for a call without price", function* () {
    const ledger = yield* Ledger
    const call = yield* ledger.reserve({ ...write, price: 0 })
    expect(yield* ledger.settle(call)).toMatchObject({ charged: 0, purses: { allowance } })
    expect(yield* ledger.transactions(account.id, { limit: 10 })).toHaveLength(1)
  })
})

describe("Ledger: months", () => {
  fresh.effect("lets what is left expire at the first use in a new month, and grants anew", function* () {
    const ledger = yield* Ledger
    yield* TestClock.setTime(Date.UTC(2026, 0, 31, 23, 59, 59, 999))
    yield* Effect.flatMap(ledger.reserve(read), ledger.settle)
    yield* TestClock.adjust(1)
    expect(yield* ledger.purses(account)).toMatchObject({ allowance })
    yield* ledger.purses(account)
    expect(yield* ledger.transactions(account.id, { limit: 10 })).toMatchObject([
      { kind: "allowance", amount: allowance },
      { kind: "allowance_expired", amount: credits(2) - allowance },
      { kind: "charge" },
      { kind: "allowance" }
    ])
    yield* proof
  })

  fresh.effect(
    "charges a hold that spans the months to the old one, and does not give it back to the new",
    function* () {
      const ledger = yield* Ledger
      yield* TestClock.setTime(Date.UTC(2026, 0, 31))
      const [settled, failed] = [yield* ledger.reserve(read), yield* ledger.reserve(write)]
      yield* TestClock.setTime(Date.UTC(2026, 1, 1))
      expect(yield* ledger.purses(account)).toMatchObject({ allowance })
      expect(yield* ledger.settle(settled)).toMatchObject({ charged: credits(2), purses: { allowance } })
      yield* ledger.void(failed)
      expect(yield* ledger.purses(account)).toMatchObject({ allowance })
      yield* proof
    }
  )

  it.effect("grants a month once, also after restarts, and stays in it when the clock goes back", function* () {
    const directory = temporaryDirectory()
    yield* TestClock.setTime(Date.UTC(2026, 1, 1))
    const spend = Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* Effect.flatMap(ledger.reserve(read), ledger.settle)
      return yield* ledger.purses(account)
    })
    yield* spend.pipe(Effect.provide(moneyLayerOf(directory)))
    yield* TestClock.setTime(Date.UTC(2026, 0, 15))
    expect(yield* spend.pipe(Effect.provide(moneyLayerOf(directory)))).toMatchObject({
      allowance: allowance - credits(4)
    })
    yield* proof.pipe(Effect.provide(moneyLayerOf(directory)))
  })

  it.effect("grants nothing when the allowance is none", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      expect(yield* ledger.purses(account)).toMatchObject({ allowance: 0 })
      expect(yield* Effect.flip(ledger.reserve(read))).toMatchObject({ _tag: "InsufficientCredits" })
      expect(yield* ledger.balances).toEqual([])
    }).pipe(Effect.provide(moneyLayerOf(temporaryDirectory(), 0)))
  )
})

fresh.effect(
  "Ledger: reads of one moment are one movement for each purse and operation, that says how many calls it pays for",
  function* () {
    const ledger = yield* Ledger
    yield* give(credits(10))
    const other = { ...read, operation: "getMemory", price: credits(1) }
    for (const call of [read, other, read, read]) yield* ledger.settle(yield* ledger.reserve(call))
    yield* ledger.settle(yield* ledger.reserve(write))
    const entries = yield* ledger.transactions(account.id, { limit: 10 })
    expect(entries.filter(({ kind }) => kind === "charge")).toMatchObject([
      { operation: write.operation, calls: 1, amount: -write.price },
      { operation: "getMemory", calls: 1, amount: -credits(1) },
      { operation: read.operation, calls: 3, amount: -3 * read.price }
    ])
    yield* proof
  }
)

describe("Ledger: the file", () => {
  it.effect(
    "has the charges of reads within the flush time, and at the end of the process at the latest",
    function* () {
      const directory = temporaryDirectory()
      const charges = (path: string) =>
        Ledger.use((ledger) => ledger.transactions(account.id, { limit: 10 })).pipe(
          Effect.map((entries) => entries.filter(({ kind }) => kind === "charge").length),
          Effect.provide(moneyLayerOf(path))
        )
      yield* Effect.gen(function* () {
        const ledger = yield* Ledger
        yield* Effect.flatMap(ledger.reserve(read), ledger.settle)
        expect(yield* charges(crashImage(directory))).toBe(0)
        yield* TestClock.adjust(Limits.ledgerFlushMillis)
        yield* Effect.yieldNow
        expect(yield* charges(crashImage(directory))).toBe(1)
        yield* Effect.flatMap(ledger.reserve(read), ledger.settle)
      }).pipe(Effect.provide(moneyLayerOf(directory)))
      expect(yield* charges(directory)).toBe(2)
    }
  )

  it.effect("finds the holds of writes again after a kill, and charges them when they happened", function* () {
    const directory = temporaryDirectory()
    const image = yield* Effect.gen(function* () {
      const ledger = yield* Ledger
      yield* ledger.reserve(write)
      yield* ledger.reserve({ ...write, durable: { token: "other", namespaces: ["ba9876543210"] } })
      return crashImage(directory)
    }).pipe(Effect.provide(moneyLayerOf(directory)))
    yield* Effect.gen(function* () {
      const ledger = yield* Ledger
      const [happened, lost] = yield* ledger.openReservations
      expect(happened).toMatchObject({ accountId: account.id, operation: "createMemories", durable: write.durable })
      expect(lost).toMatchObject({ durable: { token: "other", namespaces: ["ba9876543210"] } })
      expect(yield* ledger.purses(account)).toMatchObject({ allowance: allowance - credits(10) })
      expect(yield* ledger.settle(happened!)).toMatchObject({ charged: credits(5) })
      yield* ledger.void(lost!)
      expect(yield* ledger.openReservations).toEqual([])
      expect(yield* ledger.purses(account)).toMatchObject({ allowance: allowance - credits(5) })
      yield* proof
    }).pipe(Effect.provide(moneyLayerOf(image)))
  })

  fresh.effect("carries many writes that come together in few commits", function* () {
    const ledger = yield* Ledger
    const { sql } = yield* ControlDatabase
    const calls = Array.from({ length: 64 }, (_, n) =>
      ledger.reserve({ ...write, durable: { token: `${n}`, namespaces: [] } })
    )
    // Each commit is the next change.
    const number = Effect.map(
      sql<{ readonly number: number }>`SELECT max(number) AS number FROM change_record`,
      ([row]) => row!.number
    )
    const before = yield* number
    yield* Effect.all(calls, { concurrency: "unbounded" })
    const commits = (yield* number) - before
    expect(commits).toBeGreaterThan(0)
    expect(commits).toBeLessThan(5)
    expect(yield* sql`SELECT 1 FROM reservation`).toHaveLength(64)
  })

  fresh.effect("makes the repeat of a paid request free, for as long as answers are kept", function* () {
    const ledger = yield* Ledger
    const once = Effect.flatMap(ledger.reserve(write), ledger.settle)
    expect(yield* once).toMatchObject({ charged: credits(5) })
    expect(yield* once).toMatchObject({ charged: 0 })
    yield* TestClock.adjust(Limits.reservationRetentionMillis)
    expect(yield* once).toMatchObject({ charged: 0 })
    yield* TestClock.adjust(1)
    expect(yield* once).toMatchObject({ charged: credits(5) })
    yield* ledger.void(yield* ledger.reserve({ ...write, durable: { ...write.durable, request: "failed" } }))
    const again = yield* ledger.reserve({ ...write, durable: { ...write.durable, request: "failed" } })
    expect(yield* ledger.settle(again)).toMatchObject({ charged: credits(5) })
  })

  it.effect("goes on with the hold that a kill left when its request comes back", function* () {
    const directory = temporaryDirectory()
    const image = yield* Ledger.use((ledger) => ledger.reserve(write)).pipe(
      Effect.map(() => crashImage(directory)),
      Effect.provide(moneyLayerOf(directory))
    )
    yield* Effect.gen(function* () {
      const ledger = yield* Ledger
      const [left] = yield* ledger.openReservations
      expect(yield* ledger.reserve(write)).toBe(left)
      expect(yield* ledger.settle(left!)).toMatchObject({ charged: credits(5) })
      expect(yield* Effect.flatMap(ledger.reserve(write), ledger.settle)).toMatchObject({ charged: 0 })
    }).pipe(Effect.provide(moneyLayerOf(image)))
  })

  fresh.effect("sweeps settled reservations past their retention, and keeps open ones", function* () {
    const ledger = yield* Ledger
    const { sql } = yield* ControlDatabase
    yield* Effect.flatMap(ledger.reserve(write), ledger.settle)
    const withoutRequest = { ...write, durable: { token: "open", namespaces: [] } }
    yield* Effect.flatMap(ledger.reserve(withoutRequest), ledger.settle)
    yield* ledger.reserve(withoutRequest)
    yield* ledger.flush
    expect(yield* ledger.sweepReservations).toBe(0)
    yield* TestClock.adjust(Limits.reservationRetentionMillis + 1)
    expect(yield* ledger.sweepReservations).toBe(1)
    expect(yield* sql`SELECT token FROM reservation`).toEqual([{ token: "open" }])
  })

  fresh.effect("refuses writes on a full disk and goes on serving reads until too many charges wait", function* () {
    const ledger = yield* Ledger
    const { sql } = yield* ControlDatabase
    yield* give(credits(1_000_000))
    yield* fillDisk
    const padding = { token: "x".repeat(100_000), namespaces: [] }
    expect(yield* Effect.flip(ledger.reserve({ ...write, durable: padding }))).toMatchObject({
      _tag: "InsufficientStorage"
    })
    const before = yield* ledger.purses(account)
    // Each of its own kind, or they were written as one.
    const call = (n: number) => Effect.flatMap(ledger.reserve({ ...read, operation: `operation ${n}` }), ledger.settle)
    const calls = Limits.ledgerPendingMax - 1 // The allowance waits, too.
    for (let n = 0; n < calls; n++) yield* call(n)
    expect(yield* Effect.flip(ledger.reserve(read))).toMatchObject({ _tag: "InsufficientStorage" })
    yield* sql`PRAGMA max_page_count=1000000`
    yield* ledger.flush
    const spent = calls * credits(2)
    const after = yield* ledger.purses(account)
    expect(before.allowance + before.balance - spent).toBe(after.allowance + after.balance)
    yield* proof
  })

  fresh.effect("keeps transfers as they were written", function* () {
    const { sql } = yield* ControlDatabase
    yield* give(1)
    expect((yield* Effect.exit(sql`UPDATE transfer SET amount = 2`)).toString()).toMatch(/never change/)
    expect((yield* Effect.exit(sql`DELETE FROM transfer`)).toString()).toMatch(/never deleted/)
  })
})

describe("Ledger: corrections and storage", () => {
  fresh.effect("gives and takes by hand, once per key and never below zero", function* () {
    const ledger = yield* Ledger
    expect(yield* give(500)).toMatchObject({ isRepeat: false, purses: { balance: 500 } })
    expect(yield* give(500)).toMatchObject({ isRepeat: true, purses: { balance: 500 } })
    const held = yield* ledger.reserve({ ...read, price: allowance + 100 })
    expect(yield* Effect.flip(give(-401, "too much"))).toMatchObject({ code: "insufficient_balance" })
    yield* ledger.flush
    expect(yield* give(-400, "all that is free")).toMatchObject({ purses: { balance: 0 } })
    yield* ledger.settle(held)
    expect(yield* ledger.transactions(account.id, { limit: 10 })).toMatchObject([
      { kind: "charge", purse: "balance", amount: -100 },
      { kind: "charge", purse: "allowance", amount: -allowance },
      { kind: "adjustment", operation: "a gift", amount: -400 },
      { kind: "allowance" },
      { kind: "adjustment", operation: "a gift", amount: 500 }
    ])
    yield* proof
  })

  fresh.effect(
    "charges a day of storage once, as far as the free balance goes, and leaves the allowance",
    function* () {
      const ledger = yield* Ledger
      const day = { account, day: "2026-01-02", memories: 3, mode: "insure", expired: 1 } as const
      yield* give(12_000)
      expect(yield* ledger.chargeStorage(day)).toEqual({ charged: 9_990, metered: 0, isRepeat: false })
      expect(yield* ledger.chargeStorage(day)).toEqual({ charged: 9_990, metered: 0, isRepeat: true })
      expect(yield* ledger.chargeStorage({ ...day, day: "2026-01-03" })).toMatchObject({ charged: 2_010 })
      expect(yield* ledger.chargeStorage({ ...day, day: "2026-01-04" })).toMatchObject({ charged: 0 })
      expect(yield* ledger.purses(account)).toMatchObject({ balance: 0, allowance })
      yield* proof
    }
  )

  fresh.effect(
    "meters a day of storage as a whole, without touching a purse, and logs days that cost nothing",
    function* () {
      const ledger = yield* Ledger
      const jobs = yield* JobLog
      yield* ledger.chargeStorage({ account, day: "2026-01-02", memories: 10, mode: "meter" })
      yield* ledger.recordRun({ account: owner, day: "2026-01-02", memories: 7, expired: 2, purged: 3 })
      expect(yield* ledger.recordRun({ account: owner, day: "2026-01-02", memories: 0 })).toMatchObject({
        isRepeat: true
      })
      expect(yield* ledger.purses(account)).toMatchObject({ balance: 0, allowance })
      expect(yield* ledger.transactions(account.id, { limit: 1, before: 2 })).toMatchObject([
        { kind: "storage_metered", purse: "receivable", amount: -33_300 }
      ])
      expect(yield* jobs.runs({ limit: 10 })).toMatchObject([
        { job: "storage", day: "2026-01-02", accounts: 2, memories: 17, metered: 33_300, expired: 2, purged: 3 }
      ])
      yield* proof
    }
  )
})
