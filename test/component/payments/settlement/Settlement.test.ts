/** The state machine of a payment: sent once, credited once, and never called failed while it may still pay. */
import { describe, expect } from "vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { InsufficientStorage } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { alice, bob, startProcess, units } from "./SettlementProcess.ts"
import { away, invalid, never, paid, ScriptedChain, unpaid } from "../ScriptedChain.ts"
import { it } from "../../../support/it.ts"

const fails = (tag: string, fields: Readonly<Record<string, unknown>> = {}) =>
  expect.objectContaining({ _tag: tag, ...fields })
const pending = Exit.succeed({ _tag: "Pending", retryAfterSeconds: 5 })

describe("A payment", () => {
  it.effect("is verified, claimed, journalled, sent, seen and credited", function* () {
    const chain = new ScriptedChain()
    const { balance, check, journal, pay } = yield* startProcess([chain])
    let whileSending: unknown
    const send = chain.onBroadcast
    chain.onBroadcast = (nonce, transaction) =>
      Effect.gen(function* () {
        whileSending = yield* journal.find(chain.idOf(nonce))
        yield* send(nonce, transaction)
      })
    expect(yield* pay("one")).toEqual({
      _tag: "Settled",
      payment: chain.idOf("one"),
      hash: "hash-1",
      payer: "payer",
      network: "base-sepolia",
      settledAt: 0,
      replayed: false
    })
    expect(chain.calls).toEqual(["verify one", "sign one", "broadcast one", "look one"])
    expect(whileSending).toMatchObject({ state: "broadcasting", transaction: { hash: "hash-1", raw: "raw of hash-1" } })
    expect(yield* journal.find(chain.idOf("one"))).toMatchObject({ state: "settled", account: alice.id, units })
    expect(yield* balance(alice)).toBe(0.1)
    expect(yield* check).toMatchObject({ ok: true })
  })

  it.effect("that is repeated is answered from the journal, and credited once", function* () {
    const chain = new ScriptedChain()
    const { balance, pay } = yield* startProcess([chain])
    const first = yield* pay("one")
    const { length } = chain.calls
    expect(yield* pay("one")).toEqual({ ...first, replayed: true })
    expect(chain.calls).toHaveLength(length)
    expect(yield* balance(alice)).toBe(0.1)
  })

  it.effect("belongs to one account and one amount", function* () {
    const chain = new ScriptedChain()
    chain.onLook = () => Effect.succeed(unpaid("wait"))
    const { balance, pay, payAndWait } = yield* startProcess([chain])
    expect(yield* payAndWait("one")).toEqual(pending)
    expect(yield* Effect.flip(pay("one", { account: bob.id }))).toEqual(fails("PaymentConflict"))
    chain.onLook = () => Effect.succeed(paid("hash-1"))
    yield* pay("one")
    expect(yield* Effect.flip(pay("one", { account: bob.id }))).toEqual(fails("PaymentConflict"))
    expect(yield* Effect.flip(pay("one", { units: 2 * units }))).toEqual(fails("PaymentConflict"))
    expect([yield* balance(alice), yield* balance(bob)]).toEqual([0.1, 0])
  })

  it.effect("that breaks a rule leaves no trace, and may come again", function* () {
    const chain = new ScriptedChain()
    const { journal, pay } = yield* startProcess([chain])
    chain.onVerify = () => invalid("it has expired")
    expect(yield* Effect.flip(pay("one"))).toEqual(fails("PaymentInvalid", { reason: "it has expired" }))
    chain.onVerify = () => away
    expect(yield* Effect.flip(pay("one"))).toEqual(fails("ChainUnavailable"))
    expect(yield* journal.unfinished()).toEqual([])
    expect(chain.calls).toEqual(["verify one", "verify one"])
    chain.onVerify = () => Effect.void
    expect(yield* pay("one")).toMatchObject({ _tag: "Settled" })
  })

  it.effect("on a network that is not served is refused by the names of those that are", function* () {
    const { settlement } = yield* startProcess([new ScriptedChain("base"), new ScriptedChain("solana")])
    const wire = new ScriptedChain("base-sepolia").payment("one")
    const refused = yield* Effect.flip(settlement.pay({ account: alice.id, units, wire }))
    expect(refused).toEqual(
      fails("PaymentInvalid", { reason: "payments on base-sepolia are not accepted; accepted are: base, solana" })
    )
  })

  it.effect("whose payload cannot be read is refused", function* () {
    const chain = new ScriptedChain()
    const { pay } = yield* startProcess([chain])
    const wire = { ...chain.payment("one"), payload: {} }
    expect(yield* Effect.flip(pay("one", { wire }))).toEqual(fails("PaymentInvalid"))
    expect(chain.calls).toEqual([])
  })
})

