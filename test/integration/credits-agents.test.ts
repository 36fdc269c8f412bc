/** What each agent cost (contract: Credits): charges name their agent, and sums of them are by agent and operation. */
import { beforeAll, describe, expect, it } from "vitest"
import { fact, useAccount } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"

const server = useSharedServer(withoutModel)
const calls = useAccount(server, "careful")

interface AgentCost {
  readonly account: string
  readonly agentId: string | null
  readonly calls: number
  readonly credits: number
  readonly operations: ReadonlyArray<{ readonly operation: string; readonly calls: number; readonly credits: number }>
}

const add = async (agentId: string, text: string) => {
  const { body } = await calls.post("/v1/memories", { agentId, memories: [fact("it", text)] })
  return body.created[0].id as string
}
const get = async (path: string) => (await calls.call("GET", path)).body
const costs = async (path = "/v1/account/costs"): Promise<ReadonlyArray<AgentCost>> => (await get(path)).agents

beforeAll(async () => {
  const id = await add("busy", "one")
  await add("busy", "two")
  await add("idle", "three")
  await get(`/v1/memories/${id}`)
  await get("/v1/memories/search?query=two&agentId=busy")
  await get("/v1/memories/search?query=two")
  await get("/v1/memories/search?query=two&agentId=never-seen")
  await calls.post("/v1/memories/batch/search", { queries: [{ query: "one", filters: { agentId: "idle" } }] })
  const other = await add("idle", "four")
  await calls.post("/v1/memories/batch/delete", { ids: [id, other] })
})

describe("costs of an account", () => {
  it("are by agent and operation, the dearest first; what is for no single agent has a line of its own", async () => {
    const found = await costs()
    expect(found.map(({ agentId }) => agentId)).toEqual(["idle", "busy", null])
    const byOperation = ({ operations }: AgentCost) =>
      Object.fromEntries(operations.map(({ calls, operation }) => [operation, calls]))
    expect(found.map(byOperation)).toEqual([
      { create: 2, batchSearch: 1 },
      { create: 2, get: 1, search: 1 },
      { search: 2, batchDelete: 1 }
    ])
  })

  it("add up to what the movements say", async () => {
    const { transactions } = await get("/v1/credits/transactions?limit=100")
    const charged = transactions.filter(({ kind }: { readonly kind: string }) => kind === "charge")
    for (const { agentId, credits } of await costs()) {
      const own = charged.filter((line: { readonly agentId?: string }) => (line.agentId ?? null) === agentId)
      expect(-own.reduce((sum: number, line: { readonly credits: number }) => sum + line.credits, 0)).toBe(credits)
    }
  })

  it("are by day too, with the same sum, whatever the limit", async () => {
    const { agents, days } = await get("/v1/account/costs")
    const sum = (rows: ReadonlyArray<Pick<AgentCost, "calls" | "credits">>) =>
      rows.reduce((total, row) => [total[0]! + row.calls, total[1]! + row.credits], [0, 0])
    const today = new Date().toISOString().slice(0, 10)
    // Midnight may come between two calls.
    expect(days.at(-1).day).toBe(today)
    expect(sum(days)).toEqual(sum(agents))
    expect((await get("/v1/account/costs?limit=1")).days).toEqual(days)
    expect((await get("/v1/account/costs?from=2020-01-01&to=2020-01-31")).days).toEqual([])
  })

  it("are of the days that are asked for, and as many as asked for", async () => {
    expect(await costs("/v1/account/costs?from=2020-01-01&to=2020-01-31")).toEqual([])
    const first = await get("/v1/account/costs?limit=1")
    expect([first.total, first.agents.length]).toEqual([3, 1])
    expect((await calls.call("GET", "/v1/account/costs?from=2026-02-02&to=2026-02-01")).status).toBe(400)
    expect((await calls.call("GET", "/v1/account/costs?limit=0")).status).toBe(400)
  })

  it("are CSV for those who ask for it, as is the agent of a movement", async () => {
    const text = async (path: string) =>
      (await fetch(server.url + path, { headers: { authorization: `Bearer ${calls.key}` } })).text()
    const [heading, ...rows] = (await text("/v1/account/costs?format=csv")).trimEnd().split("\r\n")
    expect(heading).toBe("account,agentId,operation,calls,credits")
    expect(rows).toContainEqual(expect.stringMatching(/^careful-\w+,idle,create,2,10$/))
    expect(await text("/v1/account/statement?format=csv")).toMatch(/,charge,create,allowance,1,-5,busy\r\n/)
  })

  it("are not shown to keys that are bound to agents", async () => {
    const { body } = await calls.post("/v1/keys", { label: "bound", agents: ["busy"] })
    expect(refusalOf(await server.call("GET", "/v1/account/costs", { key: body.secret }))).toEqual([403, "key_scope"])
  })
})

describe("costs of the service", () => {
  it("are of all accounts, or of one, for the operator alone", async () => {
    const mine = await costs()
    const { account } = mine[0]!
    const { body } = await server.asOperator("GET", `/admin/costs?account=${account}`)
    expect(body.agents).toEqual(mine)
    const all: ReadonlyArray<AgentCost> = (await server.asOperator("GET", "/admin/costs?limit=1000")).body.agents
    expect(all.filter((row) => row.account === account)).toEqual(mine)
    expect((await server.asOperator("GET", "/admin/costs?account=nobody-at-all")).status).toBe(404)
    expect((await calls.call("GET", "/admin/costs")).status).toBe(403)
  })

  it("leave out what an operator looks at in place of the account, which costs it nothing", async () => {
    const before = await costs()
    const { account } = before[0]!
    const look = () =>
      server.call("GET", "/v1/memories/search?query=two&agentId=busy", {
        key: server.operatorToken,
        headers: { "x-account": account }
      })
    expect([(await look()).status, (await look()).status]).toEqual([200, 200])
    expect(await costs()).toEqual(before)
    expect((await server.asOperator("GET", `/admin/costs?account=${account}`)).body.agents).toEqual(before)
  })

  it("are, on the owner's plan, what its calls would have cost", async () => {
    const own = await server.newAccount("unbilled", "owner")
    const body = { agentId: "host", memories: [fact("it", "five")] }
    expect((await server.call("POST", "/v1/memories", { key: own, body })).status).toBe(200)
    const { agents } = (await server.call("GET", "/v1/account/costs", { key: own })).body
    expect(agents).toMatchObject([{ agentId: "host", calls: 1, credits: 5 }])
  })

  it("leave the ledger proven", async () => {
    expect((await server.asOperator("GET", "/admin/ledger/check")).body).toMatchObject({ ok: true, problems: [] })
  })
})
