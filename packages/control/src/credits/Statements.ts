/**
 * Movements of an account in a period, oldest first, with what stood in its purses before and after (contract: Credits).
 * Purses are summed from the transfers, in pages, and other fibers run in between.
 */
import { Context, Effect, Layer } from "effect"
import { type MicroCredits, toCredits, toUsd } from "@muniment/domain/Money"
import type { AgentCost, DayCost, RevenuePeriod, RevenueRow } from "@muniment/domain/Statement"
import { dayMillis, dayOf } from "@muniment/domain/CalendarDay"
import { PaymentNetwork } from "@muniment/domain/Payment"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { Ledger, makeTransferPages, type TransferPage } from "./Ledger.ts"
import { accountName, entriesOf, entryOf, type EntryRow, type LedgerEntry, purseOfName, usdcOn } from "./Transfers.ts"
import { Books } from "./Books.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

/** Milliseconds, the end excluded. */
export interface Period {
  readonly from: number
  readonly until: number
}

/** Position of an entry in the order of statements. */
interface StatementPosition {
  readonly at: number
  readonly id: number
}

export interface StatementTotals {
  readonly balance: MicroCredits
  readonly allowance: MicroCredits
  readonly receivable: MicroCredits
}

interface StatementPage {
  readonly opening: StatementTotals
  readonly closing: StatementTotals
  readonly entries: ReadonlyArray<LedgerEntry>
}

/** Rows summed before other fibers run. */
const sumPageRows = 5_000

export class Statements extends Context.Service<
  Statements,
  {
    readonly page: (
      accountId: string,
      period: Period,
      page: { readonly after?: StatementPosition | undefined; readonly limit: number }
    ) => Effect.Effect<StatementPage>
  }
>()("muniment/control/Statements") {
  static readonly layer: Layer.Layer<Statements, never, ControlDatabase | Ledger> = Layer.effect(
    Statements,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const { read, sql } = yield* ControlDatabase
  const ledger = yield* Ledger

  /** Adds what the transfers of `period` move. */
  const sumOf = Effect.fnUntraced(function* (accountId: string, period: Period, start: StatementTotals) {
    const totals = { ...start }
    const names = (["balance", "allowance", "receivable"] as const).map((purse) => accountName(purse, accountId))
    const ids = yield* read(
      sql<{
        readonly id: number
        readonly name: string
      }>`SELECT id, name FROM ledger_account WHERE ${sql.in("name", names)}`
    )
    const purses = new Map(ids.map(({ id, name }) => [id, purseOfName(name)!.purse as keyof StatementTotals]))
    let after: StatementPosition = { at: period.from, id: -1 }
    for (;;) {
      const rows = yield* read(
        sql<SumRow>`SELECT id, at, amount, debit, credit FROM transfer WHERE account = ${accountId}
          AND (at, id) > (${after.at}, ${after.id}) AND at < ${period.until} ORDER BY at, id LIMIT ${sumPageRows}`
      )
      for (const { amount, credit, debit } of rows) {
        const [lost, won] = [purses.get(debit), purses.get(credit)]
        if (lost !== undefined) totals[lost] -= amount
        if (won !== undefined) totals[won] += amount
      }
      const last = rows.at(-1)
      if (last === undefined || rows.length < sumPageRows) return totals
      after = last
      yield* Effect.yieldNow
    }
  })

  return Statements.of({
    page: Effect.fn("Statements.page")(function* (accountId, period, { after, limit }) {
      // On a full disk the newest charges are missing.
      yield* Effect.ignore(ledger.flush)
      const opening = yield* sumOf(accountId, { from: 0, until: period.from }, nothing)
      const closing = yield* sumOf(accountId, period, opening)
      const { at, id } = after ?? { at: period.from, id: -1 }
      const rows = yield* read(
        sql<EntryRow>`${entriesOf(sql)} WHERE transfer.account = ${accountId}
          AND (transfer.at, transfer.id) > (${at}, ${id}) AND transfer.at < ${period.until}
          ORDER BY transfer.at, transfer.id LIMIT ${limit}`
      )
      return { opening, closing, entries: rows.map(entryOf) }
    })
  })
})

interface SumRow extends StatementPosition {
  readonly amount: number
  readonly debit: number
  readonly credit: number
}

const nothing: StatementTotals = { balance: 0, allowance: 0, receivable: 0 }

