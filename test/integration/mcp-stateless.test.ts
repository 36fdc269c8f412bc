/**
 * MCP 2026-07-28 on the wire (contract: MCP): each request says its version, headers repeat parts of it, and older
 * revisions are answered beside it. Values of the protocol are written out here, as a client would send them.
 */
import { describe, expect, it } from "vitest"
import { request, stdioCaller } from "../support/McpCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"

const version = "2026-07-28"
const meta = {
  "io.modelcontextprotocol/protocolVersion": version,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" }
}

const server = useSharedServer(withoutModel)

type Headers = Readonly<Record<string, string>>
const headersOf = (method: string, name?: string): Headers => ({
  "mcp-protocol-version": version,
  "mcp-method": method,
  ...(name !== undefined && { "mcp-name": name })
})
const post = (body: object, headers: Headers): Promise<Answer> => server.call("POST", "/mcp", { body, headers })
const ask = (method: string, params: object = {}, headers = headersOf(method)) =>
  post(request(method, { ...params, _meta: meta }), headers)

describe("a request that says its version", () => {
  it("learns what the server speaks, without a handshake", async () => {
    const { body, headers, status } = await ask("server/discover")
    expect(status).toBe(200)
    expect(body.result).toMatchObject({
      resultType: "complete",
      supportedVersions: [version, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
      capabilities: { tools: {} },
      instructions: expect.stringContaining("memory_search"),
      ttlMs: expect.any(Number),
      cacheScope: "public",
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "muniment" } }
    })
    expect(headers.get("mcp-session-id")).toBeNull()
  })

  it("lists and calls tools, whose results say their type", async () => {
    const listed = await ask("tools/list")
    expect(listed.body.result).toMatchObject({
      resultType: "complete",
      ttlMs: expect.any(Number),
      cacheScope: "private"
    })
    const name = "write_factual_memory"
    const given = { name, arguments: { agentId: "stateless", subject: "Ida", fact: "Ida restores clocks" } }
    const { body } = await ask("tools/call", given, headersOf("tools/call", name))
    expect(body.result).toMatchObject({ resultType: "complete", structuredContent: { success: true } })
    expect(Object.keys(body.result._meta)).toEqual(["muniment/credits", "io.modelcontextprotocol/serverInfo"])
    expect(body.result).not.toHaveProperty("ttlMs")
  })

  it("finds no method of the handshake", async () => {
    for (const method of ["initialize", "ping", "logging/setLevel", "constructor"]) {
      const { body, status } = await ask(method)
      expect([status, body.error.code, body.id], method).toEqual([404, -32_601, 1])
    }
  })

  it("is refused in a version that is not spoken, with those that are", async () => {
    const unknown = { ...meta, "io.modelcontextprotocol/protocolVersion": "1900-01-01" }
    const headers = { ...headersOf("tools/list"), "mcp-protocol-version": "1900-01-01" }
    for (const params of [{ _meta: unknown }, {}]) {
      const { body, status } = await post(request("tools/list", params, 7), headers)
      expect([status, body.id]).toEqual([400, 7])
      expect(body.error).toMatchObject({
        code: -32_022,
        data: { requested: "1900-01-01", supported: expect.arrayContaining([version, "2024-11-05"]) }
      })
    }
  })

  it.each([
    ["no `_meta`", undefined],
    ["no version", { "io.modelcontextprotocol/clientCapabilities": {} }],
    ["a version that is a number", { ...meta, "io.modelcontextprotocol/protocolVersion": 2026 }],
    ["no capabilities", { "io.modelcontextprotocol/protocolVersion": version }],
    ["capabilities that are a list", { ...meta, "io.modelcontextprotocol/clientCapabilities": [] }]
  ])("is malformed with %s", async (_, _meta) => {
    const { body, status } = await post(request("tools/list", { _meta }), headersOf("tools/list"))
    expect([status, body.error.code]).toEqual([400, -32_602])
  })

  it.each<[string, Headers]>([
    ["no header of the version", { "mcp-method": "tools/call", "mcp-name": "memory_get" }],
    ["another version", { ...headersOf("tools/call", "memory_get"), "mcp-protocol-version": "2025-11-25" }],
    ["no method", { "mcp-protocol-version": version, "mcp-name": "memory_get" }],
    ["another method", headersOf("tools/list", "memory_get")],
    ["no name", headersOf("tools/call")],
    ["another name", headersOf("tools/call", "memory_delete")],
    ["another name in Base64", headersOf("tools/call", "=?base64?bWVtb3J5X2RlbGV0ZQ==?=")]
  ])("is refused with headers that differ from it: %s", async (_, headers) => {
    const { body, status } = await ask("tools/call", { name: "memory_get", arguments: { id: "mem_x" } }, headers)
    expect([status, body.error.code, body.id]).toEqual([400, -32_020, 1])
  })

  it("may have its name in Base64", async () => {
    const encoded = `=?base64?${Buffer.from("memory_get").toString("base64")}?=`
    const given = { name: "memory_get", arguments: { id: "mem_x" } }
    const { body } = await ask("tools/call", given, headersOf("tools/call", encoded))
    expect(body.result).toMatchObject({ resultType: "complete", isError: true })
  })

  it("is no part of a batch", async () => {
    const { body, status } = await post([request("tools/list", { _meta: meta })], headersOf("tools/list"))
    expect([status, body.error.code]).toEqual([400, -32_600])
  })
})

it("an older client that names its version in a header is answered as before", async () => {
  const { body } = await post(request("tools/list"), { "mcp-protocol-version": "2025-11-25" })
  expect(Object.keys(body.result)).toEqual(["tools"])
})

it("`muniment mcp` repeats in headers what such a request says", async () => {
  const key = await server.newAccount("stateless-stdio")
  const mcp = await stdioCaller({ args: ["--url", `${server.url}/mcp`], env: { MUNIMENT_API_KEY: key } })
  try {
    const answers: Array<unknown> = []
    const pipe = mcp.client.transport!
    await new Promise<void>((resolve) => {
      const collect = (message: unknown) => void (answers.push(message) === 2 && resolve())
      Object.assign(pipe, { onmessage: collect })
      void pipe.send({ jsonrpc: "2.0", id: "d", method: "server/discover", params: { _meta: meta } })
      const params = { name: "mémoire", _meta: meta }
      void pipe.send({ jsonrpc: "2.0", id: "c", method: "tools/call", params })
    })
    expect(answers).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: "d", result: expect.objectContaining({ resultType: "complete" }) }),
        expect.objectContaining({
          id: "c",
          error: { code: -32_602, message: expect.stringContaining("there is no tool") }
        })
      ])
    )
  } finally {
    await mcp.close()
  }
})
