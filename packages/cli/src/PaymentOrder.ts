/**
 * A payment that a wallet is about to sign: the service's demand, checked against what the user asked for; and its signature.
 *
 * Invariant: at most the given amount is signed, in the USDC contract that this program knows, on the network that the
 * user named. Only payee and fee payer come from the service; the user sees the payee before agreeing.
 */
import { Effect, Redacted, Result, Schema } from "effect"
import type { Payment, PaymentDemand } from "@muniment/client/Payment"
import { type PaymentNetwork, PaymentRequirement, paymentNetworks } from "@muniment/domain/Payment"
import { commandFailed, CommandFailed } from "./CommandFailed.ts"
import type { WalletKey } from "./InputFile.ts"
import { shownText } from "./Terminal.ts"

interface PaymentOrder {
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

/**
 * Signs a payment with the stock client schemes of the x402 protocol, version 2: EVM an EIP-3009
 * authorization (no RPC), Solana a transaction that the service's fee payer completes. Version 2 marks
 * each Solana payment, so that two equal ones are two.
 *
 * The libraries are loaded when something is signed: they cost half a second.
 */
interface SigningOptions {
  /** Solana only; the network's public one by default. */
  readonly solanaRpcUrl: string | undefined
}

/** Fails before anything is signed when the key is of another family than the network. */
export const signPayment = Effect.fnUntraced(function* (key: WalletKey, order: PaymentOrder, options: SigningOptions) {
  const { family } = paymentNetworks[order.network]
  if ((family === "evm") !== (key.signer.wallet.family === "evm")) {
    const needed = family === "evm" ? "an EVM" : "a Solana"
    return yield* new CommandFailed({
      reason: `${order.network} is paid with ${needed} key; the key file holds another.`
    })
  }
  return yield* Effect.tryPromise({
    try: () => signed(Redacted.value(key.text), order, options),
    catch: (cause) => new CommandFailed({ reason: `The payment could not be signed: ${commandFailed(cause).reason}` })
  })
})

const signed = async (keyText: string, order: PaymentOrder, options: SigningOptions): Promise<Payment> => {
  const { x402Client, x402HTTPClient } = await import("@x402/core/client")
  const { caip2, domain, family } = paymentNetworks[order.network]
  const client = x402Client.fromConfig({
    schemes: [
      { network: caip2, client: family === "evm" ? await evmScheme(keyText) : await solanaScheme(keyText, options) }
    ],
    // The library's own limit as a second check: the amount that the user has seen.
    spendControls: { maxAmountPerPayment: order.units / 1_000_000 }
  })
  const payload = await client.createPaymentPayload({
    x402Version: 2,
    resource: { url: order.resource, description: order.description, mimeType: "application/json" },
    accepts: [
      {
        scheme: "exact",
        network: caip2,
        asset: order.asset,
        amount: String(order.units),
        payTo: order.payTo,
        maxTimeoutSeconds: order.timeoutSeconds,
        extra: domain === undefined ? { feePayer: order.feePayer } : { name: domain.name, version: domain.version }
      }
    ]
  })
  const headers = new x402HTTPClient(client).encodePaymentSignatureHeader(payload)
  const value = headers["PAYMENT-SIGNATURE"]
  if (value === undefined) throw new Error("the library gave no PAYMENT-SIGNATURE header")
  return { header: "payment-signature", value }
}

const evmScheme = async (keyText: string) => {
  const { ExactEvmScheme } = await import("@x402/evm/exact/client")
  const { privateKeyToAccount } = await import("viem/accounts")
  return new ExactEvmScheme(privateKeyToAccount(`0x${keyText.replace(/^0x/, "")}`))
}

const solanaScheme = async (keyText: string, { solanaRpcUrl }: SigningOptions) => {
  const { ExactSvmScheme } = await import("@x402/svm/exact/client")
  const { createKeyPairSignerFromBytes, getBase58Encoder } = await import("@solana/kit")
  // The signer was made from the same text, so it has one of the two forms and 64 bytes.
  const bytes = keyText.startsWith("[")
    ? Uint8Array.from(JSON.parse(keyText) as ReadonlyArray<number>)
    : getBase58Encoder().encode(keyText)
  const signer = await createKeyPairSignerFromBytes(new Uint8Array(bytes))
  return new ExactSvmScheme(signer, solanaRpcUrl === undefined ? {} : { rpcUrl: solanaRpcUrl })
}
