/**
 * The unmodified clients of both protocol versions against our 402 answer: they must understand it, sign
 * what it asks for, and read the confirmation; we must read what they send.
 */
import { assert, describe, expect } from "vitest"
import {
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  isJWSSignedOffer,
  isJWSSignedReceipt,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureJWS
} from "@x402/extensions/offer-receipt"
import { Effect, Schema } from "effect"
import { privateKeyToAccount } from "viem/accounts"
import { decodeXPaymentResponse, wrapFetchWithPayment as wrapV1 } from "x402-fetch"
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from "@x402/core/http"
import { ExactEvmScheme } from "@x402/evm"
import { wrapFetchWithPayment as wrapV2, x402Client } from "@x402/fetch"
import { paymentRequiredFields } from "@muniment/domain/Credits"
import { type PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import { evmChain } from "@muniment/payments/evm/EvmChain"
import type { PaymentChain } from "@muniment/payments/chain/PaymentChain"
import { quote } from "@muniment/payments/Payments"
import { svmChain } from "@muniment/payments/svm/SvmChain"
import {
  decodePayment,
  offersExtension,
  paymentRequiredHeader,
  paymentResponseHeader,
  receiptExtension,
  signOffers,
  signReceipt
} from "@muniment/payments/wire/PaymentHeader"
import { didKeyOf, ed25519PublicKey, signJws } from "@muniment/trust/Ed25519"
import { evmAddresses, evmKeys, solanaSeeds, solanaWallet } from "../../../../scripts/devchains/Wallets.ts"
import { it } from "../../../support/it.ts"

const units = 100_000
const payer = privateKeyToAccount(evmKeys.payer)
const solana = { operator: await solanaWallet(solanaSeeds.operator), payTo: await solanaWallet(solanaSeeds.payTo) }

const evm = (network: "base" | "base-sepolia") =>
  evmChain({ network, payTo: evmAddresses.payTo, rpcUrl: undefined, operatorKey: undefined, confirmations: 1 })
const svm = (network: "solana" | "solana-devnet") =>
  svmChain({
    network,
    payTo: solana.payTo.address,
    rpcUrl: undefined,
    operatorKey: undefined,
    feePayer: solana.operator.address,
    confirmations: "confirmed"
  })

/** Solana first: the order of the answer is not the operator's. */
const services = {
  production: [svm("solana"), evm("base")],
  development: [svm("solana-devnet"), evm("base-sepolia")]
} as const

const seed = new Uint8Array(32).fill(7)
const jwsKey = { seed, kid: didKeyOf(ed25519PublicKey(seed)) }
const signing = { atMillis: Date.now(), sign: (payload: object) => signJws(payload, jwsKey) }

/** The body as the contract encodes it. */
const bodyText = Schema.encodeSync(Schema.fromJsonString(Schema.Struct(paymentRequiredFields)))

/** Asks for a payment, once; keeps the request that comes back. */
const serviceOf = (chains: ReadonlyArray<PaymentChain>, network: PaymentNetwork) => {
  const resource = "https://memory.example.com/v1/credits/deposit"
  const description = "100 credits for 0.10 USD"
  const accepts = quote(chains, { units, resource, description })
  const error = "payment is required"
  const offers = signOffers({ accepts, resource }, signing)
  const settled = { hash: "0xhash", payer: payer.address, network }
  const receipt = signReceipt(settled, { ...signing, resource })
  const retries: Array<Headers> = []
  const answer: typeof fetch = async (input, init) => {
    const { headers } = new Request(input, init)
    const version = headers.has("payment-signature") ? 2 : headers.has("x-payment") ? 1 : undefined
    if (version === undefined) {
      return new Response(bodyText({ x402Version: 1, error, accepts, code: "payment_required" }), {
        status: 402,
        headers: {
          "content-type": "application/json",
          "payment-required": paymentRequiredHeader({ error, resource, description, accepts, offers })
        }
      })
    }
    retries.push(headers)
    return new Response("{}", { headers: paymentResponseHeader(version, { ...settled, receipt }) })
  }
  return { answer, retries, accepts, offers, receipt }
}

const paymentOf = (headers: Headers) =>
  decodePayment({
    "x-payment": headers.get("x-payment") ?? undefined,
    "payment-signature": headers.get("payment-signature") ?? undefined
  })

const decodeJwsHeader = (jws: string): unknown => JSON.parse(Buffer.from(jws.split(".", 1)[0]!, "base64url").toString())

const url = "https://memory.example.com/v1/credits/deposit?amount_usd=0.1"

describe.each([
  ["production", "base"],
  ["development", "base-sepolia"]
] as const)("In %s", (environment, network) => {
  const chains = services[environment]
  const chain = chains[1]

  const expectPayment = Effect.fnUntraced(function* (version: 1 | 2, retry: Headers | undefined) {
    const wire = yield* paymentOf(retry ?? new Headers())
    expect(wire).toMatchObject({ version, network })
    const claim = yield* chain.claim(wire?.payload)
    expect(claim.payer).toBe(payer.address)
    expect(claim.payload).toMatchObject({ authorization: { to: evmAddresses.payTo, value: String(units) } })
  })

  it.effect("the client of version 1 pays what the body asks for", function* () {
    const { answer, retries } = serviceOf(chains, network)
    const paying = wrapV1(answer, payer)
    const answered = yield* Effect.promise(() => paying(url, { method: "POST" }))
    expect(answered.status).toBe(200)
    yield* expectPayment(1, retries[0])
    expect(decodeXPaymentResponse(answered.headers.get("x-payment-response") ?? "")).toEqual({
      success: true,
      transaction: "0xhash",
      network,
      payer: payer.address
    })
  })

  it.effect("the client of version 2 pays what the header asks for", function* () {
    const { answer, receipt, retries } = serviceOf(chains, network)
    const { caip2 } = paymentNetworks[network]
    const client = x402Client.fromConfig({ schemes: [{ network: caip2, client: new ExactEvmScheme(payer) }] })
    const paying = wrapV2(answer, client)
    const answered = yield* Effect.promise(() => paying(url, { method: "POST" }))
    expect(answered.status).toBe(200)
    yield* expectPayment(2, retries[0])
    expect(decodePaymentResponseHeader(answered.headers.get("payment-response") ?? "")).toEqual({
      success: true,
      transaction: "0xhash",
      network: caip2,
      payer: payer.address,
      extensions: receiptExtension(receipt)
    })
  })

  it("the extension's own client finds what was offered, by whom, and the receipt of it", async () => {
    const { accepts, answer } = serviceOf(chains, network)
    const asked = decodePaymentRequiredHeader(
      (await answer(url, { method: "POST" })).headers.get("payment-required") ?? ""
    )
    const signed = extractOffersFromPaymentRequired(asked)
    expect(signed.length).toBe(accepts.length)
    for (const [index, offer] of signed.entries()) {
      assert(isJWSSignedOffer(offer))
      const { asset, maxAmountRequired: amount, payTo } = accepts[index]!
      expect(await verifyOfferSignatureJWS(offer)).toMatchObject({ asset, amount, payTo })
      expect(findAcceptsObjectFromSignedOffer(offer, asked.accepts)).toEqual(asked.accepts[index])
    }
    const paid = await answer(url, { method: "POST", headers: { "payment-signature": "e30=" } })
    const receipt = extractReceiptFromResponse(paid)
    assert(receipt !== undefined && isJWSSignedReceipt(receipt))
    expect(await verifyReceiptSignatureJWS(receipt)).toMatchObject({ payer: payer.address, transaction: "0xhash" })
    const [offer] = decodeSignedOffers(signed)
    expect(verifyReceiptMatchesOffer(receipt, offer!, [payer.address])).toBe(true)
    expect(decodeJwsHeader(receipt.signature)).toEqual({ alg: "EdDSA", kid: didKeyOf(ed25519PublicKey(seed)) })
    const [head, , signature] = receipt.signature.split(".")
    const forged = Buffer.from(JSON.stringify({ version: 1, payer: "0xother" })).toString("base64url")
    await expect(
      verifyReceiptSignatureJWS({ format: "jws", signature: [head, forged, signature].join(".") })
    ).rejects.toThrow()
  })

  it("a quote offers EVM first, and Solana with who pays its fees", () => {
    const { accepts } = serviceOf(chains, network)
    expect(accepts.map((one) => one.network)).toEqual([network, chains[0].network])
    expect(accepts[1]?.extra).toEqual({ feePayer: solana.operator.address })
  })

  it("the header of version 2 says what the body of version 1 says", () => {
    const { accepts, offers } = serviceOf(chains, network)
    const demand = { error: "pay", resource: "https://a.example/x", description: "größer", accepts, offers }
    expect(decodePaymentRequiredHeader(paymentRequiredHeader(demand))).toEqual({
      x402Version: 2,
      error: "pay",
      resource: { url: "https://a.example/x", description: "größer", mimeType: "application/json" },
      accepts: accepts.map(({ asset, extra, maxAmountRequired, maxTimeoutSeconds, payTo, ...one }) => ({
        scheme: "exact",
        network: paymentNetworks[one.network].caip2,
        amount: maxAmountRequired,
        asset,
        payTo,
        maxTimeoutSeconds,
        extra
      })),
      extensions: offersExtension(offers)
    })
  })
})

it("the body has its fields in the order of the interface", () => {
  const deposit = { amount_usd: 0.1, credits: 100, description: "100 credits" }
  const body = bodyText({ code: "payment_required", accepts: [], deposit, error: "pay", x402Version: 1 })
  expect(Object.keys(JSON.parse(body))).toEqual(["x402Version", "error", "deposit", "accepts", "code"])
})

it("a quote leaves Solana out until it is known who pays its fees", () => {
  const withoutPayer = svmChain({
    network: "solana-devnet",
    payTo: solana.payTo.address,
    rpcUrl: undefined,
    operatorKey: undefined,
    confirmations: "confirmed"
  })
  const request = { units, resource: "https://a.example/x", description: "" }
  expect(quote([withoutPayer, evm("base-sepolia")], request).map(({ network }) => network)).toEqual(["base-sepolia"])
})