/**
 * Costs of calls in a period, by account and agent (contract: Credits): the sums of the ledger's charges. What is for
 * no single agent (a search of all, a batch over several, storage) is a line of its own. Calls of an operator who acts
 * for an account cost it nothing and are not among them; those of an account on plan `owner` are, as if it paid.
 */
export class AgentCosts extends Context.Service<
  AgentCosts,
  {
    /** The dearest agents first, and the days in order; of one account, or of all. */
    readonly sums: (
      period: Period,
      accountId: string | undefined
    ) => Effect.Effect<
      { readonly agents: ReadonlyArray<AgentCost>; readonly days: ReadonlyArray<DayCost> },
      ControlFailure
    >
  }
>()("muniment/control/AgentCosts") {
  static readonly layer: Layer.Layer<AgentCosts, never, Books | ControlDatabase | Ledger> = Layer.effect(
    AgentCosts,
    Effect.suspend(() => makeAgentCosts)
  )
}

const makeAgentCosts = Effect.gen(function* () {
  const { sql } = yield* ControlDatabase
  // On other plans what is recorded and not taken are the operator's own calls, unless nothing is taken of anybody.
  const countsOwnUse = (yield* Books).isUnlimited({ id: "", plan: "free" })
  const eachTransfer = yield* makeTransferPages

  const sumsOf = ({ from, until }: Period, accountId: string | undefined, { after, last }: TransferPage) =>
    sql<ChargeRow>`SELECT coalesce(account.name, transfer.account) AS account, named.agent_id AS agentId, operation, transfer.kind,
        transfer.at - transfer.at % ${dayMillis} AS day, sum(calls) AS calls, sum(amount) AS amount
      FROM transfer LEFT JOIN account ON account.id = transfer.account
        LEFT JOIN ledger_account AS purse ON purse.id = transfer.debit
        LEFT JOIN namespace AS named ON named.tag = transfer.namespace AND named.account = transfer.account
      WHERE transfer.id > ${after} AND transfer.id <= ${last}
        AND transfer.kind IN ('charge', 'storage', 'storage_metered')
        AND (${countsOwnUse ? sql`TRUE` : sql`account.plan = 'owner'`} OR purse.name NOT LIKE ${accountName("own-use", "%")})
        AND transfer.at >= ${from} AND transfer.at < ${until}
        AND ${accountId === undefined ? sql`TRUE` : sql`transfer.account = ${accountId}`}
      GROUP BY transfer.account, named.agent_id, operation, transfer.kind, day`

  return AgentCosts.of({
    sums: Effect.fn("AgentCosts.sums")(function* (period, accountId) {
      const sums = new Map<string, Sums>()
      const days = new Map<number, ChargeSum>()
      yield* eachTransfer(
        (page) => sumsOf(period, accountId, page),
        (row) => {
          addCharge(sums, row)
          addTo(days, row.day, row)
        }
      )
      return {
        agents: [...sums.values()].map(costOf).toSorted((one, other) => other.credits - one.credits),
        days: [...days]
          .toSorted(([one], [other]) => one - other)
          .map(([day, { amount, calls }]) => ({ day: dayOf(day), calls, credits: toCredits(amount) }))
      }
    })
  })
})

interface ChargeRow {
  readonly account: string
  readonly agentId: string | null
  readonly operation: string | null
  readonly kind: string
  /** Its start, UTC, in milliseconds. */
  readonly day: number
  readonly calls: number
  readonly amount: MicroCredits
}

interface ChargeSum {
  calls: number
  amount: MicroCredits
}

interface Sums {
  readonly account: string
  readonly agentId: string | null
  readonly operations: Map<string, ChargeSum>
}

const addCharge = (sums: Map<string, Sums>, { account, agentId, amount, calls, kind, operation }: ChargeRow): void => {
  const key = JSON.stringify([account, agentId])
  const agent = sums.get(key) ?? { account, agentId, operations: new Map<string, ChargeSum>() }
  sums.set(key, agent)
  addTo(agent.operations, kind === "charge" ? operationOf(operation) : "storage", { amount, calls })
}

const addTo = <Key>(sums: Map<Key, ChargeSum>, key: Key, { amount, calls }: Readonly<ChargeSum>): void => {
  const sum = sums.get(key) ?? { calls: 0, amount: 0 }
  sums.set(key, { calls: sum.calls + calls, amount: sum.amount + amount })
}

