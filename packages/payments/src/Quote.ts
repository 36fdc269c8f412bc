/**
 * Quote of a price: one requirement for each network that can accept a payment now. Makes no network call. EVM is first,
 * because the stock client takes the first entry, and with Solana first it fails for users with only an EVM key.
 */
import { paymentNetworks, type PaymentRequirement } from "@muniment/domain/Payment"
import type { PaymentChain } from "./chain/PaymentChain.ts"

export interface QuoteRequest {
  /** Of USDC, 6 decimals. */
  readonly units: number
  /** Absolute URL without query. */
  readonly resource: string
  readonly description: string
}

export const quote = (chains: Iterable<PaymentChain>, request: QuoteRequest): ReadonlyArray<PaymentRequirement> =>
  [...chains]
    .map((chain) => chain.requirement(request))
    .filter(isPayable)
    .sort((one, other) => rank(one) - rank(other))

/** A Solana payment needs the fee payer, which a facilitator reports only after the start. */
const isPayable = ({ extra, network }: PaymentRequirement): boolean =>
  paymentNetworks[network].family === "evm" || extra.feePayer !== undefined

const rank = ({ network }: PaymentRequirement): number => (paymentNetworks[network].family === "evm" ? 0 : 1)
