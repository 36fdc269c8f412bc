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
  id: payment.id,
  account: payment.account,
  network: payment.network,
  payer: payment.payer,
  amountUsd: toUsd(creditsOfUnits(payment.units)),
  state: payment.state,
  transaction: payment.transaction?.hash ?? null,
  reason: payment.reason ?? null,
  createdAt: payment.createdAt,
  updatedAt: payment.updatedAt
})

const refundRecord = (refund: JournalledRefund): RefundRecord => ({
  id: refund.id,
  payment: refund.payment,
  from: refund.payer,
  amountUsd: toUsd(creditsOfUnits(refund.units)),
  state: refund.state,
  transaction: refund.transaction?.hash ?? null,
  reason: refund.reason ?? null,
  createdAt: refund.createdAt,
  updatedAt: refund.updatedAt
})
