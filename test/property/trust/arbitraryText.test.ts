/** Whatever a stranger sends: decoding answers, and never throws. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import fc from "fast-check"
import { grantId } from "@muniment/trust/Grant"
import { decodeGrantsHeader, decodeShareCode, encodeGrantsHeader, encodeShareCode } from "@muniment/trust/GrantEnvelope"
import { verifyAttestation } from "@muniment/trust/Attestation"
import { SignatureVerifier, verifyWalletSignature } from "@muniment/trust/SignatureVerifier"
import { parseWalletAddress } from "@muniment/trust/WalletAddress"
import { verifyWalletRequest } from "@muniment/trust/WalletRequest"
import { audience, evmWallet, solWallet } from "../../support/TrustVectors.ts"
import { repetitions } from "../../support/Repetitions.ts"

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.base64String({ maxLength: 200 }),
  fc.string({ unit: fc.constantFrom(..."0123456789abcdefABCDEFx="), maxLength: 140 }),
  fc.json().map((text) => Buffer.from(text).toString("base64"))
)
const grant = fc.record(
  {
    p: fc.record(
      {
        f: fc.string({ minLength: 1 }),
        g: fc.string({ minLength: 1 }),
        e: fc.maxSafeInteger(),
        a: fc.string({ minLength: 1 }),
        u: fc.string({ minLength: 1 })
      },
      { requiredKeys: ["f", "g", "e"], noNullPrototype: true }
    ),
    s: fc.string(),
    c: fc.string()
  },
  { noNullPrototype: true }
)

describe("arbitrary text", () => {
  it("is read as grants or refused", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const decode of [decodeGrantsHeader, decodeShareCode]) {
          const decoded = decode(text)
          if (Result.isSuccess(decoded))
            for (const grant of decoded.success) if (grant !== undefined) expect(grantId(grant.p)).toHaveLength(64)
        }
        decodeShareCode(`mshare_${text}`)
      }),
      { numRuns: repetitions(2_000) }
    )
  })

  it("that is a list of grants comes back as it was", () => {
    fc.assert(
      fc.property(fc.array(grant, { maxLength: 10 }), (grants) => {
        expect(Result.getOrThrow(decodeGrantsHeader(encodeGrantsHeader(grants)))).toEqual(grants)
        expect(Result.getOrThrow(decodeShareCode(encodeShareCode(grants)))).toEqual(grants)
      }),
      { numRuns: repetitions(300) }
    )
  })

  it("is no address unless it is normalised to one that is read the same", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const wallet = parseWalletAddress(text)
        if (wallet !== undefined) expect(parseWalletAddress(wallet.address)).toEqual(wallet)
      }),
      { numRuns: repetitions(2_000) }
    )
  })

  it.effect("is no signature, and no signed request", () =>
    Effect.gen(function* () {
      const run = Effect.runPromiseWith(yield* Effect.context<SignatureVerifier>())
      const request = { url: "/v1/x", method: "GET", body: new Uint8Array(), versionPrefix: "/v1", audience }
      const test = Effect.fnUntraced(function* (text: string, other: string) {
        for (const { wallet } of [evmWallet, solWallet]) {
          expect(yield* verifyWalletSignature({ wallet, message: other, signature: text })).toBe(false)
        }
        const headers = { "x-wallet-address": text, "x-wallet-timestamp": other, "x-wallet-signature": text }
        expect(yield* verifyWalletRequest({ ...request, headers })).toMatchObject({ _tag: "Refused" })
      })
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(anyText, anyText, (text, other) => run(test(text, other))),
          { numRuns: repetitions(500) }
        )
      )
    }).pipe(Effect.provide(SignatureVerifier.layer))
  )

  it("is no attestation, nor is any other value", () => {
    const anyValue = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true })
    fc.assert(
      fc.property(anyValue, anyText, fc.constantFrom("0x", ""), (attestation, text, head) => {
        const [signature, key] = [`${head}${text}`, `0x${"0".repeat(64)}`]
        expect(verifyAttestation({ attestation, signature }, key, 0).valid).toBe(false)
        expect(verifyAttestation({ attestation, signature: `0x${"0".repeat(128)}` }, text, 0).valid).toBe(false)
        expect(verifyAttestation({ attestation, signature: `0x${"0".repeat(128)}` }, key, 0).valid).toBe(false)
      }),
      { numRuns: repetitions(1_000) }
    )
  })
})
