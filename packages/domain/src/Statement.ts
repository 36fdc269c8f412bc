/**
 * Statements of an account and revenue of the service (contract: Credits, Operator routes), as JSON and as rows of CSV.
 * Days are UTC, both ends of a period included; amounts are credits.
 */
import { Schema } from "effect"
import { CalendarDay } from "./GivenTimes.ts"
import { CreditTransaction } from "./Credits.ts"
import { PageCursor } from "./Ids.ts"
import { Limits } from "./Limits.ts"
import { PaymentNetwork } from "./Payment.ts"

const format = Schema.optionalKey(
  Schema.Literals(["json", "csv"]).annotate({ description: "Default: `csv` if `Accept` is `text/csv`, else `json`." })
)

export const StatementQuery = {
  from: Schema.optionalKey(CalendarDay.annotate({ description: "First day, UTC; default the first of this month." })),
  to: Schema.optionalKey(CalendarDay.annotate({ description: "Last day, UTC; default today." })),
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.statementPageMax })).annotate({
      description: `Entries of a page, 1 to ${Limits.statementPageMax}; default ${Limits.statementPageMax}.`
    })
  ),
  cursor: Schema.optionalKey(PageCursor),
  format
}

/** Credits in each purse; `receivable` is metered storage that is owed. */
export const PurseTotals = Schema.Struct({
  balance: Schema.Finite,
  allowance: Schema.Finite,
  receivable: Schema.Finite
})

export const Statement = Schema.Struct({
  account: Schema.String,
  from: CalendarDay,
  to: CalendarDay,
  opening: PurseTotals.annotate({ description: "Before the first entry of the period, whatever the page." }),
  closing: PurseTotals.annotate({ description: "After the last one." }),
  entries: Schema.Array(CreditTransaction).annotate({ description: "Oldest first." }),
  nextCursor: Schema.optionalKey(Schema.String)
})
export type Statement = typeof Statement.Type

export const statementHeading: ReadonlyArray<CsvCell> = [
  "at",
  "id",
  "kind",
  "operation",
  "purse",
  "calls",
  "credits",
  "agentId"
]

/** `what`: opening balances before the first page's entries, closing ones after the last page's. */
export const purseRows = (what: "opening" | "closing", day: string, totals: Statement["opening"]) =>
  (["balance", "allowance", "receivable"] as const).map((purse): ReadonlyArray<CsvCell> => [
    day,
    null,
    what,
    null,
    purse,
    null,
    totals[purse],
    null
  ])

export const entryRow = (entry: Statement["entries"][number]): ReadonlyArray<CsvCell> => [
  new Date(entry.at).toISOString(),
  entry.id,
  entry.kind,
  entry.operation ?? null,
  entry.purse,
  entry.calls,
  entry.credits,
  entry.agentId ?? null
]

export const RevenuePeriod = Schema.Literals(["day", "week", "month"])
export type RevenuePeriod = typeof RevenuePeriod.Type

export const RevenueQuery = {
  from: Schema.optionalKey(CalendarDay.annotate({ description: "First day, UTC; default the first of this month." })),
  to: Schema.optionalKey(CalendarDay.annotate({ description: "Last day, UTC; default today." })),
  by: Schema.optionalKey(RevenuePeriod.annotate({ description: "Default `month`." })),
  format
}

/**
 * Sums of one period. `received`, `reversed` and `refunded` are of USDC on a network; `charged` is what calls and storage
 * took: from balances that were paid, from allowances, or metered and owed; `adjusted` is what operators gave and took.
 */
export const RevenueRow = Schema.Struct({
  period: Schema.String.annotate({ description: "The day, the Monday of the week, or YYYY-MM." }),
  kind: Schema.Literals(["received", "reversed", "refunded", "charged", "adjusted"]),
  network: Schema.NullOr(PaymentNetwork),
  asset: Schema.NullOr(Schema.Literal("USDC")),
  operation: Schema.NullOr(Schema.String),
  purse: Schema.NullOr(Schema.Literals(["balance", "allowance", "receivable", "own-use"])),
  count: Schema.Int,
  credits: Schema.Finite,
  usd: Schema.Finite
})
export type RevenueRow = typeof RevenueRow.Type

export const Revenue = Schema.Struct({
  from: CalendarDay,
  to: CalendarDay,
  by: RevenuePeriod,
  rows: Schema.Array(RevenueRow)
})

export const revenueHeading: ReadonlyArray<CsvCell> = [
  "period",
  "kind",
  "network",
  "asset",
  "operation",
  "purse",
  "count",
  "credits",
  "usd"
]

export const revenueCells = (row: RevenueRow): ReadonlyArray<CsvCell> => [
  row.period,
  row.kind,
  row.network,
  row.asset,
  row.operation,
  row.purse,
  row.count,
  row.credits,
  row.usd
]

export const AgentCostQuery = {
  from: StatementQuery.from,
  to: StatementQuery.to,
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.agentCostsMax })).annotate({
      description: `Rows, the dearest first, 1 to ${Limits.agentCostsMax}; default ${Limits.agentCostsDefault}.`
    })
  ),
  format
}

/** Cost of calls in a period, on plan `owner` what they would have cost. */
export const AgentCost = Schema.Struct({
  account: Schema.String,
  agentId: Schema.NullOr(Schema.String).annotate({
    description: "null: for no single agent, as storage and a search of all, or of an agent not known any more."
  }),
  calls: Schema.Int,
  credits: Schema.Finite,
  usd: Schema.Finite,
  operations: Schema.Array(
    Schema.Struct({ operation: Schema.String, calls: Schema.Int, credits: Schema.Finite })
  ).annotate({ description: "The dearest first; `model` are a language model's tokens." })
})
export type AgentCost = typeof AgentCost.Type

export const AgentCosts = Schema.Struct({
  from: CalendarDay,
  to: CalendarDay,
  total: Schema.Int.annotate({ description: "Rows there are; the answer has `limit` of them." }),
  agents: Schema.Array(AgentCost),
  days: Schema.Array(Schema.Struct({ day: CalendarDay, calls: Schema.Int, credits: Schema.Finite })).annotate({
    description: "Sums of all rows by day, the first day first; days without a charge are not listed."
  })
})
export type DayCost = (typeof AgentCosts.Type)["days"][number]

export const agentCostHeading: ReadonlyArray<CsvCell> = ["account", "agentId", "operation", "calls", "credits"]

/** A row for each operation. */
export const agentCostCells = ({ account, agentId, operations }: AgentCost): ReadonlyArray<ReadonlyArray<CsvCell>> =>
  operations.map(({ calls, credits, operation }) => [account, agentId, operation, calls, credits])

/**
 * CSV (RFC 4180) that a spreadsheet shows as it is: texts that it would take for a formula get an apostrophe before
 * them (OWASP: CSV injection). Numbers are written as they are, negative ones too.
 */
export type CsvCell = string | number | null

/** Rows of cells, the heading first; lines end with CR LF. */
export const csvOf = (rows: ReadonlyArray<ReadonlyArray<CsvCell>>): string =>
  rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("")

/** The last four are full width, which spreadsheets of some languages read as the first ones. */
const formulaStart = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const needsQuotes = /[",\r\n]/

const cellText = (cell: CsvCell): string => {
  if (cell === null) return ""
  if (typeof cell === "number") return String(cell)
  const text = formulaStart.test(cell) ? `'${cell}` : cell
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
