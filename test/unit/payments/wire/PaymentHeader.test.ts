/** Headers that carry a payment: what is read of them, and what is refused without harm. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { encodePaymentSignatureHeader } from "@x402/core/http"
import { Limits } from "@muniment/domain/Limits"
import { decodePayment } from "@muniment/payments/wire/PaymentHeader"
import { it } from "../../../support/it.ts"

const base64 = (text: string | Uint8Array) => Buffer.from(text).toString("base64")
const v1 = { x402Version: 1, scheme: "exact", network: "base-sepolia", payload: { signature: "0x" } }
const accepted = {
  scheme: "exact",
  network: "eip155:84532" as const,
  asset: "0x1",
  amount: "1",
  payTo: "0x2",
  maxTimeoutSeconds: 60,
  extra: {}
}
const v2 = { x402Version: 2, accepted, payload: { signature: "0x2" } }
const paymentInvalid = (header: string) => Effect.flip(decodePayment({ "x-payment": header }))

describe("A payment header", () => {
  it.effect("of version 1 names its network, of version 2 by its CAIP-2 id", function* () {
    expect(yield* decodePayment({ "x-payment": base64(JSON.stringify(v1)) })).toEqual({
      version: 1,
      network: "base-sepolia",
      payload: { signature: "0x" }
    })
    expect(yield* decodePayment({ "payment-signature": encodePaymentSignatureHeader(v2) })).toEqual({
      version: 2,
      network: "base-sepolia",
      payload: { signature: "0x2" }
    })
  })

  it.effect("may be missing", function* () {
    expect(yield* decodePayment({})).toBeUndefined()
  })

  it.effect("of version 2 wins where both came", function* () {
    const headers = { "x-payment": base64(JSON.stringify(v1)), "payment-signature": base64(JSON.stringify(v2)) }
    expect(yield* decodePayment(headers)).toMatchObject({ version: 2 })
  })

  it.effect("may be URL-safe Base64, with or without padding", function* () {
    for (const filler of ["?", "?>", "?>~"]) {
      const text = JSON.stringify({ ...v1, payload: { filler: `${filler}ÿÿ` } })
      for (const header of [base64(text), base64(text).replace(/=/g, ""), Buffer.from(text).toString("base64url")]) {
        expect(yield* decodePayment({ "x-payment": header })).toMatchObject({ network: "base-sepolia" })
      }
    }
  })

  const refused: ReadonlyArray<readonly [string, string, RegExp]> = [
    ["is empty", "", /Base64/],
    ["is no Base64", "{}", /Base64/],
    ["has characters within its padding", "e30=e30=", /Base64/],
    ["ends in half a byte", "e30e3", /Base64/],
    ["is too large", base64(" ".repeat(Limits.paymentHeaderBytesMax)), /larger than/],
    ["is no UTF-8", base64(Uint8Array.of(0x22, 0xff, 0x22)), /UTF-8/],
    ["is no JSON", base64("{"), /JSON/],
    ["begins with a byte-order mark", base64("\ufeff{}"), /JSON/],
    ["nests deeply", base64("[".repeat(6_000)), /too_deep/],
    ["brings a prototype", base64('{"__proto__":{"x402Version":1}}'), /prototype_key/],
    ["says something twice", base64('{"x402Version":1,"x402Version":2}'), /duplicate_key/],
    ["is no object", base64("[]"), /object/],
    ["is null", base64("null"), /object/],
    ["is of another version", base64(JSON.stringify({ ...v1, x402Version: 3 })), /x402Version/],
    ["has its version as text", base64(JSON.stringify({ ...v1, x402Version: "1" })), /x402Version/],
    ["is of another scheme", base64(JSON.stringify({ ...v1, scheme: "upto" })), /scheme/],
    ["names an unknown network", base64(JSON.stringify({ ...v1, network: "dogechain" })), /"dogechain" is unknown/],
    ["names a network by what objects inherit", base64(JSON.stringify({ ...v1, network: "constructor" })), /unknown/],
    ["names no network", base64(JSON.stringify({ ...v1, network: undefined })), /none given/],
    ["mixes the versions", base64(JSON.stringify({ ...v2, x402Version: 1 })), /scheme/],
    [
      "names a network of version 1 in version 2",
      base64(JSON.stringify({ ...v2, accepted: { ...accepted, network: "base" } })),
      /"base" is unknown/
    ],
    ["accepts nothing", base64(JSON.stringify({ ...v2, accepted: null })), /scheme/]
  ]
  for (const [what, header, reason] of refused) {
    it.effect(`is refused where it ${what}`, function* () {
      expect(yield* paymentInvalid(header)).toMatchObject({
        _tag: "PaymentInvalid",
        reason: expect.stringMatching(reason)
      })
    })
  }

  it.effect("comes back in a refusal by no more than a short printable name", function* () {
    const network = `\u001b[31m<script>${"x".repeat(500)}`
    const { reason } = yield* paymentInvalid(base64(JSON.stringify({ ...v1, network })))
    expect(reason.length).toBeLessThan(120)
    expect(reason).toMatch(/^[\x20-\x7e]+$/)
  })

  it.effect("pollutes no prototype", function* () {
    const payload = JSON.parse('{"constructor":{"prototype":{"polluted":true}}}') as unknown
    yield* decodePayment({ "x-payment": base64(JSON.stringify({ ...v1, payload })) })
    expect("polluted" in {}).toBe(false)
  })
})
