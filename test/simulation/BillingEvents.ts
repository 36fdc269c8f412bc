/**
 * What happens to many accounts in many days, decided before anything runs: a list of events in order of
 * time, from a seed. While the server is down nothing happens, and no event falls on a moment of the job.
 */
import type { Plan } from "@muniment/domain/Account"
import { credits, type MicroCredits, storageMicroCreditsPerMemoryDay } from "@muniment/domain/Money"
import { SeededRandom } from "../support/SeededRandom.ts"

export const dayMillis = 86_400_000
const momentMillis = 600_000
/** At noon: the day's own moment is past. */
export const startMillis = Date.UTC(2026, 10, 21, 12)
/** The moment of the job, so many days after the start. */
export const momentOf = (day: number): number => startMillis - dayMillis / 2 + day * dayMillis + momentMillis

export interface SimulatedMemory {
  /** Unique in the simulation. */
  readonly number: number
  readonly agent: string
  readonly createdAt: number
  readonly expiresAt: number | undefined
  readonly uniqueKey: string | undefined
}

/** `account` is the place in the list of accounts. */
export type BillingEvent = { readonly at: number } & (
  | { readonly _tag: "Open"; readonly account: number; readonly plan: Plan }
  | { readonly _tag: "Store"; readonly account: number; readonly memories: ReadonlyArray<SimulatedMemory> }
  | { readonly _tag: "Delete"; readonly account: number; readonly memories: ReadonlyArray<SimulatedMemory> }
  | { readonly _tag: "Deposit"; readonly account: number; readonly id: string; readonly units: number }
  | { readonly _tag: "Operate"; readonly account: number; readonly price: MicroCredits }
  | { readonly _tag: "Ask"; readonly account: number }
  /** The server ends, and starts again at `until`. */
  | { readonly _tag: "Outage"; readonly until: number; readonly isCrash: boolean }
  /** The job of the next moment dies at this durable step. */
  | { readonly _tag: "CrashInJob"; readonly step: number }
  /** The log of the job forgets its last days, and the job runs again. */
  | { readonly _tag: "Rerun"; readonly days: number }
)

export interface BillingOptions {
  readonly seed: number
  readonly days: number
  readonly accounts: number
}

/** Shares of plans: most are free, with deposits of every size and none. */
const planOf = (account: number): Plan =>
  account % 9 === 6 ? "starter" : account % 9 === 7 ? "pro" : account % 9 === 8 ? "owner" : "free"

/** Of nine accounts this one pays at once for all that may come. */
const generous = 1
const generousUnits = 1_000_000

const outageDaysMax = 12
const crashStepMax = 8

export const billingEvents = ({ accounts, days, seed }: BillingOptions): ReadonlyArray<BillingEvent> => {
  const random = new SeededRandom(seed)
  const events = outages(random, days)
  const down = events.flatMap((event) => (event._tag === "Outage" ? [[event.at, event.until] as const] : []))
  const taken = new Set(events.map(({ at }) => at))
  const endMillis = momentOf(days) - 1
  /** A time of its own from `from` on, while the server is up; the last day has no outage. */
  const timeFrom = (from: number, to = endMillis): number => {
    for (;;) {
      const at = random.between(Math.min(from, endMillis - dayMillis / 2), to)
      const isFree = !taken.has(at) && (at - momentOf(0)) % dayMillis !== 0
      if (!isFree || down.some(([begin, end]) => at >= begin && at <= end)) continue
      taken.add(at)
      return at
    }
  }
  let numbers = 0
  for (let account = 0; account < accounts; account++) {
    const opened = timeFrom(startMillis, startMillis + (days * dayMillis) / 2)
    events.push({ _tag: "Open", at: opened, account, plan: planOf(account) })
    if (account % 9 === generous) {
      const at = opened + 1
      taken.add(at)
      events.push({ _tag: "Deposit", at, account, id: `pay_${account}`, units: generousUnits })
    }
    for (let left = random.between(2, 25); left > 0; left--) {
      const at = timeFrom(opened + 1)
      const memories = Array.from({ length: random.between(1, 4) }, () => memoryAt(random, at, ++numbers, days))
      events.push({ _tag: "Store", at, account, memories })
      if (random.between(1, 4) === 1) {
        events.push({ _tag: "Delete", at: timeFrom(at + 1), account, memories: memories.slice(random.between(0, 1)) })
      }
    }
    for (let left = depositsOf(account, random); left > 0; left--) {
      const units = random.between(1, random.pick([20, 400, 4_000])!)
      const at = timeFrom(opened + 1)
      events.push({ _tag: "Deposit", at, account, id: `pay_${account}_${left}`, units })
    }
    for (let left = random.between(0, 15); left > 0; left--) {
      events.push({ _tag: "Operate", at: timeFrom(opened + 1), account, price: credits(random.between(1, 5)) / 4 })
    }
    for (let left = 3; left > 0; left--) events.push({ _tag: "Ask", at: timeFrom(opened + 1), account })
  }
  for (let left = 4; left > 0; left--) {
    events.push({ _tag: "CrashInJob", at: timeFrom(startMillis), step: random.between(0, crashStepMax) })
    events.push({ _tag: "Rerun", at: timeFrom(startMillis), days: random.between(1, 5) })
  }
  return events.toSorted((left, right) => left.at - right.at)
}

/** A third of the free accounts never pays. */
const depositsOf = (account: number, random: SeededRandom): number => (account % 3 === 0 ? 0 : random.between(1, 6))

/** About one in ten days, from minutes to many days, at any hour; they never touch. The first is a crash. */
const outages = (random: SeededRandom, days: number): Array<BillingEvent> => {
  const made: Array<BillingEvent> = []
  for (let from = startMillis + dayMillis; ;) {
    const at = from + random.between(1, 9 * dayMillis)
    const length = random.pick([dayMillis / 100, dayMillis, 3 * dayMillis, outageDaysMax * dayMillis])!
    const until = at + random.between(1_000, length)
    if (until >= momentOf(days) - dayMillis) return made
    made.push({ _tag: "Outage", at, until, isCrash: made.length === 0 || random.between(0, 1) === 1 })
    from = until + dayMillis / 4
  }
}

/** Stored at `at`; some are older than that, some expire, some on the very millisecond of a bound. */
const memoryAt = (random: SeededRandom, at: number, number: number, days: number): SimulatedMemory => {
  const edge = random.between(-1, 1)
  const moment = momentOf(random.between(1, days))
  const createdAt = random.pick([at, at, at, at - random.between(1, 20 * dayMillis), moment - 7 * dayMillis + edge])!
  const expiresAt = random.pick([
    undefined,
    undefined,
    undefined,
    at + random.between(1, 20 * dayMillis),
    moment + edge
  ])
  return {
    number,
    agent: `agent ${random.between(1, 2)}`,
    createdAt: Math.min(createdAt, at),
    expiresAt: expiresAt === undefined || expiresAt > at ? expiresAt : at + 1,
    uniqueKey: random.pick([undefined, undefined, `key ${random.between(1, 3)}`])
  }
}

/** Price of storing one memory on one day. */
export const memoryDay: MicroCredits = storageMicroCreditsPerMemoryDay
