/** Quotas (contract: Quotas): exact under concurrency, after restarts, per tier and per account, shown and explained. */
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { quotaDefaults } from "@muniment/domain/Plans"
import { fact, schemaText, text } from "../support/MemoryCalls.ts"
import { type Answer, startServer, type TestServer } from "../support/TestServer.ts"
import { evmWallet, walletCalls } from "../support/TrustCalls.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }
const dataDirectory = temporaryDirectory()

let server: TestServer
beforeAll(async () => {
  server = await startServer({ environment, dataDirectory })
})
afterAll(async () => {
  await server.stop()
})

const setQuotas = async (body: object): Promise<Answer["body"]> => {
  const answer = await server.asOperator("POST", "/admin/quotas", body)
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
    const create = () => server.asOperator("POST", "/admin/keys", { account: "keys" })
    expect(
      await admitted(
        many(() => create),
        "keys",
        5
      )
    ).toBe(4)
    const { body } = await server.asOperator("GET", "/admin/keys?account=keys")
    expect((await server.asOperator("DELETE", `/admin/keys/${body.keys[0].id}`)).status).toBe(200)
    expect((await create()).status).toBe(200)
    expect((await create()).status).toBe(413)
  })
})

/** What the contract says that the account's memories take. */
const bytesOf = async (key: string): Promise<number> => {
  let bytes = 0
  let cursor = ""
  do {
    const path = `/v1/memories?limit=100&includeSuperseded=true${cursor}`
    const { body } = await server.call("GET", path, { key })
    for (const { context, data } of body.memories) {
      bytes += 1_024 + Buffer.byteLength(JSON.stringify(data)) + Buffer.byteLength(JSON.stringify(context.tags))
    }
    cursor = body.nextCursor === undefined ? "" : `&cursor=${encodeURIComponent(body.nextCursor)}`
  } while (cursor !== "")
  return bytes
}

const store = (key: string, agentId: string, rest: object) =>
  server.call("POST", "/v1/memories", { key, body: { agentId, ...rest } })
const tea = fact("tea", "grün")
/** Of `tea`, without tags. */
const teaBytes = 1_024 + Buffer.byteLength(JSON.stringify(tea.data)) + 2

describe("the quota of bytes", () => {
  it("is never exceeded by writes of many agents at once, and is full then", async () => {
    const key = await server.newAccount("bytes")
    await setQuotas({ account: "bytes", limits: { bytes: 5 * teaBytes } })
    const writes = many((at) => () => store(key, `a${at % 7}`, { memories: [tea] }))
    expect(await admitted(writes, "bytes", 5 * teaBytes)).toBe(5)
    expect((await useOf(key, "bytes")).used).toBe(5 * teaBytes)
    expect(await bytesOf(key)).toBe(5 * teaBytes)
  })

  it("falls with deletions, replacements and shorter tags, and counts what grows", async () => {
    const key = await server.newAccount("shrinking")
    await setQuotas({ account: "shrinking", limits: { bytes: 2 * teaBytes + 10 } })
    const made = await store(key, "a", { memories: [tea, tea] })
    const [first, second] = made.body.created
    expect((await store(key, "a", { memories: [tea] })).body.quota.used).toBe(2 * teaBytes)
    const tagged = (tags: ReadonlyArray<string>) =>
      server.call("PATCH", `/v1/memories/${first.id}`, { key, body: { tags } })
    expect((await tagged(["more than ten"])).body.code).toBe("quota_exceeded")
    expect((await tagged(["ten"])).status).toBe(200)
    expect((await useOf(key, "bytes")).used).toBe(2 * teaBytes + 5)
    const longer = { ...fact("tea", "grün and much longer than before"), id: second.id }
    expect((await store(key, "a", { memories: [longer] })).body.code).toBe("quota_exceeded")
    expect((await store(key, "a", { memories: [{ ...fact("tea", "g"), id: second.id }] })).status).toBe(200)
    expect((await useOf(key, "bytes")).used).toBe(await bytesOf(key))
    const filters = { kind: "factual_memory" }
    expect((await server.call("POST", "/v1/memories/batch/delete", { key, body: { filters } })).body.deleted).toBe(2)
    expect((await useOf(key, "bytes")).used).toBe(0)
    expect((await store(key, "b", { memories: [tea, tea] })).status).toBe(200)
  })

  it("refuses nothing that stores nothing", async () => {
    const key = await server.newAccount("known")
    await setQuotas({ account: "known", limits: { bytes: teaBytes } })
    expect((await store(key, "a", { memories: [tea] })).status).toBe(200)
    const again = await store(key, "a", { memories: [tea], onDuplicate: "return" })
    expect([again.status, again.body.existing.length]).toEqual([200, 1])
  })

  it("counts messages and what is extracted, which waits for room", async () => {
    const key = await server.newAccount("talking")
    const conversation = [{ role: "user", content: "My name is Ann and I live in Porto." }]
    const messageBytes = 1_024 + Buffer.byteLength(JSON.stringify({ role: "user", text: conversation[0]!.content })) + 2
    await setQuotas({ account: "talking", limits: { bytes: messageBytes } })
    const talk = (content = conversation[0]!.content) =>
      store(key, "a", { conversation: [{ role: "user", content }], wait: "extraction" })
    const told = await talk()
    expect([told.status, told.body.extraction], JSON.stringify(told.body)).toEqual([200, "pending"])
    expect((await useOf(key, "bytes")).used).toBe(messageBytes)
    expect((await talk("I moved to Braga.")).body.code).toBe("quota_exceeded")
    await setQuotas({ account: "talking", limits: { bytes: null } })
    expect((await talk()).body.extraction).toBe("done")
    expect((await useOf(key, "bytes")).used).toBe(await bytesOf(key))
    expect(await bytesOf(key)).toBeGreaterThan(messageBytes)
  })

  it("binds an import, which may be repeated", async () => {
    const key = await server.newAccount("importing")
    await store(key, "a", { memories: [tea, tea] })
    const { records } = (await server.asOperator("GET", "/admin/export?account=importing")).body
    const filters = { agentId: "a" }
    expect((await server.call("POST", "/v1/memories/batch/delete", { key, body: { filters } })).body.deleted).toBe(2)
    const restore = () => server.asOperator("POST", "/admin/import", { account: "importing", records })
    await setQuotas({ account: "importing", limits: { bytes: 2 * teaBytes - 1 } })
    expect((await restore()).body.code).toBe("quota_exceeded")
    await setQuotas({ account: "importing", limits: { bytes: 2 * teaBytes } })
    expect((await restore()).body).toMatchObject({ imported: 2, skipped: 0 })
    expect((await restore()).body).toMatchObject({ imported: 0, skipped: 2 })
    expect((await useOf(key, "bytes")).used).toBe(2 * teaBytes)
  })

  it("is counted anew for an account that comes again after its erasure", async () => {
    const { address } = evmWallet("erased").wallet
    const settle = async () => {
      expect(
        (await server.asOperator("POST", "/admin/accounts", { name: "again", id: address, plan: "pro" })).status
      ).toBe(200)
      const made = await server.asOperator("POST", "/admin/keys", { account: "again" })
      await server.asOperator("POST", "/admin/accounts/plan", { account: "again", plan: "owner" })
      return made.body.secret
    }
    await store(await settle(), "a", { memories: [tea, tea] })
    expect((await server.asOperator("POST", "/admin/accounts/erase", { account: "again" })).status).toBe(200)
    const key = await settle()
    const stored = await store(key, "a", { memories: [tea] })
    expect(stored.status, JSON.stringify(stored.body)).toBe(200)
    expect((await useOf(key, "bytes")).used).toBe(teaBytes)
  })
})

