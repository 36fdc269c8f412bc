/** `muniment audit`: what operators did, newest first. Changes only; the log cannot be changed. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { table, timeText } from "../Table.ts"
import { flags } from "./flags.ts"
import { withAccountOperator } from "./operator.ts"

export const audit = Command.make(
  "audit",
  {
    limit: Flag.Int("limit").pipe(Flag.withDescription("Events shown, 1 to 1,000"), Flag.withDefault(100)),
    json: flags.json
  },
  Effect.fn("audit")(function* ({ limit, json }) {
    const { events } = yield* withAccountOperator((operator) => operator.audit({ query: { limit } }))
    if (json) return yield* Console.log(JSON.stringify({ events }))
    const rows = events.map(({ action, at, detail, subject }) => [
      timeText(at),
      action,
      subject ?? "",
      JSON.stringify(detail)
    ])
    return yield* Console.log(
      rows.length === 0 ? "No events." : table([["WHEN", "ACTION", "SUBJECT", "DETAIL"], ...rows])
    )
  })
).pipe(Command.withDescription("What operators did: accounts, keys, wallets, money; newest first"))
