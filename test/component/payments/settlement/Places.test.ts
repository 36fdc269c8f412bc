/** Places of payments under way: shares of networks and accounts, and what gives way. */
import { describe, expect } from "vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { alice, bob, startProcess } from "./SettlementProcess.ts"
import { paid, ScriptedChain, unpaid } from "../ScriptedChain.ts"
import { it } from "../../../support/it.ts"

const pending = Exit.succeed(expect.objectContaining({ _tag: "Pending" }))

/** Fills the network by as many accounts as it takes; none of their payments gets an outcome. */
const crowd = Effect.fnUntraced(function* (
  pay: (nonce: string, request: { readonly account: string }) => Effect.Effect<unknown, unknown>
) {
  for (let run = 0; run < Limits.paymentsPerNetworkMax; run++) {
    const account = `crowd-${Math.floor(run / Limits.paymentsPerAccountMax)}`
    yield* Effect.forkChild(pay(`crowd-${run}`, { account }))
  }
  yield* TestClock.adjust(1)
})

describe("Payments under way", () => {
  it.effect("of one account beyond its share are sent away before anything happens", function* () {
    const chain = new ScriptedChain()
    const { journal, pay } = yield* startProcess([chain])
    chain.onVerify = () => Effect.never
    for (let run = 0; run < Limits.paymentsPerAccountMax; run++) yield* Effect.forkChild(pay(`one-${run}`))
    yield* TestClock.adjust(1)
    expect(yield* Effect.flip(pay("one more"))).toMatchObject({ _tag: "ChainUnavailable" })
    expect(chain.count("verify")).toBe(Limits.paymentsPerAccountMax)
    expect(yield* journal.find(chain.idOf("one more"))).toBeUndefined()
    chain.onVerify = () => Effect.void
    expect(yield* pay("another account's", { account: bob.id })).toMatchObject({ _tag: "Settled" })
  })

  it.effect("of one network take no place of another", function* () {
    const [evm, svm] = [new ScriptedChain(), new ScriptedChain("solana-devnet")]
    const { pay } = yield* startProcess([evm, svm])
    evm.onVerify = () => Effect.never
    yield* crowd(pay)
    expect(yield* Effect.flip(pay("full"))).toMatchObject({ _tag: "ChainUnavailable" })
    expect(yield* pay("one", {}, svm)).toMatchObject({ _tag: "Settled" })
  })

  it.effect("without an outcome give way to a newcomer, and are credited by reconciliation", function* () {
    const chain = new ScriptedChain()
    const { journal, pay, settlement } = yield* startProcess([chain])
    const isCrowd = (nonce: string) => nonce.startsWith("crowd")
    const waits = Effect.succeed(unpaid("wait"))
    chain.onLook = (nonce) => (isCrowd(nonce) ? waits : Effect.succeed(paid("hash")))
    yield* crowd(pay)
    yield* TestClock.adjust(1_000)
    expect(yield* pay("one", { account: alice.id })).toMatchObject({ _tag: "Settled" })

    chain.onLook = () => Effect.succeed(paid("late"))
    for (const payment of yield* journal.unfinished()) {
      // What is still followed settles by itself.
      yield* settlement.carryOn(payment)
    }
    yield* TestClock.adjust(1_000)
    expect(yield* journal.countByState).toMatchObject({ broadcasting: 0, settled: Limits.paymentsPerNetworkMax + 1 })
  })

  it.effect("that give way are answered pending", function* () {
    const chain = new ScriptedChain()
    const { pay } = yield* startProcess([chain])
    chain.onLook = () => Effect.succeed(unpaid("wait"))
    const first = yield* Effect.forkChild(pay("first"))
    yield* TestClock.adjust(1_000)
    for (let run = 1; run < Limits.paymentsPerAccountMax; run++) yield* Effect.forkChild(pay(`next-${run}`))
    yield* TestClock.adjust(1_000)
    yield* Effect.forkChild(pay("one more"))
    yield* TestClock.adjust(1)
    expect(yield* Fiber.await(first)).toEqual(pending)
  })
})

describe("Payments that their chain reverts at our cost", () => {
  it.effect("are a budget of the payer and of the account, by day; then no more are taken", function* () {
    const chain = new ScriptedChain()
    const { journal, pay, payAndWait } = yield* startProcess([chain])
    chain.onLook = () => Effect.succeed({ _tag: "Unpaid", next: "wait", isReverted: true })
    for (let at = 0; at < Limits.revertsPerPayerDay; at++) yield* payAndWait(`reverted-${at}`)
    expect(yield* journal.find(chain.idOf("reverted-0"))).toMatchObject({ revertedAt: expect.any(Number) })
    const verified = chain.count("verify")
    const refused = yield* Effect.flip(pay("one more", { account: bob.id }))
    expect(refused).toMatchObject({ _tag: "TooManyReverts", retryAfterSeconds: expect.any(Number) })
    expect(chain.count("verify")).toBe(verified)
    // A payment that is known already is answered all the same.
    expect(yield* payAndWait("reverted-0")).toEqual(pending)
    yield* TestClock.adjust("24 hours")
    chain.onLook = () => Effect.succeed(paid("hash"))
    expect(yield* pay("next day")).toMatchObject({ _tag: "Settled" })
  })

  it.effect("have those under way counted with them; these end as they would have", function* () {
    const chain = new ScriptedChain()
    const { journal, pay, payAndWait, settlement } = yield* startProcess([chain])
    chain.onLook = (nonce) => Effect.succeed({ _tag: "Unpaid", next: "wait", isReverted: nonce === "reverted" })
    const early = Array.from({ length: Limits.revertsPerPayerDay }, (_, at) => `early-${at}`)
    for (const nonce of early) yield* Effect.forkChild(pay(nonce))
    yield* payAndWait("reverted")
    const refused = yield* Effect.flip(pay("one more", { account: bob.id }))
    expect(refused).toMatchObject({ _tag: "TooManyReverts", retryAfterSeconds: Limits.paymentRetrySeconds })
    expect(yield* journal.find(chain.idOf("one more"))).toBeUndefined()

    chain.onLook = (nonce) => Effect.succeed(paid(`hash of ${nonce}`))
    for (const payment of yield* journal.unfinished()) {
      if (payment.revertedAt === undefined) yield* settlement.carryOn(payment)
    }
    expect(yield* journal.countByState).toMatchObject({ broadcasting: 1, settled: early.length })
    expect(yield* pay("one more", { account: bob.id })).toMatchObject({ _tag: "Settled" })
  })
})
