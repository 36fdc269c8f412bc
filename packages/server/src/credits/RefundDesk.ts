/** Refunds as the operator asks for them (contract: Operator routes): a payment by its id, its account's free balance. */
import { Context, Effect, Layer } from "effect"
import { Conflict, type InsufficientStorage, InvalidRequest, NotFound, Unavailable } from "@muniment/domain/Errors"
import { type JournalledPayment, PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { JournalledRefund } from "@muniment/control/payments/RefundJournal"
import { Books } from "@muniment/control/credits/Books"
import { Payments } from "@muniment/payments/Payments"
import type { RefundOffer } from "@muniment/payments/refund/Refunds"
import { decodePayment } from "@muniment/payments/wire/PaymentHeader"

export class RefundDesk extends Context.Service<
  RefundDesk,
  {
    readonly offer: (paymentId: string) => Effect.Effect<RefundOffer, NotFound | Conflict>
    /** `authorization`: the offer, signed as an x402 payment. */
    readonly send: (
      paymentId: string,
      authorization: string
    ) => Effect.Effect<JournalledRefund, NotFound | Conflict | InvalidRequest | Unavailable | InsufficientStorage>
  }
>()("muniment/server/RefundDesk") {
  static readonly layer = Layer.effect(
    RefundDesk,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const journal = yield* PaymentJournal
  const books = yield* Books
  const { refunds } = yield* Payments

  const paymentOf = Effect.fnUntraced(function* (id: string) {
    return (yield* journal.find(id)) ?? (yield* notFound)
  })
  const freeOf = ({ account }: JournalledPayment) => {
    const { balance, heldBalance } = books.purseOf(account)
    return balance - heldBalance
  }

  return RefundDesk.of({
    offer: Effect.fn("RefundDesk.offer")(function* (paymentId) {
      const payment = yield* paymentOf(paymentId)
      return yield* Effect.catchTag(refunds.offer(payment, freeOf(payment)), "NotRefundable", refused)
    }),
    send: Effect.fn("RefundDesk.send")(function* (paymentId, authorization) {
      const payment = yield* paymentOf(paymentId)
      const wire = yield* Effect.catchTag(
        decodePayment({ "payment-signature": authorization }),
        "PaymentInvalid",
        invalid
      )
      if (wire === undefined) return yield* invalid({ reason: "there is none" })
      return yield* refunds.send(payment, freeOf(payment), wire).pipe(
        Effect.catchTags({
          NotRefundable: refused,
          PaymentInvalid: invalid,
          ChainUnavailable: ({ network }) => unreachable(network)
        })
      )
    })
  })
})

const notFound = Effect.suspend(() =>
  Effect.fail(new NotFound({ code: "payment_not_found", error: "no payment has this id: see payments list --json" }))
)

const refused = ({ reason }: { readonly reason: string }) =>
  Effect.fail(new Conflict({ code: "not_refundable", error: `this payment cannot be refunded: ${reason}` }))

const invalid = ({ reason }: { readonly reason: string }) =>
  Effect.fail(new InvalidRequest({ code: "invalid_request", error: `the authorization was refused: ${reason}` }))

const unreachable = (network: string) =>
  Effect.fail(
    new Unavailable({ code: "payment_unavailable", error: `${network} cannot be asked now: nothing was sent; repeat` })
  )
