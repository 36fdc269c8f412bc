/** The key ring: one key however many start, readable by its owner alone, never replaced in silence. */
import { describe, expect } from "vitest"
import { Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeAttestation, verifyAttestation } from "@muniment/trust/Attestation"
import { keyFileName, KeyRing, previousKeysMax } from "@muniment/trust/KeyRing"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"

const fresh = itWith(() => ringOf(temporaryDirectory()))

/** Providing it again for the same directory is a restart. */
const ringOf = (directory: string) =>
  KeyRing.layer(directory).pipe(Layer.provide(SecureRandom.layerWebCrypto), Layer.fresh)
const publicKeysOf = (directory: string) =>
  KeyRing.use((ring) => Effect.sync(ring.publicKeys)).pipe(Effect.provide(ringOf(directory)))
const fileOf = (directory: string) => join(directory, keyFileName)

const attestation = makeAttestation({
  claim: "has_schema",
  params: { schemaName: "s" },
  result: { satisfied: true, matchCount: 1, namespace: "0x00" },
  nowMillis: 0,
  validSeconds: 60,
  issuer: "svc.example"
})

describe("KeyRing", () => {
  it.effect("makes one key for its owner's eyes, and has it after a restart", function* () {
    const directory = temporaryDirectory()
    yield* TestClock.setTime(1_700_000_000_123)
    const first = yield* publicKeysOf(directory)
    expect(first).toMatchObject({ algorithm: "Ed25519", issuedAt: 1_700_000_000_123, previousKeys: [] })
    expect(first.attestationPublicKey).toMatch(/^0x[0-9a-f]{64}$/)
    expect(statSync(fileOf(directory)).mode & 0o777).toBe(0o600)
    expect(readdirSync(directory)).toEqual([keyFileName])
    yield* TestClock.adjust("1 day")
    expect(yield* publicKeysOf(directory)).toEqual(first)
    expect(yield* publicKeysOf(temporaryDirectory())).not.toMatchObject({
      attestationPublicKey: first.attestationPublicKey
    })
  })

  it.effect("makes one key for many starts at once", function* () {
    const directory = temporaryDirectory()
    const starts = Array.from({ length: 20 }, () => publicKeysOf(directory))
    const rings = yield* Effect.all(starts, { concurrency: "unbounded" })
    expect(new Set(rings.map(({ attestationPublicKey }) => attestationPublicKey)).size).toBe(1)
    expect(readdirSync(directory)).toEqual([keyFileName])
  })

  fresh.effect("signs what the published key verifies", function* () {
    const ring = yield* KeyRing
    const { publicKey, ...signed } = ring.sign(attestation)
    expect(publicKey).toBe(ring.publicKeys().attestationPublicKey)
    expect(verifyAttestation(signed, publicKey, 0)).toEqual({ valid: true })
  })

  it.effect("rotates: the new key signs, old ones stay published without their secrets", function* () {
    const directory = temporaryDirectory()
    yield* Effect.gen(function* () {
      const ring = yield* KeyRing
      const [before, signed] = [ring.publicKeys(), ring.sign(attestation)]
      const secret: unknown = JSON.parse(readFileSync(fileOf(directory), "utf8"))
      yield* TestClock.adjust("30 days")
      const after = yield* ring.rotate
      expect(after.attestationPublicKey).not.toBe(before.attestationPublicKey)
      expect(after.previousKeys).toEqual([
        { publicKey: before.attestationPublicKey, issuedAt: before.issuedAt, retiredAt: after.issuedAt }
      ])
      expect(ring.sign(attestation).publicKey).toBe(after.attestationPublicKey)
      expect(verifyAttestation(signed, after.previousKeys[0]!.publicKey, 0)).toEqual({ valid: true })
      expect(secret).toMatchObject({ current: { secretKey: expect.stringMatching(/^0x[0-9a-f]{64}$/) } })
      const text = readFileSync(fileOf(directory), "utf8")
      expect(text.match(/secretKey/g)).toHaveLength(1)
    }).pipe(Effect.provide(ringOf(directory)))
    expect((yield* publicKeysOf(directory)).previousKeys).toHaveLength(1)
    expect(statSync(fileOf(directory)).mode & 0o777).toBe(0o600)
    expect(readdirSync(directory)).toEqual([keyFileName])
  })

  it.effect(
    "revokes an earlier key, or the current one after replacing it, also over a restart and a rotation",
    function* () {
      const directory = temporaryDirectory()
      const first = yield* Effect.gen(function* () {
        const ring = yield* KeyRing
        const before = ring.publicKeys()
        yield* TestClock.setTime(1_700_000_000_000)
        const once = (yield* ring.revoke(before.attestationPublicKey))!
        expect(once.attestationPublicKey).not.toBe(before.attestationPublicKey)
        const [key] = once.previousKeys
        expect(key).toMatchObject({ publicKey: before.attestationPublicKey, retiredAt: once.issuedAt })
        expect(key!.revokedAt).toBe(1_700_000_000_000)
        yield* TestClock.adjust("1 day")
        expect(yield* ring.revoke(before.attestationPublicKey)).toEqual(once)
        expect(yield* ring.revoke(`0x${"0".repeat(64)}`)).toBeUndefined()
        const after = yield* ring.rotate
        expect((yield* ring.revoke(once.attestationPublicKey))!.attestationPublicKey).toBe(after.attestationPublicKey)
        return before.attestationPublicKey
      }).pipe(Effect.provide(ringOf(directory)))
      const { previousKeys } = yield* publicKeysOf(directory)
      expect(previousKeys.map(({ revokedAt }) => revokedAt)).toEqual([1_700_086_400_000, 1_700_000_000_000])
      expect(previousKeys[1]!.publicKey).toBe(first)
    }
  )

  fresh.effect("keeps the newest of very many keys", function* () {
    const ring = yield* KeyRing
    const first = ring.publicKeys().attestationPublicKey
    yield* Effect.replicateEffect(ring.rotate, previousKeysMax + 1, { discard: true })
    const { previousKeys } = ring.publicKeys()
    expect(previousKeys).toHaveLength(previousKeysMax)
    expect(previousKeys.some(({ publicKey }) => publicKey === first)).toBe(false)
  })

  it.effect("stops at a damaged file, leaves it as it is, and does not repeat what stands in it", function* () {
    const whole = temporaryDirectory()
    yield* publicKeysOf(whole)
    const text = readFileSync(fileOf(whole), "utf8")
    const secret = /"secretKey": "(0x[0-9a-f]+)"/.exec(text)![1]!
    const damages = [
      "",
      "{}",
      text.slice(0, -10),
      text.replace('"version": 1', '"version": 2'),
      text.replace(secret, secret.slice(0, -2)),
      text.replace(secret, `0x${"1".repeat(64)}`),
      text.replace('"previous": []', '"previous": [{"publicKey": "0x", "issuedAt": 1, "retiredAt": 2}]')
    ]
    for (const damaged of damages) {
      const directory = temporaryDirectory()
      writeFileSync(fileOf(directory), damaged)
      const fault = yield* Effect.flip(publicKeysOf(directory))
      expect(fault).toMatchObject({ _tag: "KeyFileFault", reason: "damaged" })
      expect(fault.message).toMatch(/restore it from a backup/)
      expect(JSON.stringify(fault) + fault.message).not.toContain(secret.slice(2, 20))
      expect(readFileSync(fileOf(directory), "utf8")).toBe(damaged)
    }
  })

  it.effect("fails when the system refuses, and closes a file that others could read", function* () {
    const fault = yield* Effect.flip(publicKeysOf(join(temporaryDirectory(), "missing")))
    expect(fault).toMatchObject({ _tag: "KeyFileFault", reason: "io" })
    const directory = temporaryDirectory()
    yield* publicKeysOf(directory)
    chmodSync(fileOf(directory), 0o644)
    yield* publicKeysOf(directory)
    expect(statSync(fileOf(directory)).mode & 0o777).toBe(0o600)
  })
})
