/**
 * Statements and revenue as answers: periods from days, pages from cursors, JSON or CSV as the request says
 * (contract: Credits).
 */
import { Clock, Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Account } from "@muniment/domain/Account"
import { dayMillis, dayOf } from "@muniment/domain/CalendarDay"
import { InvalidRequest } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { toCredits } from "@muniment/domain/Money"
import {
  agentCostCells,
  agentCostHeading,
  type CsvCell,
  csvOf,
  entryRow,
  purseRows,
  revenueCells,
  revenueHeading,
  type RevenuePeriod,
  type Statement,
  statementHeading
} from "@muniment/domain/Statement"
import type { LedgerEntry } from "@muniment/control/credits/Ledger"
import type { AgentCosts, Period, Revenue, Statements, StatementTotals } from "@muniment/control/credits/Statements"
import { statementCursor } from "./Cursor.ts"

interface DaysQuery {
  readonly from?: string
  readonly to?: string
  readonly format?: "json" | "csv"
}

interface RevenueQueried extends DaysQuery {
  readonly by?: RevenuePeriod
}

interface CostsQueried extends DaysQuery {
  readonly limit?: number
}

interface StatementQueried extends DaysQuery {
  readonly limit?: number
  readonly cursor?: string
}

const success = true as const

export const statementAnswer = Effect.fn("StatementAnswers.statement")(function* (
  statements: Statements["Service"],
  account: Account,
  query: StatementQueried,
  request: HttpServerRequest.HttpServerRequest
) {
  const answer = yield* statementOf(statements, account, query)
  return wantsCsv(request, query) ? statementCsv(answer) : { success, ...answer.statement }
})

export const revenueAnswer = Effect.fn("StatementAnswers.revenue")(function* (
  revenue: Revenue["Service"],
  query: RevenueQueried,
  request: HttpServerRequest.HttpServerRequest
) {
  const { from, period, to } = yield* daysOf(query)
  const { by = "month" } = query
  const rows = yield* revenue.rows(period, by)
  return wantsCsv(request, query)
    ? csvResponse([revenueHeading, ...rows.map(revenueCells)])
    : { success, from, to, by, rows }
})

/** Costs of one account, or of all. */
export const costsAnswer = Effect.fn("StatementAnswers.costs")(function* (
  costs: AgentCosts["Service"],
  account: Account | undefined,
  query: CostsQueried,
  request: HttpServerRequest.HttpServerRequest
) {
  const { from, period, to } = yield* daysOf(query)
  const { agents: all, days } = yield* costs.sums(period, account?.id)
  const agents = all.slice(0, query.limit ?? Limits.agentCostsDefault)
  return wantsCsv(request, query)
    ? csvResponse([agentCostHeading, ...agents.flatMap(agentCostCells)])
    : { success, from, to, total: all.length, agents, days }
})

/** Default: this month up to today, or the day on which a period to come begins. */
const daysOf = Effect.fnUntraced(function* (query: DaysQuery) {
  const today = dayOf(yield* Clock.currentTimeMillis)
  const { to = query.from !== undefined && query.from > today ? query.from : today } = query
  const { from = `${to.slice(0, "2026-01".length)}-01` } = query
  if (from > to) return yield* new InvalidRequest({ code: "invalid_request", error: "`from` is after `to`" })
  return { from, to, period: { from: Date.parse(from), until: Date.parse(to) + dayMillis } satisfies Period }
})

const statementOf = Effect.fnUntraced(function* (
  statements: Statements["Service"],
  account: Account,
  query: StatementQueried
) {
  const { from, period, to } = yield* daysOf(query)
  const limit = query.limit ?? Limits.statementPageMax
  const after = query.cursor === undefined ? undefined : yield* statementCursor.decode(query.cursor)
  const { closing, entries, opening } = yield* statements.page(account.id, period, { after, limit: limit + 1 })
  const page = entries.slice(0, limit)
  const last = entries.length > limit ? page.at(-1) : undefined
  const statement: Statement = {
    account: account.name,
    from,
    to,
    opening: totalsOf(opening),
    closing: totalsOf(closing),
    entries: page.map(transactionOf),
    ...(last !== undefined && { nextCursor: statementCursor.encode({ at: last.at, id: last.id }) })
  }
  return { statement, isFirst: after === undefined }
})

/** The statement's page as CSV: opening balances before the first page, closing ones after the last. */
const statementCsv = ({ isFirst, statement }: Effect.Success<ReturnType<typeof statementOf>>) => {
  const { closing, entries, from, nextCursor, opening, to } = statement
  const rows = [
    ...(isFirst ? [statementHeading, ...purseRows("opening", from, opening)] : []),
    ...entries.map(entryRow),
    ...(nextCursor === undefined ? purseRows("closing", to, closing) : [])
  ]
  return csvResponse(rows, nextCursor === undefined ? {} : { "x-next-cursor": nextCursor })
}

const csvResponse = (rows: ReadonlyArray<ReadonlyArray<CsvCell>>, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.text(csvOf(rows), { contentType: "text/csv; charset=utf-8; header=present", headers })

/** The query has the last word. */
const wantsCsv = (
  request: HttpServerRequest.HttpServerRequest,
  { format }: { readonly format?: "json" | "csv" }
): boolean => (format ?? (/^text\/csv\b/i.test(request.headers["accept"] ?? "") ? "csv" : "json")) === "csv"

export const transactionOf = ({ agentId, amount, operation, ...entry }: LedgerEntry) => ({
  id: entry.id,
  at: entry.at,
  kind: entry.kind,
  ...(operation !== undefined && { operation }),
  ...(agentId !== undefined && { agentId }),
  purse: entry.purse,
  calls: entry.calls,
  credits: toCredits(amount)
})

const totalsOf = ({ allowance, balance, receivable }: StatementTotals) => ({
  balance: toCredits(balance),
  allowance: toCredits(allowance),
  receivable: toCredits(receivable)
})
