/**
 * Money as the operator sees it: `muniment statement`, `revenue`, `ledger` (proves the balances), `payments` and
 * `refund`.
 */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { toCredits, toUsd } from "@muniment/domain/Money"
import {
  type LedgerReport,
  type PaymentRecord,
  PaymentState,
  type RefundOffer,
  type RefundRecord
} from "@muniment/domain/Operations"
import {
  csvOf,
  entryRow,
  purseRows,
  revenueCells,
  revenueHeading,
  RevenuePeriod,
  type Statement,
  statementHeading
} from "@muniment/domain/Statement"
import { CommandFailed } from "../CommandFailed.ts"
import { readWalletKey } from "../InputFile.ts"
import { orderText, paymentOrder, signPayment } from "../PaymentOrder.ts"
import { shownText, table, timeText } from "../Terminal.ts"
import { flags, whereGiven } from "./flags.ts"
import { withOperator } from "./clients.ts"

/** `muniment statement`: movements of an account's credits in a period; `muniment revenue`: what came in and was charged. */
export const statement = Command.make(
  "statement",
  {
    account: flags.account,
    from: flags.from,
    to: flags.to,
    csv: flags.csv,
    json: flags.json
  },
  Effect.fn("statement")(function* ({ account, csv, from, json, to }) {
    const whole = yield* wholeStatement(account, whereGiven({ from, to }))
    if (json) return yield* Console.log(JSON.stringify(whole))
    return yield* Console.log(csv ? statementCsv(whole).trimEnd() : statementText(whole))
  })
).pipe(
  Command.withDescription("Movements of an account's credits, with what stood in its purses before and after"),
  Command.withExamples([
    { command: "muniment statement --account alice --from 2026-11-01 --to 2026-11-30", description: "A month" },
    { command: "muniment statement --account alice --csv > alice.csv", description: "This month, for a spreadsheet" }
  ])
)

/** All pages as one. */
const wholeStatement = (account: string, days: { readonly from?: string; readonly to?: string }) =>
  withOperator(({ money }) =>
    Effect.gen(function* () {
      const { success: _, ...first } = yield* money.statement({ query: { account, ...days } })
      const entries = [...first.entries]
      for (let cursor = first.nextCursor; cursor !== undefined;) {
        const { from, to } = first
        const next = yield* money.statement({ query: { account, from, to, cursor } })
        entries.push(...next.entries)
        cursor = next.nextCursor
      }
      const { nextCursor: __, ...rest } = first
      return { ...rest, entries } satisfies Statement
    })
  )

const statementCsv = ({ closing, entries, from, opening, to }: Statement): string =>
  csvOf([
    statementHeading,
    ...purseRows("opening", from, opening),
    ...entries.map(entryRow),
    ...purseRows("closing", to, closing)
  ])

const statementText = ({ account, closing, entries, from, opening, to }: Statement): string => {
  const rows = entries.map(({ at, credits, kind, operation, purse }) => [
    timeText(at),
    credits > 0 ? `+${credits}` : String(credits),
    purse,
    kind,
    shownText(operation ?? "")
  ])
  return [
    `${account}, ${from} to ${to}, in credits`,
    `before: ${pursesText(opening)}`,
    ...(rows.length === 0 ? ["No movements."] : [table([["AT", "CREDITS", "PURSE", "KIND", "OPERATION"], ...rows])]),
    `after:  ${pursesText(closing)}`
  ].join("\n")
}

const pursesText = ({ allowance, balance, receivable }: Statement["opening"]): string =>
  `balance ${balance}, allowance ${allowance}${receivable === 0 ? "" : `, owed ${-receivable}`}`

