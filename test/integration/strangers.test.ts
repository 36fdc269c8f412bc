/**
 * Attacks of strangers on a service that is open to them: operator routes in every disguise, keys that outlive the key
 * that made them, and secrets that a hostile request leaves in logs.
 */
import { describe, expect, it } from "vitest"
import { contractRoutes } from "../support/Contract.ts"
import { fact } from "../support/MemoryCalls.ts"
import { sendRaw } from "../support/RawHttp.ts"
import type { Answer } from "../support/TestServer.ts"
import { evmWallet, walletHeaders } from "../support/TrustCalls.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_REQUEST_LOG: "on" } })

const newest = async (): Promise<number> =>
  (await server.asOperator("GET", "/admin/audit?limit=1")).body.events[0]?.id ?? 0
const secretOf = ({ body, status }: Answer): string => {
  expect(status, JSON.stringify(body)).toBe(200)
  return body.secret
}

describe("operator routes", () => {
  const routes = contractRoutes.filter(({ isOperators }) => isOperators)
  const request = (method: string, path: string, headers: Readonly<Record<string, string>>) =>
    sendRaw(server.url, [
      `${method} ${path} HTTP/1.1\r\n`,
      ...Object.entries({ host: new URL(server.url).host, connection: "close", "content-length": "2", ...headers }).map(
        ([name, value]) => `${name}: ${value}\r\n`
      ),
      "content-type: application/json\r\n\r\n{}"
    ])
  const local = "127.0.0.1"

  it.each([
    ["a forwarded address of this machine", { "x-forwarded-for": local }],
    ["an empty forwarded address", { "x-forwarded-for": "" }],
    ["a standard forwarding header", { forwarded: `for=${local};host=localhost` }],
    ["a name of the proxy", { via: "1.1 edge" }],
    ["a real address", { "x-real-ip": local }],
    ["a forwarded host", { "x-forwarded-host": "localhost" }],
    ["a name that DNS points here", { host: "rebound.example" }],
    ["a name that begins like an address", { host: "127.0.0.1.rebound.example" }],
    ["a user before the host", { host: `${local}@rebound.example` }],
    ["no name", { host: "" }]
  ])("with the operator's token and %s answer nothing", async (_, headers) => {
    const before = await newest()
    for (const { method, path } of routes) {
      const { status, text } = await request(method, path, {
        authorization: `Bearer ${server.operatorToken}`,
        ...headers
      })
      expect([400, 403], `${method} ${path} ${text}`).toContain(status)
    }
    expect(await newest()).toBe(before)
  })

  it("take no key of a tenant, restricted or not, no wallet, and no token in another place", async () => {
    const key = await server.newAccount("climber")
    const make = async (scope: object) =>
      secretOf(await server.call("POST", "/v1/keys", { key, body: { label: "climber", ...scope } }))
    const signed = await walletHeaders(evmWallet("climber"), "POST", "/admin/status", "{}")
    const disguises: ReadonlyArray<Readonly<Record<string, string>>> = [
      ...[key, await make({}), await make({ readOnly: true }), await make({ subjects: ["s"] })].map((secret) => ({
        authorization: `Bearer ${secret}`
      })),
      signed,
      { authorization: `Basic ${Buffer.from(`operator:${server.operatorToken}`).toString("base64")}` },
      { authorization: `Bearer ${server.operatorToken.slice(0, -1)}` },
      { authorization: `Bearer ${key}`, cookie: `token=${server.operatorToken}` },
      { "x-api-key": server.operatorToken },
      { authorization: `Bearer ${key}`, "x-http-method-override": "GET" }
    ]
    const before = await newest()
    for (const { method, path } of routes)
      for (const headers of disguises) {
        const { status, text } = await request(method, `${path}?token=${server.operatorToken}`, headers)
        expect([400, 401, 403], `${method} ${path} ${JSON.stringify(headers)} ${text}`).toContain(status)
      }
    expect(await newest()).toBe(before)
  })

  it("are opened by a token that opens nothing else", async () => {
    for (const { isOperators, method, path } of contractRoutes) {
      if (isOperators || path.startsWith("/.well-known")) continue
      const { status } = await server.asOperator(method, path)
      expect([400, 401], `${method} ${path}`).toContain(status)
    }
  })

  it.each([
    "id=20261122T220000123Z-5f3a&file=namespaces/../control.db",
    "id=20261122T220000123Z-5f3a&file=../../etc/passwd",
    "id=20261122T220000123Z-5f3a&file=control.db%00.png",
    "id=20261122T220000123Z-5f3a&file=/etc/passwd",
    "id=20261122T220000123Z-5f3a&file=lock.db",
    "id=20261122T220000123Z-5f3a&file=namespaces/000000000000.db-wal",
    "id=../../20261122T220000123Z-5f3a&file=control.db",
    "id=20261122T220000123Z-5f3a%2F..&file=control.db"
  ])("copy no file that a backup does not hold: %s", async (query) => {
    const { body, status } = await server.asOperator("GET", `/admin/backups/copies?${query}`)
    expect([status, body.code]).toEqual([400, "invalid_request"])
  })
})

