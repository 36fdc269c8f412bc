/** Grants: which of them open something to whom, and until when. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Grant, GrantPayload } from "@muniment/domain/Grant"
import { checkGrants, grantId, grantMessage, grantPrefix, isGrantor, signGrant } from "@muniment/trust/Grant"
import { SignatureVerifier } from "@muniment/trust/SignatureVerifier"
import {
  audience,
  evmWallet,
  otherEvmWallet,
  prefixes,
  setVectorTime,
  solWallet,
  vectorTimeMillis
} from "../../support/TrustVectors.ts"
import { it, itWith } from "../../support/it.ts"

const fresh = itWith(() => SignatureVerifier.layer)

const now = vectorTimeMillis / 1_000
const caller = otherEvmWallet.wallet.address
const payload: GrantPayload = { f: evmWallet.wallet.address, g: caller, e: now + 60 }
const signed = (grant: GrantPayload, signer = evmWallet, prefix = prefixes[0]!) =>
  Effect.promise(() => signGrant(signer, prefix, grant))

const verdicts = (grants: ReadonlyArray<Grant>, check: Partial<Parameters<typeof checkGrants>[1]> = {}) =>
  Effect.map(
    checkGrants(grants, { identities: [caller], prefixes, isRevoked: () => false, audience, ...check }),
    (checked) => checked.map((one) => (one._tag === "Unusable" ? one.reason : one._tag))
  )

describe("Grant", () => {
  it("signs the prefix and the padded Base64 of the canonical payload, absent members left out", () => {
    const message = grantMessage(grantPrefix("svc"), { g: "b", f: "a", e: 1 })
    expect(message).toBe(`svc:grant:v1:${Buffer.from('{"e":1,"f":"a","g":"b"}').toString("base64")}`)
    expect(message.endsWith("=")).toBe(true)
  })

  fresh.effect("is usable before its second and not from it on", function* () {
    const grants = [yield* signed(payload)]
    for (const [millis, verdict] of [
      [payload.e * 1_000 - 1, "Usable"],
      [payload.e * 1_000, "expired"],
      [payload.e * 1_000 + 1, "expired"]
    ] as const) {
      yield* TestClock.setTime(millis)
      expect(yield* verdicts(grants)).toEqual([verdict])
    }
  })

  fresh.effect(
    "hands out grantor, payload and id, in the order of the header, skipping what is unusable",
    function* () {
      yield* setVectorTime
      const narrow = { ...payload, f: solWallet.wallet.address, a: "agent-1" }
      const [usable, forged, other] = [
        yield* signed(payload),
        { ...(yield* signed(payload)), p: { ...payload, e: payload.e + 1 } },
        yield* signed(narrow, solWallet)
      ]
      const checked = yield* checkGrants([usable, forged, other], {
        identities: [caller],
        prefixes,
        isRevoked: () => false,
        audience
      })
      expect(checked).toEqual([
        { _tag: "Usable", grantId: grantId(payload), grantor: evmWallet.wallet, payload },
        { _tag: "Unusable", reason: "bad_signature" },
        { _tag: "Usable", grantId: grantId(narrow), grantor: solWallet.wallet, payload: narrow }
      ])
    }
  )

  fresh.effect("may name any identity of the caller, EVM addresses in any case", function* () {
    yield* setVectorTime
    const grants = yield* Effect.forEach(["key_1", "acc_1", `0x${caller.slice(2).toUpperCase()}`, "ACC_1"], (g) =>
      signed({ ...payload, g })
    )
    const identities = ["key_1", "acc_1", caller]
    expect(yield* verdicts(grants, { identities })).toEqual(["Usable", "Usable", "Usable", "not_for_caller"])
    expect(yield* verdicts(grants, { identities: [] })).toEqual(Array(4).fill("not_for_caller"))
  })

  fresh.effect("is skipped when it comes from the caller, in whatever case", function* () {
    yield* setVectorTime
    const grants = [yield* signed({ ...payload, g: payload.f.toUpperCase().replace("0X", "0x") })]
    expect(yield* verdicts(grants, { identities: [payload.f] })).toEqual(["self_grant"])
  })

  fresh.effect("opens nothing once revoked, whoever signed a copy of it", function* () {
    yield* setVectorTime
    const grants = [yield* signed(payload), yield* signed(payload, evmWallet, prefixes[1])]
    const isRevoked = (id: string) => id === grantId(payload)
    expect(yield* verdicts(grants, { isRevoked })).toEqual(["revoked", "revoked"])
    expect(yield* verdicts(grants)).toEqual(["Usable", "Usable"])
  })

  fresh.effect("opens nothing when it says more than we understand, even if that was signed", function* () {
    yield* setVectorTime
    const wider = { ...payload, k: "contact" }
    expect(yield* verdicts([yield* signed(wider)])).toEqual(["unknown_payload_field"])
  })

  fresh.effect(
    "opens nothing at another service than it names, and where one must be named nothing without",
    function* () {
      yield* setVectorTime
      const names = [undefined, audience.name, "https://other.example", `${audience.name}/`, "memory.example"]
      const grants = yield* Effect.forEach(names, (o) => signed(o === undefined ? payload : { ...payload, o }))
      const others = ["wrong_audience", "wrong_audience", "wrong_audience"]
      expect(yield* verdicts(grants)).toEqual(["Usable", "Usable", ...others])
      const requiring = { audience: { ...audience, isRequired: true } }
      expect(yield* verdicts(grants, requiring)).toEqual(["wrong_audience", "Usable", ...others])
    }
  )

  fresh.effect("needs a grantor of the family that signed", function* () {
    yield* setVectorTime
    const grant = yield* signed(payload)
    const others = [
      { ...grant, c: "sol" },
      { ...grant, c: "EVM" },
      { ...grant, p: { ...payload, f: "acc_1" } }
    ]
    expect(yield* verdicts(others)).toEqual(["bad_grantor", "unknown_family", "bad_grantor"])
  })

  it("belongs to its grantor alone", () => {
    expect(isGrantor(payload, ["acc_1", payload.f.toUpperCase().replace("0X", "0x")])).toBe(true)
    expect(isGrantor(payload, [caller])).toBe(false)
  })
})
