/** What a proxy on the same machine does not open: `/admin` and `/metrics` (contract: Operator routes). */
import { once } from "node:events"
import { createServer, request as send, type IncomingHttpHeaders, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"

const server = useSharedServer(withoutModel)
let proxy: Server
let proxied: number

/** One request with exactly these headers; status and body. */
const get = async (port: number, path: string, headers: IncomingHttpHeaders) => {
  const sent = send({ host: "127.0.0.1", port, path, headers }).end()
  const [answer] = await once(sent, "response")
  return { status: answer.statusCode as number, body: await text(answer) }
}

beforeAll(async () => {
  const { port } = new URL(server.url)
  // As nginx and Caddy do: the client's address is added, the host is passed on.
  proxy = createServer((request, response) => {
    const headers = { ...request.headers, "x-forwarded-for": "203.0.113.9" }
    const onward = send({ host: "127.0.0.1", port, method: request.method, path: request.url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  proxy.listen(0, "127.0.0.1")
  await once(proxy, "listening")
  proxied = (proxy.address() as AddressInfo).port
})
afterAll(() => void proxy.close())

const operator = () => ({ authorization: `Bearer ${server.operatorToken}` })

describe("behind a proxy on the same machine", () => {
  it.each(["/admin/status", "/admin/accounts", "/metrics"])("%s is closed, with the token too", async (path) => {
    const refused = await get(proxied, path, operator())
    expect([refused.status, JSON.parse(refused.body).code]).toEqual([403, "operator_only"])
  })

  it("the contract is served", async () => {
    expect((await get(proxied, "/health/live", {})).status).toBe(200)
    const key = await server.newAccount("proxied")
    expect((await get(proxied, "/v1/account", { authorization: `Bearer ${key}` })).status).toBe(200)
  })
})

describe("on this machine", () => {
  const port = () => Number(new URL(server.url).port)

  it.each([
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example@127.0.0.1",
    "127.0.0.1/evil.example",
    "localhost#.evil.example"
  ])("the host %j opens neither /admin nor /metrics", async (host) => {
    for (const path of ["/admin/status", "/metrics"]) {
      const refused = await get(port(), path, { ...operator(), host })
      expect([400, 403]).toContain(refused.status)
    }
  })

  it.each(["localhost", "127.0.0.1", "[::1]"])("the host %s opens both", async (name) => {
    const host = `${name}:${port()}`
    expect((await get(port(), "/admin/status", { ...operator(), host })).status).toBe(200)
    expect((await get(port(), "/metrics", { host })).status).toBe(200)
  })

  it.each(["x-forwarded-for", "x-forwarded-host", "x-real-ip", "forwarded", "via"])(
    "%s says that it is not",
    async (header) => {
      expect((await get(port(), "/metrics", { [header]: "127.0.0.1" })).status).toBe(403)
    }
  )
})
