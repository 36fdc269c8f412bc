/**
 * Delivers the messages of the outbox to the operator's webhook, while the layer lives (contract: Webhooks).
 *
 * Invariants: a message leaves the outbox after the receiver's 2xx, so it arrives at least once, also after a kill; of a
 * payment one message is under way at a time, in their order. What is logged names messages and not their content.
 */
import { Clock, Context, Effect, Layer, Metric, Random, Schedule } from "effect"
import { Conflict } from "@muniment/domain/Errors"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"
import { Limits } from "@muniment/domain/Limits"
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import type { WebhookTrial } from "@muniment/domain/Events"
import { type DueWebhook, WebhookOutbox } from "@muniment/control/webhooks/WebhookOutbox"
import { Rounds } from "@muniment/worker/Rounds"
import { sendTest, sendWebhook } from "./WebhookSender.ts"
import type { WebhookEndpoint } from "./WebhookSettings.ts"

type WebhookHealth = ServiceStatus["webhooks"]

export class WebhookDeliveries extends Context.Service<
  WebhookDeliveries,
  {
    readonly health: Effect.Effect<WebhookHealth>
    /** Sends a message of type `test`, past the outbox, once. */
    readonly test: Effect.Effect<WebhookTrial, Conflict>
  }
>()("muniment/server/WebhookDeliveries") {
  /** Without an endpoint nothing is sent; what is in the outbox stays there. */
  static readonly layer = (endpoint: WebhookEndpoint | undefined) => Layer.effect(this, make(endpoint))
}

const batchMax = 32
const concurrentMax = 4
/** On a full disk deliveries cannot be written down, and are repeated after this time. */
const againMillis = 60_000

const deliveries = Metric.counter("webhook_deliveries_total", {
  description: "Attempts to deliver a message to the webhook, by outcome.",
  incremental: true
})

const make = Effect.fnUntraced(function* (endpoint: WebhookEndpoint | undefined) {
  const outbox = yield* WebhookOutbox
  if (endpoint !== undefined)
    yield* Rounds.add({
      name: "webhooks",
      schedule: Schedule.spaced(Limits.webhookPollMillis),
      work: deliverDue(outbox, endpoint),
      isFirstNow: true,
      again: Effect.sleep(againMillis)
    })

  const health = Effect.gen(function* () {
    const { failed, oldestAt, pending } = yield* outbox.counts
    const now = yield* Clock.currentTimeMillis
    const oldestSeconds = oldestAt === undefined ? 0 : Math.max(0, Math.round((now - oldestAt) / 1_000))
    return { isConfigured: endpoint !== undefined, pending, oldestSeconds, failed }
  })

  return WebhookDeliveries.of({ health, test: endpoint === undefined ? notConfigured : sendTest(endpoint) })
})

const notConfigured = Effect.suspend(() =>
  Effect.fail(
    new Conflict({
      code: "webhook_not_configured",
      error: "there is no webhook: set MUNIMENT_WEBHOOK_URL and MUNIMENT_WEBHOOK_SECRET"
    })
  )
)

const deliverDue = (outbox: WebhookOutbox["Service"], endpoint: WebhookEndpoint) =>
  outbox.due(batchMax).pipe(
    Effect.tap((due) =>
      Effect.forEach(due, (message) => deliver(outbox, endpoint, message), {
        concurrency: concurrentMax,
        discard: true
      })
    ),
    Effect.repeat({ while: (due) => due.length === batchMax })
  )

const deliver = Effect.fn("WebhookDeliveries.deliver")(function* (
  outbox: WebhookOutbox["Service"],
  endpoint: WebhookEndpoint,
  message: DueWebhook
): Effect.fn.Return<void, ControlFailure> {
  const { attempts, id } = message
  const reason = yield* sendWebhook(endpoint, message)
  if (reason === undefined) {
    yield* outbox.delivered(id)
    return yield* countDelivery("delivered")
  }
  const delayMillis = retryDelayMillis(attempts, yield* Random.next)
  const state = yield* outbox.missed(id, { reason, delayMillis })
  yield* countDelivery(state === "failed" ? "given_up" : "missed")
  if (state === "failed")
    yield* Effect.logError("webhook given up: npm run muniment -- webhooks resend", { id, reason })
  else if (attempts === 0) yield* Effect.logWarning("webhook not delivered; tried again", { id, reason })
})

/** Doubles with each attempt; `random`, 0 to 1, takes away up to a half, so that many do not come back at once. */
export const retryDelayMillis = (
  attempts: number,
  random: number,
  millisMax: number = Limits.webhookRetryMillisMax
): number => {
  const longest = Math.min(Limits.webhookRetryMillisMin * 2 ** attempts, millisMax)
  return Math.round(longest * (1 - random / 2))
}

const countDelivery = (outcome: "delivered" | "missed" | "given_up"): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(deliveries, { outcome }), 1)
