/**
 * Headers of x402. The signed payment of a request: Base64 of JSON, in `X-PAYMENT` (x402 version 1) or `PAYMENT-SIGNATURE` (version 2, which
 * has precedence). Its copy of our requirements is ignored: only the scheme, the network and the scheme's payload count.
 *
 * Below the headers of answers. Invariant: a refusal repeats nothing of the header except the name of a network.
 */
import { Effect, Result } from "effect"
import type { PaymentRequired as PaymentRequiredV2 } from "@x402/core/types"
import { isJsonObject } from "@muniment/domain/Json"
import { Limits } from "@muniment/domain/Limits"
import { PaymentNetwork, paymentNetworks, type PaymentRequirement } from "@muniment/domain/Payment"
import { inspectJson } from "@muniment/trust/JsonText"
import type { JsonObject } from "@muniment/domain/Memory"
import { PaymentInvalid } from "../chain/PaymentChain.ts"

/** A payment as received; the scheme's payload is not read yet. */
export interface WirePayment {
  /** Protocol version; the answer uses the same. */
  readonly version: 1 | 2
  readonly network: PaymentNetwork
  readonly payload: unknown
}

/** Names in lower case, as servers provide them. */
export interface PaymentHeaders {
  readonly "x-payment"?: string | undefined
  readonly "payment-signature"?: string | undefined
}

/** Stock clients nest 4 deep; extensions may add a few levels. */
const jsonDepthMax = 16
/** Characters of a network's name that a refusal repeats. */
const networkNameShownMax = 64

/** Undefined without a payment header. */
export const decodePayment = (headers: PaymentHeaders): Effect.Effect<WirePayment | undefined, PaymentInvalid> => {
  const text = headers["payment-signature"] ?? headers["x-payment"]
  if (text === undefined) return Effect.succeed(undefined)
  return Effect.fromResult(
    parseHeader(text.trim()).pipe(
      Result.flatMap(readPayment),
      Result.mapError((reason) => new PaymentInvalid({ reason }))
    )
  )
}

/** A payment given as JSON; a failure is a message for the payer. */
const readPayment = (json: unknown): Result.Result<WirePayment, string> => {
  if (!isJsonObject(json)) return Result.fail("it is not a JSON object")
  const { x402Version: version, payload } = json
  if (version !== 1 && version !== 2) return Result.fail("x402Version must be 1 or 2")
  const { network: name, scheme } = version === 1 ? json : isJsonObject(json["accepted"]) ? json["accepted"] : {}
  if (scheme !== "exact") return Result.fail('the scheme must be "exact"')
  const network = version === 1 ? networkNamed(name) : networkOfCaip2(name)
  if (network === undefined) return Result.fail(`the network ${shown(name)} is unknown`)
  return Result.succeed({ version, network, payload })
}

const parseHeader = (text: string): Result.Result<unknown, string> => {
  if (text.length > Limits.paymentHeaderBytesMax) {
    return Result.fail(`the header is larger than ${Limits.paymentHeaderBytesMax} bytes`)
  }
  // Buffer.from would skip invalid characters and accept incomplete ones.
  if (!base64Pattern.test(text) || text.replace(/=+$/, "").length % 4 === 1) return Result.fail("it is not Base64")
  return Result.try({
    try: () => strictUtf8.decode(Buffer.from(text, "base64")),
    catch: () => "it is not UTF-8"
  }).pipe(Result.flatMap(parseJson))
}

const base64Pattern = /^[A-Za-z0-9+/_-]+={0,2}$/
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const parseJson = (text: string): Result.Result<unknown, string> => {
  const finding = inspectJson(text, { depthMax: jsonDepthMax })
  if (finding !== undefined) return Result.fail(`its JSON is refused: ${finding.reason}`)
  return Result.try({ try: () => JSON.parse(text) as unknown, catch: () => "it is not JSON" })
}

const networkNamed = (name: unknown): PaymentNetwork | undefined =>
  PaymentNetwork.literals.find((network) => network === name)

const networkOfCaip2 = (name: unknown): PaymentNetwork | undefined =>
  PaymentNetwork.literals.find((network) => paymentNetworks[network].caip2 === name)

const shown = (name: unknown): string =>
  typeof name === "string" ? `"${name.slice(0, networkNameShownMax).replace(/[^\x20-\x7e]/g, "?")}"` : "(none given)"

/** Compact JSON Web Signature of a payload. */
type SignPayload = (payload: Readonly<Record<string, string | number>>) => string

/**
 * The x402 extension `offer-receipt`, version 1: what a 402 asks for and what a settlement confirms, each signed by the
 * service as a JSON Web Signature, so that a payer can prove both to others. Only version 2 of x402 has extensions.
 */
interface SignedOffer {
  readonly format: "jws"
  /** Place in `accepts`. */
  readonly acceptIndex: number
  readonly signature: string
}

export interface SignedReceipt {
  readonly format: "jws"
  readonly signature: string
}

