/** `muniment keys own`: an account's own keys, by one of its keys or its wallet, on any service. */
import { Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { ask, callerHere } from "./caller.ts"
import { callerFlags, flags } from "./flags.ts"
import { keepMadeFlag, keysText, restrictionFlags, restrictionsOf, revocationText } from "./keyTexts.ts"

const list = Command.make(
  "list",
  { ...callerFlags, json: flags.json },
  Effect.fn("keys.own.list")(function* ({ apiKey, json, keyFile, url }) {
    const muniment = yield* callerHere({ apiKey, keyFile, url })
    const { keys } = yield* ask((signal) => muniment.listKeys({ signal }))
    if (json) return yield* Console.log(JSON.stringify({ keys }))
    return yield* Console.log(keysText(keys))
  })
).pipe(Command.withDescription("List the keys of the account that these credentials open"))

const create = Command.make(
  "create",
  { ...callerFlags, ...restrictionFlags, json: flags.json },
  Effect.fn("keys.own.create")(function* ({ apiKey, json, keyFile, url, ...restrictions }) {
    const muniment = yield* callerHere({ apiKey, keyFile, url })
    const { key, secret } = yield* ask((signal) => muniment.createKey(restrictionsOf(restrictions), { signal }))
    if (json) return yield* Console.log(JSON.stringify({ key, secret }))
    return yield* Console.log(`Key ${key.id}; it is shown once, only its hash is stored:\n  ${secret}`)
  })
).pipe(
  Command.withDescription("Create a key with no more rights than these credentials have"),
  Command.withExamples([
    { command: "muniment keys own create --key-file alice.key --read-only", description: "One that only reads" }
  ])
)

const revoke = Command.make(
  "revoke",
  {
    id: Argument.String("id").pipe(Argument.withDescription("Id of the key, as `keys own list` shows it")),
    ...callerFlags,
    keepMade: keepMadeFlag,
    json: flags.json
  },
  Effect.fn("keys.own.revoke")(function* ({ apiKey, id, json, keepMade, keyFile, url }) {
    const muniment = yield* callerHere({ apiKey, keyFile, url })
    const { alsoRevoked, key } = yield* ask((signal) => muniment.revokeKey(id, { keepMade }, { signal }))
    return yield* Console.log(json ? JSON.stringify({ key, alsoRevoked }) : revocationText(key, alsoRevoked))
  })
).pipe(Command.withDescription("Revoke a key and the keys that it made, at once and for good"))

export const ownKeys = Command.make("own").pipe(
  Command.withDescription("Keys of your own account, with an API key or a wallet"),
  Command.withSubcommands([list, create, revoke])
)
