/** Signing in to the console: links for one use, cookies, the token that changes need, acting for an account. */
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { json } from "node:stream/consumers"
import { expect, it } from "vitest"
import { fact, idsOf } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({ environment: withoutModel })

interface Browser {
  readonly cookie: string
  readonly csrf: string
}

const send = async (path: string, init: RequestInit & { readonly headers?: Record<string, string> } = {}) => {
  const response = await fetch(`${server.url}${path}`, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text.startsWith("{") ? JSON.parse(text) : text }
}

const signIn = (body: object, headers: Record<string, string> = {}) =>
  send("/console/session", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body)
  })

/** With headers that `fetch` keeps for itself. */
const signInAs = async (body: object, headers: Record<string, string>) => {
  const sent = request(`${server.url}/console/session`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers }
  })
  sent.end(JSON.stringify(body))
  const [answer] = (await once(sent, "response")) as [IncomingMessage]
  return { status: answer.statusCode, headers: answer.headers, body: (await json(answer)) as { code?: string } }
}

const makeLink = async (): Promise<string> => {
  const { body } = await server.asOperator("POST", "/admin/console-links")
  return body.link.url
}

const tokenOf = (url: string): string => url.split("#link=")[1] ?? ""

const browserOf = async (credentials: object): Promise<Browser> => {
  const { body, headers } = await signIn(credentials)
  return { cookie: (headers.get("set-cookie") ?? "").split(";")[0]!, csrf: body.session.csrf }
}

const operatorBrowser = async () => browserOf({ link: tokenOf(await makeLink()) })

it("signs an operator in by a link, once, with a cookie that no script reads and no other site sends", async () => {
  const url = await makeLink()
  // Of a cluster: of the node that runs the request layer, which any other carries on.
  expect(server.processes.map((each) => `${each.url}/console`)).toContain(url.split("#link=")[0])
  const first = await signIn({ link: tokenOf(url) })
  expect([first.status, first.body.session.role]).toEqual([200, "operator"])
  const cookie = first.headers.get("set-cookie") ?? ""
  for (const attribute of ["HttpOnly", "SameSite=Strict", "Path=/"]) expect(cookie).toContain(attribute)
  expect(refusalOf(await signIn({ link: tokenOf(url) }))).toEqual([401, "invalid_link"])
})

it("opens operator routes by the cookie, and changes only with the token of the session", async () => {
  const { cookie, csrf } = await operatorBrowser()
  expect((await send("/admin/status", { headers: { cookie } })).status).toBe(200)
  const change = (headers: Record<string, string>) =>
    send("/admin/accounts", {
      method: "POST",
      headers: { cookie, "content-type": "application/json", ...headers },
      body: JSON.stringify({ name: "by the console" })
    })
  expect((await change({})).body.code).toBe("csrf")
  expect((await change({ "x-csrf-token": "guessed" })).body.code).toBe("csrf")
  expect((await change({ "x-csrf-token": csrf })).status).toBe(200)
  const { body } = await send("/admin/audit", { headers: { cookie } })
  expect(body.events[0]).toMatchObject({ action: "admin.createAccount", subject: "by the console" })
})

it("lets the operator act for a named account alone, writes that down, and charges nothing", async () => {
  const key = await server.newAccount("looked at", "starter")
  const body = { agentId: "a", memories: [fact("tea", "oolong")] }
  const [id] = idsOf((await server.call("POST", "/v1/memories", { key, body })).body.created)
  const before = (await server.call("GET", "/v1/credits", { key })).body
  const { cookie, csrf } = await operatorBrowser()
  const headers = { cookie, "x-account": "looked at" }
  expect((await send("/v1/memories", { headers })).body.memories.map((memory: { id: string }) => memory.id)).toEqual([
    id
  ])
  expect((await send("/v1/memories", { headers: { cookie } })).body.code).toBe("missing_credentials")
  expect((await send("/v1/memories", { headers: { cookie, "x-account": "nobody" } })).body.code).toBe("operator_only")
  const removed = await send(`/v1/memories/${id}`, { method: "DELETE", headers: { ...headers, "x-csrf-token": csrf } })
  expect(removed.status).toBe(200)
  expect((await server.call("GET", "/v1/credits", { key })).body).toEqual(before)
  const { events } = (await send("/admin/audit", { headers: { cookie } })).body
  expect(events[0]).toMatchObject({ action: "memories.delete", subject: "looked at" })
  const byToken = await server.call("GET", "/v1/memories", {
    key: server.operatorToken,
    headers: { "x-account": "looked at" }
  })
  expect([byToken.status, byToken.body.total]).toEqual([200, 0])
  const stranger = await server.call("GET", "/v1/memories", { key, headers: { "x-account": "looked at" } })
  expect([stranger.status, stranger.body.code]).toEqual([403, "operator_only"])
})