/** Signs an offer for each requirement, in the order of `accepts`; each is good as long as its payment may take. */
export const signOffers = (
  { accepts, resource }: { readonly accepts: ReadonlyArray<PaymentRequirement>; readonly resource: string },
  { atMillis, sign }: { readonly atMillis: number; readonly sign: SignPayload }
): ReadonlyArray<SignedOffer> =>
  accepts.map(({ asset, maxAmountRequired, maxTimeoutSeconds, network, payTo, scheme }, acceptIndex) => ({
    format: "jws",
    acceptIndex,
    signature: sign({
      version: 1,
      resourceUrl: resource,
      scheme,
      network: paymentNetworks[network].caip2,
      asset,
      payTo,
      amount: maxAmountRequired,
      validUntil: Math.floor(atMillis / 1_000) + maxTimeoutSeconds
    })
  }))

/** `resource`: URL of the call that was paid for. */
export const signReceipt = (
  { hash, network, payer }: { readonly hash: string; readonly network: PaymentNetwork; readonly payer: string },
  { atMillis, resource, sign }: { readonly atMillis: number; readonly resource: string; readonly sign: SignPayload }
): SignedReceipt => ({
  format: "jws",
  signature: sign({
    version: 1,
    network: paymentNetworks[network].caip2,
    resourceUrl: resource,
    payer,
    issuedAt: Math.floor(atMillis / 1_000),
    transaction: hash
  })
})

/** `extensions` of a 402. */
export const offersExtension = (offers: ReadonlyArray<SignedOffer>) => ({
  "offer-receipt": { info: { offers }, schema: { type: "object", properties: offersSchema, required: ["offers"] } }
})

/** `extensions` of a settlement. */
export const receiptExtension = (receipt: SignedReceipt) => ({
  "offer-receipt": {
    info: { receipt: { ...receipt } },
    schema: { type: "object", properties: receiptSchema, required: ["receipt"] }
  }
})

const signedSchema = {
  type: "object",
  properties: { format: { const: "jws" }, acceptIndex: { type: "integer" }, signature: { type: "string" } },
  required: ["format", "signature"]
}
const offersSchema = { offers: { type: "array", items: signedSchema } }
const receiptSchema = { receipt: signedSchema }

/**
 * The header `PAYMENT-REQUIRED` of a 402 answer, for version 2 of x402. The JSON body, for version 1, is the error
 * `PaymentRequired` of the contract. `accepts` is never missing: stock clients crash on a bare 402.
 *
 * The header is encoded here and not by `@x402/core`, which a service without payments must not load.
 */
export interface PaymentDemand {
  /** For people. */
  readonly error: string
  /** URL without query. */
  readonly resource: string
  readonly description: string
  /** EVM first (`quote` in `Payments.ts`). */
  readonly accepts: ReadonlyArray<PaymentRequirement>
  /** One for each of `accepts`; version 2 only. */
  readonly offers: ReadonlyArray<SignedOffer>
}

/** Value of `PAYMENT-REQUIRED`. */
export const paymentRequiredHeader = (demand: PaymentDemand): string =>
  Buffer.from(JSON.stringify(paymentRequiredV2(demand))).toString("base64")

const paymentRequiredV2 = ({ accepts, description, error, offers, resource }: PaymentDemand): PaymentRequiredV2 => ({
  x402Version: 2,
  error,
  resource: { url: resource, description, mimeType: "application/json" },
  accepts: accepts.map(requirementV2),
  extensions: offersExtension(offers)
})

/** The same offer in version 2, also sent to a facilitator. */
export const requirementV2 = (requirement: PaymentRequirement): PaymentRequiredV2["accepts"][number] => ({
  scheme: requirement.scheme,
  network: paymentNetworks[requirement.network].caip2,
  asset: requirement.asset,
  amount: requirement.maxAmountRequired,
  payTo: requirement.payTo,
  maxTimeoutSeconds: requirement.maxTimeoutSeconds,
  extra: { ...requirement.extra }
})

/**
 * Confirmation of a settled payment to the client: `X-PAYMENT-RESPONSE` (x402 version 1, networks by name) or
 * `PAYMENT-RESPONSE` (version 2, networks by CAIP-2 id), Base64 of JSON.
 */
export interface SettledTransaction {
  readonly hash: string
  readonly payer: string
  readonly network: PaymentNetwork
  /** Version 2 only. */
  readonly receipt: SignedReceipt
}

/** Name and value of the header that a client of `version` reads. */
export const paymentResponseHeader = (
  version: WirePayment["version"],
  settled: SettledTransaction
): Readonly<Record<string, string>> => {
  const json = JSON.stringify(settlementResponse(version, settled))
  return { [headerNames[version]]: Buffer.from(json).toString("base64") }
}

/** The header's JSON. */
export const settlementResponse = (
  version: WirePayment["version"],
  { hash, network, payer, receipt }: SettledTransaction
): SettlementResponse => ({
  success: true,
  transaction: hash,
  network: version === 1 ? network : paymentNetworks[network].caip2,
  payer,
  ...(version === 2 && { extensions: receiptExtension(receipt) })
})

interface SettlementResponse {
  readonly success: true
  readonly transaction: string
  readonly network: string
  readonly payer: string
  readonly extensions?: JsonObject
}

const headerNames = { 1: "x-payment-response", 2: "payment-response" } as const
