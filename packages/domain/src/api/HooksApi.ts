/**
 * Events of an account, and the webhooks that carry them, which it manages itself (contract: Events, Webhooks of
 * accounts); all free.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import {
  AccountEvent,
  EventsQuery,
  HookChange,
  HookDelivery,
  HookRecord,
  NewHook,
  WebhookState,
  WebhookTrial
} from "../Events.ts"
import {
  Conflict,
  Forbidden,
  InsufficientStorage,
  InvalidRequest,
  NotFound,
  RateLimited,
  Unavailable
} from "../Errors.ts"
import { Limits } from "../Limits.ts"
import { WriteHeaders, operation, readingGroup, writingGroup } from "./Middleware.ts"

const success = Schema.Literal(true)
const one = {
  id: Schema.String.annotate({
    description: "Identifier of the webhook.",
    examples: ["hook_01KAJ8Q0V7E5XK9D2M4N6P8R0T"]
  })
}
const withSecret = Schema.Struct({
  success,
  webhook: HookRecord,
  secret: Schema.String.annotate({ description: "`whsec_` and Base64; shown once." })
})
const writeErrors = [InvalidRequest, Forbidden, NotFound, Conflict, InsufficientStorage] as const

export class HooksApi extends writingGroup(
  HttpApiGroup.make("hooks").add(
    HttpApiEndpoint.get("listHooks", "/webhooks", {
      success: Schema.Struct({ success, webhooks: Schema.Array(HookRecord) }),
      error: Forbidden
    }).annotateMerge(operation("List the account's webhooks", { description: "Oldest first, without secrets." })),
    HttpApiEndpoint.post("createHook", "/webhooks", {
      headers: WriteHeaders,
      payload: NewHook.annotate({
        examples: [{ url: "https://hooks.example.com/memory", types: ["memory.created", "memory.deleted"] }]
      }),
      success: withSecret,
      error: [InvalidRequest, Forbidden, Conflict, RateLimited, Unavailable, InsufficientStorage]
    })
      .annotateMerge(
        operation("Create a webhook", {
          description: "It is sent what happens from now on. The secret of its signatures is shown once."
        })
      )
      .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error" }),
    HttpApiEndpoint.get("getHook", "/webhooks/:id", {
      params: one,
      success: Schema.Struct({ success, webhook: HookRecord }),
      error: [Forbidden, NotFound]
    }).annotateMerge(operation("Get a webhook", {})),
    HttpApiEndpoint.patch("changeHook", "/webhooks/:id", {
      params: one,
      headers: WriteHeaders,
      payload: HookChange.annotate({ examples: [{ state: "paused" }] }),
      success: Schema.Struct({ success, webhook: HookRecord }),
      error: writeErrors
    })
      .annotateMerge(operation("Change, pause or resume a webhook", {}))
      .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error" }),
    HttpApiEndpoint.delete("removeHook", "/webhooks/:id", {
      params: one,
      headers: WriteHeaders,
      success: Schema.Struct({ success }),
      error: writeErrors
    }).annotateMerge(operation("Remove a webhook", { description: "With all its messages." })),
    HttpApiEndpoint.post("rotateHookSecret", "/webhooks/:id/secret", {
      params: one,
      headers: WriteHeaders,
      success: withSecret,
      error: writeErrors
    }).annotateMerge(
      operation("Replace the secret of a webhook", {
        description: "For a day messages are signed with the one before, too."
      })
    ),
    HttpApiEndpoint.post("testHook", "/webhooks/:id/test", {
      params: one,
      headers: WriteHeaders,
      success: Schema.Struct({ success, ...WebhookTrial.fields }),
      error: writeErrors
    }).annotateMerge(
      operation("Send a message of type `test` now", {
        description: "Once, to a paused webhook too; it is not kept."
      })
    ),
    HttpApiEndpoint.get("hookDeliveries", "/webhooks/:id/deliveries", {
      params: one,
      query: {
        state: Schema.optionalKey(WebhookState),
        limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.hookDeliveriesMax })))
      },
      success: Schema.Struct({ success, deliveries: Schema.Array(HookDelivery) }),
      error: [Forbidden, NotFound]
    }).annotateMerge(
      operation("Messages of a webhook and their states", { description: "Newest first, without bodies." })
    ),
    HttpApiEndpoint.post("repeatDeliveries", "/webhooks/:id/deliveries/repeat", {
      params: one,
      headers: WriteHeaders,
      payload: Schema.Struct({
        delivery: Schema.optionalKey(
          Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.identifierLengthMax)).annotate({
            description: "Id of a message that was given up; without it all of them."
          })
        )
      }).annotate({ examples: [{ delivery: "msg_5a0f2c41e9b3d7765a0f2c41e9b3d776" }] }),
      success: Schema.Struct({ success, repeated: Schema.Int }),
      error: writeErrors
    })
      .annotateMerge(
        operation("Send messages again that were given up", {
          description: "With the same ids, so that receivers know them."
        })
      )
      .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error" })
  )
) {}

/** Endpoint of events (contract: Events): a page of them as JSON, or a stream for those who accept one; free. */
export class EventsApi extends readingGroup(
  HttpApiGroup.make("events").add(
    HttpApiEndpoint.get("events", "/events", {
      query: EventsQuery,
      headers: {
        "last-event-id": Schema.optionalKey(
          Schema.String.annotate({ description: "Id of the last event of a stream: the stream goes on behind it." })
        )
      },
      success: Schema.Struct({
        success: Schema.Literal(true),
        events: Schema.Array(AccountEvent),
        nextCursor: Schema.String.annotate({ description: "Where to go on, also when there is nothing now." }),
        hasMore: Schema.Boolean
      }),
      error: [InvalidRequest, RateLimited, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Follow changes of memories", {
        description:
          "Each change once and in order by agent: ids and kinds, never content. With `Accept: text/event-stream` a stream of server-sent events, resumable by `Last-Event-ID`; else a page, to be continued with `nextCursor`."
      })
    )
  )
) {}
