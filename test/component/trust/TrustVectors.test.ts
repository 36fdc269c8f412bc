/** The vectors in test/vectors: we make them, we accept them, and others who share no code agree. */
import { describe, expect } from "vitest"
import { Result, Schema } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { base58, base64 } from "@scure/base"
import { Attestation } from "@muniment/domain/Attestation"
import { Grant } from "@muniment/domain/Grant"
import { hexOf, verifyAttestation } from "@muniment/trust/Attestation"
import { checkGrants } from "@muniment/trust/Grant"
import { decodeGrantsHeader, decodeShareCode } from "@muniment/trust/GrantEnvelope"
import { canonicalJson, sha256Hex } from "@muniment/trust/CanonicalJson"
import { inspectJson } from "@muniment/trust/JsonText"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import { verifyWalletRequest } from "@muniment/trust/WalletRequest"
import { attestationSeed, audience, makeTrustVectors, setVectorTime } from "../../support/TrustVectors.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"

const fresh = itWith(() => SignatureVerifier.layer)

const directory = join(import.meta.dirname, "..", "..", "vectors")
const load = <S extends Schema.ConstraintDecoder<unknown>>(name: string, schema: S): S["Type"] =>
  Schema.decodeUnknownSync(Schema.fromJsonString(schema))(readFileSync(join(directory, name), "utf8"))

const Text = Schema.String
const canonicalVectors = load(
  "canonical-json.json",
  Schema.Struct({
    accepted: Schema.Array(Schema.Struct({ name: Text, input: Text, canonical: Text, sha256: Text })),
    refused: Schema.Array(Schema.Struct({ name: Text, input: Text, reason: Text }))
  })
)
const grantVectors = load(
  "grants.json",
  Schema.Struct({
    prefixes: Schema.Array(Text),
    cases: Schema.Array(
      Schema.Struct({
        name: Text,
        identities: Schema.Array(Text),
        grant: Grant,
        message: Text,
        header: Text,
        shareCode: Text,
        expected: Text
      })
    )
  })
)
const requestVectors = load(
  "wallet-requests.json",
  Schema.Struct({
    versionPrefix: Text,
    cases: Schema.Array(
      Schema.Struct({
        name: Text,
        family: Text,
        method: Text,
        url: Text,
        body: Text,
        text: Text,
        headers: Schema.Record(Text, Text),
        expected: Text
      })
    )
  })
)
const attestationVectors = load(
  "attestations.json",
  Schema.Struct({
    publicKey: Text,
    nowSeconds: Schema.Int,
    cases: Schema.Array(
      Schema.Struct({
        name: Text,
        canonical: Text,
        attestation: Attestation,
        signature: Text,
        key: Schema.optionalKey(Schema.Struct({ retiredAt: Schema.Int, revokedAt: Schema.optionalKey(Schema.Int) })),
        expected: Text
      })
    )
  })
)

/** RFC 8410: what stands before the 32 bytes of a key. */
const spkiHead = Buffer.from("302a300506032b6570032100", "hex")
const pkcs8Head = Buffer.from("302e020100300506032b657004220420", "hex")
const nodeKey = (raw: Uint8Array) =>
  createPublicKey({ key: Buffer.concat([spkiHead, raw]), format: "der", type: "spki" })

