/**
 * Every route of the contract and of the console, attempted by who may not: a stranger's page without a key, the same page
 * in the browser of an admin, another tenant, a viewer, and an account that is suspended. Bodies are those of the OpenAPI
 * document with the victim's names, so that a refusal is one of who asks. Afterwards the victim and the service are as
 * they were.
 */
import { afterAll, describe, expect, it } from "vitest"
import { MunimentApi } from "@muniment/domain/api/MunimentApi"
import { isRead } from "@muniment/domain/api/Middleware"
import { openApiDocument } from "@muniment/domain/api/OpenApiDocument"
import { beforeTests } from "../support/beforeTests.ts"
import { fact, schemaText, text } from "../support/MemoryCalls.ts"
import { withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({ environment: { ...withoutModel, MUNIMENT_ACCOUNT_WEBHOOKS: "any" } })

/** In no answer to anybody but the victim and operators. */
const secretWord = "ultramarine"
const victim = "research"

type Headers = Readonly<Record<string, string>>
const asOperator = async (method: string, path: string, body?: object) =>
  (await server.asOperator(method, path, body)).body
const inPlaceOf = async (path: string) =>
  (await server.call("GET", path, { key: server.operatorToken, headers: { "x-account": victim } })).body

const held = beforeTests(async () => {
  const key = await server.newAccount(victim)
  const ask = async (path: string, body: object) => (await server.call("POST", path, { key, body })).body
  const schema = schemaText({ email: text, city: text }, { required: ["email"] })
  await ask("/v1/schemas", { name: "contact", description: "d", uniqueOn: ["email"], schema })
  const contact = { kind: "contact", data: { email: "ann@example.com", city: secretWord } }
  const body = { agentId: "assistant", subjectId: "user-42", memories: [contact, fact("lamp", secretWord)] }
  const { created } = await ask("/v1/memories", body)
  const { key: made } = await ask("/v1/keys", { label: "laptop" })
  const { webhook } = await ask("/v1/webhooks", { url: "https://hooks.example.com/victim" })
  const operator = async (name: string, role: string) =>
    (await asOperator("POST", "/admin/operators", { name, role })).secret as string
  const [admin, viewer] = [await operator("ada", "admin"), await operator("vera", "viewer")]
  const other = await server.newAccount("other")
  const suspended = await server.newAccount("suspended")
  await server.call("POST", "/v1/memories", { key: suspended, body: { agentId: "a", memories: [fact("a", "b")] } })
  await asOperator("POST", "/admin/accounts/suspend", { account: "suspended" })
  return { memory: created[0].id, key: made.id, webhook: webhook.id, admin, viewer, other, suspended }
})

/** All that may not change. */
const snapshot = async () => ({
  memories: await inPlaceOf("/v1/memories?limit=100&include=all&includeSuperseded=true"),
  webhooks: (await inPlaceOf("/v1/webhooks")).webhooks.map(({ id, state, url }: Record<string, unknown>) => [
    id,
    state,
    url
  ]),
  schemas: await inPlaceOf("/v1/schemas"),
  credits: (await inPlaceOf("/v1/credits")).balance,
  keys: (await asOperator("GET", `/admin/keys?account=${victim}`)).keys,
  accounts: (await asOperator("GET", "/admin/accounts")).accounts.map(({ name, plan }: Record<string, unknown>) => [
    name,
    plan
  ]),
  quotas: (await asOperator("GET", `/admin/quotas?account=${victim}`)).account.quotas.map(
    ({ limit, name }: Record<string, unknown>) => [name, limit]
  ),
  operators: (await asOperator("GET", "/admin/operators")).operators.map(
    ({ name, role, revokedAt }: Record<string, unknown>) => [name, role, revokedAt]
  ),
  backups: await asOperator("GET", "/admin/backups"),
  // But for what the tests set up, and what the other tenant did to itself.
  changes: (await asOperator("GET", "/admin/audit?limit=1000")).events.filter(
    ({ operator, subject }: Record<string, unknown>) => operator !== "operator" && subject !== "other"
  )
})
const before = beforeTests(async () => ({ was: held.memory === "" ? undefined : await snapshot() }))
afterAll(async () => expect(await snapshot()).toEqual(before.was))

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: unknown }>> }
}
const document: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> }
} = JSON.parse(JSON.stringify(openApiDocument()))

const exampleOf = (path: string, method: string): object | undefined => {
  const schema = document.paths[path.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()]?.requestBody?.content[
    "application/json"
  ]?.schema as { readonly $ref?: string; readonly examples?: ReadonlyArray<object> } | undefined
  const found = schema?.$ref === undefined ? schema : document.components.schemas[schema.$ref.split("/").at(-1)!]
  return (found as typeof schema)?.examples?.[0]
}

const routes = Object.values(MunimentApi.groups).flatMap((group) =>
  Object.values(group.endpoints).map((endpoint) => ({
    name: `${group.identifier}.${endpoint.identifier}`,
    method: endpoint.method as string,
    path: endpoint.path as string,
    isOperators: endpoint.path.startsWith("/admin"),
    isRead: isRead(endpoint)
  }))
)
type Route = (typeof routes)[number]

/** With the victim's own ids, which nobody else should be able to use. */
const aimed = ({ path }: Route): string =>
  path
    .replace(/^(\/v1\/memories\/):id/, `$1${held.memory}`)
    .replace(/^(\/v1\/keys\/|\/admin\/keys\/):id/, `$1${held.key}`)
    .replace(/^(\/v1\/webhooks\/):id/, `$1${held.webhook}`)
    .replace("/schemas/:name", "/schemas/contact")
    .replace("/operators/:name", "/operators/ada")
    .replaceAll(/:\w+/g, "user-42")

