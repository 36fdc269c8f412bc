/** `muniment mcp` between the official client and a real server: what goes in comes out, whatever happens between. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { beforeAll, expect, it } from "vitest"
import { request, stdioCaller } from "../support/McpCalls.ts"
import { entry, freePort } from "../support/TestServer.ts"
import { evmWallet, sha256Text, walletCalls } from "../support/TrustCalls.ts"
import { useServer } from "../support/useServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const seattle = { subject: "Alice", fact: "Alice lives in Seattle" }

const server = useServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
let key: string
let directory: string
beforeAll(async () => {
  key = await server.newAccount("stdio")
  directory = temporaryDirectory()
})

const urlOf = (listening: Server): string => `http://127.0.0.1:${(listening.address() as AddressInfo).port}/mcp`

interface Run {
  readonly lines: ReadonlyArray<{ readonly id?: unknown; readonly result?: object; readonly error?: object }>
  readonly stderr: string
  readonly code: number | null
}

/** Runs the command with all of `input`, then the end of it. */
const run = async (input: string, options: { readonly url?: string; readonly key?: string } = {}): Promise<Run> => {
  const { url = `${server.url}/mcp`, key: apiKey = key } = options
  const child = spawn(process.execPath, [entry, "mcp", "--url", url], {
    env: { PATH: process.env["PATH"], MUNIMENT_API_KEY: apiKey }
  })
  let stdout = ""
  let stderr = ""
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()))
  child.stdin.end(input)
  await once(child, "close")
  const lines = stdout.split("\n").filter((line) => line !== "")
  return { lines: lines.map((line) => JSON.parse(line)), stderr, code: child.exitCode }
}

it("the official client lists, writes, searches and deletes through it, with defaults from its flags", async () => {
  const args = ["--url", server.url, "--agent-id", "desk", "--subject-id", "me", "--thread-id", "t"]
  const mcp = await stdioCaller({ args, env: { MUNIMENT_API_KEY: key } })
  expect(await mcp.toolNames()).toContain("write_factual_memory")
  const written = await mcp.call("write_factual_memory", seattle)
  const { id, metadata } = written.json.memories[0]
  expect(metadata).toMatchObject({ agentId: "desk", subjectId: "me", threadId: "t" })
  const found = await mcp.call("memory_search", { query: "where does Alice live" })
  expect(found.json.memories).toMatchObject([{ id }])
  expect((await mcp.call("memory_delete", { id })).json.deleted).toBe(1)
  expect((await mcp.call("memory_get", { id })).isError).toBe(true)
  await expect(mcp.call("no_such_tool")).rejects.toThrow("there is no tool")
  await mcp.close()
})

it("finds the service that runs on its data directory", async () => {
  const env = { MUNIMENT_DATA_DIR: server.dataDirectory, MUNIMENT_API_KEY: key }
  const mcp = await stdioCaller({ args: [], env })
  expect(await mcp.client.ping()).toEqual({})
  await mcp.close()
})

it("signs with a wallet's key from a file", async () => {
  const keyFile = join(directory, "wallet.key")
  writeFileSync(keyFile, `0x${sha256Text("evm stdio")}\n`, { mode: 0o600 })
  const mcp = await stdioCaller({ args: ["--url", server.url, "--key-file", keyFile] })
  const { id } = (await mcp.call("write_factual_memory", { agentId: "a", ...seattle })).json.memories[0]
  expect((await walletCalls(server, evmWallet("stdio")).get(id)).data).toEqual(seattle)
  await mcp.close()
})

it("answers every request before it ends, also many at once, and prints nothing else", async () => {
  const count = 200
  const requests = Array.from({ length: count }, (_, id) => JSON.stringify(request("ping", {}, `r${id}`)))
  const silent = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })
  const { code, lines, stderr } = await run(["", silent, ...requests, "  "].join("\r\n"))
  expect([code, stderr]).toEqual([0, ""])
  expect(new Set(lines.map(({ id }) => id))).toEqual(new Set(requests.map((_, id) => `r${id}`)))
  expect(lines.every(({ result }) => result !== undefined)).toBe(true)
})

