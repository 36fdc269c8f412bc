/**
 * `muniment mcp config`: what an MCP client has in its settings for this service, as each client documents it; without
 * `--for`, the clients.
 */
import { Console, Effect, FileSystem, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { fileURLToPath } from "node:url"
import type { JsonObject } from "@muniment/domain/Memory"
import { CommandFailed } from "../CommandFailed.ts"
import { table } from "../Terminal.ts"
import { flags, optionalText } from "./flags.ts"
import { servicePlace } from "../ServiceUrl.ts"

const endpointPath = "/mcp"

/** Where `muniment mcp` finds the service, and whose memories are meant: flags of the bridge and of `mcp config`. */
export const mcpFlags = {
  url: optionalText(
    "url",
    `The endpoint; by default ${endpointPath} of MUNIMENT_URL, of the profile, or of the service of MUNIMENT_DATA_DIR`
  ),
  agentId: optionalText("agent-id", "Agent whose memories are meant when a tool call names none"),
  subjectId: optionalText("subject-id", "Subject that is meant when a tool call names none"),
  threadId: optionalText("thread-id", "Thread that is meant when a tool call names none")
}

/** The scopes that are given, by the names of their flags, and with `x-` of their headers. */
export const scopesOf = (given: Readonly<Record<"agentId" | "subjectId" | "threadId", Option.Option<string>>>) =>
  Object.entries({ "agent-id": given.agentId, "subject-id": given.subjectId, "thread-id": given.threadId }).flatMap(
    ([name, value]) => (Option.isSome(value) ? [[name, value.value] as const] : [])
  )

/** A URL without a path means the service's usual one; `apiKey` is that of the profile that names it. */
export const endpointOf = Effect.fnUntraced(function* (given: Option.Option<string>) {
  const place = Option.isSome(given) ? undefined : yield* servicePlace(given)
  const text = Option.getOrElse(given, () => `${place?.url}${endpointPath}`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return yield* new CommandFailed({ reason: `--url ${text} is no http or https URL.` })
  }
  if (url.pathname === "/") url.pathname = endpointPath
  return { url, apiKey: place?.apiKey }
})

/**
 * How MCP clients name a server in their settings, as each documents it in November 2026. Where a client reads environment
 * variables or asks for secrets, the key stays out of its file.
 */
const mcpTransports = ["http", "stdio"] as const
type McpTransport = (typeof mcpTransports)[number]

/** The server in a client's settings: both ways to it, and the headers or flags that name agent, subject and thread. */
interface McpServer {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly command: string
  readonly args: ReadonlyArray<string>
}

interface McpClient {
  readonly title: string
  readonly file: string
  /** Placeholder of the key: a reference that the client resolves, else the place for the key itself. */
  readonly key: string
  readonly keyHint: string
  /** Its entry by transport; a client without `http` starts programs only. */
  readonly http?: (server: McpServer, key: string) => JsonObject
  readonly stdio: (server: McpServer, key: string) => JsonObject
  /** The settings around the entry. */
  readonly settings?: (entry: JsonObject) => JsonObject
  readonly isToml?: true
}

const keyVariable = "MUNIMENT_API_KEY"
const inFile = { key: "mun_...", keyHint: "Put an API key in the place of mun_...." }
const inEnvironment = (key: string) => ({ key, keyHint: `The API key is read from ${keyVariable}.` })

const headersOf = ({ headers }: McpServer, key: string): JsonObject => ({ Authorization: `Bearer ${key}`, ...headers })
const programOf = ({ args, command }: McpServer, key: string): JsonObject => ({
  command,
  args: [...args],
  env: { [keyVariable]: key }
})
const typedProgramOf = (server: McpServer, key: string): JsonObject => ({ type: "stdio", ...programOf(server, key) })
const inMcpServers = (muniment: JsonObject): JsonObject => ({ mcpServers: { muniment } })

const inputId = "muniment-key"

const clients = {
  "claude-code": {
    title: "Claude Code",
    file: ".mcp.json in the project",
    ...inEnvironment(`\${${keyVariable}}`),
    http: (server, key) => ({ type: "http", url: server.url, headers: headersOf(server, key) }),
    stdio: typedProgramOf
  },
  "claude-desktop": {
    title: "Claude Desktop",
    file: "claude_desktop_config.json (Settings, Developer, Edit Config)",
    ...inFile,
    stdio: programOf
  },
  cursor: {
    title: "Cursor",
    file: "~/.cursor/mcp.json, or .cursor/mcp.json in the project",
    ...inEnvironment(`\${env:${keyVariable}}`),
    http: (server, key) => ({ url: server.url, headers: headersOf(server, key) }),
    stdio: typedProgramOf
  },
  vscode: {
    title: "VS Code",
    file: ".vscode/mcp.json in the project, or the command MCP: Open User Configuration",
    key: `\${input:${inputId}}`,
    keyHint: "The API key is asked for once.",
    http: (server, key) => ({ type: "http", url: server.url, headers: headersOf(server, key) }),
    stdio: typedProgramOf,
    settings: (muniment) => ({
      inputs: [{ type: "promptString", id: inputId, description: "API key of Muniment", password: true }],
      servers: { muniment }
    })
  },
  codex: {
    title: "Codex",
    file: "~/.codex/config.toml",
    ...inEnvironment(keyVariable),
    http: ({ headers, url }, key) => ({
      url,
      bearer_token_env_var: key,
      ...(Object.keys(headers).length > 0 && { http_headers: headers })
    }),
    stdio: ({ args, command }, key) => ({ command, args: [...args], env_vars: [key] }),
    isToml: true
  },
  "gemini-cli": {
    title: "Gemini CLI",
    file: "~/.gemini/settings.json, or .gemini/settings.json in the project",
    ...inEnvironment(`$${keyVariable}`),
    http: (server, key) => ({ httpUrl: server.url, headers: headersOf(server, key) }),
    stdio: programOf
  },
  windsurf: {
    title: "Windsurf",
    file: "~/.codeium/windsurf/mcp_config.json",
    ...inEnvironment(`\${env:${keyVariable}}`),
    http: (server, key) => ({ serverUrl: server.url, headers: headersOf(server, key) }),
    stdio: programOf
  },
  zed: {
    title: "Zed",
    file: "settings.json (the command zed: open settings file)",
    ...inFile,
    http: (server, key) => ({ url: server.url, headers: headersOf(server, key) }),
    stdio: programOf,
    settings: (muniment) => ({ context_servers: { muniment } })
  },
  cline: {
    title: "Cline",
    file: "cline_mcp_settings.json (MCP Servers, Configure)",
    ...inFile,
    http: (server, key) => ({ type: "streamableHttp", url: server.url, headers: headersOf(server, key) }),
    stdio: programOf
  }
} satisfies Readonly<Record<string, McpClient>>

type McpClientName = keyof typeof clients
const mcpClients: Readonly<Record<McpClientName, McpClient>> = clients
export const mcpClientNames = Object.keys(clients) as ReadonlyArray<McpClientName>

/** The best one first. */
const transportsOf = ({ http }: McpClient): readonly [McpTransport, ...ReadonlyArray<McpTransport>] =>
  http === undefined ? ["stdio"] : mcpTransports

/** The text for the client's file. */
const mcpSettings = (client: McpClient, transport: McpTransport, server: McpServer): string => {
  const { isToml, key, settings = inMcpServers } = client
  const entry = (transport === "http" ? client.http : undefined) ?? client.stdio
  const made = entry(server, key)
  return isToml ? tomlTable("mcp_servers.muniment", made) : JSON.stringify(settings(made), undefined, 2)
}

/** Its strings are JSON's, its inline tables have other brackets within. */
const tomlTable = (name: string, values: JsonObject): string =>
  [`[${name}]`, ...Object.entries(values).map(([key, value]) => `${key} = ${tomlValue(value)}`)].join("\n")

const tomlValue = (value: JsonObject[string]): string => {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)} = ${tomlValue(inner)}`)
  return `{ ${members.join(", ")} }`
}

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

/** Command that starts this command line, with whole paths: desktop programs have another search path than a shell. */
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
