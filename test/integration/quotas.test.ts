/** Quotas (contract: Quotas): exact under concurrency, after restarts, per tier and per account, shown and explained. */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { quotaDefaults } from "@muniment/domain/Quotas"
import { fact, schemaText, text } from "../support/MemoryCalls.ts"
import { type Answer, startServer, type TestServer } from "../support/TestServer.ts"
import { evmWallet, walletCalls } from "../support/TrustCalls.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }
const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-quotas-"))

let server: TestServer
beforeAll(async () => {
  server = await startServer({ environment, dataDirectory })
})
afterAll(async () => {
  await server.stop()
  rmSync(dataDirectory, { recursive: true, force: true })
})

const asOperator = (method: string, path: string, body?: object): Promise<Answer> =>
  server.call(method, path, { key: server.operatorToken, body })

const setQuotas = async (body: object): Promise<Answer["body"]> => {
  const answer = await asOperator("POST", "/admin/quotas", body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}

const useOf = async (key: string, name: string) => {
  const { body } = await server.call("GET", "/v1/account", { key })
  return body.quotas.find((quota: { readonly name: string }) => quota.name === name)
}

/** All at once; how many were let in, while every other one was refused with the quota. */
const admitted = async (calls: ReadonlyArray<() => Promise<Answer>>, name: string, limit: number): Promise<number> => {
  const answers = await Promise.all(calls.map((call) => call()))
  const refused = answers.filter(({ status }) => status !== 200)
  for (const { body, status } of refused) {
    expect([status, body.code, body.quota.name, body.quota.limit]).toEqual([413, "quota_exceeded", name, limit])
    expect(body.quota.used).toBeLessThanOrEqual(limit)
  }
  return answers.length - refused.length
}

const many = <A>(make: (at: number) => A): ReadonlyArray<A> => Array.from({ length: 20 }, (_, at) => make(at))
const schema = (name: string, description = "d") => ({ name, description, schema: schemaText({ a: text }) })

describe("a quota of what is stored", () => {
  it("lets in as many schemas as it says, however many come at once, and again after a deletion", async () => {
    const key = await server.newAccount("schemas")
    await setQuotas({ account: "schemas", limits: { schemas: 5 } })
    const register = (name: string) => server.call("POST", "/v1/schemas", { key, body: schema(name) })
    expect(
      await admitted(
        many((at) => () => register(`s${at}`)),
        "schemas",
        5
      )
    ).toBe(5)
    expect(await useOf(key, "schemas")).toEqual({ name: "schemas", used: 5, limit: 5 })
    const { body } = await server.call("GET", "/v1/schemas", { key })
    expect((await server.call("DELETE", `/v1/schemas/${body.schemas[0].name}`, { key })).status).toBe(200)
    expect((await register("another")).status).toBe(200)
    expect((await register("one_more")).status).toBe(413)
  })

  it("counts the bytes of schemas, also when one grows", async () => {
    const key = await server.newAccount("schema-bytes")
    const size = (registered: { name: string; description: string; schema: string }) =>
      registered.name.length + registered.description.length + registered.schema.length
    const limit = size(schema("s")) + 3
    await setQuotas({ account: "schema-bytes", limits: { schemaBytes: limit } })
    expect((await server.call("POST", "/v1/schemas", { key, body: schema("s") })).status).toBe(200)
    expect((await server.call("POST", "/v1/schemas", { key, body: schema("t") })).body.code).toBe("quota_exceeded")
    const grow = (description: string) => server.call("PATCH", "/v1/schemas/s", { key, body: { description } })
    expect((await grow("dddd")).status).toBe(200)
    expect((await grow("ddddd")).body.quota).toEqual({ name: "schemaBytes", used: limit, limit })
    expect((await grow("d")).status).toBe(200)
    expect((await useOf(key, "schemaBytes")).used).toBe(limit - 3)
  })

  it("lets in as many agents as it says", async () => {
    const key = await server.newAccount("agents")
    await setQuotas({ account: "agents", limits: { agents: 5 } })
    const write = (at: number) => () =>
      server.call("POST", "/v1/memories", { key, body: { agentId: `a${at}`, memories: [fact("tea", "green")] } })
    expect(await admitted(many(write), "agents", 5)).toBe(5)
    const { body } = await server.call("GET", "/v1/account", { key })
    expect(body.agents).toHaveLength(5)
    const [known] = body.agents
    const again = { agentId: known.agentId, memories: [fact("tea", "black")] }
    expect((await server.call("POST", "/v1/memories", { key, body: again })).status).toBe(200)
    // A refused call is not charged.
    const before = await server.call("GET", "/v1/credits", { key })
    expect((await write(99)()).status).toBe(413)
    expect((await server.call("GET", "/v1/credits", { key })).body.allowance).toEqual(before.body.allowance)
  })

  it("lets in as many keys as it says, and not those that were revoked", async () => {
    await server.newAccount("keys")
    await setQuotas({ account: "keys", limits: { keys: 5 } })
    const create = () => asOperator("POST", "/admin/keys", { account: "keys" })
    expect(
      await admitted(
        many(() => create),
        "keys",
        5
      )
    ).toBe(4)
    const { body } = await asOperator("GET", "/admin/keys?account=keys")
    expect((await asOperator("DELETE", `/admin/keys/${body.keys[0].id}`)).status).toBe(200)
    expect((await create()).status).toBe(200)
    expect((await create()).status).toBe(413)
  })
})

describe("the operator", () => {
  it("sets quotas of tiers and of accounts, which win, lifts them and gives them back", async () => {
    await server.newAccount("settled", "starter")
    const limitOf = async (name: string) => {
      const { body } = await asOperator("GET", "/admin/quotas?account=settled")
      return body.account.quotas.find((quota: { readonly name: string }) => quota.name === name).limit
    }
    expect(await limitOf("agents")).toBe(null)
    await setQuotas({ tier: "starter", limits: { agents: 7, keys: 8 } })
    expect([await limitOf("agents"), await limitOf("keys")]).toEqual([7, 8])
    await setQuotas({ account: "settled", limits: { agents: 3, keys: null } })
    expect([await limitOf("agents"), await limitOf("keys")]).toEqual([3, null])
    const shown = await setQuotas({ account: "settled", limits: { agents: "default" } })
    expect(shown.account).toMatchObject({ name: "settled", tier: "starter" })
    expect(await limitOf("agents")).toBe(7)
    await setQuotas({ tier: "starter", limits: { agents: "default", keys: "default" } })
    expect(await limitOf("agents")).toBe(null)
    const { body } = await asOperator("GET", "/admin/audit?limit=1")
    expect(body.events[0]).toMatchObject({ action: "accounts.setQuotas", subject: "starter" })
  })

  it.each([
    { limits: { keys: 1 } },
    { account: "x", tier: "free", limits: {} },
    { tier: "gold", limits: {} },
    { tier: "free", limits: { keys: -1 } },
    { tier: "free", limits: { memories: 1 } }
  ])("is told what is wrong with %j", async (body) => {
    const refused = await asOperator("POST", "/admin/quotas", body)
    expect([refused.status, typeof refused.body.error]).toEqual([400, "string"])
  })

  it("gives accounts that wallets opened finite quotas, and those that they made none", async () => {
    const wallet = walletCalls(server, evmWallet("quotas"))
    await wallet.create("a", [fact("tea", "green")])
    const limitsIn = (answer: Answer) =>
      Object.fromEntries(answer.body.account === undefined ? [] : answer.body.quotas.map(asEntry))
    const asEntry = ({ limit, name }: { name: string; limit: number | null }) => [name, limit]
    expect(limitsIn(await wallet.call("GET", "/v1/account"))).toEqual(quotaDefaults.wallet)
    const key = await server.newAccount("made by the operator")
    const made = limitsIn(await server.call("GET", "/v1/account", { key }))
    expect(new Set(Object.values(made))).toEqual(new Set([null]))
  })
})

describe("after a restart", () => {
  it("what was set and what is held is as before", async () => {
    const key = await server.newAccount("kept")
    await setQuotas({ account: "kept", limits: { schemas: 1 } })
    const register = (name: string) => server.call("POST", "/v1/schemas", { key, body: schema(name) })
    expect((await register("one")).status).toBe(200)
    const before = (await server.call("GET", "/v1/account", { key })).body.quotas
    await server.kill()
    server = await startServer({ environment, dataDirectory })
    expect((await server.call("GET", "/v1/account", { key })).body.quotas).toEqual(before)
    expect((await register("two")).body.quota).toEqual({ name: "schemas", used: 1, limit: 1 })
  })
})

describe("the quota of open requests", () => {
  it("refuses one more with 429 and Retry-After while they last", async () => {
    const held: Array<ServerResponse> = []
    let isHolding = true
    const model = createServer((_, response) => {
      if (isHolding) held.push(response)
      else response.writeHead(401).end()
    })
    await new Promise<void>((listening) => model.listen(0, "127.0.0.1", listening))
    const { port } = model.address() as AddressInfo
    const own = await startServer({
      environment: {
        ...environment,
        MUNIMENT_LLM_PROVIDER: "openai-compatible",
        MUNIMENT_LLM_MODEL: "m",
        MUNIMENT_LLM_BASE_URL: `http://127.0.0.1:${port}/v1`,
        MUNIMENT_LLM_TIMEOUT_MILLIS: "60000"
      }
    })
    try {
      const key = await own.newAccount("open")
      const body = { account: "open", limits: { openRequests: 2 } }
      expect((await own.call("POST", "/admin/quotas", { key: own.operatorToken, body })).status).toBe(200)
      const talk = (agentId: string) =>
        own.call("POST", "/v1/memories", {
          key,
          body: { agentId, conversation: [{ role: "user", content: "My cat is called Mia." }] }
        })
      const open = [talk("a"), talk("b")]
      while (held.length < 2) await new Promise((wake) => setTimeout(wake, 20))
      const refused = await own.call("GET", "/v1/account", { key })
      expect([refused.status, refused.body.code]).toEqual([429, "quota_exceeded"])
      expect(refused.body.quota).toEqual({ name: "openRequests", used: 2, limit: 2 })
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
      // Others are served meanwhile.
      expect((await own.call("GET", "/v1/account")).status).toBe(200)
      isHolding = false
      for (const response of held) response.writeHead(401).end()
      await Promise.all(open)
      const after = await own.call("GET", "/v1/account", { key })
      expect([after.status, after.body.quotas.at(-1)]).toEqual([200, { name: "openRequests", used: 1, limit: 2 }])
    } finally {
      for (const response of held) response.destroy()
      model.close()
      await own.stop()
    }
  })
})
