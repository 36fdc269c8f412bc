/**
 * What becomes of payments and refunds, written down for the operator's webhook in the transaction that changes the books.
 *
 * Invariant: an event's id follows from what it says, so none is written twice.
 */
import { Clock, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { createHash } from "node:crypto"
import { toCredits, toUsd } from "@muniment/domain/Money"
import { creditsOfUnits } from "@muniment/domain/Payment"
import type { WebhookEventType } from "@muniment/domain/Webhooks"
import type { JournalledPayment } from "./JournalledPayment.ts"

/** A payment, or a refund of the payment that it names. */
export type PaymentSubject = JournalledPayment & { readonly payment?: string }

/** Runs inside the caller's transaction. */
export type Announce = (type: WebhookEventType, about: PaymentSubject) => Effect.Effect<void, SqlError.SqlError>

/** Where there is no webhook. */
export const announceNothing: Announce = () => Effect.void

export const announceIn =
  (sql: SqlClient.SqlClient): Announce =>
  (type, about) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const row = {
        id: idOf(type, about),
        payment: about.payment ?? about.id,
        type,
        body: bodyOf(type, about, now),
        state: "pending",
        attempts: 0,
        created_at: now,
        due_since: now,
        next_at: now
      }
      return Effect.asVoid(sql`INSERT INTO webhook ${sql.insert(row)} ON CONFLICT (id) DO NOTHING`)
    })

const idLength = 32

const idOf = (type: WebhookEventType, { id }: PaymentSubject): string =>
  `msg_${createHash("sha256").update(`${type}\0${id}`).digest("hex").slice(0, idLength)}`

/** Ids, amounts and addresses; nothing that was signed and no memory. */
const bodyOf = (type: WebhookEventType, about: PaymentSubject, now: number): string => {
  const { account, id, network, payer, payment, reason, transaction, units } = about
  return JSON.stringify({
    type,
    timestamp: new Date(now).toISOString(),
    data: {
      payment: payment ?? id,
      ...(payment === undefined ? { payer } : { refund: id, from: payer }),
      account,
      network,
      amountUsd: toUsd(creditsOfUnits(units)),
      credits: toCredits(creditsOfUnits(units)),
      transaction: transaction?.hash ?? null,
      ...(reason !== undefined && { reason })
    }
  })
}
