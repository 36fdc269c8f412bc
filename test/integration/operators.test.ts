/**
 * Operators and their roles (contract: Operator routes): every route of the contract asked by each role, by a secret, by a
 * browser's session and in place of an account; who did it in the logs; what a revocation ends.
 */
import { describe, expect, it } from "vitest"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { isRead } from "@muniment/domain/api/Middleware"
import { mayDo, operatorRoles, roleNeeded } from "@muniment/domain/api/OperatorRoles"
import type { OperatorRole } from "@muniment/domain/Operator"
import { beforeTests } from "../support/beforeTests.ts"
import { fact } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { type Answer, refusalOf } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({ environment: withoutModel })

const add = async (name: string, role: OperatorRole): Promise<string> =>
  (await server.asOperator("POST", "/admin/operators", { name, role })).body.secret

const secrets = beforeTests(async () => ({
  viewer: await add("vera", "viewer"),
  maintainer: await add("mo", "maintainer"),
  admin: await add("ada", "admin")
}))

const routes = Object.values(MunimentApi.groups).flatMap((group) =>
  Object.values(group.endpoints).map((endpoint) => ({
    name: `${group.identifier}.${endpoint.identifier}`,
    method: endpoint.method,
    /** With parameters that name nothing. */
    path: endpoint.path.replaceAll(/:\w+/g, "nothing"),
    changes: !isRead(endpoint)
  }))
)
const adminRoutes = routes.filter(({ path }) => path.startsWith("/admin/"))
const accountRoutes = routes.filter(({ path }) => path.startsWith("/v1/"))

type Credentials = Readonly<Record<string, string>>

/** Bodies that say nothing: who may not call is refused before they are read. */
const ask = ({ method, path }: (typeof routes)[number], headers: Credentials): Promise<Answer> =>
  server.call(method, path, {
    key: null,
    headers,
    ...(["POST", "PUT", "PATCH"].includes(method) && { body: { nothing: "known" } })
  })

const bearer = (secret: string): Credentials => ({ authorization: `Bearer ${secret}` })

const signIn = async (body: object): Promise<Credentials> => {
  const answer = await server.call("POST", "/console/session", { key: null, body })
  const cookie = (answer.headers.get("set-cookie") ?? "").split(";")[0]!
  return { cookie, "x-csrf-token": answer.body.session.csrf }
}

/** Names of routes whose refusal is that of a role. */
const refusedOf = async (asked: ReadonlyArray<(typeof routes)[number]>, headers: Credentials) => {
  const refused: Array<string> = []
  for (const route of asked) {
    const [status, code] = refusalOf(await ask(route, headers))
    expect([route.name, status, code]).not.toEqual([route.name, 403, "operator_only"])
    if (code === "operator_role") refused.push(`${route.name} ${status}`)
  }
  return refused
}

const beyond = (role: OperatorRole) =>
  adminRoutes.filter(({ name }) => !mayDo(role, roleNeeded(name))).map(({ name }) => `${name} 403`)

const eventsOf = async (query: string) => (await server.asOperator("GET", `/admin/audit?${query}`)).body.events

