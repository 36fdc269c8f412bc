/** Movements of the ledger as the owner of an account sees them. */
import type { SqlClient } from "effect/sql"
import type { MicroCredits } from "@muniment/domain/Money"
import { type PurseName, purseOfName } from "./LedgerAccounts.ts"
import type { TransferKind } from "./Transfers.ts"

/** A movement as the account's owner sees it. */
export interface LedgerEntry {
  readonly id: number
  readonly at: number
  readonly kind: TransferKind
  /** The operation charged; of an adjustment, its reason. */
  readonly operation?: string
  readonly purse: PurseName
  /** Calls in a charge: reads of the same moment and operation are one movement. */
  readonly calls: number
  /** Positive in favour of the account. */
  readonly amount: MicroCredits
}

/** Up to its WHERE. */
export const entriesOf = (sql: SqlClient.SqlClient) => sql`SELECT transfer.id, transfer.at, transfer.kind,
    transfer.operation, transfer.calls, transfer.amount, debited.name AS debited, credited.name AS credited
  FROM transfer JOIN ledger_account AS debited ON debited.id = transfer.debit
    JOIN ledger_account AS credited ON credited.id = transfer.credit`

export interface EntryRow {
  readonly id: number
  readonly at: number
  readonly kind: TransferKind
  readonly operation: string | null
  readonly calls: number
  readonly amount: number
  readonly debited: string
  readonly credited: string
}

/** A purse is on one side of each movement: a debit decreases it, a credit increases it. */
export const entryOf = ({ amount, at, calls, credited, debited, id, kind, operation }: EntryRow): LedgerEntry => {
  const lost = purseOfName(debited)
  const won = purseOfName(credited)
  return {
    id,
    at,
    kind,
    ...(operation !== null && { operation }),
    purse: (lost ?? won)!.purse,
    calls,
    amount: lost === undefined ? amount : -amount
  }
}