const attempt = async (route: Route, headers: Headers): Promise<Answer> => {
  const body = exampleOf(route.path, route.method)
  return server.call(route.method, aimed(route), {
    key: null,
    headers: { accept: "application/json", ...headers },
    ...(body !== undefined && { body })
  })
}

/** What was done, of all that is attempted. */
const done = async (asked: ReadonlyArray<Route>, headers: Headers) => {
  const answers = []
  for (const route of asked) answers.push({ route, answer: await attempt(route, headers) })
  return answers.filter(({ answer }) => answer.status < 400)
}
const namesOf = (answers: Awaited<ReturnType<typeof done>>) => answers.map(({ route }) => route.name)

const foreign: Headers = { origin: "https://evil.example", "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" }
const bearer = (secret: string): Headers => ({ authorization: `Bearer ${secret}` })
const signedIn = async (key: string) => {
  const { body, headers } = await server.call("POST", "/console/session", { key: null, body: { key } })
  return { cookie: (headers.get("set-cookie") ?? "").split(";")[0]!, csrf: body.session.csrf as string }
}

describe("attempts", () => {
  it("of a stranger's page without a key do nothing", async () => {
    expect(namesOf(await done(routes, foreign))).toEqual([])
  })

  it("of a stranger's page do nothing even if the browser sent an admin's cookie, and no answer is for it to read", async () => {
    const { cookie } = await signedIn(held.admin)
    for (const account of [{}, { "x-account": victim }]) {
      const answered = await done(routes, { ...foreign, cookie, ...account })
      expect(namesOf(answered).filter((name) => routes.find((route) => route.name === name)?.method !== "GET")).toEqual(
        []
      )
      for (const { answer } of answered) expect(answer.headers.get("access-control-allow-credentials")).toBeNull()
    }
  })

  it("of another tenant open no operator's route, and nothing of the victim", async () => {
    const operators = routes.filter(({ isOperators }) => isOperators)
    const tenants = routes.filter(({ isOperators }) => !isOperators)
    for (const more of [{}, { "x-account": victim }]) {
      expect(namesOf(await done(operators, { ...bearer(held.other), ...more }))).toEqual([])
      for (const { answer } of await done(tenants, { ...bearer(held.other), ...more })) {
        expect(JSON.stringify(answer.body)).not.toMatch(
          new RegExp(`${secretWord}|${held.memory}|${held.webhook}|${held.key}`)
        )
      }
    }
    const { cookie, csrf } = await signedIn(held.other)
    expect(namesOf(await done(operators, { cookie, "x-csrf-token": csrf, "x-account": victim }))).toEqual([])
  })

  it("of a viewer, by secret and by session, change nothing", async () => {
    const { cookie, csrf } = await signedIn(held.viewer)
    const changes = routes.filter((route) => !route.isRead && route.name !== "sessions.createConsoleLink")
    for (const credentials of [bearer(held.viewer), { cookie, "x-csrf-token": csrf }]) {
      expect(namesOf(await done(changes, { ...credentials, "x-account": victim }))).toEqual([])
    }
    const admins = routes.filter(({ name }) => name.startsWith("backups.") && name !== "backups.listFiles")
    expect(
      namesOf(
        await done([...admins, ...routes.filter(({ name }) => name.startsWith("operators."))], bearer(held.viewer))
      )
    ).toEqual([])
  })

  it("of a suspended account do nothing, by its key and by a session from before", async () => {
    await asOperator("POST", "/admin/accounts/resume", { account: "suspended" })
    const { cookie, csrf } = await signedIn(held.suspended)
    await asOperator("POST", "/admin/accounts/suspend", { account: "suspended" })
    for (const credentials of [bearer(held.suspended), { cookie, "x-csrf-token": csrf }]) {
      expect(namesOf(await done(routes, credentials))).toEqual([])
    }
    const refused = await server.call("POST", "/console/session", { key: null, body: { key: held.suspended } })
    expect([refused.status, refused.body.code, refused.headers.get("set-cookie")]).toEqual([
      403,
      "account_suspended",
      null
    ])
  })
})

describe("the console's own routes", () => {
  it("sign nobody in or out for a stranger's page, and show themselves in no frame", async () => {
    const { cookie, csrf } = await signedIn(held.admin)
    for (const body of [{ key: held.admin }, { link: "guessed" }]) {
      const answer = await server.call("POST", "/console/session", { key: null, headers: foreign, body })
      expect([answer.status, answer.body.code, answer.headers.get("set-cookie")]).toEqual([403, "csrf", null])
    }
    for (const headers of [
      { ...foreign, cookie },
      { cookie, "x-csrf-token": "guessed" }
    ]) {
      const answer = await server.call("DELETE", "/console/session", { key: null, headers })
      expect([answer.status, answer.body.code]).toEqual([403, "csrf"])
    }
    const own = () => server.call("GET", "/console/session", { key: null, headers: { cookie } })
    expect((await own()).body.session.csrf).toBe(csrf)
    const page = await fetch(`${server.url}/console`)
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'")
    const left = await server.call("DELETE", "/console/session", {
      key: null,
      headers: { cookie, "x-csrf-token": csrf }
    })
    expect([left.status, (await own()).body.session]).toEqual([200, null])
  })
})
