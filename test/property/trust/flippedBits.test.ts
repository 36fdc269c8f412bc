/**
 * One flipped bit in any field of a grant, a request or an attestation never passes. Two spellings of
 * the same value are no forgery: hex digits and EVM addresses in another case read as the same bytes,
 * and are told apart by `isSameValue`.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import fc from "fast-check"
import type { Grant } from "@muniment/domain/Grant"
import { hexOf, makeAttestation, signAttestation, verifyAttestation } from "@muniment/trust/Attestation"
import { canonicalJson } from "@muniment/trust/CanonicalJson"
import { ed25519PublicKey } from "@muniment/trust/Ed25519"
import { checkGrants, signGrant } from "@muniment/trust/Grant"
import { decodeGrantsHeader } from "@muniment/trust/GrantEnvelope"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import { signWalletRequest, type SignedRequest, verifyWalletRequest } from "@muniment/trust/WalletRequest"
import {
  audience,
  attestationSeed,
  evmWallet,
  otherEvmWallet,
  prefixes,
  setVectorTime,
  solWallet,
  vectorTimeMillis
} from "../../support/TrustVectors.ts"
import { repetitions } from "../../support/Repetitions.ts"

const runs = repetitions(150)
const now = vectorTimeMillis / 1_000
const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text))

/** `bytes` with one bit flipped, chosen by a fraction of all its bits. */
const flipped = (bytes: Uint8Array, fraction: number): Uint8Array => {
  const bit = Math.floor(fraction * bytes.length * 8)
  return bytes.map((byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))
}
const flippedText = (text: string, fraction: number): string =>
  Buffer.from(flipped(bytesOf(text), fraction)).toString("latin1")

const isSameValue = (one: string, other: string): boolean =>
  /^(?:0x)?[0-9a-f]+$/i.test(one) && /^(?:0x)?[0-9a-f]+$/i.test(other) && one.toLowerCase() === other.toLowerCase()

const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const wallets = fc.constantFrom(evmWallet, solWallet)
const check = { identities: [otherEvmWallet.wallet.address], prefixes, isRevoked: () => false, audience }

/** Fast-check drives promises; the clock stands at the time of the vectors. */
const property = <A>(arbitrary: fc.Arbitrary<A>, test: (value: A) => Effect.Effect<void, never, SignatureVerifier>) =>
  Effect.gen(function* () {
    yield* setVectorTime
    const context = yield* Effect.context<SignatureVerifier>()
    const run = Effect.runPromiseWith(context)
    yield* Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(arbitrary, (value) => run(test(value))),
        { numRuns: runs }
      )
    )
  }).pipe(Effect.provide(SignatureVerifier.layer))