describe("trust vectors", () => {
  it("are what the code makes today", async () => {
    for (const [name, content] of Object.entries(await makeTrustVectors())) {
      const committed: unknown = JSON.parse(readFileSync(join(directory, name), "utf8"))
      expect(JSON.parse(JSON.stringify(content))).toEqual(committed)
    }
  })

  it("hold for canonical JSON", () => {
    for (const { canonical, input, name, sha256 } of canonicalVectors.accepted) {
      expect(inspectJson(input, { depthMax: 64 }), name).toBeUndefined()
      expect(canonicalJson(JSON.parse(input)), name).toBe(canonical)
      expect(sha256Hex(canonical), name).toBe(sha256)
    }
    for (const { input, name, reason } of canonicalVectors.refused) {
      expect(inspectJson(input, { depthMax: 64 })?.reason, name).toBe(reason)
    }
  })

  fresh.effect("hold for grants, as headers and as share codes", function* () {
    yield* setVectorTime
    for (const { expected, grant, header, identities, name, shareCode } of grantVectors.cases) {
      const grants = Result.getOrThrow(decodeGrantsHeader(header))
      expect(grants, name).toEqual([grant])
      expect(Result.getOrThrow(decodeShareCode(shareCode)), name).toEqual([grant])
      const check = { identities, prefixes: grantVectors.prefixes, isRevoked: () => false, audience }
      const [checked] = yield* checkGrants(grants, check)
      expect(checked?._tag === "Unusable" ? checked.reason : checked?._tag, name).toBe(expected)
    }
  })

  fresh.effect("hold for wallet requests", function* () {
    yield* setVectorTime
    for (const { body, expected, headers, method, name, url } of requestVectors.cases) {
      const { versionPrefix } = requestVectors
      const request = { method, url, headers, versionPrefix, body: Buffer.from(body), audience }
      const outcome = yield* verifyWalletRequest(request)
      expect(outcome._tag === "Refused" ? outcome.code : outcome._tag, name).toBe(expected)
    }
  })

  it("hold for attestations", () => {
    const { nowSeconds, publicKey } = attestationVectors
    for (const { expected, key, name, ...signed } of attestationVectors.cases) {
      const verdict = verifyAttestation(signed, { publicKey, ...key }, nowSeconds)
      expect(verdict.valid ? "valid" : verdict.reason, name).toBe(expected)
    }
  })

  it("are judged alike by Node's Ed25519, which also makes the same signatures", () => {
    const publicKey = Buffer.from(attestationVectors.publicKey.slice(2), "hex")
    const secret = Buffer.concat([pkcs8Head, attestationSeed])
    const privateKey = createPrivateKey({ key: secret, format: "der", type: "pkcs8" })
    for (const { canonical, expected, name, signature } of attestationVectors.cases) {
      const isSigned = verify(null, Buffer.from(canonical), nodeKey(publicKey), Buffer.from(signature.slice(2), "hex"))
      expect(isSigned, name).toBe(expected !== "bad_signature")
      if (isSigned) expect(hexOf(sign(null, Buffer.from(canonical), privateKey)), name).toBe(signature)
    }
    for (const { expected, grant, message, name } of grantVectors.cases) {
      if (grant.c !== "sol" || grant.s.startsWith("0x")) continue
      const key = nodeKey(base58.decode(grant.p.f))
      expect(verify(null, Buffer.from(message), key, base64.decode(grant.s)), name).toBe(expected !== "bad_signature")
    }
    for (const { family, headers, name, text } of requestVectors.cases) {
      if (family !== "sol") continue
      const key = nodeKey(base58.decode(headers["x-wallet-address"]!))
      expect(verify(null, Buffer.from(text), key, base64.decode(headers["x-wallet-signature"]!)), name).toBe(true)
    }
  })

  it.runIf(runs("python3", "--version"))("are judged alike by Python's standard library", () => {
    const script = join(import.meta.dirname, "..", "..", "support", "verify_trust_vectors.py")
    expect(Number(execFileSync("python3", [script, directory], { encoding: "utf8" }))).toBeGreaterThan(150)
  })

  it.runIf(runs("openssl", "version"))("are judged alike by openssl", () => {
    const place = temporaryDirectory()
    const put = (name: string, content: string | Uint8Array) => {
      writeFileSync(join(place, name), content)
      return join(place, name)
    }
    const key = put("key.der", Buffer.concat([spkiHead, Buffer.from(attestationVectors.publicKey.slice(2), "hex")]))
    for (const { canonical, expected, name, signature } of attestationVectors.cases) {
      const command = ["pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", key, "-rawin"]
      const files = ["-in", put("text", canonical), "-sigfile", put("sig", Buffer.from(signature.slice(2), "hex"))]
      expect(spawnSync("openssl", [...command, ...files]).status === 0, name).toBe(expected !== "bad_signature")
    }
  })
})

function runs(command: string, argument: string): boolean {
  return spawnSync(command, [argument]).status === 0
}
