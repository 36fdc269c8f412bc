/** Operator routes (contract: Operator routes) for what becomes of accounts. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { AuditLog } from "@muniment/control/audit/AuditLog"
import { QuotaName, QuotaTier } from "@muniment/domain/Quotas"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { Quotas, quotaTierOf } from "@muniment/control/accounts/Quotas"
import { Wallets } from "@muniment/control/accounts/Wallets"
import { AccountQuotas } from "../memories/AccountQuotas.ts"
import { AccountEraser } from "../operator/AccountEraser.ts"
import { OperatorService } from "../operator/OperatorService.ts"
import { walletAddress } from "./AdminHandlers.ts"
import { RequestHistory } from "../operator/requests/RequestHistory.ts"
import { requestFilter, requestRecord } from "./RequestAnswers.ts"

const eventsShownDefault = 100

export const accountAdminHandlers = HttpApiBuilder.group(
  MunimentApi,
  "accounts",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const wallets = yield* Wallets
    const operator = yield* OperatorService
    const eraser = yield* AccountEraser
    const log = yield* AuditLog
    const limits = yield* Quotas
    const held = yield* AccountQuotas
    const history = yield* RequestHistory
    const success = true as const

    const shownQuotas = Effect.fnUntraced(function* (named: string | undefined) {
      const account = named === undefined ? undefined : yield* operator.account(named)
      const tiers = QuotaTier.literals.map((tier) => {
        const ofTier = limits.ofTier(tier)
        return { tier, limits: QuotaName.literals.map((name) => ({ name, limit: ofTier[name] ?? null })) }
      })
      if (account === undefined) return { success, tiers }
      const quotas = yield* held.of(account)
      return { success, tiers, account: { name: account.name, tier: quotaTierOf(account), quotas } }
    })

    return handlers.handleAll({
      suspend: Effect.fnUntraced(function* ({ payload }) {
        const { id } = yield* operator.account(payload.account)
        return { success, account: yield* accounts.suspend(id) }
      }),
      resume: Effect.fnUntraced(function* ({ payload }) {
        const { id } = yield* operator.account(payload.account)
        return { success, account: yield* accounts.resume(id) }
      }),
      erase: ({ payload }) =>
        eraser.erase(payload.account, payload.dryRun ?? false).pipe(
          Effect.tap(({ account, dryRun }) => (dryRun ? Effect.void : history.forget(account))),
          Effect.map((erasure) => ({ success, erasure }))
        ),
      quotas: ({ query }) => shownQuotas(query.account),
      setQuotas: Effect.fnUntraced(function* ({ payload: { account, limits: changes, tier } }) {
        if (account !== undefined) {
          const { id } = yield* operator.account(account)
          yield* limits.change({ account: id }, changes)
        } else if (tier !== undefined) yield* limits.change({ tier }, changes)
        return yield* shownQuotas(account)
      }),
      audit: ({ query: { from, limit = eventsShownDefault, to, ...filter } }) =>
        Effect.map(
          log.list({
            ...filter,
            from: from === undefined ? undefined : Date.parse(from),
            until: to === undefined ? undefined : Date.parse(to) + dayMillis,
            limit
          }),
          (events) => ({ success, events })
        ),
      requests: Effect.fnUntraced(function* ({ query }) {
        const { account: named, ...asked } = query
        const account = named === undefined ? undefined : (yield* operator.account(named)).id
        const names = new Map((yield* accounts.list).map(({ id, name }) => [id, name]))
        const found = yield* history.list({ ...requestFilter(asked), account })
        const nameOf = (id: string | undefined) => (id === undefined ? undefined : names.get(id))
        return { success, requests: found.map((entry) => requestRecord(entry, nameOf(entry.account))) }
      }),
      unlinkWallet: Effect.fnUntraced(function* ({ payload }) {
        const wallet = yield* walletAddress(payload.address)
        const { name } = yield* wallets.unlink(wallet.address)
        return { success, wallet: { ...wallet, account: name } }
      })
    })
  })
)
