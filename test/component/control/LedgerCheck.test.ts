/** The proof of the ledger: silent about what is right, and a sentence for each planted wrong. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import type { Account } from "@muniment/domain/Account"
import { credits } from "@muniment/domain/Money"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { Ledger } from "@muniment/control/credits/Ledger"
import { checkLedger, checkPageRows } from "@muniment/control/LedgerCheck"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { moneyLayerOf } from "./MoneyLayers.ts"
import { itWith } from "../../support/it.ts"

const fresh = itWith(() => moneyLayerOf(temporaryDirectory()))

const account: Account = { id: "acc_1", name: "one", plan: "free", createdAt: 0 }
const payment = { account: account.id, network: "base", payer: "0x", units: 500_000, payload: {} } as const

/** One of everything: a charge, two deposits of which one was reversed, a day insured and one metered, an open hold. */
const lived = Effect.gen(function* () {
  const ledger = yield* Ledger
  const journal = yield* PaymentJournal
  yield* Effect.flatMap(ledger.reserve({ account, operation: "searchMemories", price: credits(2) }), ledger.settle)
  for (const id of ["kept", "lost"]) {
    yield* journal.claim({ ...payment, id })
    yield* journal.settled(id, "0x")
  }
  yield* journal.reversed("lost", "reorganised")
  yield* ledger.chargeStorage({ account, day: "2026-01-01", memories: 3, mode: "insure" })
  yield* ledger.chargeStorage({ account, day: "2026-01-02", memories: 3, mode: "meter" })
  const durable = { token: "token", request: "request", namespaces: [] }
  const write = { account, operation: "createMemories", price: credits(5), durable }
  yield* Effect.flatMap(ledger.reserve(write), ledger.settle)
  return yield* ledger.reserve({ ...write, durable: { token: "open", namespaces: [] } })
})

const wrongs: ReadonlyArray<readonly [string, string, RegExp]> = [
  ["a changed total", "UPDATE ledger_account SET credits = credits + 1 WHERE kind = 'liability'", /its transfers make/],
  [
    "a sum that is not zero",
    "UPDATE ledger_account SET debits = debits + 1 WHERE name = 'asset:usdc:base'",
    /sum of all accounts is 1 /
  ],
  [
    "a negative purse",
    "PRAGMA ignore_check_constraints=ON; UPDATE ledger_account SET debits = credits + 1 WHERE name LIKE 'liability:credits:%'",
    /liability:credits:acc_1 is negative/
  ],
  [
    "a credited payment that never settled",
    "UPDATE payment SET state = 'failed' WHERE id = 'kept'",
    /no payment that was credited/
  ],
  [
    "a payment of another amount",
    "UPDATE payment SET units = units + 1 WHERE id = 'kept'",
    /kept is settled and has no deposit/
  ],
  [
    "a payment of another account",
    "UPDATE payment SET account = 'acc_2' WHERE id = 'kept'",
    /kept is settled and has no deposit/
  ],
  [
    "a settled payment without deposit",
    "UPDATE payment SET id = 'other' WHERE id = 'kept'",
    /other is settled and has no deposit/
  ],
  [
    "a reversal of a payment that stands",
    "UPDATE payment SET state = 'settled' WHERE id = 'lost'",
    /no payment that was reversed/
  ],
  [
    "a reversed payment that was kept",
    "UPDATE payment SET state = 'reversed' WHERE id = 'kept'",
    /not taken back whole/
  ],
  ["a storage charge without its run", "DELETE FROM job_run WHERE charged > 0", /has no run of the daily job/],
  ["a metered day without its run", "DELETE FROM job_run WHERE metered > 0", /has no run of the daily job/],
  [
    "a run without its charge",
    "UPDATE job_run SET day = '2026-02-01' WHERE charged > 0",
    /run of 2026-02-01 for acc_1 has no transfer/
  ],
  [
    "a run of another price",
    "UPDATE job_run SET metered = metered + 1 WHERE metered > 0",
    /run of 2026-01-02 for acc_1 has no transfer/
  ],
  [
    "a charge for another account's agent",
    `INSERT INTO account (id, name, plan, created_at) VALUES ('acc_2', 'two', 'free', 0); INSERT INTO namespace (tag, account, agent_id, created_at) VALUES ('0123456789ab', 'acc_2', 'a', 0); DROP TRIGGER transfer_stays; UPDATE transfer SET namespace = '0123456789ab' WHERE kind = 'charge'`,
    /is of an agent of another account/
  ],
  [
    "a deposit for an agent",
    "DROP TRIGGER transfer_stays; UPDATE transfer SET namespace = '0123456789ab' WHERE kind = 'deposit'",
    /or is no charge/
  ],
  ["a charged reservation that is open", "UPDATE reservation SET state = 'open'", /is open and charged/]
]

describe("checkLedger", () => {
  fresh.effect("finds nothing in a ledger that was only used, and tells what is in it", function* () {
    yield* lived
    const report = yield* checkLedger
    expect(report).toMatchObject({
      ok: true,
      problems: [],
      accounts: 7,
      transfers: 8,
      payments: { verified: 0, broadcasting: 0, settled: 1, finalized: 0, failed: 0, reversed: 1 }
    })
    expect(report.balances).toContainEqual({ name: "income:storage", debits: 0, credits: 19_980 })
  })

  for (const [name, wrong, sentence] of wrongs) {
    fresh.effect(`finds ${name}`, function* () {
      const { sql } = yield* ControlDatabase
      const ledger = yield* Ledger
      yield* lived
      yield* ledger.flush
      for (const statement of wrong.split("; ")) yield* sql.unsafe(statement)
      const report = yield* checkLedger
      expect(report.ok).toBe(false)
      expect(report.problems.join("\n")).toMatch(sentence)
    })
  }

  fresh.effect("looks at every page, and counts the problems that it does not list", function* () {
    const { sql } = yield* ControlDatabase
    const ledger = yield* Ledger
    yield* ledger.adjust({ account, amount: credits(1_000_000), key: "k", reason: "r" })
    // Each of its own kind, or they were written as one.
    const call = (n: number) =>
      Effect.flatMap(ledger.reserve({ account, operation: `operation ${n}`, price: credits(2) }), ledger.settle)
    for (let n = 0; n < checkPageRows + 200; n++) yield* call(n)
    expect(yield* checkLedger).toMatchObject({ ok: true, transfers: checkPageRows + 202 })
    yield* sql`INSERT INTO job_run SELECT 'storage', '2026-01-01', 'acc_' || id, 1, 1, 0, 0, 0, 0, 0 FROM transfer`
    const { problems } = yield* checkLedger
    expect(problems).toHaveLength(101)
    expect(problems.at(-1)).toBe(`${checkPageRows + 102} more`)
  })
})
