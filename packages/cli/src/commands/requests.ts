/** `muniment requests`: calls of accounts, newest first: who, which operation, how it ended; never what was said. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { table, timeText } from "../ShownText.ts"
import { flags, logFlags, whereGiven } from "./flags.ts"
import { withOperator } from "./operator.ts"

export const requests = Command.make(
  "requests",
  {
    account: Flag.optional(flags.account),
    caller: Flag.optional(
      Flag.String("caller").pipe(Flag.withDescription("Id of a key, address of a wallet, or operator"))
    ),
    operation: Flag.optional(
      Flag.String("operation").pipe(Flag.withDescription("As memories.search, or memories for all of them"))
    ),
    refused: Flag.Boolean("refused").pipe(
      Flag.withDescription("Only those with a status from 400 on, but 499: the client left"),
      Flag.withDefault(false)
    ),
    ...logFlags,
    json: flags.json
  },
  Effect.fn("requests")(function* ({ account: name, caller: by, from, json, limit, operation: which, refused, to }) {
    const query = {
      limit,
      ...(refused && { refused }),
      ...whereGiven({ account: name, caller: by, operation: which, from, to })
    }
    const { requests: found } = yield* withOperator(({ accounts }) => accounts.requests({ query }))
    if (json) return yield* Console.log(JSON.stringify({ requests: found }))
    const rows = found.map(({ account, at, caller, millis, operation, status }) => [
      timeText(at),
      account ?? "-",
      operation,
      String(status),
      String(Math.round(millis)),
      caller ?? "-"
    ])
    return yield* Console.log(
      rows.length === 0 ? "No calls." : table([["WHEN", "ACCOUNT", "OPERATION", "STATUS", "MS", "CALLER"], ...rows])
    )
  })
).pipe(
  Command.withDescription("Calls of accounts: who, which operation, how it ended; newest first"),
  Command.withExamples([
    { command: "muniment requests --account alice --refused", description: "What one account was refused" },
    { command: "muniment requests --operation memories.batchDelete", description: "Who deleted many memories" }
  ])
)
