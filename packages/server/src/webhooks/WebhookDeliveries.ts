/**
 * Delivers the messages of the outbox to the operator's webhook, while the layer lives (contract: Webhooks).
 *
 * Invariants: a message leaves the outbox after the receiver's 2xx, so it arrives at least once, also after a kill; of a
 * payment one message is under way at a time, in their order. What is logged names messages and not their content.
 */
import { Clock, Context, Effect, Layer, Metric, Schedule } from "effect"
import { Conflict } from "@muniment/domain/Errors"
import type { ControlFailure } from "@muniment/control/database/ControlFailure"
import { Limits } from "@muniment/domain/Limits"
import type { ServiceStatus } from "@muniment/domain/api/AdminApi"
import type { WebhookTrial } from "@muniment/domain/Events"
import type { DueMessage } from "@muniment/control/webhooks/WebhookMessages"
import { WebhookOutbox } from "@muniment/control/webhooks/WebhookOutbox"
import { Rounds } from "@muniment/worker/Rounds"
import { secondsSince, sendInLanes, sendTest } from "./WebhookSender.ts"
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
const pace = { atOnce: 4, retryMillisMax: Limits.webhookRetryMillisMax }
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
    const oldestSeconds = secondsSince(oldestAt, now)
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
    Effect.tap((due) => deliver(outbox, endpoint, due)),
    Effect.repeat({ while: (due) => due.length === batchMax })
  )

const deliver = Effect.fn("WebhookDeliveries.deliver")(function* (
  outbox: WebhookOutbox["Service"],
  endpoint: WebhookEndpoint,
  due: ReadonlyArray<DueMessage>
): Effect.fn.Return<void, ControlFailure> {
  if (due.length === 0) return
  const attempts = yield* sendInLanes(endpoint, due, pace)
  const givenUp = new Set(yield* outbox.attempted(attempts))
  for (const {
    message: { attempts: before, id },
    reason
  } of attempts) {
    const isGivenUp = givenUp.has(id)
    yield* countDelivery(reason === undefined ? "delivered" : isGivenUp ? "given_up" : "missed")
    if (isGivenUp) yield* Effect.logError("webhook given up: npm run muniment -- webhooks resend", { id, reason })
    else if (reason !== undefined && before === 0)
      yield* Effect.logWarning("webhook not delivered; tried again", { id, reason })
  }
})

const countDelivery = (outcome: "delivered" | "missed" | "given_up"): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(deliveries, { outcome }), 1)
