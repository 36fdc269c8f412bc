/** Answers about payments and their refunds, for the operator (contract: Operator routes). */
import { Effect } from "effect"
import { toUsd } from "@muniment/domain/Money"
import type { PaymentRecord, RefundRecord } from "@muniment/domain/Operations"
import { creditsOfUnits } from "@muniment/domain/Payment"
import type { JournalledPayment } from "@muniment/control/payments/PaymentJournal"
import type { JournalledRefund } from "@muniment/control/payments/RefundJournal"
import type { RefundDesk } from "../credits/RefundDesk.ts"

const success = true as const

export const refundHandlers = (refunds: RefundDesk["Service"]) => ({
  refundOffer: ({ query }: { readonly query: { readonly payment: string } }) =>
    Effect.map(refunds.offer(query.payment), ({ payment, refund, requirement }) => ({
      success,
      payment: paymentRecord(payment),
      refund: refund === undefined ? null : refundRecord(refund),
      requirement: requirement ?? null
    })),
  refund: ({ payload }: { readonly payload: { readonly payment: string; readonly authorization: string } }) =>
    Effect.map(refunds.send(payload.payment, payload.authorization), (refund) => ({
      success,
      refund: refundRecord(refund)
    }))
})

export const paymentRecord = (payment: JournalledPayment): PaymentRecord => ({
  account: payment.account,
  network: payment.network,
  payer: payment.payer,
  ...common(payment)
})

const refundRecord = (refund: JournalledRefund): RefundRecord => ({
  payment: refund.payment,
  from: refund.payer,
  ...common(refund)
})

const common = ({ createdAt, id, reason, state, transaction, units, updatedAt }: JournalledPayment) => ({
  id,
  amountUsd: toUsd(creditsOfUnits(units)),
  state,
  transaction: transaction?.hash ?? null,
  reason: reason ?? null,
  createdAt,
  updatedAt
})