describe("the roles", () => {
  it("say of every operator route what it needs, and of every change more than a look", () => {
    expect(Object.keys(operatorRoles).toSorted()).toEqual(adminRoutes.map(({ name }) => name).toSorted())
    const open = adminRoutes.filter(({ changes, name }) => changes && roleNeeded(name) === "viewer")
    // A link signs its maker in, in the role that they have.
    expect(open.map(({ name }) => name)).toEqual(["sessions.createConsoleLink"])
    expect(roleNeeded("unheard.of")).toBe("admin")
  })

  it("stand in the OpenAPI document", async () => {
    const { paths } = (await server.call("GET", "/openapi.json", { key: null })).body
    expect(paths["/admin/ledger/adjustments"].post["x-operator-role"]).toBe("admin")
    expect(paths["/admin/status"].get["x-operator-role"]).toBe("viewer")
    expect(paths["/v1/memories"].get["x-operator-role"]).toBeUndefined()
  })

  it("keep a viewer from every change and a maintainer from money and operators, by secret and by session", async () => {
    for (const role of ["viewer", "maintainer"] as const) {
      const secret = secrets[role]
      expect(await refusedOf(adminRoutes, bearer(secret))).toEqual(beyond(role))
      expect(await refusedOf(adminRoutes, await signIn({ key: secret }))).toEqual(beyond(role))
    }
    expect(beyond("maintainer").length).toBeLessThan(beyond("viewer").length)
    expect(await eventsOf("operator=vera&action=admin")).toEqual([])
    const looked = await server.call("GET", "/admin/accounts", { key: secrets.viewer })
    expect([looked.status, looked.body.accounts.length]).toEqual([200, 1])
  })

  it("keep a viewer from every change in place of an account, by MCP too, and let the viewer read", async () => {
    const key = await server.newAccount("seen")
    const body = { agentId: "a", memories: [fact("tea", "oolong")] }
    expect((await server.call("POST", "/v1/memories", { key, body })).status).toBe(200)
    const changes = accountRoutes.filter((route) => route.changes).map(({ name }) => `${name} 403`)
    for (const headers of [bearer(secrets.viewer), await signIn({ key: secrets.viewer })]) {
      const acting = { ...headers, "x-account": "seen" }
      expect(await refusedOf(accountRoutes, acting)).toEqual(changes)
      const message = { jsonrpc: "2.0", id: 1, method: "tools/list" }
      expect(refusalOf(await server.call("POST", "/mcp", { key: null, headers: acting, body: message }))).toEqual([
        403,
        "operator_role"
      ])
      const { status, body: read } = await server.call("GET", "/v1/memories", { key: null, headers: acting })
      expect([status, read.total]).toEqual([200, 1])
    }
  })

  it("let nobody but an admin choose a plan that is not free", async () => {
    const make = (path: string, body: object, key: string) => server.call("POST", path, { key, body })
    const { maintainer, admin } = secrets
    expect(refusalOf(await make("/admin/accounts", { name: "rich", plan: "owner" }, maintainer))).toEqual([
      403,
      "operator_role"
    ])
    expect(refusalOf(await make("/admin/keys", { account: "rich", plan: "pro" }, maintainer))).toEqual([
      403,
      "operator_role"
    ])
    expect((await make("/admin/accounts", { name: "poor" }, maintainer)).body.account.plan).toBe("free")
    expect((await make("/admin/keys", { account: "poor", plan: "pro" }, maintainer)).status).toBe(200)
    expect((await make("/admin/accounts", { name: "rich", plan: "pro" }, admin)).body.account.plan).toBe("pro")
  })
})

