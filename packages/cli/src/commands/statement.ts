/** `muniment statement`: movements of an account's credits in a period, for people, programs and spreadsheets. */
import { Console, Effect, Option } from "effect"
import { Command } from "effect/cli"
import { csvOf } from "@muniment/domain/Csv"
import { entryRow, purseRows, type Statement, statementHeading } from "@muniment/domain/Statement"
import { shownText } from "../ShownText.ts"
import { table, timeText } from "../Table.ts"
import { flags } from "./flags.ts"
import { withMoneyOperator } from "./operator.ts"

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
    const whole = yield* wholeStatement(account, { ...present("from", from), ...present("to", to) })
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

/** `{}` without a value. */
export const present = <Name extends string>(name: Name, value: Option.Option<string>) =>
  Option.match(value, { onNone: () => ({}), onSome: (text) => ({ [name]: text }) as Record<Name, string> })

/** All pages as one. */
const wholeStatement = (account: string, days: { readonly from?: string; readonly to?: string }) =>
  withMoneyOperator((operator) =>
    Effect.gen(function* () {
      const { success: _, ...first } = yield* operator.statement({ query: { account, ...days } })
      const entries = [...first.entries]
      for (let cursor = first.nextCursor; cursor !== undefined;) {
        const { from, to } = first
        const next = yield* operator.statement({ query: { account, from, to, cursor } })
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
