/** Every state of a journalled payment against every answer of its chain: what becomes of it. */
import { describe, expect } from "vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { PaymentState } from "@muniment/domain/Operations"
import { alice, startProcess, units } from "./SettlementProcess.ts"
import { away, invalid, never, paid, ScriptedChain, unpaid } from "../ScriptedChain.ts"
import { it } from "../../../support/it.ts"

type From = "verified" | "broadcasting" | "settled"

/** `sent`: transactions sent by the step; default none. `rounds`: steps that are made, of which `step` is the last. */
type Step = readonly [
  from: From,
  whenTheChainAnswers: string,
  script: (chain: ScriptedChain) => void,
  to: PaymentState,
  step: "Settled" | "Failed" | "Lost" | "Open" | "ChainUnavailable",
  sent?: number,
  rounds?: number
]

const looks = (view: ReturnType<typeof unpaid>) => (chain: ScriptedChain) => {
  chain.onLook = () => Effect.succeed(view)
}
const verifies =
  (answer: ReturnType<typeof invalid> | typeof away, view = unpaid("resign")) =>
  (chain: ScriptedChain) => {
    chain.onVerify = () => answer
    chain.onLook = () => Effect.succeed(view)
  }
const signs =
  (answer: ReturnType<typeof invalid> | typeof away, view = unpaid("resign")) =>
  (chain: ScriptedChain) => {
    chain.onSign = () => answer
    chain.onLook = () => Effect.succeed(view)
  }
const cannotSend = (view: ReturnType<typeof unpaid>) => (chain: ScriptedChain) => {
  chain.onBroadcast = () => away
  chain.onLook = () => Effect.succeed(view)
}
/** The chain says never, at another block each time; `verifies` as well: the payment is not good any more. */
const neverAgain = (chain: ScriptedChain) => {
  let block = 0
  chain.onVerify = () => gone
  chain.onLook = () => Effect.sync(() => never(++block))
}
const isAway = (chain: ScriptedChain) => {
  chain.onLook = () => away
}
const gone = invalid("it has expired")

const steps: ReadonlyArray<Step> = [
  ["verified", "it is still good", () => {}, "settled", "Settled", 1],
  ["verified", "it is good no more, and somebody else may still submit it", verifies(gone), "verified", "Open"],
  ["verified", "it cannot be verified", verifies(away), "verified", "ChainUnavailable"],
  ["verified", "a stranger has sent it", verifies(gone, paid("theirs")), "settled", "Settled"],
  ["verified", "a stranger is sending it", verifies(gone, unpaid("wait")), "verified", "Open"],
  ["verified", "it was spent elsewhere", verifies(gone, never(1)), "verified", "Open"],
  ["verified", "it was spent elsewhere by a second block", neverAgain, "failed", "Failed", 0, 2],
  ["verified", "it cannot be signed", signs(gone), "verified", "Open"],
  ["verified", "the signer is away", signs(away), "verified", "ChainUnavailable"],
  ["verified", "the sender is away", cannotSend(unpaid("resend")), "broadcasting", "Open", 1],
  ["verified", "the sender is away and it lands", cannotSend(paid("x")), "settled", "Settled", 1],
  ["verified", "nobody can look", isAway, "broadcasting", "ChainUnavailable", 1],
  ["broadcasting", "it has landed", looks(paid("hash")), "settled", "Settled"],
  ["broadcasting", "it is final", looks(paid("hash", 1, true)), "finalized", "Settled"],
  ["broadcasting", "a stranger has sent it", looks(paid("theirs")), "settled", "Settled"],
  ["broadcasting", "it lies too shallow", looks(paid("hash", 0)), "broadcasting", "Open"],
  ["broadcasting", "it is on its way", looks(unpaid("wait")), "broadcasting", "Open"],
  ["broadcasting", "it is not there", looks(unpaid("resend")), "broadcasting", "Open", 1],
  ["broadcasting", "it cannot be sent", cannotSend(unpaid("resend")), "broadcasting", "Open", 1],
  ["broadcasting", "its place is taken", looks(unpaid("resign")), "broadcasting", "Open", 1],
  ["broadcasting", "it cannot be signed anew", signs(gone), "broadcasting", "Open"],
  ["broadcasting", "the signer is away", signs(away), "broadcasting", "ChainUnavailable"],
  ["broadcasting", "one look misses it", looks(never(1)), "broadcasting", "Open"],
  ["broadcasting", "three looks at one block miss it", looks(never(1)), "broadcasting", "Open", 0, 3],
  ["broadcasting", "it has run out by a second block", neverAgain, "failed", "Failed", 0, 2],
  ["broadcasting", "nobody can look", isAway, "broadcasting", "ChainUnavailable"],
  ["settled", "it is still there", looks(paid("hash")), "settled", "Settled"],
  ["settled", "it is final", looks(paid("hash", 9, true)), "finalized", "Settled"],
  ["settled", "it is there by another hash", looks(paid("other")), "settled", "Settled"],
  ["settled", "it waits again", looks(unpaid("wait")), "settled", "Open"],
  ["settled", "it is gone", looks(unpaid("resend")), "settled", "Open", 1],
  ["settled", "its place is taken", looks(unpaid("resign")), "settled", "Open", 1],
  ["settled", "one look misses it", looks(never(1)), "settled", "Open"],
  ["settled", "it is lost", neverAgain, "settled", "Lost", 0, 2],
  ["settled", "nobody can look", isAway, "settled", "ChainUnavailable"]
]

