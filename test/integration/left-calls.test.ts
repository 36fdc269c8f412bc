/** Clients that leave before their answer (contract: Operator routes): 499 wherever calls are counted, never an error. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { useModel } from "../support/ModelServer.ts"
import { answer } from "../support/ModelServerReplies.ts"
import { accountCalls, fact, type MemoryCalls } from "../support/MemoryCalls.ts"
import { patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"

const model = useModel()
let server: TestServer
let alice: MemoryCalls
beforeAll(async () => {
  model.otherwise = () => ({ kind: "slow", millis: 30_000, then: answer({}) })
  server = await startServer({
    environment: {
      MUNIMENT_EMBEDDING_MODEL: "none",
      MUNIMENT_REQUEST_LOG: "on",
      ...model.environment()
    }
  })
  alice = await accountCalls(server, "alice")
  await alice.create("a", [fact("Ann", "Ann lives in Quimper")])
})
afterAll(async () => {
  await server.stop()
})

const asked = "Where does Ann live?"
const question = `/v1/memories/search?query=${encodeURIComponent(asked)}&mode=answer`
const body = (value: object) => ({ method: "POST", body: JSON.stringify(value) })

/** Ways in that wait for the model, and the operation that they are known as. */
const waiting: Readonly<Record<string, readonly [string, RequestInit, string]>> = {
  "a search by URL": [question, {}, "memories.search"],
  "a search by body": ["/v1/memories/search", body({ query: asked, mode: "answer" }), "memories.search"],
  "a reading on trial": [
    "/v1/memories/extract",
    body({ conversation: [{ role: "user", content: "I am Ann." }] }),
    "memories.extract"
  ],
  "a tool of MCP": [
    "/mcp",
    body({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "memory_search", arguments: { query: asked, mode: "answer" } }
    }),
    "mcp.message"
  ]
}

it.each(Object.entries(waiting))(
  "%s whose client leaves is no error and costs nothing",
  async (_, [path, init, operation]) => {
    const spent = async () => (await alice.call("GET", "/v1/credits")).body
    const before = [await spent(), (await points()).errors, model.requests.length] as const
    const client = new AbortController()
    const headers = {
      authorization: `Bearer ${alice.key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream"
    }
    const lost = fetch(`${server.url}${path}`, { headers, ...init, signal: client.signal })
    await vi.waitFor(() => expect(model.requests.length).toBeGreaterThan(before[2]), patienceMillis)
    client.abort()
    await expect(lost).rejects.toThrow()
    await vi.waitFor(async () => {
      const { body: history } = await alice.call("GET", `/v1/account/requests?limit=1&operation=${operation}`)
      expect(history.requests[0]).toMatchObject({ operation, status: 499 })
    }, patienceMillis)
    expect(await spent()).toEqual(before[0])
    expect((await points()).errors).toBe(before[1])
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    expect(metrics).toMatch(/http_requests_total\{[^}]*status="499"\} [1-9]/)
    expect(metrics).not.toMatch(/http_requests_total\{[^}]*status="5/)
    await vi.waitFor(() => expect(server.output()).toMatch(/"status":499/), patienceMillis)
    expect(server.output()).not.toMatch(/"status":5\d\d/)
  }
)

it("who leaves was not refused", async () => {
  const of = async (refused: boolean) =>
    (await alice.call("GET", `/v1/account/requests?refused=${refused}&limit=100`)).body.requests.map(
      ({ status }: { readonly status: number }) => status
    )
  expect(await of(true)).not.toContain(499)
  expect(await of(false)).toContain(499)
})

describe("an operator who leaves", () => {
  const conversation = [{ id: "m1", role: "user", content: "I am Zoe and I live in Quimper." }]
  const thinking = { agentId: "zoe", conversation, wait: "extraction" }
  const eventsOf = async (account: string, action: string) =>
    (await server.asOperator("GET", `/admin/audit?subject=${account}&action=${action}`)).body.events
  const left = (path: string, body: object, headers: Readonly<Record<string, string>> = {}) => {
    const client = new AbortController()
    const all = { authorization: `Bearer ${server.operatorToken}`, "content-type": "application/json", ...headers }
    const lost = fetch(`${server.url}${path}`, {
      method: "POST",
      headers: all,
      body: JSON.stringify(body),
      signal: client.signal
    })
    return async () => {
      client.abort()
      await expect(lost).rejects.toThrow()
    }
  }

  it("leaves the event of what was changed in place of an account", async () => {
    const zoe = await accountCalls(server, "zoe")
    model.script({ kind: "slow", millis: 500, then: answer({}) })
    const before = model.requests.length
    const leave = left("/v1/memories", thinking, { "x-account": "zoe" })
    await vi.waitFor(() => expect(model.requests.length).toBeGreaterThan(before), patienceMillis)
    await leave()
    await vi.waitFor(async () => {
      expect((await zoe.call("GET", "/v1/memories?agentId=zoe&include=extracted")).body.total).toBeGreaterThan(0)
      expect(await eventsOf("zoe", "memories.create")).toMatchObject([{ operator: "operator" }])
    }, patienceMillis)
  })

  it("does not stop an erasure that has begun", async () => {
    const zed = await accountCalls(server, "zed")
    model.script({ kind: "slow", millis: 5_000, then: answer({}) })
    const before = model.requests.length
    // The erasure waits for it.
    const underWay = zed.post("/v1/memories", thinking)
    await vi.waitFor(() => expect(model.requests.length).toBeGreaterThan(before), patienceMillis)
    const leave = left("/admin/accounts/erase", { account: "zed" })
    await vi.waitFor(async () => {
      expect((await zed.call("GET", "/v1/account")).body.code).toBe("account_suspended")
    }, patienceMillis)
    await leave()
    await underWay
    await vi.waitFor(async () => {
      expect((await zed.call("GET", "/v1/account")).body.code).toBe("invalid_api_key")
      expect(await eventsOf("zed", "accounts.erase")).toMatchObject([{ operator: "operator" }])
    }, patienceMillis)
  })
})

/** Sums over the last hour. */
const points = async (): Promise<{ readonly errors: number }> => {
  const { body: series } = await server.asOperator("GET", "/admin/series?window=hour")
  const errors = series.points.map((point: { readonly errors: number }) => point.errors)
  return { errors: errors.reduce((sum: number, count: number) => sum + count, 0) }
}
