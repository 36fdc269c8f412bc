/** Credits held for one call until its outcome is known. Made by `Ledger.reserve`; ends once, settled or void. */
import type { Account } from "@muniment/domain/Account"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { MicroCredits } from "@muniment/domain/Money"
import { candidateTag } from "../accounts/NamespaceDirectory.ts"
import { monthOf, type Split } from "./Purses.ts"
import type { ReservationRow } from "./ReservationRows.ts"

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
  /** Of the agent that the call is for; undefined: for none or several. */
  readonly namespace?: NamespaceTag | undefined
  /** Undefined for a read, which is held in memory only. */
  readonly durable?: Durable | undefined
}

/** What a call cost, where it costs less than was held for it. */
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