/** Tokens are charged under a text that has their number. */
const operationOf = (operation: string | null): string =>
  operation?.startsWith("model:") === true ? "model" : (operation ?? "")

const costOf = ({ account, agentId, operations }: Sums): AgentCost => {
  const parts = [...operations].toSorted(([, one], [, other]) => other.amount - one.amount)
  const amount = parts.reduce((sum, [, part]) => sum + part.amount, 0)
  return {
    account,
    agentId,
    calls: parts.reduce((sum, [, part]) => sum + part.calls, 0),
    credits: toCredits(amount),
    usd: toUsd(amount),
    operations: parts.map(([operation, part]) => ({
      operation,
      calls: part.calls,
      credits: toCredits(part.amount)
    }))
  }
}

/**
 * Sums of the ledger by period: what came in on which network, and what calls and storage took (contract: Operator
 * routes).
 */
export class Revenue extends Context.Service<
  Revenue,
  {
    readonly rows: (period: Period, by: RevenuePeriod) => Effect.Effect<ReadonlyArray<RevenueRow>, ControlFailure>
  }
>()("muniment/control/Revenue") {
  static readonly layer: Layer.Layer<Revenue, never, ControlDatabase | Ledger> = Layer.effect(
    Revenue,
    Effect.suspend(() => makeRevenue)
  )
}

const makeRevenue = Effect.gen(function* () {
  const { sql } = yield* ControlDatabase
  const eachTransfer = yield* makeTransferPages

  return Revenue.of({
    rows: Effect.fn("Revenue.rows")(function* ({ from, until }, by) {
      const sums = new Map<string, RevenueSum>()
      yield* eachTransfer(
        ({ after, last }) => sql<EntryRow>`${entriesOf(sql)}
          WHERE transfer.id > ${after} AND transfer.id <= ${last}
            AND transfer.at >= ${from} AND transfer.at < ${until}
            AND transfer.kind NOT IN ('allowance', 'allowance_expired')`,
        (row) => addRevenue(sums, periodOf(row.at, by), row)
      )
      return [...sums.entries()]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([, { count, micro, of }]) => ({ ...of, count, credits: toCredits(micro), usd: toUsd(micro) }))
    })
  })
})

type Line = Omit<RevenueRow, "count" | "credits" | "usd">

interface RevenueSum {
  readonly of: Line
  count: number
  micro: number
}

const addRevenue = (sums: Map<string, RevenueSum>, period: string, row: EntryRow): void => {
  const of: Line = { period, ...lineOf(row) }
  const key = JSON.stringify(Object.values(of))
  const sum = sums.get(key) ?? { of, count: 0, micro: 0 }
  sum.count += row.calls
  sum.micro += row.amount * signOf(row)
  sums.set(key, sum)
}

const lineOf = ({ credited, debited, kind, operation }: EntryRow): Omit<Line, "period"> => {
  const network = networkOf(debited) ?? networkOf(credited)
  const isMoney = network !== undefined
  const moneyKind = kind === "deposit" ? "received" : kind === "reversal" ? "reversed" : "refunded"
  if (isMoney) return { kind: moneyKind, network, asset: "USDC", operation: null, purse: null }
  const common = { network: null, asset: null, purse: purseOfName(debited)?.purse ?? null }
  // The reason of a correction is a text of its own each time.
  if (kind === "adjustment") return { ...common, kind: "adjusted", operation: null, purse: null }
  return { ...common, kind: "charged", operation: kind === "charge" ? operation : "storage" }
}

/** Money that went back, and what operators gave, is negative. */
const signOf = ({ credited, kind }: EntryRow): 1 | -1 => {
  if (kind === "reversal") return -1
  if (kind !== "adjustment") return 1
  return networkOf(credited) !== undefined || purseOfName(credited) !== undefined ? -1 : 1
}

const networkByName = new Map<string, PaymentNetwork>(
  PaymentNetwork.literals.map((network) => [usdcOn(network), network])
)
const networkOf = (name: string): PaymentNetwork | undefined => networkByName.get(name)

/** The day, the Monday of the week, or the month. */
const periodOf = (atMillis: number, by: RevenuePeriod): string => {
  const day = dayOf(atMillis)
  if (by === "day") return day
  if (by === "month") return day.slice(0, "2026-01".length)
  return dayOf(atMillis - ((new Date(atMillis).getUTCDay() + 6) % 7) * dayMillis)
}
