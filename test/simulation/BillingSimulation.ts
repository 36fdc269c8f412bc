/**
 * Carries a list of billing events out on the real engine, the real ledger and the real daily job, under a
 * test clock: the server ends and starts, is killed, inside the job too; days are run again. At the end
 * every purse, every account of the ledger and every memory must be what the events alone say.
 */
import { type Context, Effect, Exit, Layer, References, Scope } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import type { Account } from "@muniment/domain/Account"
import { credits } from "@muniment/domain/Money"
import { plans } from "@muniment/domain/Plans"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { Ledger } from "@muniment/control/credits/Ledger"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { StorageInsurance } from "@muniment/server/jobs/StorageInsurance"
import { crashed, memory, namespaceOf, numbersOf, storageWorld, store } from "../component/server/jobs/StorageWorld.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { type BillingEvent, billingEvents, type BillingOptions, momentOf, startMillis } from "./BillingEvents.ts"
import { ExpectedAccount } from "./BillingExpectation.ts"

const monthlyAllowance = credits(2)
const starterIncluded = 20
const planTable = { ...plans, starter: { ...plans.starter, memoriesIncluded: starterIncluded } }
const agents = ["agent 1", "agent 2"]
/** One an hour: with one a minute ninety days took minutes of processor time, more than a busy machine gives a test. */
const maintainMillis = 3_600_000

/** What a run was made of, to be sure that it tried everything. */
export interface BillingFigures {
  readonly events: number
  outages: number
  crashes: number
  crashesInJob: number
  reruns: number
  insuredThroughout: number
  purged: number
  storagePaid: number
  refusedCalls: number
}

type Services = Layer.Success<ReturnType<typeof storageWorld>>

/** Fails by an assertion; the figures of a run that holds. */
export const simulateBilling = (options: BillingOptions): Effect.Effect<BillingFigures> =>
  new BillingSimulation(options).run.pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))

class BillingSimulation {
  readonly #options: BillingOptions
  readonly #events: ReadonlyArray<BillingEvent>
  readonly #expected: ReadonlyArray<ExpectedAccount>
  readonly #accounts: Array<Account> = []
  readonly #figures: BillingFigures
  #directory = ""
  #scope: Scope.Closeable | undefined
  #services: Context.Context<Services> | undefined
  #now = startMillis
  #day = 1
  /** Durable steps until the process dies; Infinity: it does not. */
  #stepsLeft = Infinity
  /** The same for the next moment of the job. */
  #stepsOfNextJob = Infinity

