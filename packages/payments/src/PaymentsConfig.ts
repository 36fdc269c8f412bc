/** Configuration of payments; an error names the variable. */
import { Data, type Redacted } from "effect"

export interface FamilyConfig {
  /** Address that receives the USDC. */
  readonly payTo?: string | undefined
  /** Pays the network's fees; holds no USDC. */
  readonly operatorKey?: Redacted.Redacted<string> | undefined
  readonly rpcUrl?: string | undefined
}

export interface PaymentsConfig {
  /** Names of networks (`PaymentNetwork`); checked when the layer is built. */
  readonly networks: ReadonlyArray<string>
  readonly evm: FamilyConfig
  readonly solana: FamilyConfig
  /** Sends instead of the operator. */
  readonly facilitatorUrl?: string | undefined
  /** Confirmations before a payment is credited; above 1, a Solana payment must be final. */
  readonly confirmations: number
}

/** Stops the start. Never contains a key, or a URL, which may contain one. */
export class PaymentsMisconfigured extends Data.TaggedError("PaymentsMisconfigured")<{ readonly message: string }> {}