describe("Once it is claimed", () => {
  it.effect("an error of sending means unknown: it is looked for, and credited when it is there", function* () {
    const chain = new ScriptedChain()
    const { balance, journal, pay, payAndWait } = yield* startProcess([chain])
    chain.onBroadcast = () => away
    chain.onLook = () => Effect.succeed(unpaid("wait"))
    expect(yield* payAndWait("one")).toEqual(pending)
    expect(yield* journal.find(chain.idOf("one"))).toMatchObject({ state: "broadcasting" })
    chain.onLook = () => Effect.succeed(paid("hash-1"))
    expect(yield* pay("one")).toMatchObject({ _tag: "Settled", hash: "hash-1", replayed: false })
    expect(yield* balance(alice)).toBe(0.1)
  })

  it.effect("a node that is away makes it pending, and the payment goes on where it was", function* () {
    const chain = new ScriptedChain()
    const { journal, logged, pay, payAndWait } = yield* startProcess([chain])
    chain.onSign = () => away
    expect(yield* payAndWait("one")).toEqual(pending)
    expect(yield* journal.find(chain.idOf("one"))).toMatchObject({ state: "verified" })
    chain.onSign = () => Effect.void
    chain.onLook = () => away
    expect(yield* payAndWait("one")).toEqual(pending)
    expect(yield* journal.find(chain.idOf("one"))).toMatchObject({ state: "broadcasting" })
    chain.onLook = () => Effect.succeed(paid("hash-1"))
    expect(yield* pay("one")).toMatchObject({ _tag: "Settled" })
    expect(chain.sent).toHaveLength(1)
    expect(logged.filter((line) => line.includes("does not work"))).toHaveLength(2)
  })

  it.effect(
    "it is pending where it cannot be signed, and fails once the chain says twice that it cannot come",
    function* () {
      const chain = new ScriptedChain()
      const { journal, pay } = yield* startProcess([chain])
      chain.onSign = () => invalid("the transfer would fail")
      expect(yield* Effect.exit(pay("one"))).toEqual(pending)
      for (const block of [1, 2]) {
        expect(yield* journal.find(chain.idOf("one"))).toMatchObject({ state: "verified" })
        chain.mined.set("one", never(block))
        yield* Effect.exit(pay("one"))
      }
      for (let time = 0; time < 2; time++) {
        expect(yield* Effect.flip(pay("one"))).toEqual(fails("PaymentInvalid", { reason: "the transfer would fail" }))
      }
      expect(yield* journal.find(chain.idOf("one"))).toMatchObject({ state: "failed" })
      expect(chain.sent).toEqual([])
    }
  )

  it.effect("it is credited although it cannot be signed, if somebody else has handed it in", function* () {
    const chain = new ScriptedChain()
    const { balance, pay } = yield* startProcess([chain])
    chain.onSign = () => invalid("the authorization is used")
    chain.onLook = () => Effect.succeed(paid("of-a-stranger"))
    expect(yield* pay("one")).toMatchObject({ _tag: "Settled", hash: "of-a-stranger" })
    expect(yield* balance(alice)).toBe(0.1)
  })

  it.effect("it fails where the chain says at two blocks that no money can come, and only then", function* () {
    const chain = new ScriptedChain()
    const { balance, journal, pay, payAndWait } = yield* startProcess([chain])
    chain.onLook = () => Effect.succeed(never(1))
    expect(yield* payAndWait("one")).toEqual(pending)
    expect(yield* journal.find(chain.idOf("one"))).toMatchObject({ state: "broadcasting" })
    chain.onLook = () => Effect.succeed(never(2))
    expect(yield* Effect.flip(pay("one"))).toEqual(fails("PaymentInvalid"))
    expect(yield* journal.find(chain.idOf("one"))).toMatchObject({ state: "failed" })
    chain.onLook = () => Effect.succeed(paid("hash-1"))
    expect(yield* Effect.flip(pay("one"))).toEqual(fails("PaymentInvalid"))
    expect(yield* balance(alice)).toBe(0)
  })

  it.effect("it is credited when it lies deep enough", function* () {
    const chain = new ScriptedChain()
    const { balance, pay } = yield* startProcess([chain], { confirmations: 3 })
    let confirmations = 0
    chain.onLook = () => Effect.sync(() => paid("hash-1", Math.floor(++confirmations / 2)))
    const asked = yield* Effect.forkChild(pay("one"))
    yield* TestClock.adjust(4 * Limits.settlementPollMillis)
    expect(yield* balance(alice)).toBe(0)
    yield* TestClock.adjust(Limits.settlementPollMillis)
    expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "Settled" })
    expect(confirmations).toBe(6)
  })

  it.effect(
    "the same bytes are sent again about once a second, until it is seen or the caller is answered",
    function* () {
      const chain = new ScriptedChain()
      const { payAndWait } = yield* startProcess([chain])
      chain.onBroadcast = () => Effect.void
      expect(yield* payAndWait("one")).toEqual(pending)
      expect(chain.sent.length).toBeGreaterThanOrEqual(10)
      expect(chain.sent.length).toBeLessThanOrEqual(12)
      expect(new Set(chain.sent.map(({ raw }) => raw)).size).toBe(1)
    }
  )

  it.effect(
    "it is signed anew where its transaction never lands, and the new one is journalled before it is sent",
    function* () {
      const chain = new ScriptedChain()
      const { journal, payAndWait } = yield* startProcess([chain])
      const send = chain.onBroadcast
      const journalled: Array<string | undefined> = []
      chain.onLook = (nonce) => Effect.sync(() => chain.mined.get(nonce) ?? unpaid("resign"))
      chain.onBroadcast = (nonce, transaction) =>
        Effect.gen(function* () {
          journalled.push((yield* journal.find(chain.idOf(nonce)))?.transaction?.hash)
          if (chain.sent.length > 1) yield* send(nonce, transaction)
        })
      expect(yield* payAndWait("one")).toEqual(Exit.succeed(expect.objectContaining({ hash: "hash-2" })))
      expect(journalled).toEqual(["hash-1", "hash-2"])
      expect(chain.replaced).toEqual([undefined, "hash-1"])
    }
  )

  it.effect("a rule that it breaks when it is signed anew does not make it fail", function* () {
    const chain = new ScriptedChain()
    const { journal, payAndWait } = yield* startProcess([chain])
    chain.onBroadcast = () => Effect.sync(() => void (chain.onSign = () => invalid("used by now")))
    chain.onLook = () => Effect.succeed(unpaid("resign"))
    expect(yield* payAndWait("one")).toEqual(pending)
    expect(yield* journal.find(chain.idOf("one"))).toMatchObject({ state: "broadcasting" })
  })

  it.effect("a full disk makes it pending, and it is credited later", function* () {
    const chain = new ScriptedChain()
    let isFull = true
    const full = Effect.fail(new InsufficientStorage({ code: "insufficient_storage", error: "the disk is full" }))
    const { balance, pay, payAndWait } = yield* startProcess([chain], {
      journal: (journal) => ({
        ...journal,
        settled: (id, hash) => Effect.suspend(() => (isFull ? full : journal.settled(id, hash)))
      })
    })
    expect(yield* payAndWait("one")).toEqual(pending)
    expect(yield* balance(alice)).toBe(0)
    isFull = false
    expect(yield* pay("one")).toMatchObject({ _tag: "Settled" })
    expect(yield* balance(alice)).toBe(0.1)
  })

  it.effect("a defect is logged, and its caller hears pending", function* () {
    const chain = new ScriptedChain()
    const { logged, payAndWait } = yield* startProcess([chain])
    chain.onLook = () => Effect.die(new Error("a broken invariant"))
    expect(yield* payAndWait("one")).toEqual(pending)
    expect(logged).toContain("Error payment step crashed; reconciliation will retry")
  })
})

