/** The journal of payments: claimed once, journalled before sent, credited once; crashes at every statement. */
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { StatementSync } from "node:sqlite"
import { describe, expect, vi } from "vitest"
import type { Account } from "@muniment/domain/Account"
import { credits } from "@muniment/domain/Money"
import { Ledger } from "@muniment/control/credits/Ledger"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { type NewPayment, PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { crashImage } from "../CrashImage.ts"
import { moneyLayerOf } from "../MoneyLayers.ts"
import { it, itWith } from "../../../support/it.ts"

const fresh = itWith(() => moneyLayerOf(temporaryDirectory()))

const account: Account = { id: "acc_1", name: "one", plan: "free", createdAt: 0 }
const payment: NewPayment = {
  id: "evm:8453:0xusdc:0xpayer:0x01",
  account: account.id,
  network: "base",
  payer: "0xpayer",
  units: 500_000,
  payload: { signature: "0xabc", nested: ["Łukasz"] }
}
const { id } = payment
const sent = { hash: "0xhash", raw: "0xraw" }
const worth = credits(500)

const settledOnce = Effect.gen(function* () {
  const journal = yield* PaymentJournal
  yield* journal.claim(payment)
  yield* journal.broadcasting(id, sent)
  return yield* journal.settled(id, sent.hash)
})
const balance = Effect.map(
  Ledger.use((ledger) => ledger.purses(account)),
  (purses) => purses.balance
)
const proof = Effect.map(checkLedger, ({ problems }) => expect(problems).toEqual([]))

describe("PaymentJournal", () => {
  fresh.effect("gives a payment to the first who claims it, and its standing to the others", function* () {
    const journal = yield* PaymentJournal
    expect(yield* journal.find(id)).toBeUndefined()
    const claims = yield* Effect.all(
      Array.from({ length: 20 }, () => journal.claim(payment)),
      { concurrency: "unbounded" }
    )
    expect(claims.filter(({ _tag }) => _tag === "Claimed")).toHaveLength(1)
    const verified = { ...payment, state: "verified", transaction: undefined, createdAt: 0, updatedAt: 0 }
    for (const claim of claims) expect(claim.payment).toEqual(verified)
    yield* TestClock.adjust(5)
    yield* journal.broadcasting(id, sent)
    const other = yield* journal.claim({ ...payment, account: "acc_2" })
    expect(other).toEqual({
      _tag: "Taken",
      payment: { ...verified, state: "broadcasting", transaction: sent, updatedAt: 5 }
    })
  })

  fresh.effect("counts payments under way against the budget of reverts once there was one", function* () {
    const journal = yield* PaymentJournal
    const budget = { byPayer: 3, byAccount: 5, sinceMillis: 0 }
    yield* TestClock.adjust(10)
    const claim = (at: number, more: Partial<NewPayment> = {}) =>
      journal.claimWithin({ ...payment, id: `evm:${at}`, payer: `0x${at}`, ...more }, budget)
    for (let at = 0; at < 6; at++) expect(yield* claim(at)).toMatchObject({ _tag: "Claimed" })
    yield* journal.reverted("evm:0")
    const reverts = { byPayer: 0, byAccount: 1, firstAt: 10 }
    expect(yield* claim(6)).toEqual({ _tag: "OverBudget", reverts })
    expect(yield* journal.find("evm:6")).toBeUndefined()
    expect(yield* claim(5)).toMatchObject({ _tag: "Taken" })

    const other = { account: "acc_2" }
    expect(yield* claim(7, other)).toMatchObject({ _tag: "Claimed" })
    for (const at of [8, 9]) expect(yield* claim(at, { ...other, payer: "0x0" })).toMatchObject({ _tag: "Claimed" })
    expect(yield* claim(10, { ...other, payer: "0x0" })).toMatchObject({ _tag: "OverBudget" })
    expect(yield* claim(11, { ...other, payer: "0x0", network: "base-sepolia" })).toMatchObject({ _tag: "Claimed" })

    yield* journal.broadcasting("evm:1", sent)
    yield* journal.settled("evm:1", sent.hash)
    yield* journal.failed("evm:2", "expired")
    expect(yield* claim(6)).toMatchObject({ _tag: "Claimed" })
  })

  fresh.effect("credits a payment once, however often it is settled", function* () {
    const journal = yield* PaymentJournal
    expect(yield* settledOnce).toMatchObject({ purses: { balance: worth } })
    const again = Array.from({ length: 10 }, () => journal.settled(id, "0xother"))
    yield* Effect.all(again, { concurrency: "unbounded" })
    yield* journal.finalized(id)
    yield* journal.finalized(id)
    yield* journal.settled(id, sent.hash)
    expect(yield* balance).toBe(worth)
    expect(yield* journal.find(id)).toMatchObject({ state: "finalized", transaction: sent })
    expect(yield* Ledger.use((ledger) => ledger.balances)).toContainEqual({
      name: "asset:usdc:base",
      debits: worth,
      credits: 0
    })
    yield* proof
  })

  fresh.effect("keeps the hash under which a reorganised chain mined a payment again", function* () {
    const journal = yield* PaymentJournal
    yield* settledOnce
    yield* journal.resettled(id, "0xnew")
    expect(yield* journal.find(id)).toMatchObject({ state: "settled", transaction: { hash: "0xnew", raw: "0xraw" } })
    expect(yield* balance).toBe(worth)
    yield* proof
  })

  fresh.effect("takes a lost payment back as far as it is there, once, and bears the rest itself", function* () {
    const ledger = yield* Ledger
    const journal = yield* PaymentJournal
    yield* settledOnce
    yield* Effect.flatMap(
      ledger.reserve({ account, operation: "createMemories", price: credits(1_100) }),
      ledger.settle
    )
    yield* ledger.flush
    yield* journal.reversed(id, "reorganised")
    yield* journal.reversed(id, "reorganised")
    expect(yield* balance).toBe(0)
    expect(yield* ledger.balances).toEqual(
      expect.arrayContaining([
        { name: "asset:usdc:base", debits: worth, credits: worth },
        { name: "expense:uncollected", debits: credits(100), credits: 0 }
      ])
    )
    expect(yield* ledger.transactions(account.id, { limit: 1 })).toMatchObject([
      { kind: "reversal", purse: "balance", amount: -credits(400) }
    ])
    expect(yield* journal.find(id)).toMatchObject({ state: "reversed", reason: "reorganised" })
    yield* proof
  })

  fresh.effect("leaves what calls hold alone when it takes a payment back", function* () {
    const ledger = yield* Ledger
    const journal = yield* PaymentJournal
    yield* settledOnce
    const held = yield* ledger.reserve({ account, operation: "createMemories", price: credits(1_100) })
    yield* journal.reversed(id, "reorganised")
    expect(yield* ledger.settle(held)).toMatchObject({ charged: credits(1_100), purses: { balance: 0 } })
    yield* proof
  })

  fresh.effect("dies on steps that a payment cannot take", function* () {
    const journal = yield* PaymentJournal
    const refused = (step: Effect.Effect<unknown, unknown>) =>
      Effect.map(Effect.exit(step), (exit) => expect(exit.toString()).toMatch(/cannot become/))
    yield* refused(journal.settled(id, "0x"))
    yield* journal.claim(payment)
    yield* refused(journal.finalized(id))
    yield* refused(journal.reversed(id, "why"))
    yield* journal.failed(id, "expired")
    expect(yield* journal.find(id)).toMatchObject({ state: "failed", reason: "expired" })
    yield* refused(journal.settled(id, "0x"))
    yield* refused(journal.broadcasting(id, sent))
    yield* journal.claim({ ...payment, id: "second" })
    yield* journal.settled("second", "0x")
    yield* refused(journal.failed("second", "late"))
    yield* proof
  })

  fresh.effect("lists what is unfinished oldest first, and all newest first by state and account", function* () {
    const journal = yield* PaymentJournal
    for (const name of ["a", "b", "c", "d"]) {
      yield* journal.claim({ ...payment, id: name, account: name === "d" ? "acc_2" : account.id })
      yield* TestClock.adjust(1)
    }
    yield* journal.broadcasting("a", sent)
    yield* journal.settled("a", "0x")
    yield* journal.failed("b", "expired")
    const ids = (payments: ReadonlyArray<{ readonly id: string }>) => payments.map((listed) => listed.id)
    expect(ids(yield* journal.unfinished())).toEqual(["a", "c", "d"])
    expect(ids(yield* journal.list({ limit: 3 }))).toEqual(["d", "c", "b"])
    expect(ids(yield* journal.list({ account: account.id, limit: 9 }))).toEqual(["c", "b", "a"])
    expect(ids(yield* journal.list({ state: "verified", account: account.id, limit: 9 }))).toEqual(["c"])
    expect(yield* journal.countByState).toEqual({
      verified: 2,
      broadcasting: 0,
      settled: 1,
      finalized: 0,
      failed: 1,
      reversed: 0
    })
  })
})

describe("PaymentJournal: a kill between any two statements", () => {
  /** The files before each statement of `step`, and after the last. */
  const imagesDuring = <A, E, R>(directory: string, step: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const images: Array<string> = []
      const all = StatementSync.prototype.all
      const spy = vi.spyOn(StatementSync.prototype, "all").mockImplementation(function (
        this: StatementSync,
        ...values
      ) {
        images.push(crashImage(directory))
        return Reflect.apply(all, this, values) as ReturnType<typeof all>
      })
      yield* Effect.ensuring(
        step,
        Effect.sync(() => spy.mockRestore())
      )
      return [...images, crashImage(directory)]
    })

  it.effect("of settling credits the payment once", function* () {
    const directory = temporaryDirectory()
    const images = yield* Effect.gen(function* () {
      const journal = yield* PaymentJournal
      yield* journal.claim(payment)
      yield* journal.broadcasting(id, sent)
      return yield* imagesDuring(directory, journal.settled(id, sent.hash))
    }).pipe(Effect.provide(moneyLayerOf(directory)))
    const found = yield* Effect.forEach(images, (image) =>
      Effect.gen(function* () {
        const journal = yield* PaymentJournal
        const before = { state: (yield* journal.find(id))!.state, balance: yield* balance }
        yield* proof
        yield* journal.settled(id, sent.hash)
        expect(yield* balance).toBe(worth)
        yield* proof
        return before
      }).pipe(Effect.provide(moneyLayerOf(image)))
    )
    const states = new Set(found.map(({ balance, state }) => `${state} ${balance}`))
    expect(states).toEqual(new Set(["broadcasting 0", `settled ${worth}`]))
    expect(images.length).toBeGreaterThan(6)
  })

  it.effect("of reversing takes the payment back once", function* () {
    const directory = temporaryDirectory()
    const images = yield* Effect.gen(function* () {
      const ledger = yield* Ledger
      const journal = yield* PaymentJournal
      yield* settledOnce
      const call = yield* ledger.reserve({ account, operation: "createMemories", price: credits(1_100) })
      yield* ledger.settle(call)
      yield* ledger.flush
      return yield* imagesDuring(directory, journal.reversed(id, "reorganised"))
    }).pipe(Effect.provide(moneyLayerOf(directory)))
    const found = yield* Effect.forEach(images, (image) =>
      Effect.gen(function* () {
        const journal = yield* PaymentJournal
        const before = { state: (yield* journal.find(id))!.state, balance: yield* balance }
        yield* proof
        yield* journal.reversed(id, "reorganised")
        expect(yield* balance).toBe(0)
        yield* proof
        return before
      }).pipe(Effect.provide(moneyLayerOf(image)))
    )
    const states = new Set(found.map(({ balance, state }) => `${state} ${balance}`))
    expect(states).toEqual(new Set([`settled ${credits(400)}`, "reversed 0"]))
  })
})
