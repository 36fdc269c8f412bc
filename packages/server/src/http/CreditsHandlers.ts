/** Credit endpoints (contract: Credits, Payments): deposit, balance, transactions. */
import { Clock, Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Caller } from "@muniment/domain/api/Middleware"
import { depositUsdDefault } from "@muniment/domain/Credits"
import { Forbidden } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { type MicroCredits, toCredits, toUsd } from "@muniment/domain/Money"
import { creditsOfUnits, depositUnits } from "@muniment/domain/Payment"
import { plans } from "@muniment/domain/Plans"
import { allowanceOf, type BooksOptions } from "@muniment/control/credits/Books"
import { Ledger } from "@muniment/control/credits/Ledger"
import { unboundCaller, isBound } from "../identity/KeyScopes.ts"
import { httpCarrier, originOf } from "../credits/PaymentCarrier.ts"
import { PaymentDesk, PaymentReceipts } from "../credits/PaymentDesk.ts"
import { transactionOf } from "./StatementAnswers.ts"
import { StorageInsurance } from "../jobs/StorageInsurance.ts"
import { transactionCursor } from "./Cursor.ts"
import { apiGroup } from "../apiGroup.ts"

export const creditsHandlers = (options: BooksOptions) =>
  apiGroup(
    "credits",
    Effect.fnUntraced(function* (handlers) {
      const ledger = yield* Ledger
      const desk = yield* PaymentDesk
      const insurance = yield* StorageInsurance
      const receipts = yield* PaymentReceipts

      return handlers.handleAll({
        deposit: Effect.fnUntraced(function* ({ query, request }) {
          const { account, newcomer } = yield* Caller
          const units = depositUnits(query.amount_usd ?? depositUsdDefault)
          if (units === undefined) return yield* Effect.die(new Error("an amount outside the contract"))
          // Without networks too: a payment of an earlier configuration is answered by the journal.
          const { replayed } = yield* desk
            .take({ account, units, purpose: "deposit" }, httpCarrier(request))
            .pipe(Effect.catchIf(() => !desk.isOpen, answerClosed))
          yield* newcomer?.open("paid") ?? Effect.void
          const { balance } = yield* ledger.purses(account)
          const credited = creditsOfUnits(units)
          return {
            success: true as const,
            deposit: { amount_usd: toUsd(credited), credits: toCredits(credited) },
            balance: balanceOf(balance),
            message: depositMessage(toCredits(credited), replayed),
            ...(replayed && { replayed })
          }
        }),
        credits: Effect.fnUntraced(function* () {
          const caller = yield* Caller
          const { account, newcomer } = caller
          // Nothing is kept of a wallet without an account, a purse neither.
          const purses = newcomer === undefined ? yield* ledger.purses(account) : noPurses
          const monthly = plans[account.plan].isUnlimited ? undefined : allowanceOf(options, account.id)
          const allowance = newcomer === undefined ? purses.allowance : (newcomer.allowance ?? 0)
          // Both follow from the number of all memories, which a bound key does not see.
          const isToldOfStorage = newcomer === undefined && !isBound(caller)
          const insuredUntil = isToldOfStorage ? yield* insurance.insuredUntil(account) : undefined
          const purgeNotice = isToldOfStorage ? yield* insurance.purgeNotice(account) : undefined
          return {
            success: true as const,
            balance: balanceOf(purses.balance),
            allowance: {
              credits: monthly === undefined ? null : toCredits(allowance),
              monthly: monthly === undefined ? null : toCredits(monthly),
              renewsAt: nextMonth(yield* Clock.currentTimeMillis)
            },
            plan: account.plan,
            ...(insuredUntil !== undefined && { insuredUntil }),
            ...(purgeNotice !== undefined && { purgeNotice })
          }
        }),
        receipt: receiptFor(receipts),
        transactions: transactionsOf(ledger)
      })
    })
  )

const noPurses = { allowance: 0, balance: 0 }

const receiptFor =
  (receipts: PaymentReceipts["Service"]) =>
  (asked: { readonly params: { readonly id: string }; readonly request: HttpServerRequest.HttpServerRequest }) =>
    Effect.flatMap(unboundCaller, ({ account }) =>
      receipts.find(asked.params.id, { account: account.id, origin: originOf(asked.request) })
    )

const transactionsOf = (ledger: Ledger["Service"]) =>
  Effect.fnUntraced(function* ({ query }: { readonly query: { readonly limit?: number; readonly cursor?: string } }) {
    const { account } = yield* unboundCaller
    const limit = query.limit ?? Limits.transactionsPageDefault
    const from = query.cursor === undefined ? undefined : yield* transactionCursor.decode(query.cursor)
    const entries = yield* ledger.transactions(account.id, { limit: limit + 1, before: from?.before })
    const page = entries.slice(0, limit)
    const last = page.at(-1)
    return {
      success: true as const,
      transactions: page.map(transactionOf),
      ...(entries.length > limit && last !== undefined && { nextCursor: transactionCursor.encode({ before: last.id }) })
    }
  })

/** Repeating does not help, so it is neither 503 nor has `Retry-After`. */
const notConfigured = new Forbidden({
  code: "deposits_off",
  error:
    "deposits are not configured on this service: its operator sets MUNIMENT_PAYMENT_NETWORKS (/docs/handbook/money)"
})

const answerClosed = <E extends { readonly _tag: string }>(refusal: E): Effect.Effect<never, E | Forbidden> =>
  Effect.fail(refusal._tag === "Forbidden" ? notConfigured : refusal)

const balanceOf = (balance: MicroCredits) => ({ credits: toCredits(balance), usd: toUsd(balance) })

const depositMessage = (credits: number, replayed: boolean): string =>
  replayed
    ? "This payment was credited before; nothing was added. Storage insurance is active while the balance is positive."
    : `${credits} credits were added. Storage insurance is active: free-plan memories are kept while the balance is positive.`

/** The first millisecond of the month after `nowMillis`, UTC. */
const nextMonth = (nowMillis: number): number => {
  const now = new Date(nowMillis)
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
}
