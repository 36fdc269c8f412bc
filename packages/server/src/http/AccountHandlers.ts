/** GET /account: who the credentials belong to, and the statement of their credits. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Caller } from "@muniment/domain/api/Middleware"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { AccountQuotas } from "../memories/AccountQuotas.ts"
import { unboundCaller, isBound } from "../identity/KeyScopes.ts"
import { AgentCosts } from "@muniment/control/credits/AgentCosts"
import { Statements } from "@muniment/control/credits/Statements"
import { RequestHistory } from "../operator/requests/RequestHistory.ts"
import { requestFilter, requestRecord } from "./RequestAnswers.ts"
import { costsAnswer, statementAnswer } from "./StatementAnswers.ts"
import { AgentCounts } from "../memories/AgentCounts.ts"

export const accountHandlers = HttpApiBuilder.group(
  MunimentApi,
  "account",
  Effect.fnUntraced(function* (handlers) {
    const counts = yield* AgentCounts
    const quotas = yield* AccountQuotas
    const statements = yield* Statements
    const costs = yield* AgentCosts
    const history = yield* RequestHistory
    return handlers.handleAll({
      whoami: Effect.fnUntraced(function* () {
        const caller = yield* Caller
        const { account } = caller
        return {
          success: true as const,
          account,
          agents: yield* counts.of(caller),
          ...(!isBound(caller) && { quotas: yield* quotas.of(account) })
        }
      }),
      statement: ({ query, request }) =>
        Effect.flatMap(unboundCaller, ({ account }) => statementAnswer(statements, account, query, request)),
      requests: Effect.fnUntraced(function* ({ query }) {
        const { account } = yield* unboundCaller
        const found = yield* history.list({ ...requestFilter(query), account: account.id })
        return { success: true as const, requests: found.map((entry) => requestRecord(entry, account.name)) }
      }),
      costs: ({ query, request }) =>
        Effect.flatMap(unboundCaller, ({ account }) => costsAnswer(costs, account, query, request))
    })
  })
)
