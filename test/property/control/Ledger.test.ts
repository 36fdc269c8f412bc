/**
 * Any history of the ledger against a model of plain objects: calls of reads and writes, deposits and
 * reversals, storage days, corrections, months that pass, restarts and kills. After each step the purses
 * agree; at the end the proof holds, and the movements add up to the purses.
 */
import { expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import type { Account } from "@muniment/domain/Account"
import { microCreditsPerUsdcUnit, storageMicroCreditsPerMemoryDay } from "@muniment/domain/Money"
import { Ledger, type Reservation } from "@muniment/control/credits/Ledger"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { crashImage } from "../../component/control/CrashImage.ts"
import { moneyLayerOf } from "../../component/control/MoneyLayers.ts"
import { temporaryDirectory } from "../../component/sqlite/TemporaryDirectory.ts"
import { LedgerModel } from "./LedgerModel.ts"
import { repetitions } from "../../support/Repetitions.ts"

const runs = repetitions(120)
const shrinkMillisMax = 60_000
const stepsMin = 50
const stepsMax = 100
/** Few keys, so that repeats are common; amounts that empty purses, so that holds matter. */
const keys = 4
const unitsMax = 5
const memoriesMax = 2
const startMillis = Date.UTC(2026, 0, 20)
const monthlyAllowance = 700
const dayMillis = 86_400_000

const accounts: ReadonlyArray<Account> = ["a", "b"].map((id) => ({ id, name: id, plan: "free", createdAt: 0 }))

const step = fc.record({
  // A failing history shrinks towards steps that do nothing.
  kind: fc.constantFrom(
    "look" as const,
    ...(["read", "read", "read", "write", "write", "write", "settle", "settle", "settle", "settle again"] as const),
    ...(["void", "deposit", "deposit", "deposit again", "reverse", "finalize", "insure", "meter", "adjust"] as const),
    ...(["flush", "time", "kill", "restart"] as const)
  ),
  account: fc.nat({ max: accounts.length - 1 }),
  /** Chooses among what there is. */
  pick: fc.nat({ max: 1_000 }),
  amount: fc.integer({ min: 1, max: 1_500 })
})
type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

it.live("the ledger agrees with its model after any history, kills included", () =>
  Effect.promise(() =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: stepsMin, maxLength: stepsMax }), (steps) =>
        Effect.runPromise(runHistory(steps).pipe(Effect.scoped, Effect.provide(TestClock.layer())))
      ),
      { numRuns: runs, interruptAfterTimeLimit: shrinkMillisMax }
    )
  )
)

const runHistory = Effect.fnUntraced(function* (steps: ReadonlyArray<Step>) {
  yield* TestClock.setTime(startMillis)
  const world = new LedgerWorld()
  yield* world.open(temporaryDirectory())
  for (const step of steps) {
    yield* world.take(step)
    yield* world.look(accounts[step.account]!)
  }
  yield* world.prove
  yield* world.close
})

interface ModelPayment {
  readonly id: string
  readonly account: string
  readonly amount: number
  state: "settled" | "finalized" | "reversed"
}

class LedgerWorld {
  readonly #model = new LedgerModel(monthlyAllowance)
  readonly #payments: Array<ModelPayment> = []
  readonly #days = new Set<string>()
  /** Key -> account and amount. */
  readonly #corrections = new Map<string, string>()
  readonly #reservations = new Map<string, Reservation>()
  #ended: Reservation | undefined
  #leftOver = new Set<string>()
  #now = startMillis
  #directory = ""
  #scope: Scope.Closeable | undefined
  #services: Context.Context<Layer.Success<ReturnType<typeof moneyLayerOf>>> | undefined

