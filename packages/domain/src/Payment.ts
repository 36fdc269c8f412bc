/**
 * Payments by HTTP 402 (contract: Payments; x402 protocol versions 1 and 2): networks, and the body of a 402 answer.
 * Amounts on the wire are units of USDC, 6 decimals, as decimal strings.
 */
import { Schema } from "effect"
import { Limits } from "./Limits.ts"
import { microCreditsPerUsdcUnit, type MicroCredits, usdcUnitsPerCent } from "./Money.ts"

export const PaymentNetwork = Schema.Literals(["base", "solana", "base-sepolia", "solana-devnet"])
export type PaymentNetwork = typeof PaymentNetwork.Type

interface NetworkFacts {
  readonly family: "evm" | "svm"
  /** CAIP-2 id, the network's name in protocol version 2. */
  readonly caip2: `${string}:${string}`
  /** USDC contract or mint. */
  readonly usdc: string
  /** EIP-712 domain of the token; EVM only. */
  readonly domain?: { readonly name: string; readonly version: string; readonly chainId: number }
}

export const paymentNetworks: Readonly<Record<PaymentNetwork, NetworkFacts>> = {
  base: {
    family: "evm",
    caip2: "eip155:8453",
    usdc: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    domain: { name: "USD Coin", version: "2", chainId: 8453 }
  },
  "base-sepolia": {
    family: "evm",
    caip2: "eip155:84532",
    usdc: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    domain: { name: "USDC", version: "2", chainId: 84532 }
  },
  solana: {
    family: "svm",
    caip2: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
    usdc: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
  },
  "solana-devnet": {
    family: "svm",
    caip2: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
    usdc: "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"
  }
}

/** One way to pay, in the form of protocol version 1; version 2 is derived from it. */
export const PaymentRequirement = Schema.Struct({
  scheme: Schema.Literal("exact"),
  network: PaymentNetwork,
  maxAmountRequired: Schema.String.annotate({ description: "Units of USDC, 6 decimals." }),
  resource: Schema.String,
  description: Schema.String,
  mimeType: Schema.Literal("application/json"),
  payTo: Schema.String,
  maxTimeoutSeconds: Schema.Int,
  asset: Schema.String,
  extra: Schema.Struct({
    name: Schema.optionalKey(Schema.String),
    version: Schema.optionalKey(Schema.String),
    feePayer: Schema.optionalKey(Schema.String)
  })
})
export type PaymentRequirement = typeof PaymentRequirement.Type

export const DepositOffer = Schema.Struct({
  amount_usd: Schema.Finite,
  credits: Schema.Finite,
  description: Schema.String
})

/** Dollars with at most two decimals -> units of USDC; undefined when out of range or finer than a cent. */
export const depositUnits = (amountUsd: number): number | undefined => {
  const cents = Math.round(amountUsd * 100)
  const isWholeCents = Math.abs(amountUsd * 100 - cents) < 1e-6
  const isInRange = amountUsd >= Limits.depositCentsMin / 100 && amountUsd <= Limits.depositCentsMax / 100
  if (!isWholeCents || !isInRange) return undefined
  return cents * usdcUnitsPerCent
}

/** Units of USDC -> millionths of a credit. */
export const creditsOfUnits = (units: number): MicroCredits => units * microCreditsPerUsdcUnit

/** Names a payment: its id (the longest, of an EVM authorisation, has about 170 characters) or its transaction. */
export const PaymentName = Schema.NonEmptyString.check(Schema.isMaxCodePoints(256)).annotate({
  examples: ["evm:8453:0x8335:0x1950:0x01"]
})

/** The receipt of a payment as it is fetched later. */
export const PaymentReceipt = Schema.Struct({
  payment: Schema.String.annotate({ description: "Id of the payment." }),
  settledAt: Schema.Int.annotate({ description: "Milliseconds: when it was credited." }),
  receipt: Schema.Struct({
    format: Schema.Literal("jws"),
    signature: Schema.String.annotate({
      description: "Compact JSON Web Signature: the receipt of the x402 extension `offer-receipt`."
    })
  })
})
export type PaymentReceipt = typeof PaymentReceipt.Type
