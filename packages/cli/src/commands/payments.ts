/** `muniment payments`: lists payments with their state, shows their receipts, and asks the chains about unfinished ones. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type PaymentRecord, PaymentState } from "@muniment/domain/Operations"
import { shownText, table, timeText } from "../ShownText.ts"
import { flags, whereGiven } from "./flags.ts"
import { withOperator } from "./operator.ts"

const list = Command.make(
  "list",
  {
    state: Flag.Literals("state", PaymentState.literals).pipe(
      Flag.withDescription("Only payments in this state"),
      Flag.optional
    ),
    account: Flag.optional(flags.account),
    json: flags.json
  },
  Effect.fn("payments.list")(function* ({ state, account, json }) {
    const query = {
      ...whereGiven({ state, account })
    }
    const { payments: found } = yield* withOperator(({ money }) => money.listPayments({ query }))
    if (json) return yield* Console.log(JSON.stringify({ payments: found }))
    return yield* Console.log(found.length === 0 ? "No payments." : table([heading, ...found.map(rowOf)]))
  })
).pipe(
  Command.withDescription("List payments, newest first"),
  Command.withExamples([
    { command: "muniment payments list --state broadcasting", description: "Sent, and not confirmed yet" }
  ])
)

const reconcile = Command.make(
  "reconcile",
  { json: flags.json },
  Effect.fn("payments.reconcile")(function* ({ json }) {
    const { looked } = yield* withOperator(({ money }) => money.reconcile())
    return yield* Console.log(
      json ? JSON.stringify({ looked }) : `The chains were asked about ${looked} payments that are not final yet.`
    )
  })
).pipe(
  Command.withDescription("Ask the chains about unfinished payments now instead of at the next interval"),
  Command.withExamples([{ command: "muniment payments reconcile", description: "After an outage of a node" }])
)

const receipt = Command.make(
  "receipt",
  {
    payment: Argument.String("payment").pipe(
      Argument.withDescription("Id of the payment, of payments list --json, or its transaction")
    ),
    json: flags.json
  },
  Effect.fn("payments.receipt")(function* ({ json, payment }) {
    const { success: _, ...found } = yield* withOperator(({ money }) => money.receipt({ query: { payment } }))
    return yield* Console.log(json ? JSON.stringify(found) : found.receipt.signature)
  })
).pipe(
  Command.withDescription("Print the signed receipt of a credited payment, a JSON Web Signature"),
  Command.withExamples([{ command: "muniment payments receipt 0x5c504ed4...", description: "By its transaction" }])
)

export const payments = Command.make("payments").pipe(
  Command.withDescription("Payments in USDC"),
  Command.withSubcommands([list, receipt, reconcile])
)

const heading = ["AT", "ACCOUNT", "USD", "STATE", "NETWORK", "PAYER", "TRANSACTION", "REASON"]

const rowOf = (payment: PaymentRecord): ReadonlyArray<string> => [
  timeText(payment.createdAt),
  payment.account,
  payment.amountUsd.toFixed(2),
  payment.state,
  payment.network,
  shownText(payment.payer),
  payment.transaction ?? "-",
  shownText(payment.reason ?? "")
]
