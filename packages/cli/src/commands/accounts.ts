/**
 * `muniment accounts`: create, list and change the accounts that own memories, schemas and keys; suspend and erase them.
 * Accounts are named as the operator named them.
 */
import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Plan } from "@muniment/domain/Account"
import { Limits } from "@muniment/domain/Limits"
import { Remember } from "@muniment/domain/Memory"
import { QuotaTier } from "@muniment/domain/Plans"
import { table, timeText } from "../Terminal.ts"
import { flags, whereGiven } from "./flags.ts"
import { withOperator } from "./clients.ts"

const limitFlag = (name: string, what: string) =>
  Flag.String(name).pipe(
    Flag.filter(
      (text) => /^(?:\d{1,15}|none|default)$/.test(text),
      () => "a whole number from 0 on, none, or default"
    ),
    Flag.withDescription(`${what}: a number, none, or default`),
    Flag.optional
  )

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
    const { account } = yield* withOperator(({ admin }) => admin.createAccount({ payload }))
    if (json) return yield* Console.log(JSON.stringify({ account }))
    return yield* Console.log(`Account ${account.name} (${account.id}), plan ${account.plan}, is created.`)
  })
).pipe(Command.withDescription("Create an account without a key"))

const list = Command.make(
  "list",
  { json: flags.json },
  Effect.fn("accounts.list")(function* ({ json }) {
    const { accounts: found } = yield* withOperator(({ admin }) => admin.listAccounts())
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
    const { account } = yield* withOperator(({ money }) => money.setPlan({ payload }))
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
    const { account } = yield* withOperator(({ admin }) => admin.setRemember({ payload }))
    if (json) return yield* Console.log(JSON.stringify({ account }))
    return yield* Console.log(`Conversations of ${account.name} leave behind: ${rememberText(account.remember)}.`)
  })
).pipe(
  Command.withDescription("Choose what an account's conversations leave behind; requests may say otherwise"),
  Command.withExamples([
    { command: "muniment accounts remember alice extracted", description: "Memories without the messages themselves" }
  ])
)

const instructions = Command.make(
  "instructions",
  {
    name: accountName,
    text: Argument.String("text").pipe(
      Argument.withDescription('In your words; "" takes them away'),
      Argument.withSchema(Schema.String.check(Schema.isMaxLength(Limits.instructionsLengthMax)))
    ),
    json: flags.json
  },
  Effect.fn("accounts.instructions")(function* ({ name, text, json }) {
    const payload = { account: name, instructions: text === "" ? null : text }
    const { account } = yield* withOperator(({ admin }) => admin.setInstructions({ payload }))
    if (json) return yield* Console.log(JSON.stringify({ account }))
    return yield* Console.log(
      account.instructions === undefined
        ? `Conversations of ${account.name} are read as the installation says.`
        : `A model that reads conversations of ${account.name} is told: ${account.instructions}`
    )
  })
).pipe(
  Command.withDescription("Say what a language model remembers of an account's conversations and what not"),
  Command.withExamples([
    {
      command: 'muniment accounts instructions alice "Leave out what is said of health."',
      description: "From the next reading on"
    }
  ])
)

const limitFlags = {
  bytes: limitFlag("bytes", "Bytes of memories"),
  schemas: limitFlag("schemas", "Schemas"),
  schemaBytes: limitFlag("schema-bytes", "Bytes of schemas"),
  agents: limitFlag("agents", "Agents"),
  keys: limitFlag("keys", "Working keys"),
  openRequests: limitFlag("open-requests", "Requests at the same time")
}

const quotas = Command.make(
  "quotas",
  {
    name: Argument.optional(accountName),
    tier: Flag.Literals("tier", QuotaTier.literals).pipe(
      Flag.withDescription("Instead of an account: a plan, or `wallet`, free accounts that wallets opened"),
      Flag.optional
    ),
    ...limitFlags,
    json: flags.json
  },
  Effect.fn("accounts.quotas")(function* ({ json, name, tier, ...given }) {
    const subject = {
      ...whereGiven({ account: name, tier })
    }
    const limits = Object.fromEntries(
      Object.entries(given).flatMap(([quota, value]) => (Option.isSome(value) ? [[quota, limitOf(value.value)]] : []))
    )
    const shown = yield* withOperator(({ accounts }) =>
      Object.keys(limits).length === 0
        ? accounts.quotas({ query: whereGiven({ account: name }) })
        : accounts.setQuotas({ payload: { ...subject, limits } })
    )
    const { account, tiers } = shown
    if (json) return yield* Console.log(JSON.stringify({ account, tiers }))
    if (account === undefined) {
      const names = tiers[0]?.limits.map((limit) => limit.name) ?? []
      const rows = tiers.map((each) => [each.tier, ...each.limits.map(({ limit }) => limitText(limit))])
      return yield* Console.log(table([["TIER", ...names], ...rows]))
    }
    const rows = account.quotas.map(({ limit, name: quota, used }) => [quota, String(used), limitText(limit)])
    return yield* Console.log(
      [`Account ${account.name}, tier ${account.tier}:`, table([["QUOTA", "USED", "LIMIT"], ...rows])].join("\n")
    )
  })
).pipe(
  Command.withDescription("Show what an account holds and may hold, or what the tiers may; set it with the flags"),
  Command.withExamples([
    { command: "muniment accounts quotas alice --bytes 1073741824", description: "A gibibyte for alice" },
    { command: "muniment accounts quotas alice --bytes default --keys none", description: "As her tier; no limit" },
    { command: "muniment accounts quotas --tier wallet --agents 100", description: "For accounts that wallets opened" }
  ])
)

const suspend = Command.make(
  "suspend",
  { name: accountName, json: flags.json },
  Effect.fn("accounts.suspend")(function* ({ name, json }) {
    const { account } = yield* withOperator(({ accounts }) => accounts.suspend({ payload: { account: name } }))
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
    const { account } = yield* withOperator(({ accounts }) => accounts.resume({ payload: { account: name } }))
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
    const { erasure } = yield* withOperator(({ accounts }) => accounts.erase({ payload }))
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
    const { wallet } = yield* withOperator(({ accounts }) => accounts.unlinkWallet({ payload: { address } }))
    if (json) return yield* Console.log(JSON.stringify({ wallet }))
    return yield* Console.log(`Wallet ${wallet.address} no longer opens the account ${wallet.account}, nor any other.`)
  })
).pipe(Command.withDescription("Part a wallet from its account; `wallets link` lets it in again"))

/** The text of a flag as the contract has it; what is no number is refused by the service. */
const limitOf = (text: string): number | null | "default" =>
  text === "none" ? null : text === "default" ? text : Number(text)

const limitText = (limit: number | null): string => (limit === null ? "none" : String(limit))

const rememberText = (remembered: Remember | undefined): string => {
  if (remembered === undefined) return "what the installation says"
  return remembered === "messages" ? "their messages and what is extracted" : "what is extracted"
}

export const accounts = Command.make("accounts").pipe(
  Command.withDescription("Accounts"),
  Command.withSubcommands([create, list, plan, quotas, remember, instructions, suspend, resume, unlink, erase])
)
