/** Traces over OTLP (packages/server/docs/operations.md, Traces): a real collector's side of the wire, and what no span holds. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, expect, it } from "vitest"
import { operatorKey, patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: object }>
  readonly status: { readonly code: number }
}

const bodies: Array<string> = []
const paths = new Set<string>()
const collector = createServer((request, response) => {
  let body = ""
  request.on("data", (chunk: Buffer) => (body += chunk.toString()))
  request.on("end", () => {
    paths.add(request.url ?? "")
    bodies.push(body)
    response.writeHead(200, { "content-type": "application/json" }).end("{}")
  })
})

let server: TestServer

beforeAll(async () => {
  collector.listen(0, "127.0.0.1")
  await once(collector, "listening")
  const { port } = collector.address() as AddressInfo
  server = await startServer({
    environment: { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_OTLP_URL: `http://127.0.0.1:${port}/` }
  })
})
afterAll(async () => {
  await server.stop()
  collector.close()
})

const spans = (): ReadonlyArray<Span> =>
  bodies.flatMap((body) =>
    (JSON.parse(body).resourceSpans as ReadonlyArray<{ readonly scopeSpans: ReadonlyArray<{ spans: Array<Span> }> }>)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap((scope) => scope.spans)
  )
const named = (name: string) => spans().filter((span) => span.name === name)

it("spans lead from a request to its command and its queries, and hold nothing that was said", async () => {
  const memories = [{ kind: "factual_memory", data: { subject: "xylographer", fact: "xylographic" } }]
  const body = { agentId: "agent-xyz", subjectId: "subject-xyz", memories }
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
  await server.call("POST", "/v1/memories", { body, headers: { traceparent } })
  await server.call("GET", "/v1/memories/search?query=xylographic&agentId=agent-xyz")
  await server.call("POST", "/v1/memories", { body: { ...body, memories: [{ kind: "xylokind", data: {} }] } })
  await expect.poll(() => named("POST /v1/memories").length, { timeout: patienceMillis }).toBe(2)
  await expect.poll(() => named("GET /v1/memories/search").length, { timeout: patienceMillis }).toBe(1)
  await expect.poll(() => named("NamespaceHost.StoreMemories").length, { timeout: patienceMillis }).toBe(1)
  expect([...paths]).toEqual(["/v1/traces"])

  const write = named("POST /v1/memories").find(({ traceId }) => traceparent.includes(traceId))
  expect(write?.parentSpanId).toBe("b7ad6b7169203331")
  const [commit] = named("NamespaceHost.StoreMemories")
  expect(commit?.traceId).toBe(write?.traceId)
  const statuses = named("POST /v1/memories").map(({ attributes }) =>
    JSON.stringify(attributes.find(({ key }) => key === "http.response.status_code")?.value)
  )
  expect(statuses.toSorted().map((text) => /\d+/.exec(text)?.[0])).toEqual(["200", "400"])
  const [search] = named("GET /v1/memories/search")
  expect(named("MemorySearch.search").map(({ traceId }) => traceId)).toEqual([search?.traceId])
  expect(search?.parentSpanId ?? "").toBe("")

  const everything = bodies.join("\n")
  for (const word of [
    "xylo",
    "agent-xyz",
    "subject-xyz",
    operatorKey,
    server.operatorToken,
    "SELECT",
    server.dataDirectory
  ])
    expect(everything.includes(word), word).toBe(false)
})