describe("Callers", () => {
  it.effect("who bring one payment at once share one run and one answer", function* () {
    const chain = new ScriptedChain()
    const { balance, pay } = yield* startProcess([chain])
    chain.onVerify = () => Effect.sleep(100)
    const asked = yield* Effect.forkChild(
      Effect.all(
        Array.from({ length: 50 }, () => pay("one")),
        { concurrency: "unbounded" }
      )
    )
    yield* TestClock.adjust(200)
    const answers = yield* Fiber.join(asked)
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]).toMatchObject({ _tag: "Settled", replayed: false })
    expect([chain.count("verify"), chain.count("sign"), chain.sent.length]).toEqual([1, 1, 1])
    expect(yield* balance(alice)).toBe(0.1)
  })

  it.effect("of other accounts that bring it at the same moment are refused, one alone is credited", function* () {
    const chain = new ScriptedChain()
    const { balance, pay } = yield* startProcess([chain])
    chain.onVerify = () => Effect.sleep(100)
    const asked = yield* Effect.forkChild(
      Effect.all([pay("one"), Effect.flip(pay("one", { account: bob.id }))], { concurrency: "unbounded" })
    )
    yield* TestClock.adjust(200)
    const [mine, theirs] = yield* Fiber.join(asked)
    expect(mine).toMatchObject({ _tag: "Settled" })
    expect(theirs).toEqual(fails("PaymentConflict"))
    expect([yield* balance(alice), yield* balance(bob)]).toEqual([0.1, 0])
  })

  it.effect("who bring it for another amount do not stand in its way", function* () {
    const chain = new ScriptedChain()
    const { balance, pay } = yield* startProcess([chain])
    chain.onVerify = () => Effect.delay(invalid("the amount is wrong"), 100)
    const wrong = yield* Effect.forkChild(pay("one", { account: bob.id, units: 1 }))
    yield* TestClock.adjust(50)
    chain.onVerify = () => Effect.void
    const right = yield* Effect.forkChild(pay("one"))
    yield* TestClock.adjust(100)
    expect(yield* Effect.flip(Fiber.join(wrong))).toEqual(fails("PaymentInvalid"))
    expect(yield* Fiber.join(right)).toMatchObject({ _tag: "Settled" })
    expect(yield* balance(alice)).toBe(0.1)
  })

  it.effect("who go away stop nothing", function* () {
    const chain = new ScriptedChain()
    const { balance, pay } = yield* startProcess([chain])
    const isSending = yield* Deferred.make<void>()
    const send = chain.onBroadcast
    chain.onBroadcast = (nonce, transaction) =>
      Effect.andThen(Deferred.succeed(isSending, undefined), Effect.delay(send(nonce, transaction), 500))
    const asked = yield* Effect.forkChild(pay("one"))
    yield* Deferred.await(isSending)
    yield* Fiber.interrupt(asked)
    expect(yield* balance(alice)).toBe(0)
    yield* TestClock.adjust(500)
    expect(yield* balance(alice)).toBe(0.1)
  })

  it.effect("who cannot be interrupted are answered in time all the same, and the run goes on", function* () {
    const chain = new ScriptedChain()
    const { balance, pay } = yield* startProcess([chain])
    const send = chain.onBroadcast
    chain.onBroadcast = (nonce, transaction) => Effect.delay(send(nonce, transaction), 20_000)
    const asked = yield* Effect.forkChild(Effect.uninterruptible(pay("one")))
    yield* TestClock.adjust(Limits.settlementWaitMillis)
    expect(yield* Fiber.await(asked)).toEqual(pending)
    yield* TestClock.adjust(20_000)
    expect(yield* balance(alice)).toBe(0.1)
    expect(chain.sent).toHaveLength(1)
  })
})

