/**
 * What may be paid, and how: one requirement for each network that can take a payment now. Needs no
 * network. EVM stands first: the stock client takes the first entry, and with Solana in front it fails
 * for everybody who has an EVM key only.
 */
import { paymentNetworks, type PaymentRequirement } from "@muniment/domain/Payment"
import type { PaymentChain } from "./PaymentChain.ts"

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

/** Without the payer of the fee nobody can build a Solana payment; a facilitator tells it after the start. */
const isPayable = ({ extra, network }: PaymentRequirement): boolean =>
  paymentNetworks[network].family === "evm" || extra.feePayer !== undefined

const rank = ({ network }: PaymentRequirement): number => (paymentNetworks[network].family === "evm" ? 0 : 1)
