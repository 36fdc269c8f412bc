/** The outbox of webhooks: written with the books or not at all, due in the order of each payment, given up in the end. */
import { describe, expect } from "vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Account } from "@muniment/domain/Account"
import { Limits } from "@muniment/domain/Limits"
import { credits } from "@muniment/domain/Money"
import { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { Ledger } from "@muniment/control/credits/Ledger"
import { type NewPayment, PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { DueMessage } from "@muniment/control/webhooks/WebhookMessages"
import { WebhookOutbox } from "@muniment/control/webhooks/WebhookOutbox"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { crashImage } from "../CrashImage.ts"
import { moneyLayerOf } from "../MoneyLayers.ts"
import { it, itWith } from "../../../support/it.ts"

const fresh = itWith(() => outboxLayer(temporaryDirectory()))

const account: Account = { id: "acc_1", name: "one", plan: "free", createdAt: 0 }
const paymentOf = (id: string): NewPayment => ({
  id,
  account: account.id,
  network: "base",
  payer: "0xpayer",
  units: 500_000,
  payload: { signature: "0xsecret" }
})

const outboxLayer = (directory: string, hasWebhook = true) =>
  Layer.mergeAll(PaymentJournal.layerWith({ hasWebhook }), WebhookOutbox.layer).pipe(
    Layer.provideMerge(moneyLayerOf(directory)),
    Layer.fresh
  )

const settle = Effect.fnUntraced(function* (id: string) {
  const journal = yield* PaymentJournal
  yield* journal.claim(paymentOf(id))
  yield* journal.broadcasting(id, { hash: `hash of ${id}`, raw: "0xraw" })
  yield* journal.settled(id, `hash of ${id}`)
})

const refundOf = (payment: string) => ({ ...paymentOf(`refund of ${payment}`), payer: "0xpayee", payment })

const dueTypes = Effect.flatMap(WebhookOutbox, (outbox) =>
  Effect.map(outbox.due(9), (due) => due.map(({ body }) => JSON.parse(body).type))
)

const delivered = (message: DueMessage) => ({ message, reason: undefined, delayMillis: 0 })

describe("WebhookOutbox", () => {
  fresh.effect("has a message of each credit, reversal and refund, once, without what was signed", function* () {
    const outbox = yield* WebhookOutbox
    const journal = yield* PaymentJournal
    yield* settle("one")
    yield* journal.settled("one", "again")
    yield* journal.refunds.claim(refundOf("one"))
    yield* journal.refunds.settled("refund of one", "0xback")
    yield* journal.refunds.failed("refund of one", "reorganised")
    yield* settle("two")
    yield* journal.reversed("two", "reorganised")
    yield* journal.reversed("two", "reorganised")
    const all = yield* outbox.list({ limit: 99 })
    expect(all.map(({ payment, type }) => [payment, type]).toReversed()).toEqual([
      ["one", "payment.settled"],
      ["one", "refund.started"],
      ["one", "refund.settled"],
      ["one", "refund.failed"],
      ["two", "payment.settled"],
      ["two", "payment.reversed"]
    ])
    const [first] = yield* outbox.due(1)
    expect(first?.body).not.toMatch(/0xsecret|0xraw/)
    expect(JSON.parse(first?.body ?? "")).toEqual({
      type: "payment.settled",
      timestamp: "1970-01-01T00:00:00.000Z",
      data: {
        payment: "one",
        payer: "0xpayer",
        account: "acc_1",
        network: "base",
        amountUsd: 0.5,
        credits: 500,
        transaction: "hash of one"
      }
    })
  })

  it.effect(
    "is written with the books: a kill after the credit keeps both, a failure of either undoes both",
    function* () {
      const directory = temporaryDirectory()
      const image = yield* Effect.gen(function* () {
        yield* settle("one")
        const killed = crashImage(directory)
        const { read, sql } = yield* ControlDatabase
        yield* read(
          sql`CREATE TRIGGER no_message BEFORE INSERT ON webhook_message BEGIN SELECT RAISE(ABORT, 'no'); END`
        )
        expect((yield* Effect.exit(settle("two")))._tag).toBe("Failure")
        const journal = yield* PaymentJournal
        expect(yield* journal.find("two")).toMatchObject({ state: "broadcasting" })
        expect(yield* Ledger.use((ledger) => ledger.purses(account))).toMatchObject({ balance: credits(500) })
        return killed
      }).pipe(Effect.provide(outboxLayer(directory)))
      yield* Effect.gen(function* () {
        expect(yield* dueTypes).toEqual(["payment.settled"])
        expect(yield* Ledger.use((ledger) => ledger.purses(account))).toMatchObject({ balance: credits(500) })
      }).pipe(Effect.provide(outboxLayer(image)))
    }
  )

  fresh.effect("holds back what follows of a payment, and nothing of others", function* () {
    const outbox = yield* WebhookOutbox
    const journal = yield* PaymentJournal
    yield* settle("one")
    yield* journal.reversed("one", "reorganised")
    yield* settle("two")
    const [first, behind, other] = yield* outbox.due(9)
    expect(yield* dueTypes).toEqual(["payment.settled", "payment.reversed", "payment.settled"])
    yield* outbox.attempted([{ message: first!, reason: "status 500", delayMillis: 5_000 }])
    yield* outbox.attempted([delivered(other!)])
    expect(yield* dueTypes).toEqual([])
    yield* TestClock.adjust(5_000)
    expect(yield* outbox.due(9)).toMatchObject([{ id: first!.id, attempts: 1 }, { id: behind!.id }])
    yield* outbox.attempted([delivered(first!)])
    expect(yield* dueTypes).toEqual(["payment.reversed"])
  })

  fresh.effect("gives a message up after days, lets the next one go, and sends it again by hand", function* () {
    const outbox = yield* WebhookOutbox
    const journal = yield* PaymentJournal
    yield* settle("one")
    yield* journal.reversed("one", "reorganised")
    const due = (yield* outbox.due(1))[0]!
    const { id } = due
    const miss = outbox.attempted([{ message: due, reason: "status 500", delayMillis: 0 }])
    yield* TestClock.adjust(Limits.webhookGiveUpMillis)
    expect([yield* miss, yield* outbox.counts]).toMatchObject([[], { pending: 2, failed: 0, oldestAt: 0 }])
    yield* TestClock.adjust(1)
    expect([yield* miss, yield* outbox.counts]).toMatchObject([[id], { pending: 1, failed: 1 }])
    expect(yield* dueTypes).toEqual(["payment.reversed"])
    expect(yield* outbox.list({ state: "failed", limit: 9 })).toMatchObject([
      { id, attempts: 2, nextAt: null, reason: "status 500" }
    ])
    expect(yield* outbox.resend(undefined)).toBe(1)
    expect(yield* outbox.due(9)).toMatchObject([{ id, attempts: 0 }, { attempts: 0 }])
    expect(yield* Effect.flip(outbox.resend("msg_none"))).toMatchObject({ code: "webhook_not_found" })
  })

  fresh.effect("forgets what was delivered a month ago, and nothing else", function* () {
    const outbox = yield* WebhookOutbox
    for (const id of ["one", "two"]) yield* settle(id)
    const [first] = yield* outbox.due(1)
    yield* outbox.attempted([delivered(first!)])
    yield* TestClock.adjust(Limits.webhookRetentionMillis)
    yield* outbox.sweep
    expect(yield* outbox.list({ limit: 9 })).toHaveLength(2)
    yield* TestClock.adjust(1)
    yield* outbox.sweep
    expect(yield* outbox.list({ limit: 9 })).toMatchObject([{ payment: "two", state: "pending" }])
  })

  it.effect("stays empty where there is no webhook", () =>
    Effect.gen(function* () {
      yield* settle("one")
      expect(yield* Effect.flatMap(WebhookOutbox, (outbox) => outbox.list({ limit: 9 }))).toEqual([])
    }).pipe(Effect.provide(outboxLayer(temporaryDirectory(), false)))
  )
})