/** `muniment revenue`: what came in and what was charged, by day, week or month. */
export const revenue = Command.make(
  "revenue",
  {
    from: flags.from,
    to: flags.to,
    by: Flag.Literals("by", RevenuePeriod.literals).pipe(
      Flag.withDescription("Length of a period"),
      Flag.withDefault("month" as const)
    ),
    csv: flags.csv,
    json: flags.json
  },
  Effect.fn("revenue")(function* ({ by, csv, from, json, to }) {
    const query = { by, ...whereGiven({ from, to }) }
    const { success: _, ...report } = yield* withOperator(({ money }) => money.revenue({ query }))
    if (json) return yield* Console.log(JSON.stringify(report))
    const rows = [revenueHeading, ...report.rows.map(revenueCells)]
    if (csv) return yield* Console.log(csvOf(rows).trimEnd())
    if (report.rows.length === 0) return yield* Console.log(`Nothing from ${report.from} to ${report.to}.`)
    return yield* Console.log(table(rows.map((row) => row.map((cell) => (cell === null ? "-" : String(cell))))))
  })
).pipe(
  Command.withDescription("USDC received by network, and what was charged by operation and purse"),
  Command.withExamples([
    { command: "muniment revenue --by day --from 2026-11-01", description: "Each day of a month so far" },
    { command: "muniment revenue --csv > revenue.csv", description: "This month, for a spreadsheet" }
  ])
)

const check = Command.make(
  "check",
  { json: flags.json },
  Effect.fn("ledger.check")(function* ({ json }) {
    const { success: _, ...report } = yield* withOperator(({ money }) => money.checkLedger())
    yield* Console.log(json ? JSON.stringify(report) : reportText(report))
    if (!report.ok) return yield* new CommandFailed({ reason: `The ledger has ${report.problems.length} problems.` })
  })
).pipe(
  Command.withDescription("Recompute every balance from its transfers; exit code 1 if one is wrong"),
  Command.withExamples([{ command: "muniment ledger check", description: "The proof, and all balances" }])
)

const adjust = Command.make(
  "adjust",
  {
    account: flags.account,
    credits: Flag.Finite("credits").pipe(
      Flag.withDescription("Credits to give, or to take if negative; at most 6 decimals")
    ),
    reason: Flag.String("reason").pipe(Flag.withDescription("Reason; shown in the account's transactions")),
    key: Flag.String("key").pipe(Flag.withDescription("Name of the correction: a repeated key has no effect")),
    json: flags.json
  },
  Effect.fn("ledger.adjust")(function* ({ account, credits, reason, key, json }) {
    const payload = { account, credits, reason, key }
    const { balance, replayed } = yield* withOperator(({ money }) => money.adjust({ payload }))
    if (json) return yield* Console.log(JSON.stringify({ balance, replayed }))
    const outcome = replayed
      ? `The correction ${key} was carried out before; nothing was changed.`
      : `${credits < 0 ? `Took ${-credits} credits from` : `Gave ${credits} credits to`} ${account}.`
    return yield* Console.log(`${outcome} Its balance is ${balance} credits.`)
  })
).pipe(
  Command.withDescription("Give or take credits by hand; never below zero"),
  Command.withExamples([
    {
      command: 'muniment ledger adjust --account alice --credits 500 --reason "refund of 2026-11-20" --key refund-17',
      description: "500 credits, once, however often it is repeated"
    }
  ])
)

/** `muniment ledger`: proves the balances from their transfers; corrects a balance by hand. */
export const ledger = Command.make("ledger").pipe(
  Command.withDescription("The books of credits"),
  Command.withSubcommands([check, adjust])
)

type Report = typeof LedgerReport.Type

const reportText = (report: Report): string =>
  [
    table([["ACCOUNT", "DEBITS", "CREDITS", "STANDS AT", "USD"], ...report.balances.map(balanceRow)]),
    "",
    `${report.transfers} transfers in ${report.accounts} accounts; payments: ${countsText(report.payments)}.`,
    ...(report.ok ? ["Everything adds up."] : report.problems.map((problem) => `! ${problem}`))
  ].join("\n")