describe("the logs", () => {
  it("say which operator did what, by secret, by session and in place of an account", async () => {
    const key = await server.newAccount("watched")
    await server.call("POST", "/admin/accounts/suspend", { key: secrets.maintainer, body: { account: "watched" } })
    const session = await signIn({ key: secrets.admin })
    await server.call("POST", "/admin/accounts/resume", { key: null, headers: session, body: { account: "watched" } })
    const body = { agentId: "a", memories: [fact("tea", "oolong")] }
    const acting = { ...bearer(secrets.maintainer), "x-account": "watched" }
    expect((await server.call("POST", "/v1/memories", { key: null, headers: acting, body })).status).toBe(200)
    expect(await eventsOf("subject=watched")).toMatchObject([
      { operator: "mo", action: "memories.create" },
      { operator: "ada", action: "accounts.resume" },
      { operator: "mo", action: "accounts.suspend" },
      { operator: "operator", action: "admin.createKey" }
    ])
    const calls = async (query: string) => (await server.asOperator("GET", `/admin/requests?${query}`)).body.requests
    const [call] = await calls("account=watched")
    expect(call).toMatchObject({ operation: "memories.create", caller: "operator:mo" })
    for (const query of ["operator=true", "caller=operator", "caller=operator:mo"]) {
      expect(await calls(`account=watched&${query}`)).toEqual([call])
    }
    expect(await calls("account=watched&operator=false")).toEqual([])
    // An account learns that an operator acted, not who.
    const own = (await server.call("GET", "/v1/account/requests", { key })).body.requests
    expect(own).toMatchObject([{ caller: "operator" }])
    expect(JSON.stringify(own)).not.toContain("operator:")
  })

  it("have every change, whatever it says of a dry run that it does not know", async () => {
    await server.newAccount("hidden")
    const { admin: key } = secrets
    const dryRun = true
    const acting = { ...bearer(key), "x-account": "hidden" }
    const call = { name: "memory_create", arguments: { agentId: "b", memories: [fact("tea", "sencha")] } }
    const asked = [
      await server.call("POST", "/admin/operators", { key, body: { name: "eve", role: "viewer", dryRun } }),
      await server.call("POST", "/admin/keys", { key, body: { account: "hidden", dryRun } }),
      await server.call("POST", "/admin/ledger/adjustments", {
        key,
        body: { account: "hidden", credits: 1, reason: "gift", key: "hidden", dryRun }
      }),
      await server.call("POST", "/admin/accounts/suspend", { key, body: { account: "hidden", dryRun } }),
      await server.call("POST", "/v1/memories", {
        key: null,
        headers: acting,
        body: { agentId: "a", memories: [fact("tea", "oolong")], dryRun }
      }),
      await server.call("POST", "/mcp", {
        key: null,
        headers: acting,
        body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: call, dryRun }
      })
    ]
    for (const { body, status } of asked) expect(status, JSON.stringify(body)).toBe(200)
    const actions = async (subject: string) =>
      (await eventsOf(`operator=ada&subject=${subject}`)).map(({ action }: { readonly action: string }) => action)
    expect(await actions("eve")).toEqual(["operators.addOperator"])
    const changes = ["mcp.message", "memories.create", "accounts.suspend", "money.adjust", "admin.createKey"]
    expect(await actions("hidden")).toEqual(changes)

    const filters = { agentId: "a" }
    const rehearsed = [
      await server.call("POST", "/v1/memories/batch/delete", { key: null, headers: acting, body: { filters, dryRun } }),
      await server.call("POST", "/admin/accounts/erase", { key, body: { account: "hidden", dryRun } })
    ]
    for (const { body, status } of rehearsed) expect(status, JSON.stringify(body)).toBe(200)
    expect(await actions("hidden")).toEqual(changes)
  })

  it("name whom an operator added and revoked, in which role, and have no secret", async () => {
    const secret = await add("nia", "viewer")
    await server.call("DELETE", "/admin/operators/nia", { key: secrets.admin })
    const events = await eventsOf("subject=nia")
    expect(events).toMatchObject([
      { operator: "ada", action: "operators.revokeOperator", detail: { name: "nia", role: "viewer" } },
      { operator: "operator", action: "operators.addOperator", detail: { name: "nia", role: "viewer" } }
    ])
    expect(JSON.stringify(events)).not.toContain(secret)
  })
})

describe("another role", () => {
  it("acts on the next request, with the same secret and session; one who was revoked gets none", async () => {
    const secret = await add("rising", "viewer")
    const session = await signIn({ key: secret })
    const mayAdd = async (name: string) => {
      const asked = [{ key: secret }, { key: null, headers: session }].map((credentials, at) =>
        server.call("POST", "/admin/operators", { ...credentials, body: { name: `${name}-${at}`, role: "viewer" } })
      )
      return (await Promise.all(asked)).map(({ status }) => status)
    }
    const change = (role: OperatorRole) =>
      server.call("PATCH", "/admin/operators/rising", { key: secrets.admin, body: { role } })
    expect(await mayAdd("first")).toEqual([403, 403])
    expect((await change("admin")).body.operator).toMatchObject({ name: "rising", role: "admin" })
    expect(await mayAdd("second")).toEqual([200, 200])
    await change("maintainer")
    expect(await mayAdd("third")).toEqual([403, 403])
    await server.asOperator("DELETE", "/admin/operators/rising")
    expect(refusalOf(await change("admin"))).toEqual([404, "operator_not_found"])
    const { events } = (await server.asOperator("GET", "/admin/audit?subject=rising")).body
    expect(events.map(({ action, detail }: { action: string; detail: object }) => [action, detail])).toMatchObject([
      ["operators.revokeOperator", { name: "rising", role: "maintainer" }],
      ["operators.changeOperator", { name: "rising", role: "maintainer" }],
      ["operators.changeOperator", { name: "rising", role: "admin" }],
      ["operators.addOperator", { name: "rising", role: "viewer" }]
    ])
  })
})

