/** Commits of control.db that failed and may have happened: what is repeated is charged once, and nothing is lost. */
import { describe, expect } from "vitest"
import { Cause, Effect, Exit, Layer } from "effect"
import type { Account } from "@muniment/domain/Account"
import { Unavailable } from "@muniment/domain/Errors"
import { credits } from "@muniment/domain/Money"
import { Books } from "@muniment/control/credits/Books"
import { ChangeQueue } from "@muniment/control/credits/ChangeQueue"
import { EarlierOwners, takeUp } from "@muniment/control/credits/LeftCharges"
import { Ledger } from "@muniment/control/credits/Ledger"
import type { NewTransfer } from "@muniment/control/credits/Transfers"
import { ChangeLogUnusable, type ChangeLog, type ControlChange } from "@muniment/control/database/ChangeLog"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { controlUnavailable } from "@muniment/control/database/ControlFailure"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { moneyLayerOf, moneyOver } from "../MoneyLayers.ts"
import { it, itWith } from "../../../support/it.ts"

const fresh = itWith(() => moneyLayerOf(temporaryDirectory()))

const account: Account = { id: "acc_1", name: "one", plan: "free", createdAt: 0 }
const search = { account, operation: "search", price: credits(2) }

const charge = (number: number, rest: Partial<NewTransfer> = {}): NewTransfer => ({
  key: `charge:${number}:own-use`,
  debit: "expense:own-use:acc_1",
  credit: "income:operations",
  amount: credits(2),
  kind: "charge",
  operation: "search",
  isShared: true,
  account: "acc_1",
  at: 0,
  ...rest
})

const posted = Effect.gen(function* () {
  const { read, sql } = yield* ControlDatabase
  return yield* read(
    sql<{ readonly amount: number; readonly calls: number }>`SELECT amount, calls FROM transfer WHERE kind = 'charge'`
  )
})

describe("a commit that failed", () => {
  for (const happened of ["before", "after"] as const)
    fresh.effect(`${happened} it was durable is repeated as it was, and what came meanwhile is added`, function* () {
      const database = yield* ControlDatabase
      const refusal = { left: 1 }
      const queue = new ChangeQueue({
        ...database,
        write: (change) => {
          if (refusal.left-- <= 0) return database.write(change)
          const failure = Effect.fail(controlUnavailable())
          return happened === "before" ? failure : Effect.andThen(database.write(change), failure)
        }
      })
      queue.add({ transfers: [charge(1)] })
      queue.add({ transfers: [charge(2)] })
      queue.add({ transfers: [charge(3, { isShared: false })] })
      expect(yield* Effect.exit(queue.flush)).toEqual(Exit.fail(controlUnavailable()))
      queue.add({ transfers: [charge(4)] })
      expect(queue.unwritten).toHaveLength(3)
      yield* queue.flush
      expect(yield* posted).toEqual([
        { amount: credits(4), calls: 2 },
        { amount: credits(2), calls: 1 },
        { amount: credits(2), calls: 1 }
      ])
      expect((yield* checkLedger).problems).toEqual([])
    })

  fresh.effect("three times in a row is still posted once", function* () {
    const database = yield* ControlDatabase
    let left = 3
    const queue = new ChangeQueue({
      ...database,
      write: (change) =>
        left-- > 0 ? Effect.andThen(database.write(change), Effect.fail(controlUnavailable())) : database.write(change)
    })
    for (const number of [1, 2, 3, 4]) {
      queue.add({ transfers: [charge(number)] })
      yield* Effect.exit(queue.flush)
    }
    const sum = (yield* posted).reduce((total, { amount }) => total + amount, 0)
    expect(sum).toBe(credits(8))
    expect(queue.size).toBe(0)
    expect((yield* checkLedger).problems).toEqual([])
  })
})

