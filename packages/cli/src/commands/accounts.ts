/** `muniment accounts`: create, list and change the accounts that own memories, schemas and keys. */
import { Console, Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { Plan } from "@muniment/domain/Account"
import { Remember } from "@muniment/domain/Memory"
import { table, timeText } from "../Table.ts"
import { flags } from "./flags.ts"
import { withMoneyOperator, withOperator } from "./operator.ts"

const create = Command.make(
  "create",
  {
    name: Argument.String("name").pipe(Argument.withDescription("Name of the account")),
    plan: flags.plan,
    json: flags.json
  },
  Effect.fn("accounts.create")(function* ({ name, plan, json }) {
    const payload = Option.isSome(plan) ? { name, plan: plan.value } : { name }
    const { account } = yield* withOperator((operator) => operator.createAccount({ payload }))
    if (json) return yield* Console.log(JSON.stringify({ account }))
    return yield* Console.log(`Account ${account.name} (${account.id}), plan ${account.plan}, is created.`)
  })
).pipe(Command.withDescription("Create an account without a key"))

const list = Command.make(
  "list",
  { json: flags.json },
  Effect.fn("accounts.list")(function* ({ json }) {
    const { accounts: found } = yield* withOperator((operator) => operator.listAccounts())
    if (json) return yield* Console.log(JSON.stringify({ accounts: found }))
    const rows = found.map(({ id, name, plan, createdAt }) => [id, name, plan, timeText(createdAt)])
    return yield* Console.log(rows.length === 0 ? "No accounts." : table([["ID", "NAME", "PLAN", "CREATED"], ...rows]))
  })
).pipe(Command.withDescription("List accounts"))

const plan = Command.make(
  "plan",
  {
    name: Argument.String("name").pipe(Argument.withDescription("Name of the account")),
    plan: Argument.Literals("plan", Plan.literals).pipe(Argument.withDescription(Plan.literals.join(", "))),
    json: flags.json
  },
  Effect.fn("accounts.plan")(function* ({ name, plan: chosen, json }) {
    const payload = { account: name, plan: chosen }
    const { account } = yield* withMoneyOperator((operator) => operator.setPlan({ payload }))
    return yield* Console.log(
      json ? JSON.stringify({ account }) : `Account ${account.name} is on the plan ${account.plan} from now on.`
    )
  })
).pipe(
  Command.withDescription("Change an account's plan; acts on the next request"),
  Command.withExamples([
    { command: "muniment accounts plan alice starter", description: "50,000 memories, kept for good" }
  ])
)

const remember = Command.make(
  "remember",
  {
    name: Argument.String("name").pipe(Argument.withDescription("Name of the account")),
    what: Argument.Literals("what", [...Remember.literals, "default"]).pipe(
      Argument.withDescription([...Remember.literals, "default"].join(", "))
    ),
    json: flags.json
  },
  Effect.fn("accounts.remember")(function* ({ name, what, json }) {
    const payload = { account: name, remember: what === "default" ? null : what }
    const { account } = yield* withOperator((operator) => operator.setRemember({ payload }))
    if (json) return yield* Console.log(JSON.stringify({ account }))
    return yield* Console.log(`Conversations of ${account.name} leave behind: ${rememberText(account.remember)}.`)
  })
).pipe(
  Command.withDescription("Choose what an account's conversations leave behind; requests may say otherwise"),
  Command.withExamples([
    { command: "muniment accounts remember alice extracted", description: "Memories without the messages themselves" }
  ])
)

const rememberText = (remembered: Remember | undefined): string => {
  if (remembered === undefined) return "what the installation says"
  return remembered === "messages" ? "their messages and what is extracted" : "what is extracted"
}

export const accounts = Command.make("accounts").pipe(
  Command.withDescription("Accounts"),
  Command.withSubcommands([create, list, plan, remember])
)
