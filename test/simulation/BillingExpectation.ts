/**
 * What each account must own at the end, from the list of events alone (contract: Plans and the daily job), without
 * ledger, engine or job. Two ways: day by day, and for accounts that were never out of balance by one sum over
 * memories, each costing the number of moments it lived through.
 */
import { type MicroCredits, microCreditsPerUsdcUnit } from "@muniment/domain/Money"
import type { Plan } from "@muniment/domain/Account"
import { type BillingEvent, dayMillis, memoryDay, momentOf, type SimulatedMemory } from "./BillingEvents.ts"

export interface Expected {
  readonly plan: Plan
  readonly balance: MicroCredits
  readonly allowance: MicroCredits
  readonly ownUse: MicroCredits
  readonly metered: MicroCredits
  readonly storagePaid: MicroCredits
  /** Numbers of the memories that live on, ascending. */
  readonly memories: ReadonlyArray<number>
  readonly wasInsuredThroughout: boolean
  readonly purged: number
}

export interface ExpectationOptions {
  readonly days: number
  readonly monthlyAllowance: MicroCredits
  readonly starterIncluded: number
}

interface Stored {
  readonly memory: SimulatedMemory
  readonly storedAt: number
  goneAt: number
}

const retentionMillis = 7 * dayMillis
const runsApartMillis = dayMillis - 3_600_000

/** One account, followed through its events and the moments of the job. */
export class ExpectedAccount {
  readonly #options: ExpectationOptions
  readonly #events: ReadonlyArray<BillingEvent>
  readonly #outages: ReadonlyArray<BillingEvent & { readonly _tag: "Outage" }>
  readonly #stored = new Map<number, Stored>()
  #plan: Plan = "free"
  #openedAt = Infinity
  #balance = 0
  #allowance = 0
  #month = ""
  #ownUse = 0
  #metered = 0
  #storagePaid = 0
  #spent = 0
  #deposited = 0
  #wasInsuredThroughout = true
  #purged = 0
  /** What a run found to purge, and when. */
  #mark: { readonly runAt: number; readonly createdBefore: number } | undefined
  #at = 0
  #day = 1

  constructor(events: ReadonlyArray<BillingEvent>, account: number, options: ExpectationOptions) {
    this.#events = events.filter((event) => "account" in event && event.account === account)
    this.#outages = events.flatMap((event) => (event._tag === "Outage" ? [event] : []))
    this.#options = options
  }

