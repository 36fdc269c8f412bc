/** What reconciliation makes of payments that a crash, an outage or a reorganised chain left behind. */
import { describe, expect } from "vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { unfinishedPageMax } from "@muniment/control/payments/PaymentRows"
import type { PaymentChain } from "@muniment/payments/chain/PaymentChain"
import { Reconcile } from "@muniment/payments/Payments"
import { crashImage } from "../../control/CrashImage.ts"
import { alice, type ProcessOptions, startProcess, units } from "./SettlementProcess.ts"
import { away, paid, ScriptedChain, unpaid, never } from "../ScriptedChain.ts"
import { it } from "../../../support/it.ts"

/** With reconciliation at work, as the service has it. */
const startService = Effect.fn("startService")(function* (
  chains: ReadonlyArray<PaymentChain>,
  options: ProcessOptions = {}
) {
  const process = yield* startProcess(chains, options)
  const context = yield* Layer.build(Layer.provide(Reconcile.layer, Layer.succeedContext(process.context)))
  const { round } = Context.get(context, Reconcile)
  return { ...process, round: Effect.provide(round, process.context) }
})

/** Lets the round of the start end. */
const settle = TestClock.adjust(1)
const aRound = TestClock.adjust(Limits.reconcileEveryMillis)
const fourRounds = TestClock.adjust(4 * Limits.reconcileEveryMillis)

describe("A payment whose process was killed", () => {
  /** Where the first process stands still; what the chain has by then; whether it must be settled after. */
  const places: ReadonlyArray<readonly [string, (chain: ScriptedChain) => void, number, number]> = [
    ["while it was verified", (chain) => (chain.onVerify = () => Effect.never), 0, 0],
    ["after it was claimed", (chain) => (chain.onSign = () => Effect.never), 0, 0.1],
    ["after it was journalled, before it was sent", (chain) => (chain.onBroadcast = () => Effect.never), 1, 0.1],
    [
      "after it was sent, before the answer",
      (chain) => {
        const send = chain.onBroadcast
        chain.onBroadcast = (nonce, transaction) => Effect.andThen(send(nonce, transaction), Effect.never)
      },
      1,
      0.1
    ],
    ["while it was looked for", (chain) => (chain.onLook = () => Effect.never), 1, 0.1],
    ["after it was credited", () => {}, 1, 0.1]
  ]
  for (const [where, stop, sentBefore, dollars] of places) {
    it.effect(
      `${where}, is credited ${dollars === 0 ? "only when it comes again" : "once by the next start"}`,
      function* () {
        const before = new ScriptedChain()
        stop(before)
        const first = yield* startProcess([before])
        yield* Effect.forkChild(first.pay("one"))
        yield* TestClock.adjust(1)
        expect(before.sent).toHaveLength(sentBefore)

        const after = new ScriptedChain()
        before.mined.forEach((view, nonce) => after.mined.set(nonce, view))
        const next = yield* startService([after], { directory: crashImage(first.directory) })
        yield* settle
        yield* aRound
        expect(yield* next.balance(alice)).toBe(dollars)
        expect(yield* next.pay("one")).toMatchObject({ _tag: "Settled", replayed: dollars > 0 })
        expect(yield* next.balance(alice)).toBe(0.1)
        expect(yield* next.check).toMatchObject({ ok: true })
      }
    )
  }
})

it.effect("A payment whose service was shut down is answered pending, and settled by the next start", function* () {
  const chain = new ScriptedChain()
  chain.onBroadcast = () => Effect.never
  const first = yield* startProcess([chain])
  const asked = yield* Effect.forkChild(first.pay("one"), { startImmediately: true })
  yield* settle
  expect(chain.sent).toHaveLength(1)
  yield* first.end
  yield* TestClock.adjust(1)
  expect(asked.pollUnsafe()).toMatchObject({ _tag: "Success", value: { _tag: "Pending" } })
  const next = yield* startService([new ScriptedChain()], { directory: first.directory })
  yield* settle
  yield* aRound
  expect(yield* next.balance(alice)).toBe(0.1)
})

