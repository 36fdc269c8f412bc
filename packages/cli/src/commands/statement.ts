/** `muniment statement`: movements of an account's credits in a period; `muniment revenue`: what came in and was charged. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
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
import { shownText, table, timeText } from "../ShownText.ts"
import { flags, whereGiven } from "./flags.ts"
import { withOperator } from "./operator.ts"

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