/** In credits; assets and expenses grow by debits, all others by credits. */
const balanceRow = ({ name, debits, credits }: Report["balances"][number]): ReadonlyArray<string> => {
  const standing = /^(?:asset|expense):/.test(name) ? debits - credits : credits - debits
  return [name, ...[debits, credits, standing].map((micro) => String(toCredits(micro))), String(toUsd(standing))]
}

const countsText = (counts: Report["payments"]): string => {
  const counted = Object.entries(counts).flatMap(([state, count]) => (count === 0 ? [] : [`${count} ${state}`]))
  return counted.length === 0 ? "none" : counted.join(", ")
}

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

/** `muniment payments`: lists payments with their state, shows their receipts, and asks the chains about unfinished ones. */
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

/**
 * `muniment refund`: sends USDC of a payment back to its payer, on its chain. The wallet that holds the money signs here;
 * the service never sees its key. One payment has one refund: a repeat goes on with the first one.
 */
export const refund = Command.make(
  "refund",
  {
    payment: Argument.String("payment").pipe(Argument.withDescription("Id of the payment, of payments list --json")),
    keyFile: Flag.optional(flags.keyFile),
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Sign and send nothing; show what would be refunded"),
      Flag.withDefault(false)
    ),
    solanaRpc: Flag.String("solana-rpc").pipe(
      Flag.withDescription("RPC of a Solana node; the network's public one by default"),
      Flag.optional
    ),
    json: flags.json
  },
  Effect.fn("refund")(function* ({ dryRun, json, keyFile, payment, solanaRpc }) {
    const { success: _, ...offer } = yield* withOperator(({ money }) => money.refundOffer({ query: { payment } }))
    if (dryRun || offer.refund !== null) {
      return yield* Console.log(json ? JSON.stringify(offer) : offerText(offer))
    }
    if (Option.isNone(keyFile)) {
      return yield* new CommandFailed({ reason: "Give --key-file with the key of the wallet that holds the money." })
    }
    const key = yield* readWalletKey(keyFile.value)
    const order = yield* orderOf(offer)
    yield* Console.error(orderText(order, { payer: key.signer.wallet.address, credited: "nobody: it is a refund" }))
    const { value } = yield* signPayment(key, order, { solanaRpcUrl: Option.getOrUndefined(solanaRpc) })
    const payload = { payment, authorization: value }
    const sent = yield* withOperator(({ money }) => money.refund({ payload }))
    yield* Console.log(json ? JSON.stringify(sent.refund) : refundText(sent.refund))
    if (sent.refund.state === "failed") return yield* new CommandFailed({ reason: "Nothing was refunded." })
  })
).pipe(
  Command.withDescription("Send USDC of a payment back to its payer; only what is final and not spent"),
  Command.withExamples([
    { command: "muniment refund evm:8453:0x8335... --dry-run", description: "How much, and to whom" },
    { command: "muniment refund evm:8453:0x8335... --key-file payee.key", description: "Signed by the payee's wallet" }
  ])
)

const orderOf = ({ payment, requirement }: RefundOffer) => {
  const accepts = requirement === null ? [] : [requirement]
  const terms = { network: payment.network, unitsMax: Math.round(payment.amountUsd * 1_000_000) }
  return Effect.mapError(Effect.fromResult(paymentOrder({ accepts }, terms)), (reason) => new CommandFailed({ reason }))
}

const offerText = ({ payment, refund: known, requirement }: RefundOffer): string =>
  known === null
    ? `${Number(requirement?.maxAmountRequired ?? 0) / 1_000_000} of ${payment.amountUsd} USD would go back to ${shownText(payment.payer)} on ${payment.network}.`
    : refundText(known)

const refundText = ({ amountUsd, from, reason, state, transaction }: RefundRecord): string =>
  table([
    ["refund", `${amountUsd} USD from ${shownText(from)}`],
    ["state", state === "verified" || state === "broadcasting" ? `${state}: the service goes on by itself` : state],
    ["transaction", transaction ?? "-"],
    ...(reason === null ? [] : [["reason", shownText(reason)]])
  ])
