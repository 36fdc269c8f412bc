/**
 * What a wallet is about to pay: the service's demand, held against what the person asked for. Pure, so
 * that every refusal can be tested.
 *
 * Invariant: nothing is signed but at most that amount of the USDC that this program knows, on the
 * network that was named. What decides where money goes is taken from here, not from the service, except
 * payee and fee payer, which only the service knows: the person sees the payee.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
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
  /** Of Solana: who signs and pays for the transaction. */
  readonly feePayer: string | undefined
  readonly resource: string
  readonly description: string
}

/** A signature that lives longer than this is asked for by mistake, or worse. */
const timeoutSecondsMax = 600
const usdcDecimals = 6

/** The way to pay on `network`; or why nothing should be signed. */
export const paymentOrder = (
  demand: PaymentDemand,
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

/** For the person who is to agree; `credited` says whose account the money fills. */
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
