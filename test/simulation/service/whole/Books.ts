/**
 * What an account's movements may say: every write that was done is charged once, every payment that reached us is
 * credited once, a day's storage is charged at most once, and all movements add up to the purses.
 */
import type { Write } from "../Model.ts"

export interface Movement {
  readonly kind: string
  readonly operation?: string
  readonly purse: string
  readonly credits: number
}

export interface Purses {
  readonly balance: number
  readonly allowance: number
}

/** Operations of the ledger, what they cost in credits, and the writes that they do. */
const operations = [
  { name: "create", price: 5, kinds: ["create", "replace"] },
  { name: "delete", price: 1, kinds: ["remove"] }
] as const

type Operation = (typeof operations)[number]

export class Books {
  /** Writes that a caller sent, by key. */
  readonly writes = new Map<string, Write>()
  /** Requests with a conversation that were sent: each may be charged as a creation or, with nothing new, not. */
  conversations = 0
  /** Keys of creations without an answer that were seen to be done. */
  readonly done = new Set<string>()
  /** Keys answered with a failure of the disk. What was done and could not be looked up then may stay without a charge. */
  readonly unknown = new Set<string>()
  /** Nonces of signed payments. */
  readonly payments = new Set<string>()

  faultOf(
    movements: ReadonlyArray<Movement>,
    purses: Purses,
    world: { readonly days: number; readonly received: number }
  ): string | undefined {
    for (const purse of ["balance", "allowance"] as const) {
      const sum = sumOf(movements.filter((one) => one.purse === purse))
      if (Math.abs(sum - purses[purse]) > 1e-6)
        return `movements of the ${purse} add up to ${sum}, not ${purses[purse]}`
    }
    for (const operation of operations) {
      const fault = this.#chargesFault(operation, movements)
      if (fault !== undefined) return fault
    }
    const storage = movements.filter(({ kind }) => kind === "storage").length
    if (storage > world.days) return `storage is charged ${storage} times in ${world.days} days`
    const deposited = sumOf(movements.filter(({ kind }) => kind === "deposit" || kind === "reversal"))
    return Math.abs(deposited - world.received) > 1e-6
      ? `${deposited} credits are deposited, and ${world.received} were paid`
      : undefined
  }

  #chargesFault(operation: Operation, movements: ReadonlyArray<Movement>): string | undefined {
    const asked = [...this.writes.values()].filter(({ kind }) => operation.kinds.some((one) => one === kind))
    const mustBePaid = ({ isAcknowledged, key }: Write) =>
      (isAcknowledged || this.done.has(key)) && !this.unknown.has(key)
    const least = asked.filter(mustBePaid).length
    const most = asked.length + (operation.name === "create" ? this.conversations : 0)
    const calls = callsOf(movements, operation)
    return calls < least || calls > most
      ? `${operation.name}: ${calls} calls are charged, of ${least} that were done and ${most} that were asked`
      : undefined
  }
}

const sumOf = (movements: ReadonlyArray<Movement>): number => movements.reduce((sum, { credits }) => sum + credits, 0)

/** One call may be paid from both purses, in two movements. */
const callsOf = (movements: ReadonlyArray<Movement>, { name, price }: Operation) =>
  Math.round(-sumOf(movements.filter(({ kind, operation }) => kind === "charge" && operation === name)) / price)
