/**
 * Memory endpoints: decode, one call of the service, encode (specification section 4.1). What this
 * version does not serve yet says so with 501, so that nobody takes silence for an empty result.
 */
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Caller, CurrentCharge, CurrentIdempotency } from "@muniment/domain/api/Middleware"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { InvalidRequest, NotImplemented } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { Prices } from "@muniment/domain/Prices"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { CreateReply } from "@muniment/engine/Commands"
import { MemoryService } from "../memories/MemoryService.ts"
import { memoryEntry, memoryView } from "../memories/MemoryViews.ts"
import { MemoryRecall } from "../sharing/MemoryRecall.ts"
import { listCursor } from "./Cursor.ts"

export const memoriesHandlers = HttpApiBuilder.group(
  MunimentApi,
  "memories",
  Effect.fnUntraced(function* (handlers) {
    const memories = yield* MemoryService
    const { recall } = yield* MemoryRecall
    const account = Effect.map(Caller, (caller) => caller.account.id)
    /** The caller's account and the request's idempotency token. */
    const writer = Effect.all([account, CurrentIdempotency])

    return handlers.handleAll({
      create: Effect.fnUntraced(function* ({ payload }) {
        if (payload.memories === undefined) return yield* notYet("extraction from conversations")
        const [owner, token] = yield* writer
        return created(yield* memories.create(owner, { ...payload, memories: payload.memories }, token))
      }),
      batchCreate: Effect.fnUntraced(function* ({ payload }) {
        const [owner, token] = yield* writer
        return created(yield* memories.create(owner, payload, token))
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
        if (query.mode === "answer" || query.mode === "map") return yield* notYet(`mode "${query.mode}"`)
        const filter = yield* filterOf(query)
        const { results, sourceAttestations } = yield* recall(yield* Caller, {
          queries: [{ text: query.query.trim(), filter, limit: query.limit, minRelevance: query.minRelevance }],
          scope: query.scope ?? "all",
          grants: headers["x-grants"],
          explain: query.explain ?? false
        })
        return {
          success: true as const,
          memories: results[0] ?? [],
          searchedAt: yield* isoNow,
          ...(sourceAttestations !== undefined && { sourceAttestations })
        }
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
      batchDelete: Effect.fnUntraced(function* ({ payload: { ids, filters, dryRun } }) {
        if ((ids === undefined) === (filters === undefined)) {
          return yield* new InvalidRequest({
            code: ids === undefined ? "invalid_request" : "invalid_filters",
            error: "give either `ids` or `filters`, not both"
          })
        }
        const [owner, token] = yield* writer
        // By ids the service knows whose memories go, and asks for the price itself.
        if (dryRun === true) yield* (yield* CurrentCharge)({ price: Prices.getMemory })
        else if (ids === undefined) yield* (yield* CurrentCharge)()
        const deleted =
          ids !== undefined
            ? dryRun === true
              ? memories.countExisting(owner, ids)
              : memories.removeAll(owner, ids, token)
            : dryRun === true
              ? memories.countMatching(owner, filters!)
              : memories.removeMatching(owner, filters!)
        return { success: true as const, deleted: yield* deleted }
      }),
      batchUpdate: ({ payload: { ids, update } }) =>
        Effect.flatMap(writer, ([owner, token]) =>
          Effect.map(memories.patchAll(owner, ids, update, token), (updated) => ({ success: true as const, updated }))
        )
    })
  })
)

const created = (reply: CreateReply) => ({
  success: true as const,
  created: reply.created.map(memoryEntry),
  updated: reply.updated.map(memoryEntry)
})

const one = (memory: Parameters<typeof memoryView>[0]) => ({ success: true as const, memory: memoryView(memory) })

const isoNow = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis).toISOString())

const notYet = (what: string) =>
  Effect.fail(new NotImplemented({ code: "not_implemented", error: `${what} is not served by this version` }))

interface FilterParameters {
  readonly agentId?: string
  readonly subjectId?: string
  readonly threadId?: string
  readonly kind?: string
  readonly tags?: string
  readonly eventDateFrom?: string
  readonly eventDateTo?: string
  readonly includeSuperseded?: boolean
}

const filterOf = Effect.fnUntraced(function* (query: FilterParameters) {
  const tags = query.tags
    ?.split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "")
  if (tags !== undefined && (tags.length === 0 || tags.length > Limits.tagFiltersMax)) {
    return yield* new InvalidRequest({
      code: "invalid_tag",
      error: `give 1 to ${Limits.tagFiltersMax} tags, separated by commas`
    })
  }
  const filter: MemoryFilter = {
    agentId: query.agentId,
    subjectId: query.subjectId,
    threadId: query.threadId,
    kind: query.kind,
    tags,
    eventFrom: query.eventDateFrom === undefined ? undefined : Date.parse(query.eventDateFrom),
    eventTo: query.eventDateTo === undefined ? undefined : endOf(query.eventDateTo),
    includeSuperseded: query.includeSuperseded
  }
  return filter
})

const dayMillis = 86_400_000

/** A bare date as an upper bound means the whole day. */
const endOf = (iso: string): number => Date.parse(iso) + (iso.length === "2026-01-01".length ? dayMillis - 1 : 0)
