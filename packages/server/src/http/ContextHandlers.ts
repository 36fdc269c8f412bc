/** Endpoints of what an agent is handed (contract: Context): decode, one call of a service, encode. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CurrentCall } from "@muniment/domain/api/Middleware"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { Limits } from "@muniment/domain/Limits"
import { MemoryContext } from "../context/MemoryContext.ts"
import { Subjects } from "../context/Subjects.ts"
import { asOfIn } from "../search/SearchQuery.ts"
import { agentsCursor } from "./Cursor.ts"

export const contextHandlers = HttpApiBuilder.group(
  MunimentApi,
  "context",
  Effect.fnUntraced(function* (handlers) {
    const contexts = yield* MemoryContext
    const subjects = yield* Subjects
    return handlers.handleAll({
      context: Effect.fnUntraced(function* ({ headers, payload }) {
        const made = yield* contexts.context(yield* CurrentCall, payload, headers["x-grants"])
        return { success: true as const, ...made }
      }),
      subjects: Effect.fnUntraced(function* ({ query: { agentId, contains, cursor, limit } }) {
        const { next, ...page } = yield* subjects.list(yield* CurrentCall, {
          agentId,
          contains,
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
