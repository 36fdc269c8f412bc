/**
 * Memory endpoints (contract: Memories, Search): decode, one call of a service, encode. Answers with many memories are
 * written without the walk by their schema.
 */
import { Effect, type Schema } from "effect"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { HttpServerResponse } from "effect/http"
import { CurrentCall } from "@muniment/domain/api/Middleware"
import type { GivenFeedback } from "@muniment/domain/Feedback"
import type { MemoryVersion } from "@muniment/domain/Memory"
import { Limits } from "@muniment/domain/Limits"
import type { ListParameters, SearchBody } from "@muniment/domain/Search"
import type { TopicMap } from "@muniment/domain/SearchResult"
import type { MemoriesApi } from "@muniment/domain/api/MemoriesApi"
import { answerHeaders } from "../headers.ts"
import { ConversationExtraction } from "../extraction/ConversationExtraction.ts"
import { MemoryService } from "../memories/MemoryService.ts"
import { etagOf, historyView, ifMatchOf, memoryView } from "../memories/MemoryViews.ts"
import { CallerSearch } from "../search/CallerSearch.ts"
import { facetQuery, searchBatch, filterOf, searchQuery, asOfIn } from "../search/SearchQuery.ts"
import { listCursor, agentsCursor } from "./Cursor.ts"
import { noted, notedOne } from "./RequestLog.ts"
import { MemoryChat } from "../context/MemoryChat.ts"
import { MemoryContext } from "../context/MemoryContext.ts"
import { Subjects } from "../context/Subjects.ts"
import { apiGroup } from "../apiGroup.ts"

export const memoriesHandlers = apiGroup(
  "memories",
  Effect.fnUntraced(function* (handlers) {
    const memories = yield* MemoryService
    const { remember, tryReading } = yield* ConversationExtraction
    const searches = yield* CallerSearch
    const search = searchBy(searches)

    return handlers.handleAll({
      create: Effect.fnUntraced(function* ({ payload }) {
        const call = yield* CurrentCall
        const { conversation } = payload
        const created =
          conversation === undefined
            ? yield* memories.create(call, payload)
            : yield* remember(call, { ...payload, conversation })
        return answered("create", { success: true, ...created })
      }),
      batchCreate: Effect.fnUntraced(function* ({ payload }) {
        return answered("batchCreate", { success: true, ...(yield* memories.create(yield* CurrentCall, payload)) })
      }),
      list: ({ query }) => listIn(memories, query),
      facets: Effect.fnUntraced(function* ({ query }) {
        return { success: true as const, ...(yield* memories.facet(yield* CurrentCall, yield* facetQuery(query))) }
      }),
      lookup: Effect.fnUntraced(function* ({ payload }) {
        return yield* one(yield* memories.lookup(yield* CurrentCall, payload))
      }),
      extract: Effect.fnUntraced(function* ({ payload }) {
        return { success: true as const, ...(yield* tryReading(yield* CurrentCall, payload)) }
      }),
      search: ({ headers, query }) => search(query, headers),
      searchByBody: ({ headers, payload }) => search(payload, headers),
      get: Effect.fnUntraced(function* ({ params }) {
        return yield* one(yield* memories.get(yield* CurrentCall, params.id))
      }),
      history: ({ params, query }) => historyIn(memories, params.id, query.limit),
      restore: ({ headers, params }) => restoredIn(memories, params.id, headers["if-match"]),
      feedback: ({ params, payload }) => judgedIn(memories, params.id, payload),
      update: Effect.fnUntraced(function* ({ headers, params, payload }) {
        const ifMatch = ifMatchOf(headers["if-match"])
        return yield* one(yield* memories.patch(yield* CurrentCall, params.id, payload, ifMatch))
      }),
      delete: Effect.fnUntraced(function* ({ headers, params, query: { versions = "one" } }) {
        const removal = memories.remove(yield* CurrentCall, params.id, versions, ifMatchOf(headers["if-match"]))
        return { success: true as const, ...(yield* notedOne(removal)) }
      }),
      batchSearch: Effect.fnUntraced(function* ({ headers, payload }) {
        const found = yield* searches.searchBatch(yield* CurrentCall, searchBatch(payload, headers["x-grants"]))
        return answered("batchSearch", { success: true, ...found })
      }),
      batchDelete: Effect.fnUntraced(function* ({ payload }) {
        return { success: true as const, ...(yield* noted(memories.removeBatch(yield* CurrentCall, payload), payload)) }
      }),
      batchUpdate: Effect.fnUntraced(function* ({ payload: { ids, update } }) {
        return { success: true as const, updated: yield* memories.patchAll(yield* CurrentCall, ids, update) }
      })
    })
  })
)

