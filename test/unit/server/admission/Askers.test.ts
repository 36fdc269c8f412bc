/** Whose turn a request takes. */
import { describe, expect, it } from "vitest"
import { Askers } from "@muniment/server/admission/Bytes"

const account = { id: "acc_1", name: "one", plan: "pro", createdAt: 0 } as const
const withKey = { authorization: "Bearer mun_key" }
const withWallet = { "x-wallet-address": "0xabc" }

describe("a claim", () => {
  it("counts as its address until it has passed the checks", () => {
    const askers = new Askers()
    expect(askers.of(withKey, () => "10.0.0.1").account).toBe("address:10.0.0.1")
    askers.learn(withKey, () => "10.0.0.1", account)
    expect(askers.of(withKey, () => "10.0.0.2")).toEqual({ account: "acc_1", weight: 4, isKnown: true })
    expect(askers.of({ authorization: "Bearer mun_other" }, () => "10.0.0.1").account).toBe("address:10.0.0.1")
  })

  it("is forgotten when its key was revoked", () => {
    const askers = new Askers()
    askers.learn(withKey, () => "10.0.0.1", account)
    askers.forget(withKey, () => "10.0.0.1")
    expect(askers.of(withKey, () => "10.0.0.1").account).toBe("address:10.0.0.1")
  })

  it("of a wallet holds for the address that it signed from", () => {
    const askers = new Askers()
    askers.learn(withWallet, () => "10.0.0.1", account)
    expect(askers.of(withWallet, () => "10.0.0.1").account).toBe("acc_1")
    expect(askers.of(withWallet, () => "10.0.0.2").account).toBe("address:10.0.0.2")
  })

  it("of a wallet beside a key does not count", () => {
    const askers = new Askers()
    askers.learn(withWallet, () => "10.0.0.1", account)
    expect(askers.of({ ...withWallet, ...withKey }, () => "10.0.0.1").account).toBe("address:10.0.0.1")
  })
})
