/** A payment, or a refund of one, as it is journalled. */
import { isJsonObject } from "@muniment/domain/Json"
import type { PaymentState } from "@muniment/domain/Operations"
import type { PaymentNetwork } from "@muniment/domain/Payment"

export interface PaymentTransaction {
  readonly hash: string
  /** The signed bytes, to be sent again. */
  readonly raw: string
}

export interface NewPayment {
  /** Identifies the authorisation, not the text of the header. */
  readonly id: string
  /** Id of the account that is credited. */
  readonly account: string
  readonly network: PaymentNetwork
  readonly payer: string
  /** Units of USDC, 6 decimals. */
  readonly units: number
  /** JSON, as signed by the payer. */
  readonly payload: unknown
  /** URL of the call that is paid for. */
  readonly resource?: string | undefined
}

export interface JournalledPayment extends NewPayment {
  readonly state: PaymentState
  readonly transaction: PaymentTransaction | undefined
  readonly reason?: string
  /** When its chain included a transaction of it and reverted it; the operator paid the fee. */
  readonly revertedAt?: number
  /** When it was credited. */
  readonly settledAt?: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** When the authorisation of a payment on an EVM chain ends; a Solana transaction ends by blocks. */
export const expiryOf = ({ payload }: Pick<NewPayment, "payload">): number | undefined => {
  const authorization = isJsonObject(payload) ? payload["authorization"] : undefined
  const seconds = isJsonObject(authorization) ? Number(authorization["validBefore"]) : Number.NaN
  // One without an end has the greatest number of 256 bits.
  return Number.isSafeInteger(seconds * 1_000) ? seconds * 1_000 : undefined
}

/** Columns that the rows of payments and of refunds have. */
export interface JournalRow {
  readonly id: string
  readonly account: string
  readonly network: PaymentNetwork
  readonly payer: string
  readonly units: number
  readonly payload: string
  readonly state: PaymentState
  readonly tx_hash: string | null
  readonly tx_raw: string | null
  readonly reason: string | null
  readonly created_at: number
  readonly updated_at: number
}

export const journalled = (row: JournalRow): JournalledPayment => ({
  id: row.id,
  account: row.account,
  network: row.network,
  payer: row.payer,
  units: row.units,
  payload: JSON.parse(row.payload) as unknown,
  state: row.state,
  transaction: row.tx_hash === null ? undefined : { hash: row.tx_hash, raw: row.tx_raw ?? "" },
  ...(row.reason !== null && { reason: row.reason }),
  createdAt: row.created_at,
  updatedAt: row.updated_at
})
