/** Operator routes of the consolidation of memories (contract: Consolidation). */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { Accounts } from "@muniment/control/accounts/Accounts"
import type { ConsolidationEntry, LoggedConsolidation } from "@muniment/control/jobs/ConsolidationLog"
import { Consolidation } from "../consolidation/Consolidation.ts"
import { OperatorService } from "../operator/OperatorService.ts"

const shownDefault = 100

export const consolidationAdminHandlers = HttpApiBuilder.group(
  MunimentApi,
  "consolidations",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const consolidation = yield* Consolidation
    const operator = yield* OperatorService
    const success = true as const

    const idOf = (named: string | undefined) =>
      named === undefined ? Effect.undefined : Effect.map(operator.account(named), ({ id }) => id)
    const namesOf = Effect.map(accounts.list, (all) => new Map(all.map(({ id, name }) => [id, name])))
    const shown = (
      { account, action, agentId, at, id, into, memories, undoneAt }: ConsolidationEntry & Partial<LoggedConsolidation>,
      names: ReadonlyMap<string, string>
    ) => ({
      id,
      at,
      account: names.get(account) ?? account,
      agentId,
      action,
      memories,
      into,
      undoneAt: undoneAt ?? null
    })

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { account, limit = shownDefault } }) {
        const found = yield* consolidation.list({ account: yield* idOf(account), limit })
        const names = yield* namesOf
        return { success, consolidations: found.map((entry) => shown(entry, names)) }
      }),
      run: Effect.fnUntraced(function* ({ payload: { account, dryRun = false } }) {
        const report = yield* consolidation.run({ account: yield* idOf(account), dryRun })
        const names = yield* namesOf
        const named = <A extends { readonly account: string }>(one: A): A => ({
          ...one,
          account: names.get(one.account) ?? one.account
        })
        return {
          success,
          ...report,
          done: report.done.map((entry) => shown(entry, names)),
          proposed: report.proposed.map(named),
          problems: report.problems.map(named)
        }
      }),
      undo: Effect.fnUntraced(function* ({ params: { id } }) {
        const entry = yield* consolidation.undo(id)
        return { success, consolidation: shown(entry, yield* namesOf) }
      })
    })
  })
)
