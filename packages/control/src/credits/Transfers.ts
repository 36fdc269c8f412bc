/**
 * Double entry: transfers and running totals (TigerBeetle's model). A transfer moves one amount from a debited to a
 * credited account, so the sum over all accounts is zero by construction; the totals change in the same transaction and
 * can be recomputed.
 *
 * Invariant: a key is used once; a second use is a defect.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { MicroCredits } from "@muniment/domain/Money"
import type { PaymentNetwork } from "@muniment/domain/Payment"

type TransferKind =
  | "deposit"
  | "charge"
  | "storage"
  | "storage_metered"
  | "allowance"
  | "allowance_expired"
  | "reversal"
  | "adjustment"

export interface NewTransfer {
  readonly key: string
  /** Names of ledger accounts, created on first use. */
  readonly debit: string
  readonly credit: string
  /** Above zero. */
  readonly amount: MicroCredits
  readonly kind: TransferKind
  readonly operation?: string | undefined
  /** Calls it pays for; default 1. */
  readonly calls?: number | undefined
  /** Namespace of the agent that a charge is for; undefined: for none or several. */
  readonly namespace?: NamespaceTag | undefined
  /** May be merged with others of the same accounts, operation and agent. */
  readonly isShared?: boolean | undefined
  /** Account whose purse changes; undefined if no purse does. */
  readonly account?: string | undefined
  readonly at: number
}

/** Must run inside a transaction. Three statements for any number of transfers. */
export const postTransfers = (
  sql: SqlClient.SqlClient,
  transfers: ReadonlyArray<NewTransfer>
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.gen(function* () {
    if (transfers.length === 0) return
    const totals = JSON.stringify(totalsOf(transfers))
    // Two steps, because SQLite checks constraints before it detects the conflict: a debit alone would fail.
    yield* sql`INSERT INTO ledger_account (name, owner, kind, debits, credits)
      SELECT value->>'name', value->>'owner', value->>'kind', 0, 0 FROM json_each(${totals}) WHERE true
      ON CONFLICT (name) DO NOTHING`
    yield* sql`UPDATE ledger_account SET debits = debits + (moved.value->>'debits'),
      credits = credits + (moved.value->>'credits')
      FROM json_each(${totals}) AS moved WHERE name = moved.value->>'name'`
    yield* sql`INSERT INTO transfer (key, debit, credit, amount, kind, operation, calls, account, namespace, at)
      SELECT value->>'key', (SELECT id FROM ledger_account WHERE name = value->>'debit'),
        (SELECT id FROM ledger_account WHERE name = value->>'credit'), value->>'amount', value->>'kind',
        value->>'operation', coalesce(value->>'calls', 1), value->>'account',
        value->>'namespace', value->>'at'
      FROM json_each(${JSON.stringify(transfers)}) ORDER BY json_each.key`
  })

/** Which of these are posted already. */
export const postedKeys = (
  sql: SqlClient.SqlClient,
  transfers: ReadonlyArray<NewTransfer>
): Effect.Effect<ReadonlySet<string>, SqlError.SqlError> =>
  transfers.length === 0
    ? Effect.succeed(new Set())
    : Effect.map(
        sql<{ readonly key: string }>`SELECT key FROM transfer
          WHERE key IN (SELECT value FROM json_each(${JSON.stringify(transfers.map(({ key }) => key))}))`,
        (rows) => new Set(rows.map(({ key }) => key))
      )

/** Merges shared charges into one transfer per purse, operation and agent; keeps the others and the order. */
export const together = (transfers: ReadonlyArray<NewTransfer>): ReadonlyArray<NewTransfer> => {
  const groups = new Map<string, NewTransfer>()
  for (const transfer of transfers) {
    const { amount, at, debit, isShared, key, namespace, operation } = transfer
    const group = isShared === true ? JSON.stringify([debit, operation, namespace]) : key
    const first = groups.get(group)
    groups.set(
      group,
      first === undefined ? transfer : { ...first, amount: first.amount + amount, calls: (first.calls ?? 1) + 1, at }
    )
  }
  return [...groups.values()]
}

const totalsOf = (transfers: ReadonlyArray<NewTransfer>) => {
  const totals = new Map<string, { debits: number; credits: number }>()
  const of = (name: string) => {
    const known = totals.get(name)
    if (known !== undefined) return known
    const made = { debits: 0, credits: 0 }
    totals.set(name, made)
    return made
  }
  for (const { amount, credit, debit } of transfers) {
    of(debit).debits += amount
    of(credit).credits += amount
  }
  return Array.from(totals, ([name, sums]) => ({
    name,
    kind: kindOfName(name),
    owner: purseOfName(name)?.accountId,
    ...sums
  }))
}

/** The purse that a movement changes, as the account's owner sees it. */
export type PurseName = "balance" | "allowance" | "receivable" | "own-use"

export const incomeFromOperations = "income:operations"
export const incomeFromStorage = "income:storage"
export const equityOfAllowances = "equity:allowance"
export const equityOfAdjustments = "equity:adjustment"
/** Deposits removed by a chain reorganisation after they had been spent. */
export const uncollected = "expense:uncollected"

const ownedPrefixes: Readonly<Record<PurseName, string>> = {
  balance: "liability:credits:",
  allowance: "liability:allowance:",
  receivable: "asset:receivable:",
  "own-use": "expense:own-use:"
}
const owned = (Object.keys(ownedPrefixes) as Array<PurseName>).map((purse) => ({ purse, prefix: ownedPrefixes[purse] }))

export const accountName = (purse: PurseName, accountId: string): string => ownedPrefixes[purse] + accountId
export const usdcOn = (network: PaymentNetwork): string => `asset:usdc:${network}`

/** Owner and purse of a name; undefined for accounts of the service itself. */
export const purseOfName = (name: string): { readonly purse: PurseName; readonly accountId: string } | undefined => {
  const found = owned.find(({ prefix }) => name.startsWith(prefix))
  return found && { purse: found.purse, accountId: name.slice(found.prefix.length) }
}

const kindOfName = (name: string): string => name.slice(0, name.indexOf(":"))

/** A movement as the account's owner sees it. */
export interface LedgerEntry {
  readonly id: number
  readonly at: number
  readonly kind: TransferKind
  /** The operation charged; of an adjustment, its reason. */
  readonly operation?: string
  /** Agent charged for; absent: none, several, or one that is not known here any more. */
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
