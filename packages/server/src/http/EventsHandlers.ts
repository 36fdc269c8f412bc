/** GET /events (contract: Events): a page, or a stream for those who accept one. */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Caller } from "@muniment/domain/api/Middleware"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import type { EventsQuery } from "@muniment/domain/Events"
import { Limits } from "@muniment/domain/Limits"
import { AccountEvents } from "../events/AccountEvents.ts"
import { EventStreams } from "../events/EventStreams.ts"

export const eventsHandlers = HttpApiBuilder.group(
  MunimentApi,
  "events",
  Effect.fnUntraced(function* (handlers) {
    const events = yield* AccountEvents
    const streams = yield* EventStreams

    const page = Effect.fnUntraced(function* (query: EventsQuery) {
      const reader = yield* events.open(yield* Caller, query)
      const batch = yield* reader.read(query.limit ?? Limits.eventsPageDefault, Effect.fail)
      return HttpServerResponse.jsonUnsafe({ success: true, ...batch, nextCursor: reader.cursor })
    })

    const stream = Effect.fnUntraced(function* (query: EventsQuery) {
      const caller = yield* Caller
      const last = (yield* HttpServerRequest.HttpServerRequest).headers["last-event-id"]
      const reader = yield* events.open(caller, last === undefined ? query : { ...query, cursor: last })
      return yield* streams.answer(caller, reader)
    })

    return handlers.handleRaw("events", ({ query, request }) =>
      acceptsStream(request.headers["accept"]) ? stream(query) : page(query)
    )
  })
)

const acceptsStream = (accept = ""): boolean => /(?:^|,)\s*text\/event-stream\b/i.test(accept)