  /** Lives up to `atMillis`: events before it, moments at or before it. */
  advance(atMillis: number): void {
    for (;;) {
      const event = this.#events[this.#at]
      const moment = momentOf(this.#day)
      if (event !== undefined && event.at < Math.min(moment, atMillis)) {
        this.#at++
        this.#take(event)
      } else if (moment <= atMillis) {
        this.#day++
        this.#settle(moment)
      } else return
    }
  }

  at(atMillis: number): Expected {
    this.advance(atMillis)
    this.#touchMonth(atMillis)
    return {
      plan: this.#plan,
      balance: this.#balance,
      // The owner has none: his prices are recorded, no purse is touched.
      allowance: this.#plan === "owner" ? 0 : this.#allowance,
      ownUse: this.#ownUse,
      metered: this.#metered,
      storagePaid: this.#storagePaid,
      memories: this.#liveAt(atMillis)
        .map(({ memory }) => memory.number)
        .toSorted((left, right) => left - right),
      wasInsuredThroughout: this.#wasInsuredThroughout && this.#plan === "free",
      purged: this.#purged
    }
  }

  /** The first moment that finds nothing left, if nothing changes; by paying day after day. */
  insuredUntil(atMillis: number): number | undefined {
    this.advance(atMillis)
    const live = this.#liveAt(atMillis).length
    if (this.#plan !== "free" || this.#balance === 0 || live === 0) return undefined
    let day = this.#day
    for (let balance = this.#balance; balance > 0; day++) balance -= Math.min(balance, live * memoryDay)
    return momentOf(day)
  }

  /** For an account that was insured throughout: deposits, less calls, less memories times moments lived through. */
  balanceInOneSum(): MicroCredits {
    let memoryDays = 0
    for (const { goneAt, memory, storedAt } of this.#stored.values()) {
      const end = Math.min(goneAt, memory.expiresAt ?? Infinity, momentOf(this.#day))
      const firstDay = Math.max(1, Math.ceil((Math.max(storedAt, memory.createdAt) - momentOf(0)) / dayMillis))
      const pastLastDay = Math.ceil((end - momentOf(0)) / dayMillis)
      memoryDays += Math.max(0, pastLastDay - firstDay)
    }
    return this.#deposited - this.#spent - memoryDays * memoryDay
  }

  #take(event: BillingEvent): void {
    switch (event._tag) {
      case "Open":
        this.#plan = event.plan
        this.#openedAt = event.at
        return
      case "Store":
        for (const memory of event.memories) {
          this.#stored.set(memory.number, { memory, storedAt: event.at, goneAt: Infinity })
        }
        return
      case "Delete":
        for (const { number } of event.memories) this.#remove(number, event.at)
        return
      case "Deposit":
        this.#mark = undefined
        this.#balance += event.units * microCreditsPerUsdcUnit
        this.#deposited += event.units * microCreditsPerUsdcUnit
        return
      case "Operate":
        return this.#operate(event.price, event.at)
    }
  }

  #operate(price: MicroCredits, atMillis: number): void {
    if (this.#plan === "owner") {
      this.#ownUse += price
      return
    }
    this.#touchMonth(atMillis)
    if (this.#allowance + this.#balance < price) return
    const fromAllowance = Math.min(price, this.#allowance)
    this.#allowance -= fromAllowance
    this.#balance -= price - fromAllowance
    this.#spent += price - fromAllowance
  }

  /** When the run began that settled this moment: after an outage, with its end. */
  #runOf(moment: number): number {
    return this.#outages.find(({ at, until }) => at < moment && moment <= until)?.until ?? moment
  }

  #settle(moment: number): void {
    if (this.#openedAt > moment) return
    const live = this.#liveAt(moment)
    if (this.#plan === "starter") {
      this.#metered += Math.max(0, live.length - this.#options.starterIncluded) * memoryDay
    }
    if (this.#plan !== "free") return
    const price = live.length * memoryDay
    if (this.#balance > 0) {
      const paid = Math.min(this.#balance, price)
      this.#balance -= paid
      this.#storagePaid += paid
      if (paid < price) this.#wasInsuredThroughout = false
      this.#mark = undefined
    } else {
      if (live.length > 0) this.#wasInsuredThroughout = false
      this.#purge(moment, live)
    }
  }

  /** What two runs a day apart have found. */
  #purge(moment: number, live: ReadonlyArray<Stored>): void {
    const runAt = this.#runOf(moment)
    const earlier = this.#mark
    const createdBefore = moment - retentionMillis
    // What the same run purged for an earlier day is not found again.
    const isOld = live.some(({ goneAt, memory }) => goneAt > runAt && memory.createdAt < createdBefore)
    if (earlier !== undefined && earlier.runAt !== runAt && runAt - earlier.runAt < runsApartMillis) {
      if (!isOld) this.#mark = undefined
      return
    }
    this.#mark = isOld ? { runAt, createdBefore } : undefined
    if (earlier === undefined || earlier.runAt === runAt) return
    for (const { memory } of live) {
      if (memory.createdAt >= earlier.createdBefore) continue
      this.#remove(memory.number, runAt)
      this.#purged++
    }
  }

  #liveAt(atMillis: number): ReadonlyArray<Stored> {
    return [...this.#stored.values()].filter(
      ({ goneAt, memory: { createdAt, expiresAt = Infinity } }) =>
        createdAt <= atMillis && goneAt > atMillis && expiresAt > atMillis
    )
  }

  #remove(number: number, atMillis: number): void {
    const stored = this.#stored.get(number)
    if (stored !== undefined) stored.goneAt = Math.min(stored.goneAt, atMillis)
  }

  #touchMonth(atMillis: number): void {
    const month = new Date(atMillis).toISOString().slice(0, 7)
    if (month === this.#month) return
    this.#month = month
    this.#allowance = this.#options.monthlyAllowance
  }
}
