/**
 * Events of money of accounts (contract: Events), as `PaymentEvents.ts` writes them with the books. Of an account their
 * numbers rise.
 */
import { Context, Effect, Layer } from "effect"
import type { MoneyEventData } from "@muniment/domain/Events"
import type { WebhookEventType } from "@muniment/domain/Webhooks"
import { ControlDatabase } from "../database/ControlDatabase.ts"

export interface MoneyEvent {
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
    /** Of the account's last event; 0: there is none. */
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