describe("A network whose transactions are numbered", () => {
  const overlapping = Effect.fnUntraced(function* (chain: ScriptedChain) {
    const { pay } = yield* startProcess([chain])
    let atOnce = 0
    let atOnceMax = 0
    const send = chain.onBroadcast
    chain.onSign = () => Effect.sync(() => void (atOnceMax = Math.max(atOnceMax, ++atOnce)))
    chain.onBroadcast = (nonce, transaction) =>
      Effect.delay(send(nonce, transaction), 100).pipe(Effect.ensuring(Effect.sync(() => void atOnce--)))
    const asked = yield* Effect.forkChild(
      Effect.all(
        Array.from({ length: 8 }, (_, one) => pay(`nonce-${one}`)),
        { concurrency: "unbounded" }
      )
    )
    yield* TestClock.adjust(5_000)
    expect((yield* Fiber.join(asked)).every(({ _tag }) => _tag === "Settled")).toBe(true)
    return atOnceMax
  })

  it.effect("has one signed and sent at a time", function* () {
    expect(yield* overlapping(new ScriptedChain())).toBe(1)
  })

  it.effect("holds up no other", function* () {
    expect(yield* overlapping(new ScriptedChain("solana-devnet", { sendsInParallel: true }))).toBe(8)
  })
})