describe("a key that leaks", () => {
  it("makes none that outlives it, however many calls are under way when it is revoked", async () => {
    const owner = await server.newAccount("leaking")
    const made: Array<string> = []
    for (let round = 0; round < 4; round++) {
      const leaked = await server.call("POST", "/v1/keys", { key: owner, body: {} })
      const child = await server.call("POST", "/v1/keys", { key: leaked.body.secret, body: { agents: ["a"] } })
      const flood = [leaked.body.secret, child.body.secret].flatMap((key) =>
        Array.from({ length: 8 }, () => server.call("POST", "/v1/keys", { key, body: { agents: ["a"] } }))
      )
      const revoked = await server.call("DELETE", `/v1/keys/${leaked.body.key.id}`, { key: owner })
      expect(revoked.status).toBe(200)
      made.push(leaked.body.secret, child.body.secret)
      for (const { body, status } of await Promise.all(flood)) {
        expect([200, 400, 401, 413], JSON.stringify(body)).toContain(status)
        if (status === 200) made.push(body.secret)
      }
    }
    for (const key of made) expect((await server.call("GET", "/v1/account", { key })).status).toBe(401)
    expect((await server.call("GET", "/v1/keys", { key: owner })).body.keys).toHaveLength(1)
  })

  it("with an end makes no chain of keys that lives longer, nor one of a wider restriction", async () => {
    const owner = await server.newAccount("chained")
    const bounds = { agents: ["a", "b"], expiresIn: "60m" }
    const first = await server.call("POST", "/v1/keys", { key: owner, body: bounds })
    let maker = { ...first.body, minutes: 60 }
    for (const scope of [{ agents: ["b", "a"] }, { agents: ["a"] }, { agents: ["a"], subjects: ["s"] }]) {
      for (const wider of [
        scope,
        { ...scope, expiresIn: `${maker.minutes + 1}m` },
        { ...scope, expiresIn: "1m", agents: ["a", "b", "c"] },
        { expiresIn: "1m", subjects: ["s"] }
      ]) {
        const refused = await server.call("POST", "/v1/keys", { key: maker.secret, body: wider })
        expect([refused.status, refused.body.code], JSON.stringify(wider)).toEqual([403, "key_scope"])
      }
      const minutes = maker.minutes - 10
      const made = await server.call("POST", "/v1/keys", {
        key: maker.secret,
        body: { ...scope, expiresIn: `${minutes}m` }
      })
      expect(made.body.key).toMatchObject({ madeBy: maker.key.id, ...scope })
      maker = { ...made.body, minutes }
    }
    // Handed over to a wider maker, it is as narrow as before.
    await server.call("DELETE", `/v1/keys/${first.body.key.id}?keepMade=true`, { key: owner })
    const write = { agentId: "b", subjectId: "s", memories: [fact("a", "b")] }
    const refused = await server.call("POST", "/v1/memories", { key: maker.secret, body: write })
    expect([refused.status, refused.body.code]).toEqual([403, "key_scope"])
  })
})

describe("what a hostile request says", () => {
  const word = "quillfeather7213"
  const forged = Buffer.from(JSON.stringify({ x402Version: 2, payload: { word }, accepted: { word } })).toString(
    "base64"
  )

  it("is in no line of the log, no metric and no event, wherever it said it", async () => {
    const key = await server.newAccount("hostile")
    const headers: ReadonlyArray<Readonly<Record<string, string>>> = [
      { "idempotency-key": word },
      { "x-agent-id": word, "x-subject-id": word, "x-thread-id": word },
      { "x-grants": word },
      { "x-grants": forged },
      { "payment-signature": forged },
      { "x-payment": forged },
      { "x-wallet-address": word, "x-wallet-signature": word, "x-wallet-timestamp": word },
      { "mcp-session-id": word, "mcp-protocol-version": word },
      { "user-agent": word, referer: `http://${word}.example`, origin: `http://${word}.example`, "x-request-id": word },
      { "x-forwarded-for": word, forwarded: `for=${word}` }
    ]
    const bodies: ReadonlyArray<string> = [
      `{"${word}": `,
      JSON.stringify({ agentId: word, memories: [fact(word, word)], [word]: word }),
      JSON.stringify({ agentId: word, memories: [{ kind: word, data: { [word]: word } }] }),
      JSON.stringify({ agentId: word, conversation: [{ role: word, content: word }] }),
      JSON.stringify({ name: word, description: word, schema: `{"type":"${word}"}` }),
      JSON.stringify({ name: word, description: word, schema: `{"type":"object","pattern":"(${word}"}` }),
      JSON.stringify({
        jsonrpc: "2.0",
        id: word,
        method: "tools/call",
        params: { name: word, arguments: { [word]: 1 } }
      }),
      JSON.stringify({ label: word, agents: [word], expiresIn: word })
    ]
    const posts = [
      "/v1/memories",
      "/v1/schemas",
      "/v1/keys",
      "/v1/attestations",
      "/v1/grants",
      "/mcp",
      "/v1/credits/deposit?amount=1"
    ]
    for (const secret of [key, word, null])
      for (const each of headers) {
        await server.call("GET", `/v1/memories/search?query=${word}&agentId=${word}`, { key: secret, headers: each })
        await server.call("POST", "/v1/memories", { key: secret, headers: each, rawBody: bodies[1]! })
      }
    for (const path of posts) for (const rawBody of bodies) await server.call("POST", path, { key, rawBody })
    for (const path of [
      `/v1/memories/${word}`,
      `/v1/schemas/${word}`,
      `/${word}`,
      `/v1/keys/${word}`,
      `/admin/${word}`
    ])
      for (const method of ["GET", "DELETE", "PATCH"]) await server.call(method, path, { key })
    await server.call("GET", `/v1/credits/payments/${word}/receipt`, { key })
    await sendRaw(server.url, [`GET /${word} HTTP/1.1\r\n${word}\r\n\r\n`])

    const { body: metrics } = await server.call("GET", "/metrics", { key: null })
    const { body: events } = await server.asOperator("GET", "/admin/audit?limit=100")
    expect(String(metrics)).toContain("muniment_")
    expect(String(metrics)).not.toContain(word)
    expect(JSON.stringify(events)).not.toContain(word)
    expect(server.output()).toContain('"request"')
    for (const secret of [word, forged, key, server.operatorToken]) expect(server.output()).not.toContain(secret)
  })
})