describe("Reconciliation", () => {
  it.effect("goes on every 15 seconds, and through an outage that the log tells once", function* () {
    const chain = new ScriptedChain()
    chain.onLook = () => away
    const { balance, journal, logged, payAndWait } = yield* startService([chain])
    yield* payAndWait("one")
    yield* payAndWait("two")
    yield* fourRounds
    expect(logged.filter((line) => line === "Warn payment network does not work; payments wait")).toHaveLength(1)
    expect(yield* balance(alice)).toBe(0)
    chain.onLook = (nonce) => Effect.sync(() => chain.mined.get(nonce) ?? unpaid("resend"))
    yield* aRound
    expect(yield* balance(alice)).toBe(0.2)
    expect(logged.filter((line) => line === "Info payment network works again")).toHaveLength(1)
    expect(logged.filter((line) => line.startsWith("Error"))).toEqual([])
    expect(yield* journal.countByState).toMatchObject({ settled: 2 })
  })

  it.effect("looks at settled payments until they are final, and at none after", function* () {
    const chain = new ScriptedChain()
    const { journal, pay, round } = yield* startService([chain])
    yield* settle
    yield* pay("one")
    const looks = chain.count("look")
    yield* fourRounds
    yield* fourRounds
    expect(chain.count("look")).toBe(looks + 2)
    expect(yield* journal.countByState).toMatchObject({ settled: 1 })
    chain.onLook = () => Effect.succeed(paid("hash-1", 64, true))
    yield* fourRounds
    expect(yield* journal.countByState).toMatchObject({ finalized: 1 })
    yield* fourRounds
    expect([yield* round, chain.count("look")]).toEqual([0, looks + 3])
  })

  it.effect("keeps up with a reorganised chain that mines the payment again", function* () {
    const chain = new ScriptedChain()
    const { balance, journal, pay, round } = yield* startService([chain])
    yield* pay("one")
    chain.mined.clear()
    yield* round
    expect(chain.sent.map(({ hash }) => hash)).toEqual(["hash-1", "hash-1"])
    chain.mined.set("one", paid("of-a-stranger"))
    yield* round
    expect(yield* journal.find(chain.idOf("one"))).toMatchObject({
      state: "settled",
      transaction: { hash: "of-a-stranger" }
    })
    expect(yield* balance(alice)).toBe(0.1)
  })

  it.effect("takes back what the chain has lost, when it says so at two blocks", function* () {
    const chain = new ScriptedChain()
    const { balance, check, journal, logged, pay, round } = yield* startService([chain])
    yield* pay("one")
    for (const block of [1, 1]) {
      chain.mined.set("one", never(block))
      yield* round
      expect(yield* balance(alice)).toBe(0.1)
    }
    chain.mined.set("one", never(2))
    yield* round
    expect(yield* balance(alice)).toBe(0)
    expect(yield* journal.countByState).toMatchObject({ reversed: 1 })
    expect(logged).toContain("Warn payment reversed: a chain reorganisation removed it")
    expect(yield* Effect.flip(pay("one"))).toMatchObject({ _tag: "PaymentInvalid" })
    expect(yield* check).toMatchObject({ ok: true })
  })

  it.effect("takes nothing back when the chain has said so by mistake", function* () {
    const chain = new ScriptedChain()
    const { balance, pay, round } = yield* startService([chain])
    yield* pay("one")
    for (const view of [never(1), paid("hash-1"), never(2), unpaid("wait"), never(3)]) {
      chain.mined.set("one", view)
      yield* round
    }
    expect(yield* balance(alice)).toBe(0.1)
  })

  it.effect("by the operator and by the clock at once looks twice, one round after the other", function* () {
    const chain = new ScriptedChain()
    const { pay, round } = yield* startService([chain])
    yield* settle
    yield* pay("one")
    const looks = chain.count("look")
    chain.onLook = () => Effect.delay(Effect.succeed(paid("hash-1")), 100)
    const rounds = yield* Effect.forkChild(Effect.all([round, round], { concurrency: "unbounded" }))
    yield* TestClock.adjust(200)
    expect(yield* Fiber.join(rounds)).toEqual([1, 1])
    expect(chain.count("look")).toBe(looks + 2)
  })

  it.effect("is not stopped by one payment's defect, nor by a network that is no longer served", function* () {
    const chains = [new ScriptedChain(), new ScriptedChain("solana-devnet")]
    for (const chain of chains) chain.onLook = () => away
    const first = yield* startProcess(chains)
    yield* first.payAndWait("bad")
    yield* first.payAndWait("one")
    yield* first.payAndWait("two", { wire: chains[1]!.payment("two") })

    const chain = new ScriptedChain()
    chain.onLook = (nonce) =>
      nonce === "bad" ? Effect.die(new Error("a broken invariant")) : Effect.succeed(paid("x"))
    const next = yield* startService([chain], { directory: crashImage(first.directory) })
    yield* settle
    expect(yield* next.balance(alice)).toBe(0.1)
    expect(yield* next.journal.countByState).toMatchObject({ broadcasting: 2, settled: 1 })
    expect(next.logged).toContain("Error payment step crashed; reconciliation will retry")
  })

  it.effect("reaches the newest payment behind a page of those that stay open", function* () {
    const chain = new ScriptedChain()
    const first = yield* startProcess([chain])
    for (let at = 0; at < unfinishedPageMax; at++) {
      const id = `stuck-${at}`
      yield* first.journal.claim({ id, account: alice.id, network: "solana", payer: "p", units, payload: {} })
    }
    yield* TestClock.adjust(1)
    chain.onLook = () => away
    yield* first.payAndWait("one")

    const after = new ScriptedChain()
    chain.mined.forEach((view, nonce) => after.mined.set(nonce, view))
    const next = yield* startService([after], { directory: crashImage(first.directory) })
    expect(yield* next.round).toBe(unfinishedPageMax + 1)
    expect(yield* next.balance(alice)).toBe(0.1)
  })
})
