/** `muniment revenue`: what came in and what was charged, by day, week or month. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { csvOf } from "@muniment/domain/Csv"
import { revenueCells, revenueHeading, RevenuePeriod } from "@muniment/domain/Statement"
import { table } from "../Table.ts"
import { flags } from "./flags.ts"
import { withMoneyOperator } from "./operator.ts"
import { present } from "./statement.ts"

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
    const query = { by, ...present("from", from), ...present("to", to) }
    const { success: _, ...report } = yield* withMoneyOperator((operator) => operator.revenue({ query }))
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
