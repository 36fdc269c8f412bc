/** `muniment keys`: create, list and revoke API keys. A secret is printed once and stored as a hash. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { flags } from "./flags.ts"
import { given, keepMadeFlag, keysText, restrictionFlags, restrictionsOf, revocationText } from "./keyTexts.ts"
import { withOperator } from "./operator.ts"
import { ownKeys } from "./ownKeys.ts"

const create = Command.make(
  "create",
  {
    account: flags.account,
    plan: flags.plan,
    ...restrictionFlags,
    json: flags.json
  },
  Effect.fn("keys.create")(function* ({ account, json, plan, ...restrictions }) {
    const payload = {
      account,
      ...given("plan", plan),
      ...restrictionsOf(restrictions)
    }
    const { key, secret } = yield* withOperator((operator) => operator.createKey({ payload }))
    if (json) return yield* Console.log(JSON.stringify({ key, secret }))
    return yield* Console.log(
      [`Key ${key.id} of account ${key.account}; it is shown once, only its hash is stored:`, `  ${secret}`].join("\n")
    )
  })
).pipe(
  Command.withDescription("Create a key, and the account if it does not exist"),
  Command.withExamples([
    { command: "muniment keys create --account alice", description: "A key for the account alice" },
    {
      command: "muniment keys create --account alice --read-only --agent support --subject user-42 --expires 30d",
      description: "One that only reads what support knows of user-42, for 30 days"
    }
  ])
)

const list = Command.make(
  "list",
  { account: Flag.optional(flags.account), json: flags.json },
  Effect.fn("keys.list")(function* ({ account, json }) {
    const query = given("account", account)
    const { keys } = yield* withOperator((operator) => operator.listKeys({ query }))
    if (json) return yield* Console.log(JSON.stringify({ keys }))
    return yield* Console.log(keysText(keys))
  })
).pipe(Command.withDescription("List keys; secrets cannot be shown again"))

const revoke = Command.make(
  "revoke",
  {
    id: Argument.String("id").pipe(Argument.withDescription("Id of the key, as `keys list` shows it")),
    keepMade: keepMadeFlag,
    json: flags.json
  },
  Effect.fn("keys.revoke")(function* ({ id, json, keepMade }) {
    const { alsoRevoked, key } = yield* withOperator((operator) =>
      operator.revokeKey({ params: { id }, query: { keepMade } })
    )
    return yield* Console.log(json ? JSON.stringify({ key, alsoRevoked }) : revocationText(key, alsoRevoked))
  })
).pipe(Command.withDescription("Revoke a key and the keys that it made, at once and for good"))

export const keys = Command.make("keys").pipe(
  Command.withDescription("API keys"),
  Command.withSubcommands([create, list, revoke, ownKeys])
)
