/**
 * The console by the public URL (`MUNIMENT_CONSOLE=remote`), behind a proxy that ends TLS and asks the service under its
 * own name: an operator signs in, and nobody else gets further than without the proxy (contract: Console).
 */
import { once } from "node:events"
import { createServer, request as send, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"
import { afterAll, beforeAll, expect, it } from "vitest"
import { withoutModel } from "../support/SharedServer.ts"
import { useServer } from "../support/useServer.ts"

const publicUrl = "https://memory.example"

const server = useServer({
  environment: {
    ...withoutModel,
    MUNIMENT_CONSOLE: "remote",
    MUNIMENT_PUBLIC_URL: publicUrl,
    MUNIMENT_TRUSTED_PROXIES: "127.0.0.1"
  }
})
let proxy: Server
beforeAll(async () => {
  const { host, port } = new URL(server.url)
  proxy = createServer((request, response) => {
    const headers = { ...request.headers, host, "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https" }
    const onward = send({ host: "127.0.0.1", port, method: request.method, path: request.url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  proxy.listen(0, "127.0.0.1")
  await once(proxy, "listening")
})
afterAll(async () => {
  proxy.close()
})

type Headers = Readonly<Record<string, string>>

/** What the answers hold that is looked at. */
interface Told {
  readonly code?: string
  readonly session?: { readonly role: string; readonly csrf: string }
  readonly sessions?: ReadonlyArray<object>
}

/** Through the proxy, with headers that `fetch` keeps for itself. */
const call = async (method: string, path: string, headers: Headers, body?: object) => {
  const sent = send({
    host: "127.0.0.1",
    port: (proxy.address() as AddressInfo).port,
    method,
    path,
    headers: { host: "memory.example", ...(body !== undefined && { "content-type": "application/json" }), ...headers }
  })
  sent.end(body === undefined ? undefined : JSON.stringify(body))
  const [answer] = (await once(sent, "response")) as [IncomingMessage]
  const told = (await json(answer)) as Told
  return { status: answer.statusCode, code: told.code, body: told, cookie: answer.headers["set-cookie"]?.[0] }
}

const makeLink = async (): Promise<string> => {
  const { body } = await server.asOperator("POST", "/admin/console-links")
  return body.link.url
}
const tokenOf = (url: string): string => url.split("#link=")[1] ?? ""

/** Of a browser that shows the console's own page; an old one names its origin alone. */
const ownPages: ReadonlyArray<Headers> = [{ origin: publicUrl, "sec-fetch-site": "same-origin" }, { origin: publicUrl }]
const foreignPages: ReadonlyArray<Headers> = [
  { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
  { origin: "https://other.memory.example", "sec-fetch-site": "same-site" },
  { origin: "https://memory.example.evil.example" },
  { origin: "http://memory.example" },
  { origin: "null" }
]

it("signs an operator in once by a link to the public URL, with a cookie for TLS alone", async () => {
  for (const own of ownPages) {
    const url = await makeLink()
    expect(url.startsWith(`${publicUrl}/console#link=`)).toBe(true)
    const link = tokenOf(url)
    for (const foreign of foreignPages) {
      const refused = await call("POST", "/console/session", foreign, { link })
      expect([foreign, refused.status, refused.code, refused.cookie]).toEqual([foreign, 403, "csrf", undefined])
    }
    const signedIn = await call("POST", "/console/session", own, { link })
    expect([signedIn.status, signedIn.body.session?.role]).toEqual([200, "operator"])
    for (const attribute of ["HttpOnly", "SameSite=Strict", "Secure"]) expect(signedIn.cookie).toContain(attribute)
    const again = await call("POST", "/console/session", own, { link })
    expect([again.status, again.code]).toEqual([401, "invalid_link"])
  }
})

it("opens operator routes by the session, changes with its token only, and never by the operator's own token", async () => {
  const signedIn = await call("POST", "/console/session", ownPages[0]!, { link: tokenOf(await makeLink()) })
  const cookie = signedIn.cookie!.split(";")[0]!
  expect((await call("GET", "/admin/status", { cookie })).status).toBe(200)
  const change = (headers: Headers) => call("POST", "/admin/accounts", headers, { name: "from afar" })
  expect((await change({ cookie, origin: publicUrl })).code).toBe("csrf")
  expect((await change({ cookie, "x-csrf-token": signedIn.body.session?.csrf ?? "" })).status).toBe(200)
  const { body } = await call("GET", "/admin/sessions", { cookie })
  expect(body.sessions).toContainEqual(expect.objectContaining({ role: "operator", address: "203.0.113.9" }))
  for (const path of ["/admin/status", "/metrics"]) {
    const byToken = await call("GET", path, { authorization: `Bearer ${server.operatorToken}` })
    expect([path, byToken.status, byToken.code]).toEqual([path, 403, "operator_only"])
  }
  expect((await call("GET", "/metrics", { cookie })).code).toBe("operator_only")
  expect(
    (await call("GET", "/admin/status", { cookie: `muniment_session_${new URL(server.url).port}=guessed` })).code
  ).toBe("session_ended")
})
