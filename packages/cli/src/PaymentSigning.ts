/**
 * Signs a payment with the stock client schemes of the x402 protocol, version 2: EVM an EIP-3009
 * authorization (no RPC), Solana a transaction that the service's fee payer completes. Version 2 marks
 * each Solana payment, so that two equal ones are two.
 *
 * The libraries are loaded when something is signed: they cost half a second.
 */
import { Effect, Redacted } from "effect"
import type { Payment } from "@muniment/client/Payment"
import { paymentNetworks } from "@muniment/domain/Payment"
import { commandFailed, CommandFailed } from "./CommandFailed.ts"
import type { WalletKey } from "./KeyFile.ts"
import type { PaymentOrder } from "./PaymentOrder.ts"

export interface SigningOptions {
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
