/**
 * Events of money of accounts (contract: Events), written in the transaction that changes the books, for the account and
 * for the operator's webhook where there is one.
 *
 * Invariants: an event's id follows from what it says, so none is written twice; of an account their numbers rise.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { createHash } from "node:crypto"
import type { MoneyEventData, WebhookEventType } from "@muniment/domain/Events"
import { toCredits, toUsd } from "@muniment/domain/Money"
import { creditsOfUnits } from "@muniment/domain/Payment"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { operatorMessages } from "../webhooks/WebhookOutbox.ts"
import type { JournalledPayment } from "./JournalledPayment.ts"

interface MoneyEvent {
  readonly number: number
  readonly type: WebhookEventType
  /** Milliseconds. */
  readonly at: number
  readonly data: MoneyEventData
}

export class MoneyEvents extends Context.Service<
  MoneyEvents,
  {
    /** Oldest first, those with a larger number. */
    readonly after: (account: string, number: number, limit: number) => Effect.Effect<ReadonlyArray<MoneyEvent>>
    /** Number of the account's last event; 0: there is none. */
    readonly last: (account: string) => Effect.Effect<number>
    /** The last number of all accounts, and which ones have events behind `number`. */
    readonly news: (number: number) => Effect.Effect<{ readonly last: number; readonly accounts: ReadonlySet<string> }>
  }
>()("muniment/control/MoneyEvents") {
  static readonly layer = Layer.effect(
    MoneyEvents,
    Effect.gen(function* () {
      const { read, sql } = yield* ControlDatabase
      return MoneyEvents.of({
        after: (account, number, limit) =>
          read(
            Effect.map(
              sql<EventRow>`SELECT sequence, type, at, data FROM account_event
                WHERE account = ${account} AND sequence > ${number} ORDER BY sequence LIMIT ${limit}`,
              (rows) =>
                rows.map(({ at, data, sequence, type }) => ({ number: sequence, type, at, data: JSON.parse(data) }))
            )
          ),
        last: (account) =>
          read(
            Effect.map(
              sql<LastRow>`SELECT coalesce(max(sequence), 0) AS last FROM account_event WHERE account = ${account}`,
              ([row]) => row!.last
            )
          ),
        news: (number) =>
          read(
            Effect.gen(function* () {
              const [row] = yield* sql<LastRow>`SELECT coalesce(max(sequence), 0) AS last FROM account_event`
              const accounts = yield* sql<{ readonly account: string }>`SELECT DISTINCT account FROM account_event
                WHERE sequence > ${number}`
              return { last: row!.last, accounts: new Set(accounts.map(({ account }) => account)) }
            })
          )
      })
    })
  )
}

interface EventRow {
  readonly sequence: number
  readonly type: WebhookEventType
  readonly at: number
  readonly data: string
}

interface LastRow {
  readonly last: number
}

/** A payment, or a refund of the payment that it names. */
type PaymentSubject = JournalledPayment & { readonly payment?: string }

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
      const message = { id, lane: about.payment ?? about.id, type, body: bodyOf(type, about, now) }
      yield* operatorMessages(sql).add(null, null, message)
    })

const idLength = 32

const idOf = (type: WebhookEventType, { id }: PaymentSubject): string =>
  `msg_${createHash("sha256").update(`${type}\0${id}`).digest("hex").slice(0, idLength)}`

/** Data of the account's event, without the wallet. */
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
