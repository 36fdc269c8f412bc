/** Operator routes of the webhook (contract: Webhooks). */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { WebhookOutbox } from "@muniment/control/webhooks/WebhookOutbox"
import { WebhookDeliveries } from "../webhooks/WebhookDeliveries.ts"

const shownDefault = 100

export const webhookAdminHandlers = HttpApiBuilder.group(
  MunimentApi,
  "webhooks",
  Effect.fnUntraced(function* (handlers) {
    const outbox = yield* WebhookOutbox
    const deliveries = yield* WebhookDeliveries
    const success = true as const

    return handlers.handleAll({
      listWebhooks: ({ query: { limit = shownDefault, state } }) =>
        Effect.map(outbox.list({ state, limit }), (webhooks) => ({ success, webhooks })),
      resendWebhooks: ({ payload }) => Effect.map(outbox.resend(payload.webhook), (resent) => ({ success, resent })),
      testWebhook: () => Effect.map(deliveries.test, (trial) => ({ success, ...trial }))
    })
  })
)
