/**
 * The signed payment of a request: Base64 of JSON, in `X-PAYMENT` (x402 version 1) or `PAYMENT-SIGNATURE` (version 2, which
 * has precedence). Its copy of our requirements is ignored: only the scheme, the network and the scheme's payload count.
 *
 * Invariant: a refusal repeats nothing of the header except the name of a network.
 */
import { Effect, Result } from "effect"
import { isJsonObject } from "@muniment/domain/isJsonObject"
import { Limits } from "@muniment/domain/Limits"
import { PaymentNetwork, paymentNetworks } from "@muniment/domain/Payment"
import { inspectJson } from "@muniment/trust/JsonText"
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