describe("one flipped bit", () => {
  it.effect("anywhere in a grant makes it malformed or unusable", () =>
    property(fc.record({ signer: wallets, fraction }), ({ signer, fraction }) =>
      Effect.gen(function* () {
        const payload = { f: signer.wallet.address, g: check.identities[0]!, e: now + 3_600, a: "agent-1", u: "Łukasz" }
        const grant = yield* Effect.promise(() => signGrant(signer, prefixes[0]!, payload))
        const altered = flipped(bytesOf(canonicalJson([grant])), fraction)
        const decoded = decodeGrantsHeader(Buffer.from(altered).toString("base64"))
        if (Result.isFailure(decoded)) return
        const [copy] = decoded.success
        if (copy === undefined || (isSameValue(copy.s, grant.s) && canonicalJson(copy.p) === canonicalJson(grant.p)))
          return
        expect(yield* checkGrants([copy], check)).toMatchObject([{ _tag: "Unusable" }])
      })
    )
  )

  it.effect("in each field of a grant by itself, too", () =>
    property(
      fc.record({ field: fc.constantFrom("f", "g", "e", "a", "u", "s", "c"), fraction }),
      ({ field, fraction }) =>
        Effect.gen(function* () {
          const p = { f: evmWallet.wallet.address, g: check.identities[0]!, e: now + 3_600, a: "agent-1", u: "u" }
          const grant: Grant = yield* Effect.promise(() => signGrant(evmWallet, prefixes[0]!, p))
          const bit = 2 ** Math.floor(fraction * 31)
          const altered: Grant =
            field === "s" || field === "c"
              ? { ...grant, [field]: flippedText(grant[field], fraction) }
              : {
                  ...grant,
                  p:
                    field === "e"
                      ? { ...p, e: p.e ^ bit }
                      : { ...p, [field]: flippedText(String(p[field as "f"]), fraction) }
                }
          if (field === "s" && isSameValue(altered.s, grant.s)) return
          expect(yield* checkGrants([altered], check)).toMatchObject([{ _tag: "Unusable" }])
        })
    )
  )

  it.effect("in any part of a request refuses it", () => {
    const plain = ["method", "url", "body", "x-wallet-address", "x-wallet-timestamp", "x-wallet-signature"] as const
    const full = [...plain, "x-wallet-audience", "x-agent-id"] as const
    const bound = { audience: audience.name, headers: { "x-agent-id": "agent-1" } }
    return property(
      fc.oneof(
        fc.record({ signer: wallets, part: fc.constantFrom(...plain), fraction, bound: fc.constant(undefined) }),
        fc.record({ signer: wallets, part: fc.constantFrom(...full), fraction, bound: fc.constant(bound) })
      ),
      ({ bound, fraction, part, signer }) =>
        Effect.gen(function* () {
          const [method, url, body] = ["POST", "/v1/memories/batch?a=1", '{"ids":["1"]}']
          const text = { method, path: url, body, timestampMillis: vectorTimeMillis, bound }
          const signed = yield* Effect.promise(() => signWalletRequest(signer, text))
          const headers: Record<string, string> = { ...bound?.headers, ...signed }
          const request: SignedRequest = { method, url, body: bytesOf(body), headers, versionPrefix: "/v1", audience }
          const altered: SignedRequest =
            part === "body"
              ? { ...request, body: flipped(request.body, fraction) }
              : part === "method" || part === "url"
                ? { ...request, [part]: flippedText(request[part], fraction) }
                : { ...request, headers: { ...headers, [part]: flippedText(headers[part]!, fraction) } }
          const isSame =
            altered.method.toUpperCase() === method &&
            part.startsWith("x-") &&
            isSameValue(altered.headers[part] ?? "", headers[part] ?? "")
          // HTTP methods are compared in capitals; a router knows no others.
          if (isSame || (part === "method" && altered.method.toUpperCase() === method)) return
          expect(yield* verifyWalletRequest(altered)).toMatchObject({ _tag: "Refused" })
        })
    )
  })

  it("anywhere in an attestation, its signature or its key fails the verification", () => {
    const publicKey = hexOf(ed25519PublicKey(attestationSeed))
    const attestation = makeAttestation({
      claim: "has_memories_matching",
      params: { query: "café", filters: { agentId: "a", tags: ["x", "y"] } },
      result: { satisfied: false, matchCount: 0, namespace: `0x${"ab".repeat(32)}` },
      nowMillis: vectorTimeMillis,
      validSeconds: 60,
      issuer: "muniment.example"
    })
    const { signature } = signAttestation(attestation, attestationSeed)
    const part = fc.constantFrom("attestation", "signature", "publicKey")
    fc.assert(
      fc.property(part, fraction, (part, fraction) => {
        const text = Buffer.from(flipped(bytesOf(canonicalJson(attestation)), fraction)).toString()
        const value = part === "attestation" ? parsed(text) : attestation
        const verdict = verifyAttestation(
          { attestation: value, signature: part === "signature" ? flippedText(signature, fraction) : signature },
          part === "publicKey" ? flippedText(publicKey, fraction) : publicKey,
          now
        )
        expect(verdict.valid).toBe(false)
      }),
      { numRuns: 2 * runs }
    )
    expect(verifyAttestation({ attestation, signature }, publicKey, now)).toEqual({ valid: true })
  })
})

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