describe("A payment that is carried on", () => {
  for (const [from, when, script, to, step, sent = 0, rounds = 1] of steps) {
    it.effect(`from ${from} when ${when}: is ${to}`, function* () {
      const chain = new ScriptedChain()
      const { balance, check, journal, settlement } = yield* startProcess([chain])
      const id = chain.idOf("one")
      const payload = { nonce: "one" }
      yield* journal.claim({ id, account: alice.id, network: chain.network, payer: "payer", units, payload })
      if (from !== "verified") yield* journal.broadcasting(id, { hash: "hash", raw: "raw" })
      if (from === "settled") yield* journal.settled(id, "hash")

      script(chain)
      const payment = yield* Effect.fromNullishOr(yield* journal.find(id))
      for (let round = 1; round < rounds; round++) {
        expect(yield* settlement.carryOn(payment)).toEqual({ _tag: "Open" })
      }
      const done = yield* Effect.result(settlement.carryOn(payment))
      const moved = yield* Effect.fromNullishOr(yield* journal.find(id))
      expect(done._tag === "Success" ? done.success?._tag : done.failure._tag).toBe(step)
      expect(moved.state).toBe(to)
      expect(chain.sent).toHaveLength(sent)
      expect(yield* balance(alice)).toBe(to === "settled" || to === "finalized" ? 0.1 : 0)
      expect(yield* check).toMatchObject({ ok: true })
    })
  }

  it.effect("fails at once on a chain where nobody but us could have sent it", function* () {
    const chain = new ScriptedChain("solana-devnet")
    const { journal, pay } = yield* startProcess([chain])
    chain.onSign = () => gone
    expect(yield* Effect.flip(pay("one"))).toMatchObject({ _tag: "PaymentInvalid" })
    expect(yield* journal.find(chain.idOf("one"))).toMatchObject({ state: "failed" })
  })

  it.effect("is left to the run that is at it", function* () {
    const chain = new ScriptedChain()
    const { journal, pay, settlement } = yield* startProcess([chain])
    chain.onSign = () => Effect.never
    yield* Effect.forkChild(pay("one"))
    yield* TestClock.adjust(1)
    const payment = yield* Effect.fromNullishOr(yield* journal.find(chain.idOf("one")))
    expect(yield* settlement.carryOn(payment)).toBeUndefined()
    expect(chain.count("verify")).toBe(1)
  })

  it.effect("meanwhile makes a caller wait for the step, who then goes on himself", function* () {
    const chain = new ScriptedChain()
    const { journal, pay, settlement } = yield* startProcess([chain])
    const payload = { nonce: "one" }
    const id = chain.idOf("one")
    const claim = { id, account: alice.id, network: chain.network, payer: "payer", units, payload }
    const { payment } = yield* journal.claim(claim)
    chain.onVerify = () => Effect.delay(away, 100)
    const step = yield* Effect.forkChild(Effect.exit(settlement.carryOn(payment)), { startImmediately: true })
    const asked = yield* Effect.forkChild(pay("one"), { startImmediately: true })
    chain.onVerify = () => Effect.void
    yield* TestClock.adjust(100)
    yield* Fiber.join(step)
    expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "Settled" })
    expect(chain.count("verify")).toBe(2)
  })
})