  readonly open = (directory: string) =>
    Effect.gen({ self: this }, function* () {
      this.#directory = directory
      this.#scope = yield* Scope.make()
      this.#services = yield* Layer.buildWithScope(moneyLayerOf(directory, monthlyAllowance), this.#scope)
      this.#reservations.clear()
      for (const reservation of yield* this.#ledger.openReservations)
        this.#reservations.set(reservation.id, reservation)
      this.#leftOver = new Set(this.#reservations.keys())
      expect([...this.#leftOver].toSorted()).toEqual(Object.keys(this.#model.memory.open).toSorted())
    })

  get #ledger() {
    return Context.get(this.#services!, Ledger)
  }
  get #journal() {
    return Context.get(this.#services!, PaymentJournal)
  }
  get #month() {
    return new Date(this.#now).toISOString().slice(0, 7)
  }

  readonly look = (account: Account) =>
    Effect.gen({ self: this }, function* () {
      this.#model.touch(account.id, this.#month)
      const { allowance, balance } = yield* this.#ledger.purses(account)
      expect({ allowance, balance }).toEqual(this.#model.free(account.id))
      expect(Math.min(allowance, balance)).toBeGreaterThanOrEqual(0)
    })

  readonly take = (step: Step): Effect.Effect<void> => {
    const account = accounts[step.account]!
    const reservation = chosen([...this.#reservations.values()], step.pick)
    const payment = chosen(this.#payments, step.pick)
    switch (step.kind) {
      case "read":
        return this.#reserve(account, step, undefined)
      case "write":
        return this.#reserve(account, step, step.pick % 3 === 0 ? undefined : `request ${step.pick % keys}`)
      case "settle":
        return reservation === undefined ? Effect.void : this.#settle(reservation)
      case "settle again":
        return this.#ended === undefined ? Effect.void : this.#settleAgain(this.#ended)
      case "void":
        return reservation === undefined ? Effect.void : this.#void(reservation)
      case "deposit":
        return this.#deposit(account, 1 + (step.amount % unitsMax))
      case "deposit again":
        return payment === undefined || payment.state === "reversed" ? Effect.void : this.#depositAgain(payment)
      case "reverse":
        return payment === undefined || payment.state === "finalized" ? Effect.void : this.#reverse(payment)
      case "finalize":
        return payment === undefined || payment.state === "reversed" ? Effect.void : this.#finalize(payment)
      case "insure":
      case "meter":
        return this.#storage(account, step, step.kind)
      case "adjust":
        return this.#adjust(account, step)
      case "look":
        return Effect.void
      case "flush":
        return this.#flush
      case "time":
        return this.#pass(step.pick % 4 === 0 ? (step.pick % 40) * dayMillis : step.pick)
      case "kill":
      case "restart":
        return this.#restart(step.kind)
    }
  }

  #reserve(account: Account, { kind, amount }: Step, request: string | undefined) {
    return Effect.gen({ self: this }, function* () {
      const isDurable = kind === "write"
      const earlier = request === undefined ? undefined : this.#model.request(request, this.#now)
      // Two at once with one key do not happen: the caller holds it.
      if (earlier?.open !== undefined && !this.#leftOver.has(earlier.open)) return
      const made = yield* Effect.exit(
        this.#ledger.reserve({
          account,
          operation: kind,
          price: amount,
          ...(isDurable && {
            durable: { token: "token", namespaces: ["tag"], ...(request !== undefined && { request }) }
          })
        })
      )
      if (earlier?.open !== undefined || earlier?.isPaid === true) {
        if (!Exit.isSuccess(made)) throw new Error("a repeated request was refused")
        if (earlier.open !== undefined) {
          expect(made.value.id).toBe(earlier.open)
          // The repeated call goes on with it, and holds the key from now on.
          this.#leftOver.delete(earlier.open)
        } else expect(yield* this.#ledger.settle(made.value)).toMatchObject({ charged: 0 })
        return
      }
      this.#model.touch(account.id, this.#month)
      const split = this.#model.split(account.id, amount)
      expect(Exit.isSuccess(made)).toBe(split !== undefined)
      if (!Exit.isSuccess(made) || split === undefined) return
      this.#reservations.set(made.value.id, made.value)
      this.#model.hold(made.value.id, {
        ...split,
        account: account.id,
        month: this.#month,
        isDurable,
        at: this.#now,
        ...(request !== undefined && { request })
      })
    })
  }

  #settle(reservation: Reservation) {
    return Effect.gen({ self: this }, function* () {
      this.#ended = reservation
      this.#reservations.delete(reservation.id)
      const charged = this.#model.settle(reservation.id)
      expect(yield* this.#ledger.settle(reservation)).toMatchObject({ charged })
      this.#model.touch(reservation.accountId, this.#month)
    })
  }

  #settleAgain(reservation: Reservation) {
    return Effect.gen({ self: this }, function* () {
      yield* this.#ledger.void(reservation)
      const { charged } = yield* this.#ledger.settle(reservation)
      expect(charged).toBe(reservation.charge)
      this.#model.touch(reservation.accountId, this.#month)
    })
  }

  #void(reservation: Reservation) {
    this.#reservations.delete(reservation.id)
    this.#model.void(reservation.id)
    return this.#ledger.void(reservation)
  }

  #deposit(account: Account, units: number) {
    return Effect.gen({ self: this }, function* () {
      const id = `payment ${this.#payments.length}`
      const payment = { id, account: account.id, network: "base", payer: "payer", units, payload: {} } as const
      yield* this.#journal.claim(payment)
      yield* this.#journal.broadcasting(id, { hash: "hash", raw: "raw" })
      yield* this.#journal.settled(id, "hash")
      const amount = units * microCreditsPerUsdcUnit
      this.#payments.push({ id, account: account.id, amount, state: "settled" })
      this.#model.credit(account.id, amount)
      this.#model.touch(account.id, this.#month)
    }).pipe(Effect.orDie)
  }

  #depositAgain({ account, id }: ModelPayment) {
    this.#model.touch(account, this.#month)
    return Effect.asVoid(Effect.orDie(this.#journal.settled(id, "hash")))
  }

  #reverse(payment: ModelPayment) {
    this.#model.debit(payment.account, payment.state === "settled" ? payment.amount : 0)
    payment.state = "reversed"
    return Effect.orDie(this.#journal.reversed(payment.id, "gone"))
  }

  #finalize(payment: ModelPayment) {
    payment.state = "finalized"
    return Effect.orDie(this.#journal.finalized(payment.id))
  }

  #storage(account: Account, { amount, pick }: Step, mode: "insure" | "meter") {
    return Effect.gen({ self: this }, function* () {
      const day = `2026-01-1${pick % keys}`
      const memories = amount % (memoriesMax + 1)
      const isRepeat = this.#days.has(day + account.id)
      this.#days.add(day + account.id)
      const run = yield* this.#ledger.chargeStorage({ account, day, memories, mode })
      expect(run.isRepeat).toBe(isRepeat)
      if (mode === "insure") this.#model.flush()
      if (isRepeat) return
      const charged = mode === "insure" ? this.#model.insure(account.id, memories) : 0
      const metered = mode === "meter" ? memories * storageMicroCreditsPerMemoryDay : 0
      expect(run).toEqual({ charged, metered, isRepeat })
    }).pipe(Effect.orDie)
  }

  #adjust(account: Account, { amount, pick }: Step) {
    return Effect.gen({ self: this }, function* () {
      const signed = pick % 2 === 0 ? amount : -amount
      const key = `correction ${pick % keys}`
      const correction = `${account.id} ${signed}`
      const before = this.#corrections.get(key)
      if (signed < 0) this.#model.flush()
      const isEnough = this.#model.free(account.id).balance + signed >= 0
      const exit = yield* Effect.exit(this.#ledger.adjust({ account, amount: signed, key, reason: "why" }))
      expect(Exit.isSuccess(exit)).toBe(before === undefined ? isEnough : before === correction)
      if (Exit.isSuccess(exit) && before === undefined) {
        this.#corrections.set(key, correction)
        this.#model.credit(account.id, signed)
      }
    })
  }

  get #flush() {
    this.#model.flush()
    return Effect.orDie(this.#ledger.flush)
  }

  #pass(millis: number) {
    this.#now += millis
    return Effect.andThen(TestClock.adjust(millis), this.#flush)
  }

  #restart(kind: "kill" | "restart") {
    return Effect.gen({ self: this }, function* () {
      const before = this.#directory
      const old = this.#scope!
      if (kind === "restart") {
        this.#model.flush()
        yield* Scope.close(old, Exit.void)
      }
      this.#model.kill()
      this.#ended = undefined
      yield* Effect.orDie(this.open(crashImage(before)))
      // The killed process writes what it still has, where nobody looks any more.
      if (kind === "kill") yield* Scope.close(old, Exit.void)
    })
  }

  /** The proof, and the movements of each account against its purses. */
  get prove() {
    return Effect.gen({ self: this }, function* () {
      for (const reservation of this.#reservations.values()) yield* this.#void(reservation)
      for (const account of accounts) yield* this.look(account)
      const report = yield* Effect.orDie(checkLedger).pipe(Effect.provideContext(this.#services!))
      expect(report.problems).toEqual([])
      for (const account of accounts) {
        const entries = yield* this.#ledger.transactions(account.id, { limit: 1_000 })
        const sumOf = (purse: string) =>
          entries.filter((entry) => entry.purse === purse).reduce((sum, { amount }) => sum + amount, 0)
        expect({ balance: sumOf("balance"), allowance: sumOf("allowance") }).toEqual(this.#model.free(account.id))
      }
    })
  }

  get close() {
    return Scope.close(this.#scope!, Exit.void)
  }
}

const chosen = <A>(from: ReadonlyArray<A>, pick: number): A | undefined => from[pick % Math.max(from.length, 1)]
