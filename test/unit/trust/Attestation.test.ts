/** Attestations: what is written into them, for how long they count, what verification answers. */
import { describe, expect, it } from "@effect/vitest"
import {
  attestationValidSeconds,
  claimParams,
  hexOf,
  makeAttestation,
  namespaceHash,
  sharedMemoriesParams,
  signAttestation,
  verifyAttestation
} from "@muniment/trust/Attestation"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { ed25519PublicKey } from "@muniment/trust/Ed25519"
import { attestationSeed } from "../../support/TrustVectors.ts"

const publicKey = hexOf(ed25519PublicKey(attestationSeed))
const attestation = makeAttestation({
  claim: "memory_count_gte",
  params: { threshold: 2 },
  result: { satisfied: true, matchCount: 3, namespace: namespaceHash("svc", "acc_1") },
  nowMillis: 1_700_000_000_999,
  validSeconds: 1,
  issuer: "svc.example"
})
const signed = signAttestation(attestation, attestationSeed)

describe("Attestation", () => {
  it("counts whole seconds, rounded down", () => {
    expect(attestation).toMatchObject({ issuedAt: 1_700_000_000, expiresAt: 1_700_000_001 })
  })

  it("is valid before its last second and expired from it on", () => {
    expect(verifyAttestation(signed, publicKey, 1_700_000_000)).toEqual({ valid: true })
    expect(verifyAttestation(signed, publicKey, 1_700_000_001)).toEqual({ valid: false, reason: "expired" })
  })

  it("echoes only what the claim uses", () => {
    const request = { query: "q", threshold: 0, schemaName: "s", filters: { kind: "k", tags: ["t"] } } as const
    const { filters } = request
    expect(claimParams({ ...request, claim: "has_memories_matching" })).toEqual({ query: "q", filters })
    expect(claimParams({ ...request, claim: "memory_count_gte" })).toEqual({ threshold: 0, filters })
    expect(claimParams({ ...request, claim: "has_schema" })).toEqual({ schemaName: "s" })
    expect(claimParams({ claim: "memory_count_gte", threshold: 1, filters: {} })).toEqual({ threshold: 1 })
    const foreign = { agentId: "a", subjectId: "u", threadId: "t" }
    expect(claimParams({ claim: "memory_count_gte", threshold: 1, filters: foreign })).toEqual({
      threshold: 1,
      filters: { agentId: "a", subjectId: "u" }
    })
    expect(sharedMemoriesParams("0xA", ["0x2", "0x1"])).toEqual({ grantor: "0xA", memoryHashes: ["0x2", "0x1"] })
  })

  it("lives 24 hours by default, a second at least and 365 days at most", () => {
    expect([undefined, "1s", "365d", "366d", "53w", "0s", "1y", ""].map(attestationValidSeconds)).toEqual([
      86_400,
      1,
      31_536_000,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined
    ])
  })

  it("names a namespace by a hash that whoever knows the account can repeat", () => {
    expect(namespaceHash("svc", "0xabc")).toBe(`0x${sha256Hex("svc:ns:v1:0xabc")}`)
  })

  it("verifies whatever the order of its keys, and covers members it does not know", () => {
    const reversed = Object.fromEntries(Object.entries(attestation).toReversed())
    expect(verifyAttestation({ ...signed, attestation: reversed }, publicKey, 0)).toEqual({ valid: true })
    const wider = { ...attestation, extra: 1 }
    expect(verifyAttestation({ ...signed, attestation: wider }, publicKey, 0)).toEqual({
      valid: false,
      reason: "bad_signature"
    })
    expect(verifyAttestation(signAttestation(wider, attestationSeed), publicKey, 0)).toEqual({ valid: true })
  })

  it("tells what is malformed and never throws", () => {
    const reasonOf = (change: object, key = publicKey) => {
      const verdict = verifyAttestation({ ...signed, ...change }, key, 0)
      return verdict.valid ? "valid" : verdict.reason
    }
    for (const key of ["", "0x", publicKey.slice(2), `${publicKey}00`, publicKey.toUpperCase()]) {
      expect(reasonOf({}, key)).toBe("malformed_public_key")
    }
    for (const signature of ["", signed.signature.slice(2), `${signed.signature}00`, `0x${"g".repeat(128)}`]) {
      expect(reasonOf({ signature })).toBe("malformed_signature")
    }
    for (const broken of [
      undefined,
      null,
      1,
      "x",
      [],
      {},
      { ...attestation, issuedAt: 1.5 },
      { ...attestation, params: { a: "\ud800" } }
    ]) {
      expect(reasonOf({ attestation: broken })).toBe("malformed_attestation")
    }
    expect(reasonOf({ signature: `0x${"0".repeat(128)}` })).toBe("bad_signature")
    expect(reasonOf({}, `0x${"0".repeat(64)}`)).toBe("bad_signature")
  })
})