it("gives an account its own memories by its key, no operator route and no other account, until the key goes", async () => {
  const key = await server.newAccount("own page")
  const other = await server.newAccount("someone else")
  await server.call("POST", "/v1/memories", {
    key: other,
    body: { agentId: "a", memories: [fact("canary", "yellow")] }
  })
  const { cookie } = await browserOf({ key })
  expect((await send("/v1/memories", { headers: { cookie } })).body).toMatchObject({ total: 0 })
  for (const path of ["/admin/status", "/admin/accounts", "/admin/sessions"]) {
    expect((await send(path, { headers: { cookie } })).body.code).toBe("operator_only")
  }
  const posing = await send("/v1/memories", { headers: { cookie, "x-account": "someone else" } })
  expect(posing.body.code).toBe("operator_only")
  const { keys } = (await server.asOperator("GET", "/admin/keys?account=own%20page")).body
  await server.asOperator("DELETE", `/admin/keys/${keys[0].id}`)
  expect((await send("/v1/memories", { headers: { cookie } })).body.code).toBe("invalid_api_key")
})

it("signs no account in that is suspended, and says so", async () => {
  const key = await server.newAccount("paused")
  await server.asOperator("POST", "/admin/accounts/suspend", { account: "paused" })
  const refused = await signIn({ key })
  expect([refused.status, refused.body.code, refused.headers.get("set-cookie")]).toEqual([
    403,
    "account_suspended",
    null
  ])
  await server.asOperator("POST", "/admin/accounts/resume", { account: "paused" })
  expect((await signIn({ key })).status).toBe(200)
})

it("ends a stream of events with the session that opened it, before the next event", async () => {
  const key = await server.newAccount("followed")
  const create = async (text: string): Promise<string> => {
    const body = { agentId: "a", memories: [fact("canary", text)] }
    return idsOf((await server.call("POST", "/v1/memories", { key, body })).body.created)[0]!
  }
  await create("yellow")
  const sessions = [
    { browser: await operatorBrowser(), headers: { "x-account": "followed" } },
    { browser: await browserOf({ key }), headers: {} }
  ]
  for (const { browser, headers } of sessions) {
    const { cookie, csrf } = browser
    const response = await fetch(`${server.url}/v1/events?from=oldest`, {
      headers: { ...headers, cookie, accept: "text/event-stream" }
    })
    expect(response.status).toBe(200)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    await reader.read()
    await send("/console/session", { method: "DELETE", headers: { cookie, "x-csrf-token": csrf } })
    const behind = await create("green")
    let rest = ""
    for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value
    expect(rest).not.toContain(behind)
  }
})

it("ends a session by its browser and by the operator", async () => {
  const leaving = await operatorBrowser()
  await send("/console/session", {
    method: "DELETE",
    headers: { cookie: leaving.cookie, "x-csrf-token": leaving.csrf }
  })
  expect((await send("/admin/status", { headers: { cookie: leaving.cookie } })).body.code).toBe("session_ended")
  const ended = await operatorBrowser()
  const { sessions } = (await server.asOperator("GET", "/admin/sessions")).body
  expect(sessions[0]).toMatchObject({ role: "operator", account: null })
  expect(JSON.stringify(sessions)).not.toContain(ended.csrf)
  await server.asOperator("DELETE", `/admin/sessions/${sessions[0].id}`)
  expect((await send("/console/session", { headers: { cookie: ended.cookie } })).body.session).toBe(null)
})

it("signs nobody in for a page of another site, and keeps the link", async () => {
  const link = tokenOf(await makeLink())
  const { host } = new URL(server.url)
  const foreign: ReadonlyArray<Record<string, string>> = [
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site", origin: "http://127.0.0.1:1" },
    { origin: "https://elsewhere.example" },
    { origin: `http://${host}.elsewhere.example` },
    { origin: "null" }
  ]
  for (const headers of foreign) {
    const refused = await signInAs({ link }, headers)
    expect([refused.status, refused.body.code, refused.headers["set-cookie"]]).toEqual([403, "csrf", undefined])
  }
  expect(refusalOf(await signInAs({ link }, { "content-type": "text/plain" }))).toEqual([400, "invalid_request"])
  const own = await signInAs({ link }, { origin: server.url, "sec-fetch-site": "same-origin" })
  expect(own.status).toBe(200)
  const old = await signInAs({ link: tokenOf(await makeLink()) }, { origin: server.url })
  expect(old.status).toBe(200)
})

it("signs no operator in through a proxy or under another name, and keeps the link", async () => {
  const link = tokenOf(await makeLink())
  expect(refusalOf(await signIn({ link }, { "x-forwarded-for": "198.51.100.7" }))).toEqual([403, "operator_only"])
  expect((await signIn({ link })).status).toBe(200)
})

it("serves a page that loads from here alone, and tells a program at the root where things are", async () => {
  const page = await send("/console", { headers: { accept: "text/html" } })
  const policy = page.headers.get("content-security-policy") ?? ""
  for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
    expect(policy).toContain(rule)
  const [script] = /console\/assets\/main-\w+\.js/.exec(page.body) ?? []
  const asset = await send(`/${script}`)
  expect(asset.headers.get("cache-control")).toContain("immutable")
  expect((await send("/console/assets/main-AAAAAAAA.js")).status).toBe(404)
  expect((await send("/", { headers: { accept: "application/json" } })).body).toMatchObject({ console: "/console" })
  const led = await fetch(server.url, { headers: { accept: "text/html" }, redirect: "manual" })
  expect([led.status, led.headers.get("location")]).toEqual([302, "/console"])
})
