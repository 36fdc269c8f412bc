/**
 * Movements of an account in a period, oldest first, with what stood in its purses before and after (contract: Credits).
 * Purses are summed from the transfers, in pages, and other fibers run in between.
 */
import { Context, Effect, Layer } from "effect"
import type { MicroCredits } from "@muniment/domain/Money"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { Ledger } from "./Ledger.ts"
import { accountName, entriesOf, entryOf, type EntryRow, type LedgerEntry, purseOfName } from "./Transfers.ts"

/** Milliseconds, the end excluded. */
export interface Period {
  readonly from: number
  readonly until: number
}

/** Of an entry, in the order of statements. */
export interface StatementPosition {
  readonly at: number
  readonly id: number
}

export interface StatementTotals {
  readonly balance: MicroCredits
  readonly allowance: MicroCredits
  readonly receivable: MicroCredits
}

export interface StatementPage {
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
