/** `mcp config`: settings that each client can read, with the names that it has for a server. */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { mcpClientNames } from "@muniment/cli/commands/mcpConfig"
import { repository } from "../../support/TestServer.ts"
import { runCli } from "./runCli.ts"

const settingsOf = async (client: string, ...more: ReadonlyArray<string>): Promise<string> => {
  const args = ["--url", "https://memory.example.com", "--agent-id", 'the "best"', ...more]
  const { err, isSuccess, out } = await runCli(["mcp", "config", "--for", client, ...args], () => undefined)
  expect([err, isSuccess]).toEqual([expect.stringMatching(/^For \w/), true])
  return out
}

/** By Python's own reader; undefined where there is none. */
const tomlOf = (text: string): unknown => {
  const script = "import json,sys,tomllib; print(json.dumps(tomllib.loads(sys.stdin.read())))"
  const { status, stdout } = spawnSync("python3", ["-c", script], { input: text, encoding: "utf8" })
  return status === 0 ? JSON.parse(stdout) : undefined
}
const hasToml = tomlOf("a = 1") !== undefined

const url = "https://memory.example.com/mcp"
const headersWith = (key: string) => ({ Authorization: `Bearer ${key}`, "x-agent-id": 'the "best"' })
const inServers = (muniment: object) => ({ mcpServers: { muniment } })
const secret = "muniment-key"
const inputs = [{ type: "promptString", id: secret, description: expect.any(String), password: true }]

/** As the client's documentation has a server that is reached by HTTP. */
const byHttp: Readonly<Record<string, object>> = {
  "claude-code": inServers({ type: "http", url, headers: headersWith("${MUNIMENT_API_KEY}") }),
  cursor: inServers({ url, headers: headersWith("${env:MUNIMENT_API_KEY}") }),
  vscode: { inputs, servers: { muniment: { type: "http", url, headers: headersWith(`\${input:${secret}}`) } } },
  "gemini-cli": inServers({ httpUrl: url, headers: headersWith("$MUNIMENT_API_KEY") }),
  windsurf: inServers({ serverUrl: url, headers: headersWith("${env:MUNIMENT_API_KEY}") }),
  zed: { context_servers: { muniment: { url, headers: headersWith("mun_...") } } },
  cline: inServers({ type: "streamableHttp", url, headers: headersWith("mun_...") })
}

it.each(Object.entries(byHttp))("%s reaches the service by HTTP", async (client, expected) => {
  expect(JSON.parse(await settingsOf(client))).toEqual(expected)
})

it.skipIf(!hasToml)("codex has TOML for both (with Python from 3.11 on)", async () => {
  expect(tomlOf(await settingsOf("codex"))).toEqual({
    mcp_servers: {
      muniment: { url, bearer_token_env_var: "MUNIMENT_API_KEY", http_headers: { "x-agent-id": 'the "best"' } }
    }
  })
  expect(tomlOf(await settingsOf("codex", "--transport", "stdio"))).toMatchObject({
    mcp_servers: { muniment: { args: [expect.any(String), "mcp", "--url", url, "--agent-id", 'the "best"'] } }
  })
})

it.each(mcpClientNames.filter((name) => name !== "codex"))("%s can start the program", async (client) => {
  const settings = JSON.parse(await settingsOf(client, "--transport", "stdio"))
  const servers = settings.mcpServers ?? settings.servers ?? settings.context_servers
  const { args, command, env } = servers.muniment
  expect([existsSync(command), existsSync(args[0]), args.slice(1)]).toEqual([
    true,
    true,
    ["mcp", "--url", url, "--agent-id", 'the "best"']
  ])
  expect(Object.keys(env)).toEqual(["MUNIMENT_API_KEY"])
})

it("without a client all are listed; one that takes no HTTP says so", async () => {
  const { out } = await runCli(["mcp", "config"], () => undefined)
  for (const name of mcpClientNames) expect(out).toMatch(new RegExp(`^${name} +.*stdio`, "m"))
  const refused = await runCli(["mcp", "config", "--for", "claude-desktop", "--transport", "http"], () => undefined)
  expect([refused.isSuccess, refused.err]).toEqual([false, expect.stringContaining("--transport stdio")])
})

it("what the page on MCP shows is what the command prints", async () => {
  const page = readFileSync(join(repository, "packages/server/docs/mcp.md"), "utf8")
  const shown = Array.from(page.matchAll(/^```json\n([^]*?)^```$/gm), ([, text]) => JSON.parse(text!))
  const args = ["mcp", "config", "--url", "http://127.0.0.1:8787", "--agent-id"]
  const printed = await Promise.all([
    runCli([...args, "assistant", "--subject-id", "user-42", "--for", "claude-code"], () => undefined),
    runCli([...args, "desktop", "--for", "claude-desktop"], () => undefined)
  ])
  const texts = printed.map(({ out }) =>
    out.replace(process.execPath, "/path/to/node").replaceAll(repository.replace(/\/$/, ""), "/path/to/muniment")
  )
  expect(shown).toEqual(texts.map((text) => JSON.parse(text)))
})
