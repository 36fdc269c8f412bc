/**
 * The newest official clients of MCP, Python's and TypeScript's, against the real service, in the revision without a
 * handshake, which they find by themselves, and in the one before it. Long, because registries bring the clients.
 */
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pythonVenv } from "../support/PythonVenv.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { repository } from "../support/TestServer.ts"

const typescriptClient = "@modelcontextprotocol/client@2.4.0"
const missingUri = "muniment://memories/mem_unknown"

/** Both programs print what they saw, as JSON; `MODE` is `auto` or `legacy` in both clients. */
const typescriptProgram = `
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"

const { MODE: mode, MUNIMENT_API_KEY: key, MUNIMENT_URL: url } = process.env
const client = new Client({ name: "typescript", version: "1.0.0" }, { versionNegotiation: { mode } })
const headers = { authorization: "Bearer " + key, "x-agent-id": mode }
await client.connect(new StreamableHTTPClientTransport(new URL(url + "/mcp"), { requestInit: { headers } }))
const { tools } = await client.listTools()
const call = async (name, given) => {
  const { content, isError, structuredContent } = await client.callTool({ name, arguments: given })
  return { isError: isError === true, text: JSON.parse(content[0].text), structured: structuredContent }
}
const memories = [{ kind: "factual_memory", data: { subject: "Dora", fact: "Dora plays the cello" } }]
const stored = await call("memory_create", { memories })
const found = await call("memory_search", { query: "Who plays the cello?" })
const uri = "muniment://memories/" + stored.structured.created[0].id
const { contents } = await client.readResource({ uri })
const { messages } = await client.getPrompt({ name: "recall", arguments: { query: "cello" } })
const refused = await client.readResource({ uri: "${missingUri}" }).then(() => null, ({ code, data }) => ({ code, data }))
console.log(JSON.stringify({
  version: client.getNegotiatedProtocolVersion(),
  tools: tools.map(({ name }) => name),
  stored,
  found,
  read: JSON.parse(contents[0].text),
  prompt: messages.map(({ content }) => content),
  failed: await call("memory_get", { id: "mem_unknown" }),
  refused
}))
await client.close()
`

const pythonProgram = `
import asyncio
import json
import os
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

mode = os.environ["MODE"]

async def call(client: Client, name: str, given: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(name, given)
    text = json.loads(result.content[0].text)
    return {"isError": bool(result.is_error), "text": text, "structured": result.structured_content}

async def main() -> None:
    headers = {"authorization": f"Bearer {os.environ['MUNIMENT_API_KEY']}", "x-agent-id": mode}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{os.environ['MUNIMENT_URL']}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            tools = (await client.list_tools()).tools
            data = {"subject": "Dora", "fact": "Dora plays the cello"}
            stored = await call(client, "memory_create", {"memories": [{"kind": "factual_memory", "data": data}]})
            found = await call(client, "memory_search", {"query": "Who plays the cello?"})
            read = await client.read_resource("muniment://memories/" + stored["structured"]["created"][0]["id"])
            prompt = await client.get_prompt("recall", {"query": "cello"})
            refused: dict[str, Any] | None = None
            try:
                await client.read_resource("${missingUri}")
            except MCPError as error:
                refused = {"code": error.code, "data": error.data}
            failed = await call(client, "memory_get", {"id": "mem_unknown"})
            seen = {
                "version": client.protocol_version,
                "tools": [tool.name for tool in tools],
                "stored": stored,
                "found": found,
                "read": json.loads(read.contents[0].text),
                "prompt": [message.content.model_dump(mode="json") for message in prompt.messages],
                "failed": failed,
                "refused": refused,
            }
            print(json.dumps(seen))

asyncio.run(main())
`

const modes = [
  { mode: "auto", version: "2026-07-28" },
  { mode: "legacy", version: "2025-11-25" }
]
const uriOnly = { code: -32_602, data: { uri: missingUri } }
const errorOfRest = (code: number) => ({ code, data: { code: "memory_not_found", uri: missingUri } })

describe("the official clients of MCP", () => {
  const folder = mkdtempSync(join(tmpdir(), "muniment-mcp-clients-"))
  const venv = pythonVenv("test/support/mcp-requirements.txt")
  const server = useSharedServer(withoutModel)
  beforeAll(async () => {
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }))
    writeFileSync(join(folder, "program.js"), typescriptProgram)
    writeFileSync(join(folder, "program.py"), pythonProgram)
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", typescriptClient])
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const run = async (command: string, args: ReadonlyArray<string>, environment = {}): Promise<string> => {
    const env = { ...process.env, NODE_OPTIONS: "", ...environment }
    return (await promisify(execFile)(command, args, { cwd: folder, env })).stdout
  }

  const expectAllSeen = async (
    program: (environment: Readonly<Record<string, string>>) => Promise<string>,
    { mode, version }: (typeof modes)[number],
    refused: object
  ) => {
    const key = await server.newAccount(randomUUID(), "owner")
    const seen = JSON.parse(await program({ MODE: mode, MUNIMENT_URL: server.url, MUNIMENT_API_KEY: key }))
    const { body } = await server.call("GET", `/v1/memories?agentId=${mode}`, { key })
    expect(body.memories).toMatchObject([{ data: { fact: "Dora plays the cello" } }])
    const [{ id }] = body.memories
    expect(seen).toMatchObject({
      version,
      tools: expect.arrayContaining(["memory_search", "memory_create", "write_factual_memory", "memory_get"]),
      stored: { isError: false, structured: { created: [{ id }] }, text: { created: [{ id }] } },
      found: { isError: false, structured: { memories: [{ id }] }, text: { memories: [{ id }] } },
      read: (await server.call("GET", `/v1/memories/${id}`, { key })).body,
      prompt: [{ type: "text" }, { type: "resource", resource: { uri: `muniment://memories/${id}` } }],
      failed: { isError: true, text: { code: "memory_not_found" } },
      refused
    })
  }

  it.each(modes)("work in TypeScript, in $version", (mode) =>
    expectAllSeen(
      (environment) => run(process.execPath, ["program.js"], environment),
      mode,
      // It makes an error of its own of -32002 with a `uri`.
      mode.mode === "auto" ? errorOfRest(-32_602) : uriOnly
    )
  )

  describe.skipIf(venv.missing !== "")(`Python's${venv.missing}`, () => {
    it.each(modes)("works, in $version", (mode) =>
      expectAllSeen(
        (environment) => venv.run([join(folder, "program.py")], { environment }),
        mode,
        errorOfRest(mode.mode === "auto" ? -32_602 : -32_002)
      )
    )

    it("works as the page shows it", async () => {
      const key = await server.newAccount("page", "owner")
      const memories = [{ kind: "factual_memory", data: { subject: "Eve", fact: "Eve keeps bees" } }]
      await server.call("POST", "/v1/memories", { key, body: { agentId: "assistant", memories } })
      const page = readFileSync(join(repository, "packages/server/docs/mcp.md"), "utf8")
      const [, shown = ""] = /```python\n([^]*?)```/.exec(page) ?? []
      const code = shown.replace("http://127.0.0.1:8787", server.url).replace("mun_...", key)
      expect(await venv.run(["-c", code])).toContain("Eve keeps bees")
    })
  })
})
