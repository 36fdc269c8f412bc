/**
 * Rows of durable reservations. An open row: the call may have changed memories, which the namespaces know by its
 * token. A settled row: the request was paid. A row without `request` is deleted when its call is settled.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { MicroCredits } from "@muniment/domain/Money"

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

export interface StoredReservationRow extends ReservationRow {
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
