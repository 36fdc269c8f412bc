/**
 * Operator routes of money (contract: Operator routes): check, adjustments, payments, refunds, statements, revenue, plans,
 * daily job, model use.
 */
import { Clock, Effect } from "effect"
import { dayMillis, dayOf } from "@muniment/domain/CalendarDay"
import { nearestMicroCredits, toCredits, toUsd } from "@muniment/domain/Money"
import type { JobRun, PaymentRecord, RefundRecord } from "@muniment/domain/Operations"
import { creditsOfUnits } from "@muniment/domain/Payment"
import { Accounts } from "@muniment/control/accounts/Accounts"
import type { ControlDatabase } from "@muniment/control/database/ControlDatabase"
import { type DaySums, JobLog } from "@muniment/control/jobs/JobLog"
import { Ledger } from "@muniment/control/credits/Ledger"
import { AgentCosts, Revenue, Statements } from "@muniment/control/credits/Statements"
import { checkLedger } from "@muniment/control/LedgerCheck"
import { ModelUsage } from "@muniment/control/accounts/ModelUsage"
import { expiryOf, type JournalledPayment } from "@muniment/control/payments/JournalledPayment"
import { PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { JournalledRefund } from "@muniment/control/payments/RefundJournal"
import { Payments } from "@muniment/payments/Payments"
import { costsAnswer, revenueAnswer, statementAnswer } from "./StatementAnswers.ts"
import { originOf } from "../credits/PaymentCarrier.ts"
import { PaymentReceipts } from "../credits/PaymentDesk.ts"
import { RefundDesk } from "../credits/RefundDesk.ts"
import { JobClock } from "../jobs/JobClock.ts"
import { nextRunMillis } from "../jobs/JobClock.ts"
import { StorageInsurance } from "../jobs/StorageInsurance.ts"
import { OperatorService } from "../operator/OperatorService.ts"
import { apiGroup } from "../apiGroup.ts"

const paymentsShownDefault = 100
const jobRunsShown = 100

export const moneyAdminHandlers = apiGroup(
  "money",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const ledger = yield* Ledger
    const journal = yield* PaymentJournal
    const payments = yield* Payments
    const insurance = yield* StorageInsurance
    const jobs = yield* JobLog
    const clock = yield* JobClock
    const statements = yield* Statements
    const refunds = yield* RefundDesk
    const receipts = yield* PaymentReceipts
    const revenue = yield* Revenue
    const costs = yield* AgentCosts
    const models = yield* ModelUsage
    const operator = yield* OperatorService
    const context = yield* Effect.context<Ledger | PaymentJournal | ControlDatabase>()
    const success = true as const

    return handlers.handleAll({
      checkLedger: () => Effect.map(Effect.provide(checkLedger, context), (report) => ({ success, ...report })),
      adjust: Effect.fnUntraced(function* ({ payload }) {
        const account = yield* operator.account(payload.account)
        const { credits, key, reason } = payload
        const amount = nearestMicroCredits(credits)
        const { purses, isRepeat } = yield* ledger.adjust({ account, amount, key, reason })
        return { success, balance: toCredits(purses.balance), replayed: isRepeat }
      }),
      listPayments: Effect.fnUntraced(function* ({ query }) {
        const account = query.account === undefined ? undefined : yield* operator.account(query.account)
        const found = yield* journal.list({
          state: query.state,
          account: account?.id,
          limit: query.limit ?? paymentsShownDefault
        })
        return { success, payments: found.map(paymentRecord) }
      }),
      receipt: ({ query, request }) => receipts.find(query.payment, { origin: originOf(request) }),
      reconcile: () => Effect.map(payments.reconcile, (looked) => ({ success, looked })),
      ...refundHandlers(refunds),
      statement: ({ query, request }) =>
        Effect.flatMap(operator.account(query.account), (account) =>
          statementAnswer(statements, account, query, request)
        ),
      revenue: ({ query, request }) => revenueAnswer(revenue, query, request),
      costs: Effect.fnUntraced(function* ({ query, request }) {
        const account = query.account === undefined ? undefined : yield* operator.account(query.account)
        return yield* costsAnswer(costs, account, query, request)
      }),
      setPlan: Effect.fnUntraced(function* ({ payload }) {
        const { id } = yield* operator.account(payload.account)
        return { success, account: yield* accounts.setPlan(id, payload.plan) }
      }),
      listJobs: Effect.fnUntraced(function* () {
        const nextRunAt = nextRunMillis(yield* Clock.currentTimeMillis)
        const clockStep = (yield* clock.step) ?? null
        return { success, nextRunAt, clockStep, runs: (yield* jobs.runs({ limit: jobRunsShown })).map(jobRun) }
      }),
      runJobs: ({ payload }) => Effect.map(insurance.run(payload), (report) => ({ success, ...report })),
      modelUsage: Effect.fnUntraced(function* ({ query }) {
        const account = query.account === undefined ? undefined : (yield* operator.account(query.account)).id
        const nowMillis = yield* Clock.currentTimeMillis
        const { from = dayOf(nowMillis - usageDaysShown * dayMillis), to = dayOf(nowMillis) } = query
        return { success, usage: yield* models.usage({ account, fromDay: from, toDay: to }) }
      })
    })
  })
)

const usageDaysShown = 30

const jobRun = ({ accounts, at, charged, day, expired, insured, metered, purged }: DaySums): JobRun => ({
  day,
  accounts,
  expired,
  purged,
  insured,
  chargedMicro: charged,
  meteredMicro: metered,
  at
})

const success = true as const

/** Answers about payments and their refunds, for the operator (contract: Operator routes). */
const refundHandlers = (refunds: RefundDesk["Service"]) => ({
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

const paymentRecord = (payment: JournalledPayment): PaymentRecord => ({
  account: payment.account,
  network: payment.network,
  payer: payment.payer,
  expiresAt: expiryOf(payment) ?? null,
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
