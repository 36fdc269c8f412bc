/**
 * `muniment mcp`: the service's MCP endpoint for agents that start a program and talk to it over its
 * standard input and output. Nothing but the protocol goes to standard output.
 */
import { Console, Effect, Option, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { Limits } from "@muniment/domain/Limits"
import { CommandFailed, commandFailed } from "../CommandFailed.ts"
import { readSigner } from "../KeyFile.ts"
import { McpBridge } from "../McpBridge.ts"
import { MessageLines } from "../MessageLines.ts"
import { pathFlag } from "../PathFlag.ts"
import { setting } from "../Profiles.ts"
import { optionalText } from "./flags.ts"
import { mcpConfig } from "./mcpConfig.ts"
import { endpointOf, mcpFlags, scopesOf } from "./mcpFlags.ts"

/** Requests under way at a time; others wait in the pipe. */
const requestsMax = 16

export const mcp = Command.make(
  "mcp",
  {
    ...mcpFlags,
    key: optionalText("key", "API key of the account; better given as MUNIMENT_API_KEY, which no process list shows"),
    keyFile: pathFlag("key-file", "File with a wallet's key, which signs every message instead of an API key").pipe(
      Flag.optional
    )
  },
  Effect.fn("mcp")(function* ({ key, keyFile, url: given, ...scopes }) {
    const { apiKey, url } = yield* endpointOf(given)
    const bridge = new McpBridge({
      url,
      credentials: yield* credentialsOf(key, keyFile, apiKey),
      headers: Object.fromEntries(scopesOf(scopes).map(([name, value]) => [`x-${name}`, value]))
    })
    const lines = new MessageLines(Limits.requestBodyBytesMax)
    const { stdin } = yield* Stdio.Stdio
    yield* stdin.pipe(
      Stream.flatMap((chunk) => Stream.fromIterable(lines.push(chunk))),
      Stream.concat(Stream.suspend(() => Stream.fromIterable(lines.end()))),
      Stream.mapEffect((line) => bridge.forward(line), { concurrency: requestsMax, unordered: true }),
      Stream.runForEach((answer) => (answer === undefined ? Effect.void : Console.log(answer))),
      Effect.mapError(commandFailed)
    )
  })
).pipe(
  Command.withDescription(
    "Speak the Model Context Protocol over standard input and output, for desktop agents that start a program"
  ),
  Command.withSubcommands([mcpConfig]),
  Command.withExamples([
    {
      command: "MUNIMENT_API_KEY=mun_... muniment mcp --agent-id assistant",
      description: "The memories of one agent, at the service of this machine"
    }
  ])
)

const credentialsOf = Effect.fnUntraced(function* (
  key: Option.Option<string>,
  keyFile: Option.Option<string>,
  profileKey: string | undefined
) {
  if (Option.isSome(keyFile)) return { signer: yield* readSigner(keyFile.value) }
  const apiKey = Option.getOrUndefined(key) ?? (yield* setting("MUNIMENT_API_KEY")) ?? profileKey
  if (apiKey !== undefined) return { apiKey }
  return yield* new CommandFailed({ reason: "No credentials: set MUNIMENT_API_KEY, or give --key or --key-file." })
}, Effect.mapError(commandFailed))
