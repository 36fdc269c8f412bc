/** The client's offline verification, by WebCrypto, gives the trust package's verdict on every vector. */
import { readFileSync } from "node:fs"
import { type PublishedKeys, verifyAttestation } from "@muniment/client/Attestation"
import { hexOf, verifyAttestation as verifyInService } from "@muniment/trust/Attestation"
import { ed25519PublicKey } from "@muniment/trust/Ed25519"
import { describe, expect, it } from "vitest"

interface Case {
  readonly name: string
  readonly attestation: { readonly expiresAt: number; readonly [key: string]: unknown }
  readonly signature: string
  readonly expected: string
  readonly key?: { readonly retiredAt: number; readonly revokedAt?: number }
}

const {
  cases,
  nowSeconds,
  publicKey
}: { readonly cases: ReadonlyArray<Case>; readonly nowSeconds: number; readonly publicKey: string } = JSON.parse(
  readFileSync("test/vectors/attestations.json", "utf8")
)
const [first] = cases as [Case]
const otherKey = hexOf(ed25519PublicKey(new Uint8Array(32).fill(7)))
const published: PublishedKeys = {
  attestationPublicKey: otherKey,
  algorithm: "Ed25519",
  issuedAt: 2,
  previousKeys: [{ publicKey, issuedAt: 1, retiredAt: nowSeconds * 1_000 }]
}
/** The published keys, the one of the vectors with another end. */
const ended = (end: { readonly retiredAt?: number; readonly revokedAt?: number }): PublishedKeys => ({
  ...published,
  previousKeys: [{ ...published.previousKeys![0]!, ...end }]
})
const refusal = (reason: string) => ({ valid: false, reason })

describe("the client verifies attestations", () => {
  for (const signed of cases) {
    it(`as the vector says: ${signed.name}`, async () => {
      const verdict = await verifyAttestation(signed, ended({ ...signed.key }), nowSeconds)
      expect(verdict).toEqual(signed.expected === "valid" ? { valid: true } : refusal(signed.expected))
      expect(verdict).toEqual(verifyInService(signed, { publicKey, ...signed.key }, nowSeconds))
    })
  }

  it("until the second of their expiry", async () => {
    const { expiresAt } = first.attestation
    expect(await verifyAttestation(first, publicKey, expiresAt - 1)).toEqual({ valid: true })
    expect(await verifyAttestation(first, publicKey, expiresAt)).toEqual(refusal("expired"))
  })

  it("with the keys that are published, earlier ones too", async () => {
    expect(await verifyAttestation(first, published, nowSeconds)).toEqual({ valid: true })
    expect(await verifyAttestation(first, { ...published, previousKeys: [] }, nowSeconds)).toEqual(
      refusal("bad_signature")
    )
  })

  it("never with a key that was retired before, or revoked since", async () => {
    const madeMillis = Number(first.attestation["issuedAt"]) * 1_000
    const valid = { valid: true }
    expect(await verifyAttestation(first, ended({ retiredAt: madeMillis + 1 }), nowSeconds)).toEqual(valid)
    expect(await verifyAttestation(first, ended({ retiredAt: madeMillis }), nowSeconds)).toEqual(refusal("retired_key"))
    const revoked = ended({ retiredAt: madeMillis + 1, revokedAt: madeMillis + 2 })
    expect(await verifyAttestation(first, revoked, nowSeconds)).toEqual(refusal("revoked_key"))
  })

  for (const [name, signed, key] of [
    ["a key of the wrong length", first, publicKey.slice(0, -2)],
    ["a key in capitals", first, publicKey.toUpperCase()],
    ["a key that is no point of the curve", first, `0x${"ff".repeat(32)}`],
    ["a signature without 0x", { ...first, signature: first.signature.slice(2) }, publicKey],
    ["an attestation that is null", { ...first, attestation: null }, publicKey],
    ["no result", { ...first, attestation: { ...first.attestation, result: [] } }, publicKey],
    ["an expiry that is text", { ...first, attestation: { ...first.attestation, expiresAt: "1" } }, publicKey],
    ["a member more", { ...first, attestation: { ...first.attestation, more: 1 } }, publicKey],
    ["a lone surrogate", { ...first, attestation: { ...first.attestation, issuer: "\ud800" } }, publicKey]
  ] as const) {
    it(`and refuses ${name} with the reason of the trust package`, async () => {
      const verdict = await verifyAttestation(signed, key, nowSeconds)
      expect(verdict.valid).toBe(false)
      expect(verdict).toEqual(verifyInService(signed, key, nowSeconds))
    })
  }
})
