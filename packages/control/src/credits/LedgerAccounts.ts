/**
 * Names of ledger accounts. Credits owed to a user are a liability and never negative; prices paid are income; credits
 * given or lost are equity or an expense. The name contains kind and owner.
 */
import type { PaymentNetwork } from "@muniment/domain/Payment"

/** The purse that a movement changes, as the account's owner sees it. */
export type PurseName = "balance" | "allowance" | "receivable" | "own-use"

export const incomeFromOperations = "income:operations"
export const incomeFromStorage = "income:storage"
export const equityOfAllowances = "equity:allowance"
export const equityOfAdjustments = "equity:adjustment"
/** Deposits removed by a chain reorganisation after they had been spent. */
export const uncollected = "expense:uncollected"

const ownedPrefixes: Readonly<Record<PurseName, string>> = {
  balance: "liability:credits:",
  allowance: "liability:allowance:",
  receivable: "asset:receivable:",
  "own-use": "expense:own-use:"
}
const owned = (Object.keys(ownedPrefixes) as Array<PurseName>).map((purse) => ({ purse, prefix: ownedPrefixes[purse] }))

export const accountName = (purse: PurseName, accountId: string): string => ownedPrefixes[purse] + accountId
export const usdcOn = (network: PaymentNetwork): string => `asset:usdc:${network}`

/** Owner and purse of a name; undefined for accounts of the service itself. */
export const purseOfName = (name: string): { readonly purse: PurseName; readonly accountId: string } | undefined => {
  const found = owned.find(({ prefix }) => name.startsWith(prefix))
  return found && { purse: found.purse, accountId: name.slice(found.prefix.length) }
}

export const kindOfName = (name: string): string => name.slice(0, name.indexOf(":"))
