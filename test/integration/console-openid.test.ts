/**
 * Signing in to the console by OpenID Connect, at a real provider on this machine, in a real browser and by requests that
 * no browser would send (contract: Console).
 */
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { Provider } from "oidc-provider"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openPage, useBrowser } from "../support/Browser.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { refusalOf, startServer, type TestServer } from "../support/TestServer.ts"

const clientSecret = "a-secret-that-provider-and-service-share"

/** Everybody may sign in at the provider; `unverified` has an address that nobody has looked at. */
const providerAt = (issuer: string, redirectUri: string) =>
  new Provider(issuer, {
    clients: [{ client_id: "muniment", client_secret: clientSecret, redirect_uris: [redirectUri] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
    scopes: ["openid", "email", "groups"],
    pkce: { required: () => true },
    cookies: { keys: ["only for tests"] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: async () => ({
        sub: id,
        email: `${id === "unverified" ? "alice" : id}@example.com`,
        email_verified: id !== "unverified",
        groups: id === "gwen" ? ["staff", "operations"] : ["staff"]
      })
    })
  })

let server: TestServer
let listener: Server
const browser = useBrowser()

beforeAll(async () => {
  listener = createServer()
  listener.listen(0, "127.0.0.1")
  await once(listener, "listening")
  const issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  server = await startServer({
    environment: {
      ...withoutModel,
      MUNIMENT_OPENID_ISSUER: issuer,
      MUNIMENT_OPENID_CLIENT_ID: "muniment",
      MUNIMENT_OPENID_CLIENT_SECRET: clientSecret,
      MUNIMENT_OPENID_SCOPE: "openid email groups",
      MUNIMENT_OPENID_ROLES: "email=alice@example.com:admin,groups=operations:maintainer,email=gwen@example.com:viewer"
    }
  })
  listener.on("request", providerAt(issuer, `${server.url}/console/openid/callback`).callback())
})
afterAll(async () => {
  listener.closeAllConnections()
  listener.close()
  await server.stop()
})

/** At the provider's own pages. */
const signInAs = async (page: Page, name: string) => {
  await page.goto(`${server.url}/console`)
  await page.getByRole("link", { name: "Sign in with OpenID Connect" }).click()
  await page.locator("input[name=login]").fill(name)
  await page.locator("input[name=password]").fill("any")
  await page.locator("button[type=submit]").click()
  await page.locator("form button[type=submit]").click()
  await page.waitForURL(`${server.url}/console**`)
}

describe("a person whom the provider knows", () => {
  it("gets the role of an address, and stands in the audit log under it", async () => {
    const { page } = await openPage(browser, server)
    await signInAs(page, "alice")
    await page.getByRole("banner").getByText("oidc:alice@example.com").waitFor()
    await page.getByRole("banner").getByText("admin").waitFor()
    await page.getByRole("link", { name: "Accounts and keys" }).click()
    await page.getByRole("button", { name: "New account …" }).click()
    await page.getByRole("dialog").getByLabel("Name").fill("by alice")
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click()
    await page.getByRole("complementary", { name: "Account" }).waitFor()
    const { events } = (await server.asOperator("GET", "/admin/audit?subject=by%20alice")).body
    expect(events).toMatchObject([{ operator: "oidc:alice@example.com", action: "admin.createAccount" }])
    await page.evaluate("location.hash = '#/system?show=operators'")
    await page.getByRole("button", { name: "New operator …" }).click()
    await page.getByRole("dialog").getByLabel("Name").fill("eve")
    await page.getByRole("dialog").getByRole("button", { name: "Add" }).click()
    await page.getByRole("button", { name: "I have stored it" }).click()
    expect((await server.asOperator("GET", "/admin/operators")).body.operators).toMatchObject([
      { name: "eve", madeBy: "oidc:alice@example.com" }
    ])
    await page.context().close()
  })

  it("gets the highest role of groups and address, and no more", async () => {
    const { page } = await openPage(browser, server)
    await signInAs(page, "gwen")
    await page.getByRole("banner").getByText("maintainer").waitFor()
    await page.getByRole("link", { name: "System" }).click()
    await page.getByRole("link", { name: "Daily job" }).waitFor()
    expect(await page.getByRole("link", { name: "Operators" }).count()).toBe(0)
    await page.context().close()
  })

  it.each(["stranger", "unverified"])("is refused without a role, as %s is", async (name) => {
    const { page } = await openPage(browser, server)
    await signInAs(page, name)
    await page.getByText("no role").waitFor()
    expect((await page.context().cookies(server.url)).map((cookie) => cookie.name)).not.toContain(sessionCookie())
    await page.context().close()
  })

  it("is signed out when an operator ends the session", async () => {
    const { page } = await openPage(browser, server)
    await signInAs(page, "gwen")
    await page.getByRole("banner").getByText("maintainer").waitFor()
    const { sessions } = (await server.asOperator("GET", "/admin/sessions")).body
    // A link would let them in again without the provider.
    const made = await page.evaluate<string>(`(async () => {
      const { session } = await (await fetch("/console/session")).json()
      const headers = { "x-csrf-token": session.csrf }
      return (await (await fetch("/admin/console-links", { method: "POST", headers })).json()).code
    })()`)
    expect(made).toBe("operator_role")
    expect(sessions[0]).toMatchObject({ operator: { name: "oidc:gwen@example.com", role: "maintainer" } })
    await server.asOperator("DELETE", `/admin/sessions/${sessions[0].id}`)
    await page.reload()
    await page.getByRole("link", { name: "Sign in with OpenID Connect" }).waitFor()
    await page.context().close()
  })
})

const sessionCookie = () => `muniment_session_${new URL(server.url).port}`

const visit = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(path.startsWith("http") ? path : `${server.url}${path}`, { headers, redirect: "manual" })
  return {
    status: response.status,
    to: response.headers.get("location") ?? "",
    cookies: response.headers.getSetCookie()
  }
}

