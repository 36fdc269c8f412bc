/**
 * The wire of the MCP endpoint (contract: MCP): what surrounds a message, messages that are none, and bodies that mean
 * harm. What the tools do: `mcp-tools.test.ts`.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { accountCalls } from "../support/MemoryCalls.ts"
import { mcpCaller, request, rpc, walletCaller } from "../support/McpCalls.ts"
import type { ServedProcess } from "../support/ServedProcess.ts"
import { limitedRates, sharedServer } from "../support/SharedServer.ts"
import { type CallOptions, refusalOf, serverCalls, startServer, type TestServer } from "../support/TestServer.ts"
import { evmWallet, walletHeaders } from "../support/TrustCalls.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_CORS_ORIGINS: "https://page.example" }

let server: TestServer
beforeAll(async () => {
  const publicly = { MUNIMENT_PUBLIC_URL: "https://memory.example/", MUNIMENT_WALLET_SIGNUP: "open" }
  server = await startServer({ environment: { ...environment, ...publicly } })
})
afterAll(() => server.stop())

const post = (options: CallOptions) => server.call("POST", "/mcp", options)
const initialize = (protocolVersion: unknown) =>
  request("initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "t", version: "1" } })
const errorOf = (code: number, message: string | RegExp = "") => ({
  jsonrpc: "2.0",
  error: { code, message: expect.stringMatching(message) }
})

describe("the handshake", () => {
  it.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])("echoes version %s", async (version) => {
    const { body, headers, status } = await rpc(server, initialize(version))
    expect(status).toBe(200)
    expect(headers.get("content-type")).toContain("application/json")
    expect(body.result).toMatchObject({
      protocolVersion: version,
      capabilities: { tools: {} },
      serverInfo: { name: "muniment" },
      instructions: expect.stringContaining("memory_search")
    })
    expect(headers.get("mcp-session-id")).toBeNull()
  })

  it("answers an unknown version with the latest, and none with invalid params", async () => {
    expect((await rpc(server, initialize("2099-01-01"))).body.result.protocolVersion).toBe("2025-11-25")
    expect((await rpc(server, initialize(undefined))).body).toMatchObject(errorOf(-32_602))
  })

  it("is done by the official client, which then pings", async () => {
    const mcp = await mcpCaller(server, (await accountCalls(server, "handshake")).key)
    expect(mcp.client.getServerVersion()?.name).toBe("muniment")
    expect(await mcp.client.ping()).toEqual({})
    await mcp.close()
  })
})

describe("a body", () => {
  it("of notifications or responses alone is accepted without an answer", async () => {
    const silent = { jsonrpc: "2.0", method: "notifications/initialized" }
    const response = { jsonrpc: "2.0", id: 1, result: {} }
    for (const body of [silent, response, [silent, response], { ...silent, method: "notifications/cancelled" }]) {
      const answer = await post({ body })
      expect([answer.status, answer.body]).toEqual([202, ""])
    }
  })

  it("may be a batch in the versions that have them", async () => {
    const batch = [request("ping", {}, "p"), { jsonrpc: "2.0", method: "notifications/x" }, request("no", {}, 2), 7]
    for (const headers of [{}, { "mcp-protocol-version": "2025-03-26" }]) {
      const { body, status } = await post({ body: batch, headers })
      expect(status).toBe(200)
      expect(body).toMatchObject([
        { id: "p", result: {} },
        { id: 2, error: { code: -32_601 } },
        { id: null, error: { code: -32_600 } }
      ])
    }
    const refused = await post({ body: batch, headers: { "mcp-protocol-version": "2025-06-18" } })
    expect([refused.status, refused.body.error.code]).toEqual([400, -32_600])
    for (const body of [[], Array(11).fill(request("ping"))]) {
      expect((await post({ body })).body).toMatchObject(errorOf(-32_600, "1 to 10"))
    }
    expect((await post({ body: [initialize("2025-03-26")] })).body[0]).toMatchObject(errorOf(-32_600, "batch"))
  })

  it.each([
    ["a number", 7],
    ["null", null],
    ["another version of JSON-RPC", { jsonrpc: "1.0", method: "ping" }],
    ["no method", { jsonrpc: "2.0" }],
    ["a method that is a number", { jsonrpc: "2.0", method: 1 }],
    ["an id that is null", { jsonrpc: "2.0", method: "ping", id: null }],
    ["an id that is an object", { jsonrpc: "2.0", method: "ping", id: {} }],
    ["a response without an id", { jsonrpc: "2.0", result: {} }]
  ])("that is no message is an invalid request: %s", async (_, body) => {
    const answer = await post({ rawBody: JSON.stringify(body) })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ ...errorOf(-32_600), id: null })
  })

  it.each([
    ["empty", ""],
    ["cut off", '{"jsonrpc":"2.0","method":"pi'],
    ["not UTF-8", new Uint8Array([0x7b, 0xff, 0x7d])],
    ["65 levels deep", '{"a":'.repeat(65) + "1" + "}".repeat(65)],
    ["100,000 open brackets", "[".repeat(100_000)],
    ["a key twice", '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'],
    ["the key __proto__", '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{}}}'],
    ["half of a surrogate pair", '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}'],
    ["an integer beyond 2^53", '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}']
  ])("that JSON cannot carry without a loss is a parse error: %s", async (_, rawBody) => {
    const answer = await post({ rawBody })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ ...errorOf(-32_700), id: null })
  })

  it("above 1 MiB is too large, and of another media type not taken", async () => {
    const large = JSON.stringify(request("ping", { text: "x".repeat(1_048_576) }))
    expect((await post({ rawBody: large })).status).toBe(413)
    const typed = await post({ rawBody: "{}", headers: { "content-type": "text/plain" } })
    expect(typed.status).toBe(415)
  })

  it("with parameters of another type is answered as invalid, and lives on", async () => {
    const bodies: ReadonlyArray<readonly [object, number]> = [
      [{ ...request("ping"), params: [] }, -32_602],
      [{ ...request("tools/call"), params: "x" }, -32_602],
      [request("tools/call"), -32_602],
      [request("tools/call", { name: 7 }), -32_602],
      [request("tools/call", { name: "memory_search", arguments: [] }), -32_602],
      [request("tools/list", { cursor: 7 }), -32_602],
      [request("tools/list", { cursor: "999999" }), -32_602],
      [request("resources/subscribe"), -32_601],
      [request("constructor"), -32_601]
    ]
    for (const [body, code] of bodies)
      expect((await post({ body })).body, JSON.stringify(body)).toMatchObject(errorOf(code))
  })

  it("with names of Object.prototype for tools and arguments finds nothing there", async () => {
    for (const name of ["constructor", "toString", "hasOwnProperty", "write_constructor", ""]) {
      const { body } = await rpc(server, request("tools/call", { name, arguments: {} }))
      expect(body).toMatchObject(errorOf(-32_602, "no tool"))
    }
    const given = { agentId: "a", subject: "s", fact: "f", constructor: "c", toString: "t", valueOf: 1 }
    const { body } = await rpc(server, request("tools/call", { name: "write_factual_memory", arguments: given }))
    const { memories } = JSON.parse(body.result.content[0].text)
    expect(memories[0].data).toEqual({ subject: "s", fact: "f", constructor: "c", toString: "t", valueOf: 1 })
  })
})

describe("the way in", () => {
  it("takes POST alone", async () => {
    for (const method of ["GET", "DELETE", "PUT"]) {
      const answer = await server.call(method, "/mcp", { key: null })
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"])
    }
    expect((await server.call("POST", "/mcp/", { body: request("ping") })).status).toBe(404)
  })

  it("asks for credentials as REST does", async () => {
    const none = await post({ body: request("ping"), key: null })
    expect([none.status, none.body.code]).toEqual([401, "missing_credentials"])
    expect(none.headers.get("www-authenticate")).toBe("Bearer")
    expect((await post({ body: request("ping"), key: "mun_wrong" })).body.code).toBe("invalid_api_key")
    await expect(mcpCaller(server, "mun_wrong")).rejects.toThrow("invalid_api_key")
  })

  it("binds a wallet's signature to the path and to the bytes of the body", async () => {
    const wallet = evmWallet("mcp wire")
    const rawBody = JSON.stringify(request("ping"))
    const ask = async (signing: object) =>
      post({ rawBody, key: null, headers: await walletHeaders(wallet, "POST", "/mcp", rawBody, signing) })
    expect((await ask({})).body.result).toEqual({})
    for (const signing of [{ path: "/" }, { path: "/v1/mcp" }, { body: "{}" }, { method: "GET" }]) {
      expect((await ask(signing)).body.code, JSON.stringify(signing)).toBe("invalid_signature")
    }
    expect(refusalOf(await ask({ timestampMillis: Date.now() - 130_000 }))).toEqual([401, "timestamp_out_of_range"])
    await (await walletCaller(server, wallet)).close()
  })

  it("knows the versions of its header", async () => {
    const answer = await post({ body: request("ping"), headers: { "mcp-protocol-version": "1999-01-01" } })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ ...errorOf(-32_022), id: 1 })
    const silent = { jsonrpc: "2.0", method: "notifications/initialized" }
    const told = await post({ body: silent, headers: { "mcp-protocol-version": "1999-01-01" } })
    expect(told.body).toMatchObject({ ...errorOf(-32_000, "2026-07-28, 2025-11-25"), id: null })
  })

  it("is closed to pages of foreign origins, also when their name leads here", async () => {
    // Each by its own name; calls to a cluster go to its nodes in turn.
    const [{ url }] = server.processes as [ServedProcess]
    const { host, port } = new URL(url)
    const post = (options: CallOptions) => serverCalls(url, server.operatorToken).call("POST", "/mcp", options)
    const open = [`http://${host}`, "https://page.example", "https://memory.example"]
    for (const origin of open) {
      expect((await post({ body: request("ping"), headers: { origin } })).status, origin).toBe(200)
    }
    const foreign = ["https://evil.example", "null", "http://127.0.0.1:1", `https://page.example:${port}`, "x"]
    for (const origin of foreign) {
      const answer = await post({ body: request("ping"), headers: { origin }, key: null })
      expect([answer.status, answer.body.error?.code], origin).toEqual([403, -32_000])
    }
    const asked = await server.call("OPTIONS", "/mcp", {
      key: null,
      headers: { origin: "https://page.example", "access-control-request-method": "POST" }
    })
    expect([asked.status, asked.headers.get("access-control-allow-origin")]).toEqual([204, "https://page.example"])
  })
})

it("a caller who asks too often is told when to come again", async () => {
  const limited = await sharedServer(limitedRates)
  const key = await limited.newAccount("often")
  const ask = () => limited.call("POST", "/mcp", { key, body: request("ping") })
  let last = await ask()
  expect(last.headers.get("x-ratelimit-remaining")).toBe("59")
  // A token comes back every second, so that a slow machine asks more often.
  for (let count = 0; last.status === 200 && count < 1_000; count++) last = await ask()
  expect([last.status, last.body.code]).toEqual([429, "rate_limited"])
  expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(0)
  expect(last.headers.get("x-ratelimit-limit")).toBe("60")
  // Of a bucket of its own none of these would be refused; of the same one a slow machine lets some through.
  const others = await Promise.all(Array.from({ length: 30 }, () => limited.call("GET", "/v1/schemas", { key })))
  expect(others.map(({ status }) => status)).toContain(429)
})
