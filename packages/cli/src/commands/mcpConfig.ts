/** `muniment mcp config`: what an MCP client has in its settings for this service; without `--for`, the clients. */
import { Console, Effect, FileSystem, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { fileURLToPath } from "node:url"
import { CommandFailed } from "../CommandFailed.ts"
import { mcpClientNames, mcpClients, mcpSettings, mcpTransports, transportsOf } from "../McpClients.ts"
import { table } from "../Table.ts"
import { flags } from "./flags.ts"
import { endpointOf, mcpFlags, scopesOf } from "./mcpFlags.ts"

export const mcpConfig = Command.make(
  "config",
  {
    client: Flag.Literals("for", mcpClientNames).pipe(
      Flag.withDescription("Which client; without it, all are listed"),
      Flag.optional
    ),
    transport: Flag.Literals("transport", mcpTransports).pipe(
      Flag.withDescription(
        "http: the client calls the service; stdio: it starts `muniment mcp`; default http if it can"
      ),
      Flag.optional
    ),
    ...mcpFlags,
    json: flags.json
  },
  Effect.fn("mcp.config")(function* ({ client: chosen, json, transport: wanted, url: given, ...scopes }) {
    if (Option.isNone(chosen)) {
      const clients = mcpClientNames.map((name) => {
        const { file, title } = mcpClients[name]
        return { name, title, transports: transportsOf(mcpClients[name]), file }
      })
      if (json) return yield* Console.log(JSON.stringify({ clients }))
      const rows = clients.map(({ file, name, title, transports }) => [name, title, transports.join(", "), file])
      return yield* Console.log(table([["NAME", "CLIENT", "TRANSPORTS", "FILE"], ...rows]))
    }
    const client = mcpClients[chosen.value]
    const [first] = transportsOf(client)
    const transport = Option.getOrElse(wanted, () => first)
    if (!transportsOf(client).includes(transport)) {
      return yield* new CommandFailed({ reason: `${client.title} takes programs in its file only: --transport stdio.` })
    }
    const url = (yield* endpointOf(given)).url.href
    const named = scopesOf(scopes)
    const { args, command } = yield* ownProgram
    const text = mcpSettings(client, transport, {
      url,
      headers: Object.fromEntries(named.map(([name, value]) => [`x-${name}`, value])),
      command,
      args: [...args, "mcp", "--url", url, ...named.flatMap(([name, value]) => [`--${name}`, value])]
    })
    if (json) return yield* Console.log(JSON.stringify({ client: chosen.value, transport, file: client.file, text }))
    yield* Console.log(text)
    return yield* Console.error(`For ${client.title}: ${client.file}. ${client.keyHint}`)
  })
).pipe(
  Command.withDescription("Print what an MCP client needs in its settings to reach this service"),
  Command.withExamples([
    { command: "muniment mcp config", description: "The clients, and where their settings are" },
    { command: "muniment mcp config --for cursor --agent-id assistant", description: "The entry for Cursor" }
  ])
)

/** What starts this command line, with whole paths: programs of a desktop have another search path than a shell. */
const ownProgram = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const cloned = fileURLToPath(new URL("../../../../scripts/muniment.ts", import.meta.url))
  if (yield* Effect.orElseSucceed(files.exists(cloned), () => false))
    return { command: process.execPath, args: [cloned] }
  const installed = fileURLToPath(new URL("../../../../dist/installed.js", import.meta.url))
  // The folder of npx is emptied now and then.
  return /[/\\]_npx[/\\]/.test(installed)
    ? { command: "npx", args: ["-y", "muniment"] }
    : { command: process.execPath, args: [installed] }
})