/** A log that nodes share: it takes changes until it fails, with or without having kept the last one. */
const sharedLog = () => {
  const changes: Array<ControlChange> = []
  const state = { changes, failsAfter: Infinity }
  const logs: ChangeLog = {
    isShared: true,
    current: Effect.succeed({
      newest: Effect.sync(() => changes.at(-1)),
      behind: (number) => Effect.sync(() => changes.filter((change) => change.number > number)),
      append: (change) =>
        Effect.suspend(() =>
          changes.length >= state.failsAfter
            ? Effect.fail(new ChangeLogUnusable({ cause: "the database does not answer" }))
            : Effect.sync(() => changes.push(change))
        ),
      syncedOrdinal: () => changes.length,
      erase: () => Effect.void,
      settled: () => Effect.void
    })
  }
  return { state, logs }
}

describe("an owner of control.db whose change the shared log may not have", () => {
  it.effect("answers 503 to that caller and to all who come later, and writes nothing more", function* () {
    const { logs, state } = sharedLog()
    yield* Effect.gen(function* () {
      const { read, sql, write } = yield* ControlDatabase
      const add = (id: string) =>
        write(sql`INSERT INTO account (id, name, plan, created_at) VALUES (${id}, ${id}, 'free', 0)`)
      yield* add("first")
      state.failsAfter = state.changes.length
      expect(yield* Effect.exit(add("doubtful"))).toEqual(Exit.fail(controlUnavailable()))
      state.failsAfter = Infinity
      // The same key again is no defect of a unique constraint.
      for (const id of ["doubtful", "later"])
        expect(yield* Effect.exit(add(id))).toEqual(Exit.fail(controlUnavailable()))
      const looked = yield* Effect.exit(read(sql`SELECT 1`))
      expect(Exit.isFailure(looked) && Cause.squash(looked.cause)).toBeInstanceOf(Unavailable)
      expect(state.changes).toHaveLength(2)
    }).pipe(Effect.provide(ControlDatabase.layer(temporaryDirectory(), logs)))
  })

  it.effect("leaves the charges of its reads to the next one, which takes them up once", function* () {
    const { logs, state } = sharedLog()
    const left: Array<{ readonly id: string; readonly charges: ReadonlyArray<NewTransfer> }> = []
    const owners = {
      leave: (charges: ReadonlyArray<NewTransfer>) => Effect.sync(() => void left.push({ id: "1", charges })),
      left: Effect.sync(() => [...left]),
      // Its outcome was unknown: the next owner finds them again.
      forget: () => Effect.void,
      lateMillis: 0
    }
    const money = (directory: string, earlier: typeof owners | undefined, changes: ChangeLog) =>
      moneyOver(ControlDatabase.layer(directory, changes), credits(10)).pipe(
        Layer.provide(Layer.succeed(EarlierOwners, earlier))
      )
    yield* Effect.gen(function* () {
      const ledger = yield* Ledger
      for (let calls = 0; calls < 3; calls++) yield* ledger.settle(yield* ledger.reserve(search))
      state.failsAfter = state.changes.length
      yield* Effect.exit(ledger.flush)
      yield* ledger.settle(yield* ledger.reserve(search))
    }).pipe(Effect.provide(money(temporaryDirectory(), owners, logs)), Effect.scoped)
    expect(left[0]!.charges.map(({ amount, calls = 1 }) => [amount, calls])).toEqual([
      [credits(6), 3],
      [credits(2), 1]
    ])
    yield* Effect.gen(function* () {
      const ledger = yield* Ledger
      const { purseAt, queue } = yield* Books
      const books = { purseAt, flush: queue.flush }
      const database = yield* ControlDatabase
      for (let times = 0; times < 3; times++) yield* takeUp(owners, books, database)
      expect(yield* ledger.purses(account)).toMatchObject({ allowance: credits(2) })
      expect((yield* checkLedger).problems).toEqual([])
      // What others have spent meanwhile is not taken from them again.
      left.push({ id: "2", charges: [{ ...left[0]!.charges[0]!, key: "charge:late:allowance" }] })
      yield* takeUp(owners, books, database)
      expect(yield* ledger.purses(account)).toMatchObject({ allowance: 0, balance: 0 })
      const lost = (yield* ledger.balances).find(({ name }) => name === "expense:uncollected")
      expect(lost).toMatchObject({ debits: credits(4), credits: 0 })
      expect((yield* checkLedger).problems).toEqual([])
    }).pipe(Effect.provide(money(temporaryDirectory(), undefined, sharedLog().logs)), Effect.scoped)
  })
})
