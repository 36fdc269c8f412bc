/** A facilitator in place of the operator's own wallet: its word, and what is made of its silence. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { facilitatorChain, facilitatorFeePayer } from "@muniment/payments/facilitator/FacilitatorChain"
import type { PaymentClaim } from "@muniment/payments/chain/PaymentChain"
import { alice, startProcess, units } from "../settlement/SettlementProcess.ts"
import { away, invalid, paid, ScriptedChain, unpaid } from "../ScriptedChain.ts"
import { hash, type ScriptedFacilitator, startFacilitator } from "./ScriptedFacilitator.ts"
import { it } from "../../../support/it.ts"

const claim: PaymentClaim = {
  id: "base-sepolia:one",
  network: "base-sepolia",
  payer: "payer",
  payTo: "our-wallet",
  payload: { nonce: "one" }
}

const chainOf = (inner: ScriptedChain, { url }: ScriptedFacilitator, hasRpc: boolean) =>
  facilitatorChain(() => inner, { url, hasRpc, unitsOf: () => Effect.succeed(units) })

/** An inner chain without RPC: it looks at nothing. */
const blind = () => {
  const inner = new ScriptedChain()
  inner.onVerify = () => away
  inner.onLook = () => away
  return inner
}

describe("A facilitator", () => {
  it.effect("is told our requirement and the payer's payload, and its success is paid", function* () {
    const facilitator = yield* startFacilitator
    const chain = chainOf(blind(), facilitator, false)
    const { balance, journal, pay } = yield* startProcess([chain])
    expect(yield* pay("one")).toMatchObject({ _tag: "Settled", hash })
    expect(yield* balance(alice)).toBe(0.1)
    expect(yield* journal.find(claim.id)).toMatchObject({ state: "finalized", transaction: { hash } })
    const requirement = {
      scheme: "exact",
      network: "eip155:84532",
      asset: "usdc",
      amount: String(units),
      payTo: "our-wallet",
      maxTimeoutSeconds: 60,
      extra: { name: "USDC", version: "2" }
    }
    const paymentPayload = { x402Version: 2, accepted: requirement, payload: { nonce: "one" } }
    expect(facilitator.asked).toEqual(
      ["/verify", "/settle"].map((path) => ({
        path,
        body: { x402Version: 2, paymentPayload, paymentRequirements: requirement }
      }))
    )
  })

  it.effect("is asked only about payments that keep our own rules", function* () {
    const facilitator = yield* startFacilitator
    const inner = new ScriptedChain()
    inner.onVerify = () => invalid("it pays somebody else")
    const refused = yield* Effect.flip(chainOf(inner, facilitator, false).verify(claim, units))
    expect(refused).toMatchObject({ _tag: "PaymentInvalid", reason: "it pays somebody else" })
    expect(facilitator.asked).toEqual([])
  })

  it.effect("refuses by any status but its own failure", function* () {
    const facilitator = yield* startFacilitator
    const chain = chainOf(blind(), facilitator, false)
    const body = { isValid: false, invalidReason: "insufficient_funds\u0007" }
    for (const status of [200, 400, 402]) {
      facilitator.answers.set("/verify", { status, body })
      expect(yield* Effect.flip(chain.verify(claim, units))).toMatchObject({
        _tag: "PaymentInvalid",
        reason: "the facilitator refuses: insufficient_funds?"
      })
    }
    for (const answer of [
      { status: 500, body },
      { status: 500, body: "broken" },
      { status: 404, body: {} },
      { status: 200, body: { isValid: "perhaps" } },
      { status: 0, body: {} }
    ]) {
      facilitator.answers.set("/verify", answer)
      expect(yield* Effect.flip(chain.verify(claim, units))).toMatchObject({ _tag: "ChainUnavailable" })
    }
  })

  const ends: ReadonlyArray<readonly [string, number, unknown]> = [
    ["fails", 200, { success: false, errorReason: "transaction_failed", transaction: "", network: "eip155:84532" }],
    ["fails by its status", 400, { success: false, errorReason: "x", transaction: "", network: "eip155:84532" }],
    ["breaks", 500, { error: "?" }],
    ["talks nonsense", 200, { success: "yes" }],
    ["hangs up", 0, {}]
  ]
  for (const [what, status, body] of ends) {
    it.effect(`that ${what} while settling leaves the payment open, and is asked again`, function* () {
      const facilitator = yield* startFacilitator
      facilitator.answers.set("/settle", { status, body })
      const chain = chainOf(blind(), facilitator, false)
      const signed = yield* chain.sign(claim)
      expect(yield* Effect.flip(chain.broadcast(claim, signed))).toMatchObject({ _tag: "ChainUnavailable" })
      expect(yield* chain.look(claim, signed, units)).toEqual(unpaid("resend"))
      yield* TestClock.adjust("6 minutes")
      expect(yield* chain.look(claim, signed, units)).toEqual(unpaid("wait"))
    })
  }

  it.effect("that names the transaction of a failure is believed by the chain alone", function* () {
    const facilitator = yield* startFacilitator
    const body = { success: false, errorReason: "timeout", transaction: hash, network: "eip155:84532" }
    facilitator.answers.set("/settle", { status: 200, body })
    const inner = new ScriptedChain()
    const chain = chainOf(inner, facilitator, true)
    const signed = yield* chain.sign(claim)
    const told = yield* chain.broadcast(claim, signed)
    expect(told).toEqual({ hash, raw: signed.raw })
    inner.onLook = () => Effect.succeed(unpaid("resign"))
    expect(yield* chain.look(claim, { ...signed, hash }, units)).toEqual(unpaid("wait"))
    inner.onLook = () => Effect.succeed(paid(hash))
    expect(yield* chain.look(claim, { ...signed, hash }, units)).toEqual(paid(hash))
  })

  it.effect("whose answer was lost is not needed where the chain can be read", function* () {
    const facilitator = yield* startFacilitator
    facilitator.answers.set("/settle", { status: 0, body: {} })
    const inner = new ScriptedChain()
    inner.onLook = () => Effect.succeed(paid("seen on the chain"))
    const { balance, pay } = yield* startProcess([chainOf(inner, facilitator, true)])
    expect(yield* pay("one")).toMatchObject({ _tag: "Settled", hash: "seen on the chain" })
    expect(yield* balance(alice)).toBe(0.1)
  })

  it.effect("that says success is not enough where the chain can be read", function* () {
    const facilitator = yield* startFacilitator
    const inner = new ScriptedChain()
    inner.onLook = () => Effect.succeed(unpaid("wait"))
    const { balance, payAndWait } = yield* startProcess([chainOf(inner, facilitator, true)])
    yield* payAndWait("one")
    expect(yield* balance(alice)).toBe(0)
  })

  it.effect.each(["base-sepolia", "solana-devnet"] as const)(
    "that says success without a transaction is not believed where the chain can be read: %s",
    function* (network) {
      const facilitator = yield* startFacilitator
      const body = { success: true, transaction: "", network: "eip155:84532" }
      facilitator.answers.set("/settle", { status: 200, body })
      const inner = new ScriptedChain(network)
      const chain = chainOf(inner, facilitator, true)
      const told = yield* chain.broadcast({ ...claim, network }, yield* chain.sign(claim))
      expect(told).toMatchObject({ hash: "" })
      const look = chain.look({ ...claim, network }, { hash: "", raw: "settled" }, units)
      inner.onLook = () => Effect.succeed(unpaid("resend"))
      expect(yield* look).toMatchObject({ _tag: "Unpaid" })
      inner.onLook = () => Effect.succeed(paid("on the chain"))
      expect(yield* look).toEqual(paid("on the chain"))
    }
  )

  it.effect("says who pays the fees of Solana payments", function* () {
    const facilitator = yield* startFacilitator
    const kind = { x402Version: 2, scheme: "exact", network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" }
    const body = { kinds: [{ ...kind, extra: { feePayer: "theirs" } }], extensions: [], signers: {} }
    facilitator.answers.set("/supported", { status: 200, body })
    expect(yield* facilitatorFeePayer(facilitator.url, "solana-devnet")).toBe("theirs")
    expect(yield* facilitatorFeePayer(facilitator.url, "solana")).toBeUndefined()
    facilitator.answers.set("/supported", { status: 500, body })
    expect(yield* Effect.flip(facilitatorFeePayer(facilitator.url, "solana"))).toMatchObject({
      _tag: "ChainUnavailable"
    })
  })
})
