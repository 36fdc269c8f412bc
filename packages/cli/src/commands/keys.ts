/**
 * What opens an account: `muniment keys` (of any account by the operator, `own` of the caller's), `wallets` and `wallet`;
 * `muniment profile` keeps keys on this machine. A secret is printed once and stored as a hash.
 */
import { Array, Console, Effect, type Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { KeyRecord } from "@muniment/domain/api/AdminApi"
import { CommandFailed } from "../CommandFailed.ts"
import { createKeyFile, pathFlag } from "../InputFile.ts"
import { originOf, readProfiles, setting, writeProfiles } from "../ServiceUrl.ts"
import { callerFlags, flags, whereGiven } from "./flags.ts"
import { ask, callerHere, withOperator } from "./clients.ts"
import { shownText, table, timeText } from "../Terminal.ts"

/** Restrict a new key. */
const restrictionFlags = {
  label: Flag.String("label").pipe(Flag.withDescription("What the key is for"), Flag.optional),
  readOnly: Flag.Boolean("read-only").pipe(Flag.withDescription("The key only reads"), Flag.withDefault(false)),
  agents: Flag.String("agent").pipe(
    Flag.withDescription("Agent that the key is bound to; may be given again"),
    Flag.atLeast(0)
  ),
  subjects: Flag.String("subject").pipe(
    Flag.withDescription("Subject that the key is bound to; may be given again"),
    Flag.atLeast(0)
  ),
  expires: Flag.String("expires").pipe(Flag.withDescription("How long the key works, as in 30d"), Flag.optional)
}

/** The restrictions that were given, as requests name them. */
const restrictionsOf = ({ agents, expires, label, readOnly, subjects }: KeyRestrictions) => ({
  ...whereGiven({ label }),
  ...(readOnly && { readOnly }),
  ...(Array.isReadonlyArrayNonEmpty(agents) && { agents }),
  ...(Array.isReadonlyArrayNonEmpty(subjects) && { subjects }),
  ...whereGiven({ expiresIn: expires })
})

interface KeyRestrictions {
  readonly label: Option.Option<string>
  readonly readOnly: boolean
  readonly agents: ReadonlyArray<string>
  readonly subjects: ReadonlyArray<string>
  readonly expires: Option.Option<string>
}

const keepMadeFlag = Flag.Boolean("keep-made").pipe(
  Flag.withDescription("Keys that this one made stay; without, they are revoked with it"),
  Flag.withDefault(false)
)

/** Result of a revocation, for people. */
const revocationText = (key: KeyRecord, alsoRevoked: ReadonlyArray<string>): string =>
  [
    `Key ${key.id} of account ${key.account} is revoked.`,
    ...alsoRevoked.map((id) => `With it, since it was made by it or by one that it made: ${id}`)
  ].join("\n")

const keysText = (keys: ReadonlyArray<KeyRecord>): string =>
  keys.length === 0 ? "No keys." : table([keyHeading, ...keys.map(keyRow)])

const keyHeading = ["ID", "ACCOUNT", "KEY", "CREATED", "LAST USED", "STATE", "MAY", "MADE BY", "LABEL"]

const keyRow = (key: KeyRecord): ReadonlyArray<string> => [
  key.id,
  key.account,
  `${key.prefix}…`,
  timeText(key.createdAt),
  timeText(key.lastUsedAt),
  stateOf(key),
  mayText(key),
  key.madeBy ?? "operator",
  key.label
]

const stateOf = ({ expiresAt, revokedAt }: KeyRecord): string => {
  if (revokedAt !== undefined) return `revoked ${timeText(revokedAt)}`
  return expiresAt === undefined ? "active" : `until ${timeText(expiresAt)}`
}

const mayText = ({ agents, readOnly, subjects }: KeyRecord): string =>
  [
    readOnly === true ? "read" : "all",
    ...(agents === undefined ? [] : [`agents ${agents.join(", ")}`]),
    ...(subjects === undefined ? [] : [`subjects ${subjects.join(", ")}`])
  ].join("; ")

const listOwn = Command.make(
  "list",
  { ...callerFlags, json: flags.json },
  Effect.fn("keys.own.list")(function* ({ apiKey, json, keyFile, url }) {
    const muniment = yield* callerHere({ apiKey, keyFile, url })
    const { keys } = yield* ask((signal) => muniment.listKeys({ signal }))
    if (json) return yield* Console.log(JSON.stringify({ keys }))
    return yield* Console.log(keysText(keys))
  })
).pipe(Command.withDescription("List the keys of the account that these credentials open"))

const createOwn = Command.make(
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

const revokeOwn = Command.make(
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

/** `muniment keys own`: an account's own keys, by one of its keys or its wallet, on any service. */
const ownKeys = Command.make("own").pipe(
  Command.withDescription("Keys of your own account, with an API key or a wallet"),
  Command.withSubcommands([listOwn, createOwn, revokeOwn])
)

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
      ...whereGiven({ plan }),
      ...restrictionsOf(restrictions)
    }
    const { key, secret } = yield* withOperator(({ admin }) => admin.createKey({ payload }))
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
    const query = whereGiven({ account })
    const { keys } = yield* withOperator(({ admin }) => admin.listKeys({ query }))
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
    const { alsoRevoked, key } = yield* withOperator(({ admin }) =>
      admin.revokeKey({ params: { id }, query: { keepMade } })
    )
    return yield* Console.log(json ? JSON.stringify({ key, alsoRevoked }) : revocationText(key, alsoRevoked))
  })
).pipe(Command.withDescription("Revoke a key and the keys that it made, at once and for good"))

