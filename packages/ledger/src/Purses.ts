/**
 * The purses of all accounts as the process sees them: what was paid, what this month gives for free,
 * and what is held by calls under way. Plain and synchronous, since every call passes here.
 *
 * Invariants: a hold never exceeds what is there, so nothing becomes negative; two calls cannot spend
 * the same credit; the month only moves forward, and what was held over its end belongs to the old one.
 */
import type { MicroCredits } from "@muniment/domain/Money"
import { accountName, equityOfAllowances } from "./LedgerAccounts.ts"
import type { NewTransfer } from "./Transfers.ts"

/** What can be spent now: holds are taken off. */
export interface Purses {
  readonly balance: MicroCredits
  /** The balance with what calls under way hold of it. */
  readonly paid: MicroCredits
  readonly allowance: MicroCredits
  /** Plan `owner`: prices are recorded, the purses stay. */
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

/** The month asked for last: every call asks, and nearly always for the same one. */
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

/** Allowance first; undefined when both together are not enough. */
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

/** What was held is gone for good. */
export const spend = (purse: Purse, split: Split): void => {
  release(purse, split)
  purse.allowance -= split.fromAllowance
  purse.balance -= split.fromBalance
}

/** The purse at the beginning of `month`, and how much of the old allowance nobody holds. */
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

/** `suffix` tells apart the hold that was given back after its month had ended. */
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
