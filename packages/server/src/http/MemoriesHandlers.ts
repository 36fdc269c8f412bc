/** Memory endpoints: decode, one call of a service, encode (specification section 4.1). */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Caller, CurrentCharge, CurrentIdempotency } from "@muniment/domain/api/Middleware"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { Limits } from "@muniment/domain/Limits"
import { deleteBatch } from "../memories/BatchDeletion.ts"
import { MemoryService } from "../memories/MemoryService.ts"
import { filterOf } from "../memories/FilterParameters.ts"
import { MemoryCreation } from "../memories/MemoryCreation.ts"
import { memoryView } from "../memories/MemoryViews.ts"
import { MemoryRecall } from "../sharing/MemoryRecall.ts"
import { isoNow, SearchModes } from "../sharing/SearchModes.ts"
import { listCursor } from "./Cursor.ts"

export const memoriesHandlers = HttpApiBuilder.group(
  MunimentApi,
  "memories",
  Effect.fnUntraced(function* (handlers) {
    const memories = yield* MemoryService
    const creation = yield* MemoryCreation
    const { recall } = yield* MemoryRecall
    const modes = yield* SearchModes
    const account = Effect.map(Caller, (caller) => caller.account.id)
    /** The caller's account and the request's idempotency token. */
    const writer = Effect.all([account, CurrentIdempotency])

    return handlers.handleAll({
      create: Effect.fnUntraced(function* ({ payload }) {
        const [owner, token] = yield* writer
        return { success: true as const, ...(yield* creation.create(owner, payload, token)) }
      }),
      batchCreate: Effect.fnUntraced(function* ({ payload }) {
        const [owner, token] = yield* writer
        return { success: true as const, ...(yield* creation.create(owner, payload, token)) }
      }),
      list: Effect.fnUntraced(function* ({ query }) {
        const after = query.cursor === undefined ? undefined : yield* listCursor.decode(query.cursor)
        const filter = yield* filterOf(query)
        yield* (yield* CurrentCharge)()
        const page = yield* memories.list(yield* account, filter, after, query.limit ?? Limits.listPageDefault)
        return {
          success: true as const,
          memories: page.memories.map(memoryView),
          ...(page.next !== undefined && { nextCursor: listCursor.encode(page.next) }),
          total: page.total
        }
      }),
      search: Effect.fnUntraced(function* ({ headers, query }) {
        return { success: true as const, ...(yield* modes.search(yield* Caller, query, headers["x-grants"])) }
      }),
      get: ({ params }) => Effect.flatMap(account, (owner) => Effect.map(memories.get(owner, params.id), one)),
      update: ({ params, payload }) =>
        Effect.flatMap(writer, ([owner, token]) => Effect.map(memories.patch(owner, params.id, payload, token), one)),
      delete: ({ params }) =>
        Effect.flatMap(writer, ([owner, token]) =>
          Effect.as(memories.remove(owner, params.id, token), { success: true as const })
        ),
      batchSearch: Effect.fnUntraced(function* ({ headers, payload }) {
        const { results, sourceAttestations } = yield* recall(yield* Caller, {
          queries: payload.queries.map(({ query, filters, limit }) => ({
            text: query.trim(),
            filter: filters ?? {},
            limit
          })),
          scope: payload.scope ?? "all",
          grants: headers["x-grants"],
          explain: false
        })
        return {
          success: true as const,
          results: results.map((found) => ({ memories: found })),
          searchedAt: yield* isoNow,
          ...(sourceAttestations !== undefined && { sourceAttestations })
        }
      }),
      batchDelete: Effect.fnUntraced(function* ({ payload }) {
        const [owner, token] = yield* writer
        return { success: true as const, deleted: yield* deleteBatch(memories, owner, payload, token) }
      }),
      batchUpdate: ({ payload: { ids, update } }) =>
        Effect.flatMap(writer, ([owner, token]) =>
          Effect.map(memories.patchAll(owner, ids, update, token), (updated) => ({ success: true as const, updated }))
        )
    })
  })
)

const one = (memory: Parameters<typeof memoryView>[0]) => ({ success: true as const, memory: memoryView(memory) })
