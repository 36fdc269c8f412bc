/**
 * `muniment accounts`: create, list and change the accounts that own memories, schemas and keys; suspend and erase them.
 * Accounts are named as the operator named them.
 */
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Plan } from "@muniment/domain/Account"
import { Remember } from "@muniment/domain/Memory"
import { table, timeText } from "../Table.ts"
import { flags } from "./flags.ts"
import { withAccountOperator, withMoneyOperator, withOperator } from "./operator.ts"

const accountName = Argument.String("name").pipe(Argument.withDescription("Name of the account"))

const create = Command.make(
  "create",
  {
    name: accountName,
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
    const rows = found.map(({ id, name, plan, createdAt, suspendedAt }) => [
      id,
      name,
      plan,
      timeText(createdAt),
      suspendedAt === undefined ? "active" : `suspended ${timeText(suspendedAt)}`
    ])
    return yield* Console.log(
      rows.length === 0 ? "No accounts." : table([["ID", "NAME", "PLAN", "CREATED", "STATE"], ...rows])
    )
  })
).pipe(Command.withDescription("List accounts"))

const plan = Command.make(
  "plan",
  {
    name: accountName,
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
    name: accountName,
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

const suspend = Command.make(
  "suspend",
  { name: accountName, json: flags.json },
  Effect.fn("accounts.suspend")(function* ({ name, json }) {
    const { account } = yield* withAccountOperator((operator) => operator.suspend({ payload: { account: name } }))
    if (json) return yield* Console.log(JSON.stringify({ account }))
    return yield* Console.log(`Account ${account.name} is suspended: its keys and wallets are refused from now on.`)
  })
).pipe(
  Command.withDescription("Refuse all keys and wallets of an account; nothing is deleted, jobs and payments go on")
)

const resume = Command.make(
  "resume",
  { name: accountName, json: flags.json },
  Effect.fn("accounts.resume")(function* ({ name, json }) {
    const { account } = yield* withAccountOperator((operator) => operator.resume({ payload: { account: name } }))
    if (json) return yield* Console.log(JSON.stringify({ account }))
    return yield* Console.log(`Account ${account.name} is served again.`)
  })
).pipe(Command.withDescription("End the suspension of an account"))

const erase = Command.make(
  "erase",
  {
    name: accountName,
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Only report what would be erased"),
      Flag.withDefault(false)
    ),
    json: flags.json
  },
  Effect.fn("accounts.erase")(function* ({ name, dryRun, json }) {
    const payload = { account: name, dryRun }
    const { erasure } = yield* withAccountOperator((operator) => operator.erase({ payload }))
    if (json) return yield* Console.log(JSON.stringify({ erasure }))
    const { files, ledger, removed } = erasure
    const what = Object.entries(removed).map(([kind, count]) => `${count} ${kind}`)
    return yield* Console.log(
      [
        dryRun ? `Nothing was changed. An erasure of ${name} would remove:` : `Account ${name} is erased. Removed:`,
        `  ${what.join(", ")}, ${files.removed.length} files`,
        ...(dryRun
          ? []
          : [`  ${files.left.length} of these files are left; the ledger stands at ${ledger.total} credits`])
      ].join("\n")
    )
  })
).pipe(
  Command.withDescription("Erase an account: memories, files, keys, wallets, schemas; its ledger is closed and stays"),
  Command.withExamples([
    { command: "muniment accounts erase alice --dry-run", description: "What there is of alice" },
    { command: "muniment accounts erase alice --json", description: "Erase, and print the proof" }
  ])
)

const unlink = Command.make(
  "unlink",
  {
    address: Argument.String("address").pipe(Argument.withDescription("EVM or Solana address of the wallet")),
    json: flags.json
  },
  Effect.fn("accounts.unlink")(function* ({ address, json }) {
    const { wallet } = yield* withAccountOperator((operator) => operator.unlinkWallet({ payload: { address } }))
    if (json) return yield* Console.log(JSON.stringify({ wallet }))
    return yield* Console.log(`Wallet ${wallet.address} no longer opens the account ${wallet.account}, nor any other.`)
  })
).pipe(Command.withDescription("Part a wallet from its account; `wallets link` lets it in again"))

const rememberText = (remembered: Remember | undefined): string => {
  if (remembered === undefined) return "what the installation says"
  return remembered === "messages" ? "their messages and what is extracted" : "what is extracted"
}

export const accounts = Command.make("accounts").pipe(
  Command.withDescription("Accounts"),
  Command.withSubcommands([create, list, plan, remember, suspend, resume, unlink, erase])
)