  constructor(options: BillingOptions) {
    this.#options = options
    this.#events = billingEvents(options)
    const settings = { days: options.days, monthlyAllowance, starterIncluded }
    this.#expected = Array.from(
      { length: options.accounts },
      (_, account) => new ExpectedAccount(this.#events, account, settings)
    )
    this.#figures = {
      events: this.#events.length,
      outages: 0,
      crashes: 0,
      crashesInJob: 0,
      reruns: 0,
      insuredThroughout: 0,
      purged: 0,
      storagePaid: 0,
      refusedCalls: 0
    }
  }

  get run(): Effect.Effect<BillingFigures, never, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      yield* TestClock.setTime(startMillis)
      yield* this.#open(temporaryDirectory())
      yield* Effect.addFinalizer(() => this.#close)
      for (const event of this.#events) {
        yield* this.#pass(event.at)
        yield* this.#take(event)
      }
      const end = momentOf(this.#options.days)
      yield* this.#pass(end)
      yield* this.#compare(end)
      return this.#figures
    })
  }

  /** Moves the clock and lets each moment's job end at its moment. */
  #pass(untilMillis: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      for (; momentOf(this.#day) <= untilMillis; this.#day++) {
        this.#now = momentOf(this.#day)
        const isToCrash = this.#stepsOfNextJob !== Infinity
        this.#stepsLeft = this.#stepsOfNextJob
        this.#stepsOfNextJob = Infinity
        yield* TestClock.setTime(this.#now)
        // Waits for the run that the clock has set off.
        yield* this.#use(Effect.exit(StorageInsurance.use((insurance) => insurance.run())))
        if (isToCrash) {
          this.#figures.crashesInJob += this.#stepsLeft < 0 ? 1 : 0
          yield* this.#restart(true)
        }
      }
      this.#now = untilMillis
      yield* TestClock.setTime(untilMillis)
    })
  }

  #take(event: BillingEvent): Effect.Effect<void> {
    switch (event._tag) {
      case "Open":
        return this.#use(
          Effect.map(
            Accounts.use((accounts) => accounts.create(`account ${event.account}`, { plan: event.plan })),
            (account) => {
              this.#accounts[event.account] = account
            }
          )
        )
      case "Store":
        return this.#use(this.#store(event))
      case "Delete":
        return this.#use(this.#delete(event))
      case "Deposit":
        return this.#use(this.#deposit(event))
      case "Operate":
        return this.#use(this.#operate(event))
      case "Ask":
        return this.#use(this.#ask(event.account))
      case "Outage":
        return this.#sleep(event.until, event.isCrash)
      case "CrashInJob":
        this.#stepsOfNextJob = event.step
        return Effect.void
      case "Rerun":
        return this.#use(this.#rerun(event.days))
    }
  }

  #store({ account, memories }: BillingEvent & { readonly _tag: "Store" }) {
    return Effect.forEach(
      agents,
      (agent) => {
        const own = memories.filter((one) => one.agent === agent)
        const made = own.map(({ createdAt, expiresAt, number, uniqueKey }) =>
          memory(number, createdAt, {
            ...(expiresAt !== undefined && { expiresAt }),
            ...(uniqueKey !== undefined && { uniqueKey })
          })
        )
        return made.length === 0 ? Effect.void : store(this.#accounts[account]!, made, agent)
      },
      { discard: true }
    )
  }

  #delete({ account, memories }: BillingEvent & { readonly _tag: "Delete" }) {
    return Effect.forEach(
      memories,
      ({ agent, createdAt, number }) =>
        Effect.gen({ self: this }, function* () {
          const key = yield* namespaceOf(this.#accounts[account]!, agent)
          const { id } = memory(number, createdAt).record
          const host = yield* NamespaceHost
          yield* host.ask(key, { _tag: "RemoveMemories", ids: [id], idempotency: undefined })
        }),
      { discard: true }
    )
  }

  #deposit({ account, id, units }: BillingEvent & { readonly _tag: "Deposit" }) {
    return PaymentJournal.use((journal) =>
      Effect.gen({ self: this }, function* () {
        const { id: owner } = this.#accounts[account]!
        yield* journal.claim({ id, account: owner, network: "base-sepolia", payer: "payer", units, payload: {} })
        yield* journal.broadcasting(id, { hash: `hash of ${id}`, raw: "raw" })
        yield* journal.settled(id, `hash of ${id}`)
      })
    )
  }

  #operate({ account, price }: BillingEvent & { readonly _tag: "Operate" }) {
    return Ledger.use((ledger) =>
      Effect.gen({ self: this }, function* () {
        const call = { account: this.#accounts[account]!, operation: "searchMemories", price }
        const reserved = yield* Effect.result(ledger.reserve(call))
        if (reserved._tag === "Failure") this.#figures.refusedCalls++
        else yield* ledger.settle(reserved.success)
      })
    )
  }

  #ask(account: number) {
    return Effect.gen({ self: this }, function* () {
      const expected = this.#expected[account]!
      expect(yield* this.#memoriesOf(account)).toEqual(expected.at(this.#now).memories)
      const until = yield* StorageInsurance.use((insurance) => insurance.insuredUntil(this.#accounts[account]!))
      expect(until).toBe(expected.insuredUntil(this.#now))
    })
  }

  /** Numbers of the live memories, ascending. */
  #memoriesOf(account: number) {
    return Effect.map(
      Effect.forEach(agents, (agent) => numbersOf(this.#accounts[account]!, agent)),
      (memories) => memories.flat().toSorted((left, right) => left - right)
    )
  }

  /** As if the state of the job had come from an older copy. */
  #rerun(days: number) {
    return Effect.gen({ self: this }, function* () {
      const back = new Date(this.#now - days * 86_400_000).toISOString().slice(0, 10)
      const { sql } = yield* ControlDatabase
      yield* sql`UPDATE job_state SET last_day = min(last_day, ${back})`
      yield* StorageInsurance.use((insurance) => insurance.run())
      this.#figures.reruns++
    })
  }

  #sleep(untilMillis: number, isCrash: boolean): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      yield* this.#stop(isCrash)
      while (momentOf(this.#day) <= untilMillis) this.#day++
      this.#now = untilMillis
      yield* TestClock.setTime(untilMillis)
      yield* this.#open(this.#directory)
      // After more than a day the clock is believed when the operator says so.
      yield* this.#use(StorageInsurance.use((insurance) => insurance.run({ acceptClock: true })))
      this.#figures.outages++
    })
  }

  #restart(isCrash: boolean): Effect.Effect<void> {
    return Effect.andThen(
      this.#stop(isCrash),
      Effect.suspend(() => this.#open(this.#directory))
    )
  }

  /** A crash goes on with the files as they were before anything was closed. */
  #stop(isCrash: boolean): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      if (isCrash) {
        // Charges of reads reach the disk a moment later, which no list of events can tell.
        yield* this.#use(Ledger.use((ledger) => ledger.flush))
        this.#directory = crashed(this.#directory)
        this.#figures.crashes++
      }
      yield* this.#close
      // Not before: what is dying must not get anything done any more.
      this.#stepsLeft = Infinity
    })
  }

  #open(directory: string): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      this.#directory = directory
      this.#scope = yield* Scope.make()
      const step = Effect.suspend(() => (this.#stepsLeft-- > 0 ? Effect.void : Effect.die(new Error("crash"))))
      const world = storageWorld(directory, { plans: planTable, monthlyAllowance, step, maintainMillis })
      this.#services = yield* Layer.buildWithScope(world, this.#scope)
    }).pipe(Effect.orDie)
  }

  get #close(): Effect.Effect<void> {
    return Effect.suspend(() => (this.#scope === undefined ? Effect.void : Scope.close(this.#scope, Exit.void)))
  }

  #use<A, E>(effect: Effect.Effect<A, E, Services>): Effect.Effect<A> {
    return Effect.suspend(() => Effect.provide(effect, this.#services!)).pipe(Effect.orDie)
  }

  #compare(atMillis: number): Effect.Effect<void> {
    return this.#use(
      Effect.gen({ self: this }, function* () {
        expect((yield* checkLedger).problems).toEqual([])
        const ledger = yield* Ledger
        const totals = new Map((yield* ledger.balances).map(({ name, ...sums }) => [name, sums]))
        let storage = 0
        for (const [at, account] of this.#accounts.entries()) {
          const expected = this.#expected[at]!.at(atMillis)
          const { allowance, balance } = yield* ledger.purses(account)
          expect(
            {
              plan: account.plan,
              balance,
              allowance,
              ownUse: totals.get(`expense:own-use:${account.id}`)?.debits ?? 0,
              metered: totals.get(`asset:receivable:${account.id}`)?.debits ?? 0,
              memories: yield* this.#memoriesOf(at)
            },
            `account ${at}`
          ).toEqual({
            plan: expected.plan,
            balance: expected.balance,
            allowance: expected.allowance,
            ownUse: expected.ownUse,
            metered: expected.metered,
            memories: expected.memories
          })
          if (expected.wasInsuredThroughout) {
            expect(balance, `account ${at} in one sum`).toBe(this.#expected[at]!.balanceInOneSum())
            this.#figures.insuredThroughout++
          }
          storage += expected.storagePaid + expected.metered
          this.#figures.storagePaid += expected.storagePaid
          this.#figures.purged += expected.purged
        }
        expect(totals.get("income:storage")?.credits ?? 0).toBe(storage)
      })
    )
  }
}
