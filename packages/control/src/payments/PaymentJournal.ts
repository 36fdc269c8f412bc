/**
 * Payments and their states: `verified` -> `broadcasting` -> `settled` -> `finalized`; or `failed` before it settled, or
 * `reversed` after (a chain reorganisation removed it).
 *
 * Invariants: an id is claimed once; a transaction is journalled before it is sent; state `settled` and the deposit are
 * one database transaction, so each payment is credited exactly once; `failed` and `reversed` are final. A step that
 * the state does not allow is a defect.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { Plan } from "@muniment/domain/Account"
import type { PaymentState } from "@muniment/domain/Operations"
import { creditsOfUnits, type PaymentNetwork } from "@muniment/domain/Payment"
import { Books } from "../credits/Books.ts"
import { announceIn } from "./MoneyEvents.ts"
import { ControlDatabase } from "../database/ControlDatabase.ts"
import { type Purses, spendable } from "../credits/Purses.ts"
import type { JournalledPayment, NewPayment, PaymentTransaction } from "./JournalledPayment.ts"
import { creditable, type PaymentFilter, PaymentRows, type RevertBudget, type Reverts } from "./PaymentRows.ts"
import { makeRefundJournal, type RefundJournal } from "./RefundJournal.ts"
import type { ControlFailure } from "../database/ControlFailure.ts"

export type { JournalledPayment, NewPayment, PaymentTransaction } from "./JournalledPayment.ts"

export class PaymentJournal extends Context.Service<
  PaymentJournal,
  {
    readonly find: (id: string) => Effect.Effect<JournalledPayment | undefined>
    /** Finds a payment by its id or the hash of its transaction; with `account` (id) only of that account. */
    readonly findNamed: (name: string, account?: string) => Effect.Effect<JournalledPayment | undefined>
    readonly hasAnyOn: (network: PaymentNetwork) => Effect.Effect<boolean>
    /** `Taken`: the id was claimed before; `payment` is its current state. */
    readonly claim: (
      payment: NewPayment
    ) => Effect.Effect<{ readonly _tag: "Claimed" | "Taken"; readonly payment: JournalledPayment }, ControlFailure>
    /**
     * Likewise, unless payments reverted after `sinceMillis` and those under way use up the budget of the payer or of the
     * account. What is under way counts once one of theirs was reverted: until then it is expected to pay.
     */
    readonly claimWithin: (
      payment: NewPayment,
      budget: RevertBudget
    ) => Effect.Effect<
      | { readonly _tag: "Claimed" | "Taken"; readonly payment: JournalledPayment }
      | { readonly _tag: "OverBudget"; readonly reverts: Reverts },
      ControlFailure
    >
    /** Durable when it returns. While broadcasting, a newly signed transaction replaces the previous one. */
    readonly broadcasting: (id: string, transaction: PaymentTransaction) => Effect.Effect<void, ControlFailure>
    /** Credits the account. Idempotent. */
    readonly settled: (id: string, hash: string) => Effect.Effect<{ readonly purses: Purses }, ControlFailure>
    readonly finalized: (id: string) => Effect.Effect<void, ControlFailure>
    /** Only before it settled. */
    readonly failed: (id: string, reason: string) => Effect.Effect<void, ControlFailure>
    /** After a reorganisation the chain has the payment under another hash. */
    readonly resettled: (id: string, hash: string) => Effect.Effect<void, ControlFailure>
    /** Its transaction was included and reverted; the first time counts. */
    readonly reverted: (id: string) => Effect.Effect<void, ControlFailure>
    /** Payments reverted after `sinceMillis`: of this payer, of this account, and the time of the first of them. */
    readonly revertsOf: (
      payment: Pick<NewPayment, "account" | "network" | "payer">,
      sinceMillis: number
    ) => Effect.Effect<Reverts>
    /** Id of the account that a wallet's own money belongs to, whether or not that account exists yet. */
    readonly walletAccount: (payer: string) => Effect.Effect<string>
    /** A reorganisation removed the payment: what the account has left of it is taken back. */
    readonly reversed: (id: string, reason: string) => Effect.Effect<void, ControlFailure>
    /** Verified, broadcasting and settled payments after `after`, oldest first, at most `unfinishedPageMax`. */
    readonly unfinished: (after?: JournalledPayment) => Effect.Effect<ReadonlyArray<JournalledPayment>>
    /** Newest first. */
    readonly list: (filter: PaymentFilter) => Effect.Effect<ReadonlyArray<JournalledPayment>>
    /** Payments that may still take money from this payer: `verified` and `broadcasting`. */
    readonly openOf: (
      network: PaymentNetwork,
      payer: string
    ) => Effect.Effect<ReadonlyArray<{ readonly id: string; readonly units: number }>>
    /** When the oldest payment without an outcome (verified, broadcasting) was claimed. */
    readonly oldestOpenAt: Effect.Effect<number | undefined>
    readonly countByState: Effect.Effect<Record<PaymentState, number>>
    readonly refunds: RefundJournal
  }
