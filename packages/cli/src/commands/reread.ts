/**
 * `muniment reread`: lets the configured language model read stored conversations that rules have read. Says what it takes,
 * asks, and queues it; the service reads in the background and goes on after a stop.
 */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { RereadAccount } from "@muniment/domain/api/AdminApi"
import { agreement } from "../Agreement.ts"
import { table } from "../ShownText.ts"
import { flags, optionalText, whereGiven } from "./flags.ts"
import { withOperator } from "./operator.ts"

export const reread = Command.make(
  "reread",
  {
    account: Flag.optional(flags.account),
    agent: optionalText("agent", "Only this agent's conversations"),
    since: Flag.String("since").pipe(
      Flag.filter(
        (text) => /^\d{4}-\d{2}-\d{2}$/.test(text),
        () => "a day, YYYY-MM-DD"
      ),
      Flag.withDescription("Only messages that were said from this day on, YYYY-MM-DD, UTC"),
      Flag.optional
    ),
    dryRun: Flag.Boolean("dry-run").pipe(Flag.withDescription("Only say what it takes"), Flag.withDefault(false)),
    yes: Flag.Boolean("yes").pipe(
      Flag.withAlias("y"),
      Flag.withDescription("Queue it without asking"),
      Flag.withDefault(false)
    ),
    json: flags.json
  },
  Effect.fn("reread")(function* ({ account, agent, dryRun, json, since, yes }) {
    const payload = {
      ...whereGiven({ account, agentId: agent, since })
    }
    const ask = (isDryRun: boolean) =>
      Effect.map(
        withOperator(({ admin }) => admin.reread({ payload: { ...payload, dryRun: isDryRun } })),
        ({ accounts, days, model }) => ({ model, accounts, days })
      )
    const planned = yield* ask(true)
    if (dryRun) return yield* Console.log(json ? JSON.stringify(planned) : planText(planned))
    if (planned.accounts.length > 0) {
      yield* Console.error(planText(planned))
      if (!yes) yield* agreement("Read them again?", "Nothing was queued")
    }
    const queued = planned.accounts.length === 0 ? planned : yield* ask(false)
    if (json) return yield* Console.log(JSON.stringify(queued))
    const messages = queued.accounts.reduce((sum, one) => sum + one.messages, 0)
    return yield* Console.log(
      messages === 0
        ? planText(queued)
        : `${messages} messages are queued and read in the background; "npm run muniment -- doctor" shows how many wait.`
    )
  })
).pipe(
  Command.withDescription(
    "Let the language model read stored conversations that only rules have read. Shows what it takes, and asks; what was begun goes on"
  ),
  Command.withExamples([
    { command: "muniment reread --dry-run", description: "What it would take, by account" },
    { command: "muniment reread --account alice --since 2026-01-01 --yes", description: "Her messages of this year" }
  ])
)

interface Plan {
  readonly model: string
  readonly accounts: ReadonlyArray<RereadAccount>
  readonly days: number
}

const planText = ({ accounts, days, model }: Plan): string => {
  if (accounts.length === 0) return `Nothing is left for ${model} to read.`
  const head = ["ACCOUNT", "CONVERSATIONS", "MESSAGES", "CALLS", "TOKENS IN", "TOKENS OUT", "USD", "CREDITS", "DAYS"]
  const rows = accounts.map((one) => [
    one.account,
    ...[one.conversations, one.messages, one.calls, one.inputTokens, one.outputTokens].map(String),
    one.usd === null ? "-" : one.usd.toFixed(2),
    one.credits === null ? "-" : one.credits.toFixed(1),
    String(one.days)
  ])
  return [table([head, ...rows]), `Estimates for ${model}; the budgets of the day cover all in ${days} day(s).`].join(
    "\n"
  )
}
