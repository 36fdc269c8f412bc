/**
 * Receipts of settled payments (contract: Payments): at the time of the payment, and again whenever they are asked for.
 *
 * Invariant: all that a receipt says is in the journal, so it says the same at any time; only a new signing key, or a
 * chain that included the payment again under another hash, changes its bytes.
 */
import { Context, Effect, Layer } from "effect"
import { NotFound } from "@muniment/domain/Errors"
import { type JournalledPayment, PaymentJournal } from "@muniment/control/payments/PaymentJournal"
import type { PaymentSettled } from "@muniment/payments/settlement/PaymentRuns"
import { type SignedReceipt, signReceipt } from "@muniment/payments/wire/PaymentHeader"
import { KeyRing } from "@muniment/trust/KeyRing"

/** Statement of a receipt. */
export type ReceiptFacts = Pick<PaymentSettled, "hash" | "network" | "payer" | "resource" | "settledAt">

export interface ReceiptAnswer {
  readonly success: true
  /** Id. */
  readonly payment: string
  readonly settledAt: number
  readonly receipt: SignedReceipt
}

export class PaymentReceipts extends Context.Service<
  PaymentReceipts,
  {
    /** `origin`: of the request; it stands for the public URL where none is configured. */
    readonly sign: (facts: ReceiptFacts, origin: string) => SignedReceipt
    /** Receipt of a credited payment, by its id or its transaction; with `account` (id) only of that account. */
    readonly find: (
      name: string,
      options: { readonly origin: string; readonly account?: string }
    ) => Effect.Effect<ReceiptAnswer, NotFound>
  }
>()("muniment/server/PaymentReceipts") {
  static readonly layer = (options: { readonly publicUrl: string | undefined }) =>
    Layer.effect(this, make(options.publicUrl))
}

const make = Effect.fnUntraced(function* (publicUrl: string | undefined) {
  const journal = yield* PaymentJournal
  const keys = yield* KeyRing

  const sign = ({ hash, network, payer, resource, settledAt }: ReceiptFacts, origin: string) =>
    signReceipt(
      { hash, network, payer },
      {
        atMillis: settledAt,
        // Payments by earlier versions do not have it.
        resource: resource ?? `${publicUrl ?? origin}${depositRoute}`,
        sign: keys.signJws
      }
    )

  const find = Effect.fn("PaymentReceipts.find")(function* (
    name: string,
    { account, origin }: { readonly origin: string; readonly account?: string }
  ) {
    const facts = factsOf(yield* journal.findNamed(name, account))
    if (facts === undefined) return yield* notFound
    const { payment, settledAt } = facts
    return { success: true as const, payment, settledAt, receipt: sign(facts, origin) }
  })

  return PaymentReceipts.of({ sign, find })
})

const depositRoute = "/v1/credits/deposit"

/** Undefined unless the money is with us. */
const factsOf = (payment: JournalledPayment | undefined): (ReceiptFacts & { readonly payment: string }) | undefined => {
  if (payment?.settledAt === undefined || payment.state === "reversed") return undefined
  const { id, network, payer, resource, settledAt, transaction } = payment
  return { payment: id, network, payer, resource, settledAt, hash: transaction?.hash ?? "" }
}

const notFound = Effect.suspend(() =>
  Effect.fail(
    new NotFound({ code: "payment_not_found", error: "no credited payment of yours has this id or transaction" })
  )
)
