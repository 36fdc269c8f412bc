/**
 * Purse arithmetic: paid balance, free allowance of the month, and what calls under way hold of both. Plain synchronous
 * functions, because every call uses them.
 *
 * Invariants: a hold never exceeds what is free, so no purse becomes negative; two calls never spend the same credit; the
 * month only moves forward, and credits held across its end belong to the old month.
 */
import type { MicroCredits } from "@muniment/domain/Money"
import { accountName, equityOfAllowances, type NewTransfer } from "./Transfers.ts"

/** Spendable credits: holds are subtracted. */
export interface Purses {
  readonly balance: MicroCredits
  /** The balance including what calls under way hold of it. */
  readonly paid: MicroCredits
  readonly allowance: MicroCredits
  /** Prices are recorded, nothing is taken (`Books.isUnlimited`). */
  readonly isUnlimited: boolean
}

export interface Purse {
  balance: MicroCredits
  allowance: MicroCredits
  heldBalance: MicroCredits
  heldAllowance: MicroCredits
  /** `YYYY-MM` of the allowance; empty before the first. */
  month: string
}

export interface Split {
  readonly fromAllowance: MicroCredits
  readonly fromBalance: MicroCredits
}

export const emptyPurse = (): Purse => ({ balance: 0, allowance: 0, heldBalance: 0, heldAllowance: 0, month: "" })

/** Cache of one month: nearly every call asks for the same one. */
let known = { month: "", fromMillis: 0, untilMillis: 0 }

/** UTC month of a time, `YYYY-MM`. */
export const monthOf = (atMillis: number): string => {
  if (atMillis >= known.fromMillis && atMillis < known.untilMillis) return known.month
  const at = new Date(atMillis)
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()]
  known = {
    month: at.toISOString().slice(0, 7),
    fromMillis: Date.UTC(year, month),
    untilMillis: Date.UTC(year, month + 1)
  }
  return known.month
}

export const spendable = (purse: Purse, isUnlimited: boolean): Purses => ({
  balance: purse.balance - purse.heldBalance,
  paid: purse.balance,
  allowance: purse.allowance - purse.heldAllowance,
  isUnlimited
})

/** Allowance first; undefined if both together are not enough. */
export const splitOf = (purse: Purse, price: MicroCredits): Split | undefined => {
  const fromAllowance = Math.min(price, purse.allowance - purse.heldAllowance)
  const fromBalance = price - fromAllowance
  return fromBalance > purse.balance - purse.heldBalance ? undefined : { fromAllowance, fromBalance }
}

export const hold = (purse: Purse, { fromAllowance, fromBalance }: Split): void => {
  purse.heldAllowance += fromAllowance
  purse.heldBalance += fromBalance
}

export const release = (purse: Purse, { fromAllowance, fromBalance }: Split): void => {
  purse.heldAllowance -= fromAllowance
  purse.heldBalance -= fromBalance
}

/** Takes what was held. */
export const spend = (purse: Purse, split: Split): void => {
  release(purse, split)
  purse.allowance -= split.fromAllowance
  purse.balance -= split.fromBalance
}

/** The purse at the beginning of `month`, and the part of the old allowance that expires because no call holds it. */
export const rolledOver = (purse: Purse, month: string, monthlyAllowance: MicroCredits) => ({
  purse: { ...purse, month, allowance: purse.heldAllowance + monthlyAllowance },
  expired: purse.allowance - purse.heldAllowance
})

export const allowanceGranted = (
  account: string,
  month: string,
  amount: MicroCredits,
  at: number
): ReadonlyArray<NewTransfer> =>
  amount === 0
    ? []
    : [
        {
          key: `allowance:${month}:${account}`,
          debit: equityOfAllowances,
          credit: accountName("allowance", account),
          amount,
          kind: "allowance",
          account,
          at
        }
      ]

/** `suffix` makes the key unique for a hold that is given back after its month has ended. */
export const allowanceExpired = (
  account: string,
  month: string,
  amount: MicroCredits,
  at: number,
  suffix = ""
): ReadonlyArray<NewTransfer> =>
  amount === 0
    ? []
    : [
        {
          key: `allowance_expired:${month}:${account}${suffix}`,
          debit: accountName("allowance", account),
          credit: equityOfAllowances,
          amount,
          kind: "allowance_expired",
          account,
          at
        }
      ]
