/**
 * Routes about accounts: GET /account with the caller's statement, costs and calls, and the operator's
 * (contract: Operator routes).
 */
import { Effect } from "effect"
import { Caller } from "@muniment/domain/api/Middleware"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { QuotaName, QuotaTier } from "@muniment/domain/Plans"
import type { RequestRecord } from "@muniment/domain/Operations"
import { firstOperator } from "@muniment/domain/Operator"
import { AgentCosts, Statements } from "@muniment/control/credits/Statements"
import { NotFound } from "@muniment/domain/Errors"
import type { Identity } from "@muniment/domain/Identity"
import { AuditLog } from "@muniment/control/audit/AuditLog"
import { Accounts, Quotas, quotaTierOf } from "@muniment/control/accounts/Accounts"
import { Wallets } from "@muniment/control/accounts/Wallets"
import { ApiKeyStore } from "@muniment/control/accounts/ApiKeyStore"
import { unboundCaller, isBound, requireChange, requireNarrower, seesKey } from "../identity/KeyScopes.ts"
import { type KeptRequest, type RequestFilter, RequestHistory } from "../operator/requests/RequestHistory.ts"
import { costsAnswer, statementAnswer } from "./StatementAnswers.ts"
import { AccountQuotas, AgentCounts } from "../memories/AccountFigures.ts"
import { recordOwnChange } from "../operator/auditedAction.ts"
import { AccountEraser } from "../operator/AccountEraser.ts"
import { OperatorService } from "../operator/OperatorService.ts"
import { walletAddress, boundsOf } from "./AdminHandlers.ts"
import { apiGroup } from "../apiGroup.ts"

export const accountHandlers = apiGroup(
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
        // Who of the operators acted is not the account's to know, by no filter either.
        if (query.caller?.startsWith("operator:") === true) return { success: true as const, requests: [] }
        const found = yield* history.list({ ...requestFilter(query), account: account.id })
        return { success: true as const, requests: found.map((entry) => ownRecord(requestRecord(entry, account.name))) }
      }),
      costs: ({ query, request }) =>
        Effect.flatMap(unboundCaller, ({ account }) => costsAnswer(costs, account, query, request))
    })
  })
)

const eventsShownDefault = 100

/** Operator routes (contract: Operator routes) for what becomes of accounts. */
export const accountAdminHandlers = apiGroup(
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

interface RequestsQueried {
  readonly before?: number
  readonly after?: number
  readonly caller?: string
  readonly operation?: string
  readonly agentId?: string
  readonly status?: string
  readonly slowerThan?: number
  readonly order?: "newest" | "slowest"
  readonly refused?: boolean
  readonly operator?: boolean
  readonly from?: string
  readonly to?: string
  readonly limit?: number
}

const requestsShownDefault = 100

/** Calls of accounts as answers (contract: Operator routes): days become times, ids become names. */
const requestFilter = (asked: RequestsQueried): RequestFilter => {
  const { from, limit, operator, order, refused, slowerThan, status, to, ...query } = asked
  return {
    ...query,
    statuses:
      status === undefined ? undefined : [Number(status.replace("xx", "00")), Number(status.replace("xx", "99"))],
    millisMin: slowerThan,
    isSlowestFirst: order === "slowest",
    isRefused: refused,
    isByOperator: operator,
    from: from === undefined ? undefined : Date.parse(from),
    until: to === undefined ? undefined : Date.parse(to) + dayMillis,
    limit: limit ?? requestsShownDefault
  }
}

/** An account learns that an operator acted, not who. */
const ownRecord = (record: RequestRecord): RequestRecord =>
  record.caller?.startsWith(`${firstOperator.name}:`) === true ? { ...record, caller: firstOperator.name } : record

/** `name`: of the account; undefined: it has none any more. */
const requestRecord = (
  { account, agentId, caller, code, deleted, stages, ...entry }: KeptRequest,
  name: string | undefined
): RequestRecord => ({
  ...entry,
  ...(agentId !== undefined && { agentId }),
  ...(code !== undefined && { code }),
  ...(deleted !== undefined && { deleted }),
  ...(stages !== undefined && { stages }),
  account: name ?? account ?? null,
  caller: caller ?? null
})

/** Keys that an account manages itself (contract: Identity). What is made and revoked stands in the audit log. */
export const keysHandlers = apiGroup(
  "keys",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* ApiKeyStore
    const log = yield* AuditLog
    const success = true as const

    /** Agents that the caller sees. */
    const seenBy = (caller: Identity) =>
      Effect.map(keys.list(caller.account.id), (all) =>
        all.filter((key) => key.revokedAt === undefined && seesKey(caller, key))
      )

    return handlers.handleAll({
      listKeys: () => Effect.map(Effect.flatMap(Caller, seenBy), (seen) => ({ success, keys: seen })),
      createKey: Effect.fnUntraced(function* ({ payload }) {
        const caller = yield* Caller
        const bounds = yield* boundsOf(payload)
        yield* requireNarrower(caller, bounds)
        yield* caller.newcomer?.open("free") ?? Effect.void
        const made = yield* keys.create(caller.account, payload.label ?? "", undefined, {
          ...bounds,
          madeBy: caller.keyId ?? caller.walletAddress
        })
        yield* recordOwnChange(log, "keys.createKey", caller, { keyId: made.record.id })
        return { success, key: made.record, secret: made.secret }
      }),
      revokeKey: Effect.fnUntraced(function* ({ params, query }) {
        const caller = yield* Caller
        yield* requireChange(caller)
        const seen = (yield* seenBy(caller)).find(({ id }) => id === params.id)
        if (seen === undefined) return yield* new NotFound({ code: "key_not_found", error: "no such key" })
        const { alsoRevoked, record: key } = yield* keys.revoke(seen.id, query)
        yield* recordOwnChange(log, "keys.revokeKey", caller, {
          keyId: key.id,
          ...(alsoRevoked.length > 0 && { alsoRevoked })
        })
        return { success, key, alsoRevoked }
      })
    })
  })
)
