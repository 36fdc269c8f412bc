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
  /** Of the agent charged for; absent: none, several, or one that is not known here any more. */
  readonly agentId?: string
  readonly purse: PurseName
  /** Calls in a charge: reads of the same moment and operation are one movement. */
  readonly calls: number
  /** Positive in favour of the account. */
  readonly amount: MicroCredits
}

/** Up to its WHERE. */
export const entriesOf = (sql: SqlClient.SqlClient) => sql`SELECT transfer.id, transfer.at, transfer.kind,
    transfer.operation, transfer.account, transfer.calls, transfer.amount, namespace.agent_id AS agentId, debited.name AS debited, credited.name AS credited
  FROM transfer JOIN ledger_account AS debited ON debited.id = transfer.debit
    JOIN ledger_account AS credited ON credited.id = transfer.credit
    LEFT JOIN namespace ON namespace.tag = transfer.namespace AND namespace.account = transfer.account`

export interface EntryRow {
  readonly id: number
  readonly at: number
  readonly kind: TransferKind
  readonly operation: string | null
  readonly account: string | null
  readonly agentId: string | null
  readonly calls: number
  readonly amount: number
  readonly debited: string
  readonly credited: string
}

/** A purse is on one side of each movement: a debit decreases it, a credit increases it. */
export const entryOf = ({
  agentId,
  amount,
  at,
  calls,
  credited,
  debited,
  id,
  kind,
  operation
}: EntryRow): LedgerEntry => {
  const lost = purseOfName(debited)
  const won = purseOfName(credited)
  return {
    id,
    at,
    kind,
    ...(operation !== null && { operation }),
    ...(agentId !== null && { agentId }),
    purse: (lost ?? won)!.purse,
    calls,
    amount: lost === undefined ? amount : -amount
  }
}