/** Parameters of a URL or of a body. */
const searchBy = ({ search }: CallerSearch["Service"]) =>
  Effect.fnUntraced(function* (parameters: typeof SearchBody.Type, headers: { readonly "x-grants"?: string }) {
    const result = yield* search(yield* CurrentCall, yield* searchQuery(parameters, headers["x-grants"]))
    return "points" in result ? yield* mapAnswer(result) : answered("search", { success: true, ...result })
  })

const listIn = Effect.fnUntraced(function* (
  { list }: MemoryService["Service"],
  query: Schema.Struct.Type<typeof ListParameters>
) {
  const { cursor, feedback, limit = Limits.listPageDefault, order, skip } = query
  const after = cursor === undefined ? undefined : yield* listCursor.decode(cursor)
  const filter = { ...(yield* filterOf(query)), feedback }
  const page = yield* list(yield* CurrentCall, filter, { after, limit, skip, isOldestFirst: order === "asc" })
  return answered("list", {
    success: true,
    memories: page.memories.map(memoryView),
    ...(page.next !== undefined && { nextCursor: listCursor.encode(page.next) }),
    total: page.total
  })
})

const one = (found: MemoryVersion) => {
  const memory = memoryView(found)
  return Effect.as(answerHeaders({ etag: etagOf(memory.version) }), { success: true as const, memory })
}

const historyIn = Effect.fnUntraced(function* (
  { history }: MemoryService["Service"],
  id: string,
  limit = Limits.listPageDefault
) {
  return { success: true as const, ...historyView(yield* history(yield* CurrentCall, id, limit)) }
})

const restoredIn = Effect.fnUntraced(function* ({ restore }: MemoryService["Service"], id: string, ifMatch?: string) {
  return yield* one(yield* restore(yield* CurrentCall, id, ifMatchOf(ifMatch)))
})

const judgedIn = Effect.fnUntraced(function* (
  { giveFeedback }: MemoryService["Service"],
  id: string,
  given: GivenFeedback
) {
  return yield* one(yield* giveFeedback(yield* CurrentCall, id, given))
})

const pointsPerTurn = 1_000

/**
 * The answer with a map (contract: Answers and maps), of which 5,000 memories have a point each. Encoded at once they
 * held the event loop for up to 24 ms of processor time; their JSON is written in turns.
 */
const mapAnswer = Effect.fnUntraced(function* ({ points, ...others }: TopicMap) {
  const rest = JSON.stringify({ success: true, ...others })
  const portions: Array<string> = []
  for (let from = 0; from < points.length; from += pointsPerTurn) {
    yield* Effect.yieldNow
    portions.push(JSON.stringify(points.slice(from, from + pointsPerTurn)).slice(1, -1))
  }
  return HttpServerResponse.text(`${rest.slice(0, -1)},"points":[${portions.join(",")}]}`, {
    contentType: "application/json"
  })
})

type Endpoints = HttpApiGroup.Endpoints<typeof MemoriesApi>

/**
 * Answers as JSON without the walk by their schema, which took a tenth of the processor time of a search. Types say
 * that they fit it, and that the schema changes nothing; `openapi.test.ts` holds them against the document.
 */
const answered = <Name extends HttpApiEndpoint.Identifier<Endpoints>>(
  _: Name,
  body: HttpApiEndpoint.SuccessWithIdentifier<Endpoints, Name>
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(JSON.stringify(body), { contentType: "application/json" })

/** Endpoints of what an agent is handed (contract: Context): decode, one call of a service, encode. */
export const contextHandlers = apiGroup(
  "context",
  Effect.fnUntraced(function* (handlers) {
    const contexts = yield* MemoryContext
    const chats = yield* MemoryChat
    const subjects = yield* Subjects
    return handlers.handleAll({
      context: Effect.fnUntraced(function* ({ headers, payload }) {
        const made = yield* contexts.context(yield* CurrentCall, payload, headers["x-grants"])
        return { success: true as const, ...made }
      }),
      chat: Effect.fnUntraced(function* ({ payload }) {
        const made = yield* chats.chat(yield* CurrentCall, payload)
        return { success: true as const, ...made }
      }),
      subjects: Effect.fnUntraced(function* ({ query: { agentId, conflicts, contains, cursor, limit } }) {
        const { next, ...page } = yield* subjects.list(yield* CurrentCall, {
          agentId,
          contains,
          countsConflicts: conflicts === true,
          limit: limit ?? Limits.listPageDefault,
          after: cursor === undefined ? undefined : (yield* agentsCursor.decode(cursor)).after
        })
        return {
          success: true as const,
          ...page,
          ...(next !== undefined && { nextCursor: agentsCursor.encode({ after: next }) })
        }
      }),
      profile: Effect.fnUntraced(function* ({ params, query: { agentId, asOf, timeZone } }) {
        const known = yield* subjects.profile(yield* CurrentCall, {
          subjectId: params.id,
          agentId,
          timeZone,
          asOf: asOf === undefined ? undefined : asOfIn(asOf)
        })
        return { success: true as const, ...known }
      })
    })
  })
)
