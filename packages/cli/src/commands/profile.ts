/** `muniment profile`: services by name, so that commands find them from anywhere. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { CommandFailed } from "../CommandFailed.ts"
import { readProfiles, setting, writeProfiles } from "../Profiles.ts"
import { originOf } from "../ServiceUrl.ts"
import { shownText, table } from "../ShownText.ts"
import { flags } from "./flags.ts"

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

const list = Command.make(
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

const remove = Command.make(
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

export const profile = Command.make("profile").pipe(
  Command.withDescription("Services by name; MUNIMENT_PROFILE chooses one"),
  Command.withSubcommands([save, list, remove])
)
