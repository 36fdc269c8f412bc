/** Delivery of webhooks to a real receiver: what counts as delivered, what is tried again, and how it is signed. */
import { describe, expect } from "vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import { WebhookOutbox } from "@muniment/control/webhooks/WebhookOutbox"
import { WebhookDeliveries } from "@muniment/server/webhooks/WebhookDeliveries"
import { sendWebhook } from "@muniment/server/webhooks/WebhookSender"
import { webhookEndpoint, webhookSecrets } from "@muniment/server/webhooks/WebhookSettings"
import {
  isSigned,
  type Reply,
  startWebhookReceiver,
  type WebhookReceiver,
  webhookSecretText
} from "../../../support/WebhookReceiver.ts"
import { moneyLayerOf } from "../../control/MoneyLayers.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"
import { it } from "../../../support/it.ts"

const endpointOf = (url: string) => ({ url, secrets: webhookSecrets(webhookSecretText) ?? [] })

const receiving = Effect.acquireRelease(
  Effect.promise(() => startWebhookReceiver()),
  (receiver) => Effect.promise(() => receiver[Symbol.asyncDispose]())
)

const layerOf = ({ url }: WebhookReceiver) =>
  Layer.mergeAll(PaymentJournal.layerWith({ hasWebhook: true }), WebhookDeliveries.layer(endpointOf(url))).pipe(
    Layer.provideMerge(WebhookOutbox.layer),
    Layer.provideMerge(moneyLayerOf(temporaryDirectory()))
  )

const settle = Effect.fnUntraced(function* (id: string) {
  const journal = yield* PaymentJournal
  const payer = "0xpayer"
  yield* journal.claim({ id, account: "acc_1", network: "base", payer, units: 500_000, payload: {} })
  yield* journal.settled(id, `hash of ${id}`)
})

/** The clock of the service goes on, a second at a time, while the network takes its own time. */
const until = Effect.fnUntraced(function* (isSo: Effect.Effect<boolean, never, WebhookOutbox>) {
  while (!(yield* isSo)) {
    yield* Effect.promise(() => new Promise((wake) => setTimeout(wake, 20)))
    yield* TestClock.adjust("1 second")
  }
})

const allDelivered = Effect.flatMap(WebhookOutbox, (outbox) =>
  Effect.map(outbox.counts, ({ pending }) => pending === 0)
)

describe("WebhookDeliveries", () => {
  it.effect("signs as another implementation of the specification does", function* () {
    const receiver = yield* receiving
    yield* TestClock.setTime(1_764_000_000_000)
    const body = '{"type":"test","data":{"name":"Łukasz"}}'
    expect(yield* sendWebhook(endpointOf(receiver.url), { id: "msg_1", body })).toBeUndefined()
    const [delivery] = receiver.deliveries
    expect(delivery?.text).toBe(body)
    // By the package standardwebhooks 1.1.1.
    expect(delivery?.headers).toMatchObject({
      "webhook-id": "msg_1",
      "webhook-timestamp": "1764000000",
      "webhook-signature": "v1,Q4h3Tdoh7TSRc+60K/PzO18Dn1h+49rUmq8KwvEL/pg="
    })
    expect(yield* Effect.promise(() => isSigned(delivery!))).toBe(true)
    const two = { ...endpointOf(receiver.url), secrets: webhookSecrets(`${otherSecret},${webhookSecretText}`) ?? [] }
    yield* sendWebhook(two, { id: "msg_2", body })
    for (const secret of [otherSecret, webhookSecretText]) {
      expect(yield* Effect.promise(() => isSigned(receiver.deliveries[1]!, secret))).toBe(true)
    }
  })

  it.effect(
    "tries again what was answered by errors, redirects, silence and floods, with the same id, and follows nothing",
    function* () {
      const receiver = yield* receiving
      const first: Readonly<Record<string, Reply>> = { "500": 500, redirect: "redirect", hang: "hang", flood: "flood" }
      const seen = new Map<string, number>()
      receiver.answer = ({ body: { data } }) => {
        const payment = String(data["payment"])
        seen.set(payment, (seen.get(payment) ?? 0) + 1)
        return seen.get(payment) === 1 ? (first[payment] ?? 204) : 204
      }
      yield* Effect.gen(function* () {
        for (const payment of Object.keys(first)) yield* settle(payment)
        yield* until(allDelivered)
        const list = yield* Effect.flatMap(WebhookOutbox, (outbox) => outbox.list({ limit: 9 }))
        const attempts = Object.fromEntries(list.map((webhook) => [webhook.payment, webhook.attempts]))
        // A 2xx counts, whatever comes after it: nothing of it is read.
        expect(attempts).toEqual({ "500": 2, redirect: 2, hang: 2, flood: 1 })
      }).pipe(Effect.provide(layerOf(receiver)))
      expect(receiver.deliveries.filter(({ path }) => path !== "/hook")).toEqual([])
      const ids = Map.groupBy(receiver.deliveries, ({ body }) => body.data["payment"])
      for (const same of ids.values()) expect(new Set(same.map(({ headers }) => headers["webhook-id"])).size).toBe(1)
      const signed = yield* Effect.promise(() => Promise.all(receiver.deliveries.map((each) => isSigned(each))))
      expect(new Set(signed)).toEqual(new Set([true]))
    }
  )

  it.effect("keeps the order of a payment while its first message is refused", function* () {
    const receiver = yield* receiving
    let refusals = 2
    receiver.answer = () => (refusals-- > 0 ? 503 : 200)
    yield* Effect.gen(function* () {
      yield* settle("one")
      yield* PaymentJournal.use((journal) => journal.reversed("one", "reorganised"))
      yield* until(allDelivered)
    }).pipe(Effect.provide(layerOf(receiver)))
    expect(receiver.deliveries.map(({ body }) => body.type)).toEqual([
      "payment.settled",
      "payment.settled",
      "payment.settled",
      "payment.reversed"
    ])
  })

  it.effect("says why a test failed, without the address", function* () {
    const receiver = yield* receiving
    yield* Effect.gen(function* () {
      const deliveries = yield* WebhookDeliveries
      expect(yield* deliveries.test).toMatchObject({ delivered: true, reason: null })
      receiver.answer = () => 410
      expect(yield* deliveries.test).toMatchObject({ delivered: false, reason: "status 410" })
      yield* Effect.promise(() => receiver[Symbol.asyncDispose]())
      expect(yield* deliveries.test).toMatchObject({ delivered: false, reason: expect.stringMatching(/^[A-Z_]+$/) })
    }).pipe(Effect.provide(layerOf(receiver)))
  })

  it.effect("is not there where half of it is configured", function* () {
    const url = Option.some("https://hooks.example.com/x")
    const refused = yield* Effect.flip(webhookEndpoint({ url, secrets: Option.none() }))
    expect(refused.message).toBe("MUNIMENT_WEBHOOK_URL: it needs MUNIMENT_WEBHOOK_SECRET")
  })
})

const otherSecret = `whsec_${Buffer.alloc(24, 9).toString("base64")}`