describe("a revocation", () => {
  it("acts on the next request: the secret, sessions, links and a stream that is open", async () => {
    const key = await server.newAccount("followed")
    const create = () =>
      server.call("POST", "/v1/memories", {
        key,
        body: { agentId: "a", memories: [fact("tea", String(Math.random()))] }
      })
    await create()
    const secret = await add("leaving", "admin")
    const session = await signIn({ key: secret })
    const { url } = (await server.call("POST", "/admin/console-links", { key: secret })).body.link
    const streams = await Promise.all(
      [bearer(secret), session].map(async (credentials) => {
        const headers = { ...credentials, "x-account": "followed", accept: "text/event-stream" }
        const response = await fetch(`${server.url}/v1/events?from=oldest`, { headers })
        expect(response.status).toBe(200)
        return response.body!.pipeThrough(new TextDecoderStream()).getReader()
      })
    )
    for (const reader of streams) await reader.read()
    expect((await server.asOperator("DELETE", "/admin/operators/leaving")).status).toBe(200)
    expect(refusalOf(await server.call("GET", "/admin/status", { key: secret }))).toEqual([403, "operator_only"])
    expect(refusalOf(await server.call("GET", "/admin/status", { key: null, headers: session }))).toEqual([
      401,
      "session_ended"
    ])
    for (const body of [{ link: url.split("#link=")[1] }, { key: secret }]) {
      expect((await server.call("POST", "/console/session", { key: null, body })).status).toBe(401)
    }
    await create()
    for (const reader of streams) {
      for (let part = await reader.read(); !part.done; part = await reader.read()) expect(part.value).toBeDefined()
    }
  })

  it("leaves the others, and the data directory's token, what they may do", async () => {
    for (const key of [...Object.values(secrets), server.operatorToken]) {
      expect((await server.call("GET", "/admin/status", { key })).status).toBe(200)
    }
  })
})

describe("a session", () => {
  it("says whose it is, and a link signs in whoever made it", async () => {
    const { url } = (await server.call("POST", "/admin/console-links", { key: secrets.viewer })).body.link
    const session = await signIn({ link: url.split("#link=")[1] })
    const { body } = await server.call("GET", "/console/session", { key: null, headers: session })
    expect(body.session).toMatchObject({ role: "operator", account: null, operator: { name: "vera", role: "viewer" } })
    expect(body.session.refused.map((name: string) => `${name} 403`).toSorted()).toEqual(beyond("viewer").toSorted())
    const { sessions } = (await server.call("GET", "/admin/sessions", { key: null, headers: session })).body
    expect(sessions[0]).toMatchObject({ operator: { name: "vera", role: "viewer" } })
  })

  it("is not opened for an operator by a caller of another machine", async () => {
    const refused = await server.call("POST", "/console/session", {
      key: null,
      headers: { "x-forwarded-for": "198.51.100.7" },
      body: { key: secrets.viewer }
    })
    expect(refusalOf(refused)).toEqual([403, "operator_only"])
    const remote = await server.call("GET", "/admin/status", {
      key: secrets.viewer,
      headers: { "x-forwarded-for": "198.51.100.7" }
    })
    expect(refusalOf(remote)).toEqual([403, "operator_only"])
  })

  it("is refused names that are none", async () => {
    for (const name of ["", "two words", "a\u202eb", "x".repeat(65), "-dash"]) {
      const { body, status } = await server.asOperator("POST", "/admin/operators", { name, role: "viewer" })
      expect([name, status, body.code]).toEqual([name, 400, "invalid_request"])
    }
    const role = await server.asOperator("POST", "/admin/operators", { name: "root", role: "owner" })
    expect([role.status, role.body.code]).toEqual([400, "invalid_request"])
  })
})
