/** Clients that leave before their answer (contract: Operator routes): 499 wherever calls are counted, never an error. */
import { afterAll, beforeAll, expect, it, vi } from "vitest"
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
    expect(server.output()).toMatch(/"status":499/)
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

/** Sums over the last hour. */
const points = async (): Promise<{ readonly errors: number }> => {
  const { body: series } = await server.asOperator("GET", "/admin/series?window=hour")
  const errors = series.points.map((point: { readonly errors: number }) => point.errors)
  return { errors: errors.reduce((sum: number, count: number) => sum + count, 0) }
}
