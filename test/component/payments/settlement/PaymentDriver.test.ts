/** Every state of a journalled payment against every answer of its chain: what becomes of it. */
import { describe, expect } from "vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { PaymentState } from "@muniment/domain/Operations"
import { alice, startProcess, units } from "./SettlementProcess.ts"
import { away, invalid, never, paid, ScriptedChain, unpaid } from "../ScriptedChain.ts"
import { it } from "../../../support/it.ts"

type From = "verified" | "broadcasting" | "settled"

interface Step {
  readonly from: From
  /** What the chain answers. */
  readonly when: string
  readonly script: (chain: ScriptedChain) => void
  readonly to: PaymentState
  readonly step: "Settled" | "Failed" | "Lost" | "Open" | "ChainUnavailable"
  /** Transactions sent by the step; default none. */
  readonly sent?: number
  /** Steps that are made; default one. `step` is the last one's. */
  readonly rounds?: number
}

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
  { from: "verified", when: "it is still good", script: () => {}, to: "settled", step: "Settled", sent: 1 },
  {
    from: "verified",
    when: "it is good no more, and somebody else may still submit it",
    script: verifies(gone),
    to: "verified",
    step: "Open"
  },
  { from: "verified", when: "it cannot be verified", script: verifies(away), to: "verified", step: "ChainUnavailable" },
  {
    from: "verified",
    when: "a stranger has sent it",
    script: verifies(gone, paid("theirs")),
    to: "settled",
    step: "Settled"
  },
  {
    from: "verified",
    when: "a stranger is sending it",
    script: verifies(gone, unpaid("wait")),
    to: "verified",
    step: "Open"
  },
  { from: "verified", when: "it was spent elsewhere", script: verifies(gone, never(1)), to: "verified", step: "Open" },
  {
    from: "verified",
    when: "it was spent elsewhere by a second block",
    script: neverAgain,
    rounds: 2,
    to: "failed",
    step: "Failed"
  },
  { from: "verified", when: "it cannot be signed", script: signs(gone), to: "verified", step: "Open" },
  { from: "verified", when: "the signer is away", script: signs(away), to: "verified", step: "ChainUnavailable" },
  {
    from: "verified",
    when: "the sender is away",
    script: cannotSend(unpaid("resend")),
    to: "broadcasting",
    step: "Open",
    sent: 1
  },
  {
    from: "verified",
    when: "the sender is away and it lands",
    script: cannotSend(paid("x")),
    to: "settled",
    step: "Settled",
    sent: 1
  },
  { from: "verified", when: "nobody can look", script: isAway, to: "broadcasting", step: "ChainUnavailable", sent: 1 },
  { from: "broadcasting", when: "it has landed", script: looks(paid("hash")), to: "settled", step: "Settled" },
  { from: "broadcasting", when: "it is final", script: looks(paid("hash", 1, true)), to: "finalized", step: "Settled" },
  {
    from: "broadcasting",
    when: "a stranger has sent it",
    script: looks(paid("theirs")),
    to: "settled",
    step: "Settled"
  },
  {
    from: "broadcasting",
    when: "it lies too shallow",
    script: looks(paid("hash", 0)),
    to: "broadcasting",
    step: "Open"
  },
  { from: "broadcasting", when: "it is on its way", script: looks(unpaid("wait")), to: "broadcasting", step: "Open" },
  {
    from: "broadcasting",
    when: "it is not there",
    script: looks(unpaid("resend")),
    to: "broadcasting",
    step: "Open",
    sent: 1
  },
  {
    from: "broadcasting",
    when: "it cannot be sent",
    script: cannotSend(unpaid("resend")),
    to: "broadcasting",
    step: "Open",
    sent: 1
  },
  {
    from: "broadcasting",
    when: "its place is taken",
    script: looks(unpaid("resign")),
    to: "broadcasting",
    step: "Open",
    sent: 1
  },
  { from: "broadcasting", when: "it cannot be signed anew", script: signs(gone), to: "broadcasting", step: "Open" },
  {
    from: "broadcasting",
    when: "the signer is away",
    script: signs(away),
    to: "broadcasting",
    step: "ChainUnavailable"
  },
  { from: "broadcasting", when: "one look misses it", script: looks(never(1)), to: "broadcasting", step: "Open" },
  {
    from: "broadcasting",
    when: "three looks at one block miss it",
    script: looks(never(1)),
    rounds: 3,
    to: "broadcasting",
    step: "Open"
  },
  {
    from: "broadcasting",
    when: "it has run out by a second block",
    script: neverAgain,
    rounds: 2,
    to: "failed",
    step: "Failed"
  },
  { from: "broadcasting", when: "nobody can look", script: isAway, to: "broadcasting", step: "ChainUnavailable" },
  { from: "settled", when: "it is still there", script: looks(paid("hash")), to: "settled", step: "Settled" },
  { from: "settled", when: "it is final", script: looks(paid("hash", 9, true)), to: "finalized", step: "Settled" },
  {
    from: "settled",
    when: "it is there by another hash",
    script: looks(paid("other")),
    to: "settled",
    step: "Settled"
  },
  { from: "settled", when: "it waits again", script: looks(unpaid("wait")), to: "settled", step: "Open" },
  { from: "settled", when: "it is gone", script: looks(unpaid("resend")), to: "settled", step: "Open", sent: 1 },
  {
    from: "settled",
    when: "its place is taken",
    script: looks(unpaid("resign")),
    to: "settled",
    step: "Open",
    sent: 1
  },
  { from: "settled", when: "one look misses it", script: looks(never(1)), to: "settled", step: "Open" },
  { from: "settled", when: "it is lost", script: neverAgain, rounds: 2, to: "settled", step: "Lost" },
  { from: "settled", when: "nobody can look", script: isAway, to: "settled", step: "ChainUnavailable" }
]

describe("A payment that is carried on", () => {
  for (const { from, rounds = 1, script, sent = 0, step, to, when } of steps) {
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
