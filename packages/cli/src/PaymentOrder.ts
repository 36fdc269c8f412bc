/**
 * Payment that a wallet is about to sign: the service's demand, checked against what the user asked for. Pure, so that
 * every refusal can be tested.
 *
 * Invariant: at most the given amount is signed, in the USDC contract that this program knows, on the network that the
 * user named. Only payee and fee payer come from the service; the user sees the payee before agreeing.
 */
import { Result, Schema } from "effect"
import type { PaymentDemand } from "@muniment/client/Payment"
import { type PaymentNetwork, paymentNetworks, PaymentRequirement } from "@muniment/domain/Payment"
import { shownText } from "./ShownText.ts"

export interface PaymentOrder {
  readonly network: PaymentNetwork
  /** USDC, millionths of a dollar. */
  readonly units: number
  readonly asset: string
  readonly payTo: string
  /** How long the signature can be carried out. */
  readonly timeoutSeconds: number
  /** On Solana: who signs and pays for the transaction. */
  readonly feePayer: string | undefined
  readonly resource: string
  readonly description: string
}

/** A longer validity than this is refused: it is a mistake of the service, or an attack. */
const timeoutSecondsMax = 600
const usdcDecimals = 6

/** The order for `network`; or why nothing is signed. */
export const paymentOrder = (
  demand: Pick<PaymentDemand, "accepts">,
  { network, unitsMax }: { readonly network: PaymentNetwork; readonly unitsMax: number }
): Result.Result<PaymentOrder, string> => {
  const offered = demand.accepts.filter(isRequirement)
  const entry = offered.find((each) => each.network === network)
  if (entry === undefined) {
    const others = offered.map((each) => each.network).join(", ")
    return Result.fail(`The service takes no payments on ${network}; it takes ${others === "" ? "none" : others}.`)
  }
  const { usdc } = paymentNetworks[network]
  const units = Number(entry.maxAmountRequired)
  const refusal = [
    [
      !unitsPattern.test(entry.maxAmountRequired),
      `it asks for "${shownText(entry.maxAmountRequired)}", no amount of USDC`
    ],
    [units > unitsMax, `it asks for ${usdText(units)}, more than ${usdText(unitsMax)}`],
    [!isSameAsset(entry.asset, usdc), `it asks for ${shownText(entry.asset)}, which is not USDC on ${network}`],
    [
      !(entry.maxTimeoutSeconds > 0 && entry.maxTimeoutSeconds <= timeoutSecondsMax),
      `it wants a signature that is good for ${entry.maxTimeoutSeconds} s; at most ${timeoutSecondsMax} s are given`
    ]
  ].find(([isRefused]) => isRefused)
  return refusal === undefined
    ? Result.succeed({
        network,
        units,
        asset: usdc,
        payTo: entry.payTo,
        timeoutSeconds: entry.maxTimeoutSeconds,
        feePayer: entry.extra.feePayer,
        resource: entry.resource,
        description: entry.description
      })
    : Result.fail(`Nothing was signed: ${refusal[1]}.`)
}

/** For the user who has to agree; `credited` says which account gets the credits. */
export const orderText = (order: PaymentOrder, { payer, credited }: Readonly<Record<"payer" | "credited", string>>) =>
  [
    `Payment of ${usdText(order.units)} in USDC (${shownText(order.description)})`,
    `  network   ${order.network}`,
    `  from      ${payer}`,
    `  to        ${shownText(order.payTo)}`,
    `  token     ${order.asset}`,
    `  for       ${shownText(order.resource)}`,
    `  credited  ${credited}`,
    `  good for  ${order.timeoutSeconds} s after signing`
  ].join("\n")

/** Units of USDC -> `0.50 USD`, with as many decimals as it takes. */
const usdText = (units: number): string => {
  const [whole = "0", decimals = ""] = (units / 10 ** usdcDecimals).toFixed(usdcDecimals).split(".")
  return `${whole}.${decimals.replace(/0{1,4}$/, "")} USD`
}

const unitsPattern = /^[1-9][0-9]{0,14}$/
const isRequirement = Schema.is(PaymentRequirement)

/** EVM addresses come in either case; base58 has one spelling. */
const isSameAsset = (one: string, other: string): boolean =>
  other.startsWith("0x") ? one.toLowerCase() === other.toLowerCase() : one === other
