/**
 * Events of payments and refunds, for the account and for the operator's webhook where there is one, written in the
 * transaction that changes the books.
 *
 * Invariant: an event's id follows from what it says, so none is written twice.
 */
import { Clock, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { createHash } from "node:crypto"
import type { MoneyEventData } from "@muniment/domain/Events"
import { toCredits, toUsd } from "@muniment/domain/Money"
import { creditsOfUnits } from "@muniment/domain/Payment"
import type { WebhookEventType } from "@muniment/domain/Webhooks"
import type { JournalledPayment } from "./JournalledPayment.ts"

/** A payment, or a refund of the payment that it names. */
export type PaymentSubject = JournalledPayment & { readonly payment?: string }

/** Runs inside the caller's transaction. */
export type Announce = (type: WebhookEventType, about: PaymentSubject) => Effect.Effect<void, SqlError.SqlError>

export const announceIn =
  (sql: SqlClient.SqlClient, { hasWebhook }: { readonly hasWebhook: boolean }): Announce =>
  (type, about) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const id = idOf(type, about)
      const { account } = about
      const event = { id, account, type, at: now, data: JSON.stringify(eventDataOf(about)) }
      yield* sql`INSERT INTO account_event ${sql.insert(event)} ON CONFLICT (id) DO NOTHING`
      if (!hasWebhook) return
      const row = {
        id,
        payment: about.payment ?? about.id,
        type,
        body: bodyOf(type, about, now),
        state: "pending",
        attempts: 0,
        created_at: now,
        due_since: now,
        next_at: now
      }
      yield* sql`INSERT INTO webhook ${sql.insert(row)} ON CONFLICT (id) DO NOTHING`
    })

const idLength = 32

const idOf = (type: WebhookEventType, { id }: PaymentSubject): string =>
  `msg_${createHash("sha256").update(`${type}\0${id}`).digest("hex").slice(0, idLength)}`

/** What the account is told; whose wallet it was it is not. */
const eventDataOf = ({ id, network, payment, reason, transaction, units }: PaymentSubject): MoneyEventData => ({
  payment: payment ?? id,
  ...(payment !== undefined && { refund: id }),
  network,
  amountUsd: toUsd(creditsOfUnits(units)),
  credits: toCredits(creditsOfUnits(units)),
  ...(transaction !== undefined && { transaction: transaction.hash }),
  ...(reason !== undefined && { reason })
})

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