describe("the operator", () => {
  it("sets quotas of tiers and of accounts, which win, lifts them and gives them back", async () => {
    await server.newAccount("settled", "starter")
    const limitOf = async (name: string) => {
      const { body } = await server.asOperator("GET", "/admin/quotas?account=settled")
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
    const { body } = await server.asOperator("GET", "/admin/audit?limit=1")
    expect(body.events[0]).toMatchObject({ action: "accounts.setQuotas", subject: "starter" })
  })

  it.each([
    { limits: { keys: 1 } },
    { account: "x", tier: "free", limits: {} },
    { tier: "gold", limits: {} },
    { tier: "free", limits: { keys: -1 } },
    { tier: "free", limits: { memories: 1 } }
  ])("is told what is wrong with %j", async (body) => {
    const refused = await server.asOperator("POST", "/admin/quotas", body)
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
    await setQuotas({ account: "kept", limits: { bytes: 3 * teaBytes } })
    for (const agentId of ["a", "b"]) expect((await store(key, agentId, { memories: [tea] })).status).toBe(200)
    const before = (await server.call("GET", "/v1/account", { key })).body.quotas
    await server.kill()
    server = await startServer({ environment, dataDirectory })
    expect((await server.call("GET", "/v1/account", { key })).body.quotas).toEqual(before)
    expect((await store(key, "b", { memories: [tea, tea] })).body.code).toBe("quota_exceeded")
    await server.stop()
    server = await startServer({ environment, dataDirectory })
    expect((await store(key, "c", { memories: [tea, tea] })).body.quota.used).toBe(2 * teaBytes)
    expect((await store(key, "c", { memories: [tea] })).status).toBe(200)
    expect((await useOf(key, "bytes")).used).toBe(await bytesOf(key))
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
      expect((await own.asOperator("POST", "/admin/quotas", body)).status).toBe(200)
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
      expect(refused.body.details[0].path).toBe("open_requests")
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
      // Others are served meanwhile, and who waits for the model takes no place from them.
      const { body: metrics } = await own.call("GET", "/metrics", { key: null })
      expect(metrics).toMatch(/^muniment_admission_in_work\{work="conversation"\} 0$/m)
      expect(metrics).toMatch(/^muniment_llm_calls_open 2$/m)
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