const begin = async () => {
  const { cookies, to } = await visit("/console/openid")
  return { cookie: cookies[0]!.split(";")[0]!, asked: new URL(to) }
}

const failed = { status: 302, to: "/console#refused=sign_in_failed", cookies: [] }

describe("a sign-in", () => {
  it("asks with PKCE, a state and a nonce of its own, and a cookie that no script reads", async () => {
    const [one, other] = [await begin(), await begin()]
    for (const name of ["state", "nonce", "code_challenge"]) {
      expect(one.asked.searchParams.get(name)).toMatch(/^[\w-]{43,}$/)
      expect(one.asked.searchParams.get(name)).not.toBe(other.asked.searchParams.get(name))
    }
    expect(Object.fromEntries(one.asked.searchParams)).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      redirect_uri: `${server.url}/console/openid/callback`,
      scope: "openid email groups"
    })
    const [cookie] = (await visit("/console/openid")).cookies
    for (const attribute of ["HttpOnly", "SameSite=Lax", "Max-Age=600"]) expect(cookie).toContain(attribute)
  })

  it("is ended by the browser that began it, with its state, once", async () => {
    const { asked, cookie } = await begin()
    const state = asked.searchParams.get("state")!
    const iss = asked.origin
    const callback = (query: Record<string, string>) => `/console/openid/callback?${new URLSearchParams(query)}`
    // Of another browser, such as one that is led here by somebody who wants it signed in as them.
    expect(await visit(callback({ code: "x", state, iss }))).toEqual(failed)
    const stranger = await begin()
    expect(await visit(callback({ code: "x", state, iss }), { cookie: stranger.cookie })).toEqual(failed)
    expect(await visit(callback({ code: "x", state: "guessed", iss }), { cookie })).toEqual(failed)
    // Used up by the attempt before, whatever it brings now.
    expect(await visit(callback({ code: "x", state, iss }), { cookie })).toEqual(failed)
    const refusing = await begin()
    const refusal = callback({ error: "access_denied", state: refusing.asked.searchParams.get("state")!, iss })
    expect(await visit(refusal, { cookie: refusing.cookie })).toEqual(failed)
    const made = await begin()
    const forged = callback({ code: "forged", state: made.asked.searchParams.get("state")!, iss })
    expect(await visit(forged, { cookie: made.cookie })).toEqual(failed)
  })

  it("is ended though hundreds of strangers begin theirs meanwhile", async () => {
    const { page } = await openPage(browser, server)
    await page.goto(`${server.url}/console`)
    await page.getByRole("link", { name: "Sign in with OpenID Connect" }).click()
    await page.locator("input[name=login]").fill("gwen")
    await page.locator("input[name=password]").fill("any")
    for (let round = 0; round < 20; round += 1) await Promise.all(Array.from({ length: 20 }, begin))
    await page.locator("button[type=submit]").click()
    await page.locator("form button[type=submit]").click()
    await page.getByRole("banner").getByText("maintainer").waitFor()
    await page.context().close()
  })

  it("is begun and ended on this machine alone, unless the console is remote", async () => {
    const elsewhere = { "x-forwarded-for": "198.51.100.7" }
    for (const path of ["/console/openid", "/console/openid/callback?code=x&state=y"]) {
      expect(await visit(path, elsewhere)).toEqual({ status: 302, to: "/console#refused=operator_only", cookies: [] })
    }
  })

  it("leaves no secret in the log", async () => {
    const { asked, cookie } = await begin()
    await visit(`/console/openid/callback?code=confidential&state=${asked.searchParams.get("state")}`, { cookie })
    for (const secret of [clientSecret, "confidential", cookie.split("=")[1]!]) {
      expect(server.output()).not.toContain(secret)
    }
    expect(server.output()).toContain("a sign-in by OpenID Connect was refused")
  })
})

describe("a service without a provider", () => {
  it("offers no such sign-in", async () => {
    await using plain = await disposable()
    expect((await plain.server.call("GET", "/console/session", { key: null })).body).toMatchObject({ openId: false })
    expect(refusalOf(await plain.server.call("GET", "/console/openid", { key: null }))).toEqual([
      404,
      "route_not_found"
    ])
    expect((await server.call("GET", "/console/session", { key: null })).body).toMatchObject({ openId: true })
  })
})

const disposable = async () => {
  const started = await startServer({ environment: withoutModel })
  return { server: started, [Symbol.asyncDispose]: async () => void (await started.stop()) }
}
