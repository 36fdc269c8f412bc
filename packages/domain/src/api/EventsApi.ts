/** Endpoint of events (contract: Events): a page of them as JSON, or a stream for those who accept one; free. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { InsufficientStorage, InvalidRequest, RateLimited, Unavailable } from "../Errors.ts"
import { AccountEvent, EventsQuery } from "../Events.ts"
import { Authorization, RateLimiting, Validation, WellFormedRequest } from "./Middleware.ts"
import { operation } from "./Operation.ts"

export class EventsApi extends HttpApiGroup.make("events")
  .add(
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
  .middleware(Validation)
  .middleware(WellFormedRequest)
  .middleware(RateLimiting)
  .middleware(Authorization)
  .prefix("/v1") {}
