/** A payment, or a refund of one, as it is journalled. */
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
  /** Of USDC, 6 decimals. */
  readonly units: number
  /** JSON, as signed by the payer. */
  readonly payload: unknown
}

export interface JournalledPayment extends NewPayment {
  readonly state: PaymentState
  readonly transaction: PaymentTransaction | undefined
  readonly reason?: string
  /** When its chain included a transaction of it and reverted it; the operator paid the fee. */
  readonly revertedAt?: number
  readonly createdAt: number
  readonly updatedAt: number
}