>()("muniment/control/PaymentJournal") {
  static readonly layer: Layer.Layer<PaymentJournal, never, Books | ControlDatabase> = Layer.effect(
    PaymentJournal,
    Effect.suspend(() => make({ hasWebhook: false }))
  )

  /** With a webhook, what changes the books is written down for it, too. */
  static readonly layerWith = (options: { readonly hasWebhook: boolean }) => Layer.effect(PaymentJournal, make(options))
}

const make = Effect.fnUntraced(function* ({ hasWebhook }: { readonly hasWebhook: boolean }) {
  const books = yield* Books
  const database = yield* ControlDatabase
  const { read, sql, write } = database
  const announce = announceIn(sql, { hasWebhook })
  const rows = new PaymentRows(sql, announce)

  return PaymentJournal.of({
    find: (id) => read(rows.find(id)),
    findNamed: (name, account) => read(rows.findNamed(name, account)),
    hasAnyOn: (network) => read(rows.hasAnyOn(network)),
    claim: Effect.fn("PaymentJournal.claim")((payment) => write(rows.claim(payment))),
    claimWithin: Effect.fn("PaymentJournal.claimWithin")((payment, budget) => write(rows.claimWithin(payment, budget))),
    broadcasting: Effect.fn("PaymentJournal.broadcasting")(function* (id, { hash, raw }) {
      const allowed = rows.standing(id, "broadcasting", ["verified", "broadcasting"])
      yield* write(Effect.andThen(allowed, rows.move(id, "broadcasting", { tx_hash: hash, tx_raw: raw })))
    }),
    settled: Effect.fn("PaymentJournal.settled")(function* (id, hash) {
      const { account } = yield* read(rows.standing(id, "settled", creditable))
      yield* books.credit(account, rows.settle(id, hash))
      return { purses: yield* pursesOf(books, yield* read(planOf(sql, account)), account) }
    }),
    finalized: Effect.fn("PaymentJournal.finalized")(function* (id) {
      yield* write(
        Effect.flatMap(rows.standing(id, "finalized", ["settled", "finalized"]), ({ state }) =>
          state === "finalized" ? Effect.void : rows.move(id, "finalized")
        )
      )
    }),
    failed: Effect.fn("PaymentJournal.failed")(function* (id, reason) {
      const allowed = rows.standing(id, "failed", ["verified", "broadcasting"])
      yield* write(Effect.andThen(allowed, rows.move(id, "failed", { reason })))
    }),
    resettled: Effect.fn("PaymentJournal.resettled")(function* (id, hash) {
      yield* write(
        Effect.andThen(rows.standing(id, "settled", ["settled"]), rows.move(id, "settled", { tx_hash: hash }))
      )
    }),
    reversed: Effect.fn("PaymentJournal.reversed")(function* (id, reason) {
      const payment = yield* read(rows.standing(id, "reversed", ["settled", "reversed"]))
      yield* books.debit(payment.account, creditsOfUnits(payment.units), (taken) => rows.reverse(id, reason, taken))
    }),
    reverted: Effect.fn("PaymentJournal.reverted")((id) => write(rows.markReverted(id))),
    revertsOf: (payment, sinceMillis) => read(rows.revertsOf(payment, sinceMillis)),
    walletAccount: (payer) => read(rows.walletAccount(payer)),
    unfinished: (after) => read(rows.unfinished(after)),
    list: (filter) => read(rows.list(filter)),
    openOf: (network, payer) => read(rows.openOf(network, payer)),
    oldestOpenAt: read(rows.oldestOpenAt),
    countByState: read(rows.countByState),
    refunds: makeRefundJournal(books, database, announce)
  })
})

const planOf = (sql: SqlClient.SqlClient, accountId: string) =>
  Effect.map(sql<{ readonly plan: Plan }>`SELECT plan FROM account WHERE id = ${accountId}`, ([row]) => row?.plan)

const pursesOf = Effect.fnUntraced(function* (books: Books["Service"], plan: Plan | undefined, accountId: string) {
  const isUnlimited = plan !== undefined && books.isUnlimited({ id: accountId, plan })
  const purse = isUnlimited ? books.purseOf(accountId) : books.purseAt(accountId, yield* Clock.currentTimeMillis)
  return spendable(purse, isUnlimited)
})
