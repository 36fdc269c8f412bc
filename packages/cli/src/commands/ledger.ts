/** `muniment ledger`: proves the balances from their transfers; corrects a balance by hand. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { toCredits, toUsd } from "@muniment/domain/Money"
import type { LedgerReport } from "@muniment/domain/Operations"
import { CommandFailed } from "../CommandFailed.ts"
import { table } from "../ShownText.ts"
import { flags } from "./flags.ts"
import { withOperator } from "./operator.ts"

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