it("tells each request of a batch that the service refuses as a whole", async () => {
  const batch = Array.from({ length: 11 }, (_, id) => request("ping", {}, id + 1))
  const { lines } = await run(JSON.stringify(batch))
  expect(lines).toHaveLength(1)
  expect(lines.flat()).toEqual(batch.map(({ id }) => ({ jsonrpc: "2.0", id, error: expect.anything() })))
})

it("carries messages as large as the service takes, and says so of larger ones", async () => {
  const large = JSON.stringify(request("ping", { text: "x".repeat(1_000_000) }, "large"))
  const tooLarge = JSON.stringify(request("ping", { text: "x".repeat(3_000_000) }, "lost"))
  const { lines } = await run([large, tooLarge, JSON.stringify(request("ping", {}, "last"))].join("\n"))
  const byId = new Map(lines.map((line) => [line.id, line]))
  expect(byId.get("large")?.result).toEqual({})
  expect(byId.get(null)?.error).toMatchObject({ message: expect.stringContaining("1048576 bytes") })
  expect(byId.get("last")?.result).toEqual({})
})

it("tells each request of a service that is not there, and goes on", async () => {
  const url = `http://127.0.0.1:${await freePort()}/mcp`
  const input = [request("ping", {}, 1), [request("ping", {}, 2), request("ping", {}, 3)]].map((one) =>
    JSON.stringify(one)
  )
  const { code, lines, stderr } = await run([...input, "no JSON"].join("\n"), { url })
  const errors = lines.flat().map((line) => line)
  const unreachable = { code: -32_000, message: expect.stringContaining("cannot be reached") }
  for (const id of [1, 2, 3]) expect(errors).toContainEqual({ jsonrpc: "2.0", id, error: unreachable })
  expect(errors).toContainEqual({ jsonrpc: "2.0", id: null, error: { code: -32_700, message: "the line is not JSON" } })
  expect(stderr).toContain("cannot be reached")
  expect(code).toBe(0)
})

it("follows no redirect: what it carries is for the configured address", async () => {
  let reached = 0
  const elsewhere = createServer((_, response) => void (reached++, response.end()))
  const redirecting = createServer((_, response) => {
    response.writeHead(307, { location: urlOf(elsewhere) }).end()
  })
  const servers = [elsewhere, redirecting]
  await Promise.all(servers.map((each) => once(each.listen(0, "127.0.0.1"), "listening")))
  const { lines } = await run(`${JSON.stringify(request("ping"))}\n`, { url: urlOf(redirecting) })
  expect(lines).toMatchObject([{ id: 1, error: { message: expect.stringContaining("status 307") } }])
  expect(reached).toBe(0)
  for (const each of servers) each.close()
})

it("tells a request why the service refused it", async () => {
  const { lines } = await run(JSON.stringify(request("ping", {}, 7)), { key: "mun_wrong" })
  expect(lines).toMatchObject([{ id: 7, error: { message: expect.stringContaining("status 401") } }])
})

it("is started by what `mcp config` prints", async () => {
  const config = [entry, "mcp", "config", "--for", "claude-desktop", "--url", server.url, "--agent-id", "configured"]
  const { stdout } = spawnSync(process.execPath, config, { encoding: "utf8" })
  const { args, command } = JSON.parse(stdout).mcpServers.muniment
  const client = new Client({ name: "desktop", version: "1.0.0" })
  await client.connect(new StdioClientTransport({ command, args, env: { MUNIMENT_API_KEY: key }, cwd: directory }))
  await client.callTool({ name: "write_factual_memory", arguments: seattle })
  const { body } = await server.call("GET", "/v1/memories?agentId=configured", { key })
  expect(body.memories).toMatchObject([{ data: seattle }])
  await client.close()
})
