/**
 * Credits held for one call until its outcome is known, in memory and, of calls that write, as a row. Made by
 * `Ledger.reserve`; ends once, settled or void.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Account } from "@muniment/domain/Account"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { MicroCredits } from "@muniment/domain/Money"
import { candidateTag } from "../accounts/NamespaceDirectory.ts"
import { monthOf, type Split } from "./Purses.ts"

/** A write: survives a crash, and is settled or voided at the next start by asking for `token`. */
export interface Durable {
  readonly token: string
  /** Identifies the client's Idempotency-Key and body: repeating a settled request is free. */
  readonly request?: string | undefined
  /** Ids of the agents whose memories the call may change. */
  readonly namespaces: ReadonlyArray<string>
}

export interface ReserveOptions {
  readonly account: Account
  readonly operation: string
  readonly price: MicroCredits
  /** Namespace of the agent that the call is for; undefined: for none or several. */
  readonly namespace?: NamespaceTag | undefined
  /** Undefined for a read, which is held in memory only. */
  readonly durable?: Durable | undefined
}

/** Cost of a call that costs less than was held for it. */
export interface ActualCost {
  /** At most what is held. */
  readonly price: MicroCredits
  readonly operation: string
}

export interface ReservationFields extends Split {
  readonly id: string
  readonly accountId: string
  readonly operation: string
  readonly namespace: NamespaceTag | undefined
  /** Recorded and not taken (`Books.isUnlimited`). */
  readonly ownUse: MicroCredits
  readonly isUnlimited: boolean
  readonly durable: Durable | undefined
  readonly at: number
  /** `YYYY-MM` whose allowance is held. */
  readonly month: string
}

export class Reservation {
  readonly id: string
  readonly accountId: string
  readonly namespace: NamespaceTag | undefined
  readonly isUnlimited: boolean
  readonly durable: Durable | undefined
  readonly at: number
  readonly month: string
  // Written by `Reservations` only.
  operation: string
  fromAllowance: MicroCredits
  fromBalance: MicroCredits
  ownUse: MicroCredits
  state: "open" | "settled" | "void" = "open"

  constructor(fields: ReservationFields) {
    this.id = fields.id
    this.accountId = fields.accountId
    this.operation = fields.operation
    this.namespace = fields.namespace
    this.fromAllowance = fields.fromAllowance
    this.fromBalance = fields.fromBalance
    this.ownUse = fields.ownUse
    this.isUnlimited = fields.isUnlimited
    this.durable = fields.durable
    this.at = fields.at
    this.month = fields.month
  }

  /** Taken from the purses by settling. */
  get charge(): MicroCredits {
    return this.fromAllowance + this.fromBalance
  }
}

export const rowOfReservation = (reservation: Reservation, durable: Durable): ReservationRow => ({
  id: reservation.id,
  request: durable.request ?? null,
  account: reservation.accountId,
  operation: reservation.operation,
  from_allowance: reservation.fromAllowance,
  from_balance: reservation.fromBalance,
  token: durable.token,
  namespaces: JSON.stringify(durable.namespaces),
  at: reservation.at
})

export const reservationOfRow = (row: ReservationRow): Reservation => {
  const namespaces = JSON.parse(row.namespaces) as ReadonlyArray<string>
  const [agentId, ...others] = namespaces
  return new Reservation({
    id: row.id,
    accountId: row.account,
    operation: row.operation,
    namespace: agentId === undefined || others.length > 0 ? undefined : candidateTag(row.account, agentId, 0),
    fromAllowance: row.from_allowance,
    fromBalance: row.from_balance,
    ownUse: 0,
    isUnlimited: false,
    durable: {
      token: row.token,
      namespaces,
      ...(row.request !== null && { request: row.request })
    },
    at: row.at,
    month: monthOf(row.at)
  })
}

/**
 * Rows of durable reservations. An open row: the call may have changed memories, which the namespaces know by its
 * token. A settled row: the request was paid. A row without `request` is deleted when its call is settled.
 */
export interface ReservationRow {
  readonly id: string
  /** Identifies the client's Idempotency-Key and body. */
  readonly request: string | null
  readonly account: string
  readonly operation: string
  readonly from_allowance: MicroCredits
  readonly from_balance: MicroCredits
  readonly token: string
  /** JSON array of agent ids. */
  readonly namespaces: string
  readonly at: number
}

interface StoredReservationRow extends ReservationRow {
  readonly state: "open" | "settled"
}

export const insertReservations = (sql: SqlClient.SqlClient, rows: ReadonlyArray<ReservationRow>) =>
  rows.length === 0
    ? Effect.void
    : sql`INSERT INTO reservation
        (id, request, account, operation, from_allowance, from_balance, token, namespaces, at, state)
        SELECT value->>'id', value->>'request', value->>'account', value->>'operation', value->>'from_allowance',
          value->>'from_balance', value->>'token', value->>'namespaces', value->>'at', 'open'
        FROM json_each(${JSON.stringify(rows)})`

export const markSettled = (sql: SqlClient.SqlClient, ids: ReadonlyArray<string>) =>
  ids.length === 0
    ? Effect.void
    : sql`UPDATE reservation SET state = 'settled' WHERE id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`

export const deleteReservations = (sql: SqlClient.SqlClient, ids: ReadonlyArray<string>) =>
  ids.length === 0
    ? Effect.void
    : sql`DELETE FROM reservation WHERE id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`

/** At most one: a request has one row. */
export const findByRequest = (sql: SqlClient.SqlClient, request: string) =>
  Effect.map(sql<StoredReservationRow>`SELECT * FROM reservation WHERE request = ${request}`, ([row]) => row)

export const openRows = (sql: SqlClient.SqlClient) =>
  sql<StoredReservationRow>`SELECT * FROM reservation WHERE state = 'open' ORDER BY at, id`

/** Deletes up to `limit` settled ones made before `olderThanMillis`; returns their ids. */
export const sweepSettled = (sql: SqlClient.SqlClient, olderThanMillis: number, limit: number) =>
  sql`DELETE FROM reservation WHERE id IN (SELECT id FROM reservation
    WHERE state = 'settled' AND at < ${olderThanMillis} LIMIT ${limit}) RETURNING id`
