/** What the operator says of payments, and how a mistake in it is told: by the name of the variable. */
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
  /** Sends in the operator's stead. */
  readonly facilitatorUrl?: string | undefined
  /** How deep the money must lie before it is credited; above 1 Solana is waited for until it is final. */
  readonly confirmations: number
}

/** Stops the start. Never holds a key or a URL, which may have one in it. */
export class PaymentsMisconfigured extends Data.TaggedError("PaymentsMisconfigured")<{ readonly message: string }> {}
