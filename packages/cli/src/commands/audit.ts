/** `muniment audit`: what operators did, newest first. Changes only; the log cannot be changed. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { table, timeText } from "../ShownText.ts"
import { flags, logFlags, whereGiven } from "./flags.ts"
import { withOperator } from "./operator.ts"

export const audit = Command.make(
  "audit",
  {
    action: Flag.optional(
      Flag.String("action").pipe(Flag.withDescription("As accounts.suspend, or accounts for all of them"))
    ),
    subject: Flag.optional(Flag.String("subject").pipe(Flag.withDescription("Account, key or wallet"))),
    ...logFlags,
    json: flags.json
  },
  Effect.fn("audit")(function* ({ action, from, json, limit, subject, to }) {
    const query = {
      limit,
      ...whereGiven({ action, subject, from, to })
    }
    const { events } = yield* withOperator(({ accounts }) => accounts.audit({ query }))
    if (json) return yield* Console.log(JSON.stringify({ events }))
    const rows = events.map(({ action: name, at, detail, subject: whom }) => [
      timeText(at),
      name,
      whom ?? "",
      JSON.stringify(detail)
    ])
    return yield* Console.log(
      rows.length === 0 ? "No events." : table([["WHEN", "ACTION", "SUBJECT", "DETAIL"], ...rows])
    )
  })
).pipe(
  Command.withDescription("What operators did: accounts, keys, wallets, money; newest first"),
  Command.withExamples([
    { command: "muniment audit --subject alice --from 2026-11-01", description: "All that concerned one account" }
  ])
)
