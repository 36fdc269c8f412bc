/** Operator routes of the webhook (contract: Webhooks). Same credentials as the other operator routes. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Conflict, InsufficientStorage, NotFound, Unavailable } from "../Errors.ts"
import { Limits } from "../Limits.ts"
import { WebhookRecord, WebhookState, WebhookTrial } from "../Webhooks.ts"
import { BodyLimit, OperatorAuthorization, Validation, WellFormedRequest } from "./Middleware.ts"
import { operation } from "./Operation.ts"

const success = Schema.Literal(true)

export class WebhookAdminApi extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("listWebhooks", "/webhooks", {
      query: {
        state: Schema.optionalKey(WebhookState),
        limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })))
      },
      success: Schema.Struct({ success, webhooks: Schema.Array(WebhookRecord) })
    }).annotateMerge(operation("Messages for the webhook and their states", { description: "Newest first." })),
    HttpApiEndpoint.post("resendWebhooks", "/webhooks/resend", {
      payload: Schema.Struct({
        webhook: Schema.optionalKey(
          Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.identifierLengthMax)).annotate({
            description: "Id of a message in any state; without it all that were given up."
          })
        )
      }).annotate({ examples: [{ webhook: "msg_5a0f2c41e9b3d7765a0f2c41e9b3d776" }] }),
      success: Schema.Struct({ success, resent: Schema.Int }),
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Send messages again", { description: "With the same id, so that receivers know them." })
    ),
    HttpApiEndpoint.post("testWebhook", "/webhooks/test", {
      success: Schema.Struct({ success, ...WebhookTrial.fields }),
      error: Conflict
    }).annotateMerge(operation("Send a message of type `test` now", { description: "Once; it is not kept." }))
  )
  .middleware(Validation)
  .middleware(WellFormedRequest)
  .middleware(OperatorAuthorization)
  .middleware(BodyLimit)
  .prefix("/admin") {}