export const keys = Command.make("keys").pipe(
  Command.withDescription("API keys"),
  Command.withSubcommands([create, list, revoke, ownKeys])
)

const link = Command.make(
  "link",
  {
    account: flags.account,
    address: Flag.String("address").pipe(Flag.withDescription("EVM or Solana address of the wallet")),
    json: flags.json
  },
  Effect.fn("wallets.link")(function* ({ account, address, json }) {
    const payload = { account, address }
    const { wallet } = yield* withOperator(({ admin }) => admin.linkWallet({ payload }))
    return yield* Console.log(
      json ? JSON.stringify({ wallet }) : `Wallet ${wallet.address} opens the account ${wallet.account} from now on.`
    )
  })
).pipe(
  Command.withDescription("Let a wallet open an account; only while it has none of its own"),
  Command.withExamples([
    { command: "muniment wallets link --account alice --address 0x...", description: "Alice may sign instead of a key" }
  ])
)

/** `muniment wallets`: which wallets open which account; `muniment wallet`: makes a wallet for trials. */
export const wallets = Command.make("wallets").pipe(
  Command.withDescription("Wallets and the accounts they open"),
  Command.withSubcommands([link])
)

const createWallet = Command.make(
  "new",
  {
    out: pathFlag("out", "New file for the key, mode 600").pipe(Flag.withAlias("o")),
    json: flags.json
  },
  Effect.fn("wallet.new")(function* ({ out, json }) {
    const { address, family } = yield* createKeyFile(out)
    if (json) return yield* Console.log(JSON.stringify({ wallet: { address, family } }))
    yield* Console.log(address)
    return yield* Console.error(`The key of this wallet is in ${out}; everyone who has the file can act as the wallet.`)
  })
).pipe(
  Command.withDescription("Make an EVM wallet: its key goes to a file, its address is printed"),
  Command.withExamples([{ command: "muniment wallet new --out alice.key", description: "A wallet to try with" }])
)

/** `muniment wallet`: makes a wallet for trials. Its key is never printed, only its address. */
export const wallet = Command.make("wallet").pipe(
  Command.withDescription("A wallet's key on this machine"),
  Command.withSubcommands([createWallet])
)

const name = Argument.String("name")

const save = Command.make(
  "save",
  {
    name,
    url: Flag.String("url").pipe(Flag.withDescription("Where the service is")),
    json: flags.json
  },
  Effect.fn("profile.save")(function* ({ json, name: saved, url }) {
    yield* originOf(url)
    const apiKey = yield* setting("MUNIMENT_API_KEY")
    const profile = { url: url.replace(/\/+$/, ""), ...(apiKey !== undefined && { apiKey }) }
    const path = yield* writeProfiles({ ...(yield* readProfiles), [saved]: profile })
    if (json)
      return yield* Console.log(JSON.stringify({ profile: saved, url: profile.url, hasKey: apiKey !== undefined }))
    return yield* Console.log(
      `Saved in ${path}${apiKey === undefined ? ", without a key: set MUNIMENT_API_KEY to keep one" : ""}.`
    )
  })
).pipe(
  Command.withDescription("Keep a service under a name, with the key in MUNIMENT_API_KEY; default is used by itself"),
  Command.withExamples([
    {
      command: "MUNIMENT_API_KEY=mun_... muniment profile save default --url https://memory.example.com",
      description: "What commands use where nothing else names a service"
    }
  ])
)

const listProfiles = Command.make(
  "list",
  { json: flags.json },
  Effect.fn("profile.list")(function* ({ json }) {
    const profiles = Object.entries(yield* readProfiles).map(([of, { apiKey, url }]) => ({
      name: of,
      url,
      hasKey: apiKey !== undefined
    }))
    if (json) return yield* Console.log(JSON.stringify({ profiles }))
    const rows = profiles.map(({ hasKey, name: of, url }) => [shownText(of), hasKey ? "yes" : "no", shownText(url)])
    return yield* Console.log(rows.length === 0 ? "No profiles." : table([["NAME", "KEY", "URL"], ...rows]))
  })
).pipe(Command.withDescription("The profiles, without their keys"))

const removeProfile = Command.make(
  "remove",
  { name, json: flags.json },
  Effect.fn("profile.remove")(function* ({ json, name: removed }) {
    const { [removed]: found, ...others } = yield* readProfiles
    if (found === undefined) return yield* new CommandFailed({ reason: `There is no profile ${removed}.` })
    yield* writeProfiles(others)
    return yield* Console.log(
      json ? JSON.stringify({ removed }) : "Removed; the key itself stays valid until it is revoked."
    )
  })
).pipe(Command.withDescription("Forget a profile and its key on this machine"))

/** `muniment profile`: services by name, so that commands find them from anywhere. */
export const profile = Command.make("profile").pipe(
  Command.withDescription("Services by name; MUNIMENT_PROFILE chooses one"),
  Command.withSubcommands([save, listProfiles, removeProfile])
)
