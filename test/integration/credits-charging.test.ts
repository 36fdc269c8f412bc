/**
 * What calls cost (contract: Credits): prices, purses, refusals, repeats; over HTTP with the real ledger. An account
 * here has an allowance of 20 credits a month, and what the operator gives it.
 */
import { describe, expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import type { Answer, CallOptions } from "../support/TestServer.ts"
import { refusalOf } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_MONTHLY_ALLOWANCE: "20" }

const server = useServer({ environment })

interface Payer {
  readonly name: string
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<Answer>
  readonly give: (credits: number) => Promise<void>
  /** Both purses, in credits. */
  readonly purses: () => Promise<{ readonly allowance: number; readonly balance: number }>
}

let count = 0
const payer = async (credits = 0, plan = "free"): Promise<Payer> => {
  const name = `payer-${++count}`
  const key = await server.newAccount(name, plan)
  const call: Payer["call"] = (method, path, options) => server.call(method, path, { key, ...options })
  let gifts = 0
  const give = async (amount: number) => {
    const body = { account: name, credits: amount, reason: "test", key: `${name}-${++gifts}` }
    const { status } = await server.asOperator("POST", "/admin/ledger/adjustments", body)
    expect(status).toBe(200)
  }
  if (credits > 0) await give(credits)
  const purses = async () => {
    const { body } = await call("GET", "/v1/credits")
    return { allowance: body.allowance.credits, balance: body.balance.credits }
  }
  return { name, call, give, purses }
}

const create = (who: Payer, options: CallOptions = {}) =>
  who.call("POST", "/v1/memories", { body: { agentId: "a", memories: [fact("a", "b")] }, ...options })
const costOf = ({ headers }: Answer) => Number(headers.get("x-credits-charged"))
const leftOf = ({ headers }: Answer) => Number(headers.get("x-credits-remaining"))

const proof = async () => (await server.asOperator("GET", "/admin/ledger/check")).body

describe("prices", () => {
  it("are those of the table, on the answer and in the ledger", async () => {
    const who = await payer(1_000)
    const made = await create(who)
    const id = made.body.created[0].id
    const register = { name: "k", description: "d", schema: JSON.stringify({ type: "object" }) }
    const priced: ReadonlyArray<readonly [number, string, string, object?]> = [
      [2, "GET", "/v1/memories/search?query=b"],
      [1, "GET", `/v1/memories/${id}`],
      [1, "GET", "/v1/memories"],
      [2, "PATCH", `/v1/memories/${id}`, { tags: ["t"] }],
      [4, "POST", "/v1/memories/batch/search", { queries: [{ query: "b" }] }],
      [4, "POST", "/v1/memories/batch/update", { ids: [id], update: { tags: ["u"] } }],
      [10, "POST", "/v1/memories/batch/create", { agentId: "a", memories: [fact("c", "d")] }],
      [3, "POST", "/v1/attestations", { claim: "memory_count_gte", threshold: 1 }],
      [1, "POST", "/v1/memories/batch/delete", { ids: [id], dryRun: true }],
      [1, "POST", "/v1/memories/batch/delete", { filters: { agentId: "a" }, dryRun: true }],
      [1, "DELETE", `/v1/memories/${id}`],
      [2, "POST", "/v1/memories/batch/delete", { ids: ["mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] }],
      [2, "POST", "/v1/memories/batch/delete", { filters: { agentId: "a" } }]
    ]
    let left = 1_020 - 5
    expect([costOf(made), leftOf(made)]).toEqual([5, left])
    for (const [price, method, path, body] of priced) {
      const answer = await who.call(method, path, { body })
      left -= price
      expect([path, answer.status, costOf(answer), leftOf(answer)]).toEqual([path, 200, price, left])
    }
    for (const [method, path, body] of [
      ["POST", "/v1/schemas", register],
      ["GET", "/v1/schemas"],
      ["GET", "/v1/account"],
      ["GET", "/v1/credits"]
    ] as const) {
      const answer = await who.call(method, path, { body })
      expect([path, answer.status, answer.headers.get("x-credits-charged")]).toEqual([path, 200, null])
    }
    const { allowance, balance } = await who.purses()
    expect(allowance + balance).toBe(left)
  })

  it("are drawn from the allowance first, then from the balance", async () => {
    const who = await payer(10)
    for (let made = 0; made < 4; made++) await create(who)
    expect(await who.purses()).toEqual({ allowance: 0, balance: 10 })
    await create(who)
    expect(await who.purses()).toEqual({ allowance: 0, balance: 5 })
  })

  it("of one call may come out of both", async () => {
    const who = await payer(10)
    for (let made = 0; made < 3; made++) await create(who)
    await who.call("GET", "/v1/memories/search?query=b")
    await create(who)
    expect(await who.purses()).toEqual({ allowance: 0, balance: 8 })
  })

  it("are recorded on the owner's plan and touch no purse", async () => {
    const who = await payer(0, "owner")
    const answer = await create(who)
    expect([costOf(answer), answer.headers.get("x-credits-remaining")]).toEqual([5, "unlimited"])
    const { body } = await who.call("GET", "/v1/credits")
    expect(body).toMatchObject({ balance: { credits: 0, usd: 0 }, allowance: { credits: null }, plan: "owner" })
    const { body: listed } = await who.call("GET", "/v1/credits/transactions")
    expect(listed.transactions).toMatchObject([{ kind: "charge", operation: "create", purse: "own-use", credits: -5 }])
  })
})

describe("what fails is free", () => {
  it("whatever the reason", async () => {
    const who = await payer()
    const refused: ReadonlyArray<readonly [string, string, object?]> = [
      ["POST", "/v1/memories", { agentId: "a", memories: [{ kind: "unheard_of", data: {} }] }],
      ["GET", "/v1/memories/search?query="],
      ["GET", "/v1/memories/mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"],
      ["GET", "/v1/memories/search?query=q&mode=llm&limit=5000"],
      ["POST", "/v1/attestations", { claim: "has_schema" }]
    ]
    for (const [method, path, body] of refused) {
      const answer = await who.call(method, path, { body })
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.headers.get("x-credits-charged")).toBeNull()
    }
    expect(await who.purses()).toEqual({ allowance: 20, balance: 0 })
  })

  it("and with empty purses it is refused for what it is, never for money", async () => {
    const who = await payer()
    const [{ id }] = (await create(who)).body.created
    for (let made = 0; made < 3; made++) await create(who)
    const refused: ReadonlyArray<readonly [number, string, string, object?]> = [
      [400, "POST", "/v1/memories", { agentId: "a" }],
      [400, "GET", "/v1/memories/search?query=q&scope=shared"],
      [404, "GET", "/v1/memories/mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"],
      [404, "PATCH", "/v1/memories/mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T", { tags: ["t"] }],
      [404, "DELETE", "/v1/memories/mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"],
      [404, "POST", "/v1/memories", { agentId: "a", memories: [{ ...fact("x", "y"), id: "mem_unknown" }] }],
      [409, "POST", "/v1/memories", { agentId: "a", memories: [{ kind: "temporal_event", data: { event: "e" }, id }] }],
      [403, "GET", `/v1/memories/${id}`],
      [403, "DELETE", `/v1/memories/${id}`],
      [403, "POST", "/v1/memories", { agentId: "never seen", memories: [fact("x", "y")] }]
    ]
    for (const [status, method, path, body] of refused) {
      const answer = await who.call(method, path, { body })
      expect([method, path, answer.status]).toEqual([method, path, status])
    }
    const { body } = await who.call("GET", "/v1/account")
    expect(body.agents).toEqual([{ agentId: "a", memories: 4 }])
  })
})

describe("empty purses", () => {
  it("are refused without a demand where nothing can be paid: clients choke on one that names no way", async () => {
    const who = await payer()
    for (let made = 0; made < 4; made++) await create(who)
    const { status, body, headers } = await create(who)
    expect([status, body.code, body.accepts]).toEqual([403, "insufficient_credits", undefined])
    expect(body.error).toContain("operator")
    expect(headers.get("payment-required")).toBeNull()
    expect(refusalOf(await create(who, { headers: { "x-payment": "e30=" } }))).toEqual([403, "insufficient_credits"])
  })

  it("demand nothing for a change of a version that is gone", async () => {
    const who = await payer()
    const made = await create(who)
    for (let count = 0; count < 3; count++) await create(who)
    const path = `/v1/memories/${made.body.created[0].id}`
    const bodies = [{ tags: ["late"] }, { data: fact("a", "late").data }]
    for (const body of bodies) {
      const { body: refusal, status } = await who.call("PATCH", path, { body, headers: { "if-match": '"gone"' } })
      expect([status, refusal.code]).toEqual([412, "version_mismatch"])
      expect((await who.call("PATCH", path, { body, headers: { "if-match": "*" } })).status).toBe(403)
    }
    const removed = await who.call("DELETE", path, { headers: { "if-match": '"gone"' } })
    expect(removed.status).toBe(412)
  })

  it("are not overdrawn by calls at the same time", async () => {
    const who = await payer(7)
    const answers = await Promise.all(Array.from({ length: 40 }, () => create(who)))
    const paid = answers.filter(({ status }) => status === 200)
    expect(paid).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(35)
    expect(await who.purses()).toEqual({ allowance: 0, balance: 2 })
    const { body } = await who.call("GET", "/v1/account")
    expect(body.agents).toEqual([{ agentId: "a", memories: 5 }])
  })
})

describe("a repeat with the same Idempotency-Key", () => {
  it("is free, and so is one that comes while the first is at work", async () => {
    const who = await payer()
    const headers = { "idempotency-key": "once" }
    const answers = await Promise.all(Array.from({ length: 5 }, () => create(who, { headers })))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.created[0].id}`)).size).toBe(1)
    expect(await who.purses()).toEqual({ allowance: 15, balance: 0 })
  })
})

describe("the list of transactions", () => {
  it("has every movement, newest first, in pages, and adds up to the purses", async () => {
    const who = await payer(12.345678)
    for (let made = 0; made < 5; made++) await create(who)
    const all: Array<{ id: number; purse: string; credits: number }> = []
    let cursor: string | undefined
    do {
      const query = new URLSearchParams({ limit: "2", ...(cursor !== undefined && { cursor }) })
      const { body } = await who.call("GET", `/v1/credits/transactions?${query}`)
      expect(body.transactions.length).toBeLessThanOrEqual(2)
      all.push(...body.transactions)
      cursor = body.nextCursor
    } while (cursor !== undefined)
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted((left, right) => right - left))
    const sum = (purse: string) =>
      all.filter((entry) => entry.purse === purse).reduce((total, { credits }) => total + Math.round(credits * 1e6), 0)
    const { allowance, balance } = await who.purses()
    expect([sum("allowance"), sum("balance")]).toEqual([Math.round(allowance * 1e6), Math.round(balance * 1e6)])
    expect([allowance, balance]).toEqual([0, 7.345678])
  })
})

describe("corrections by the operator", () => {
  const adjust = (body: object) => server.asOperator("POST", "/admin/ledger/adjustments", { reason: "r", ...body })

  it("are carried out once for each key, and never below zero", async () => {
    const who = await payer()
    const gift = { account: who.name, credits: 3.5, key: `${who.name}-gift` }
    expect((await adjust(gift)).body).toMatchObject({ balance: 3.5, replayed: false })
    expect((await adjust(gift)).body).toMatchObject({ balance: 3.5, replayed: true })
    const other = await payer()
    for (const changed of [{ credits: 4 }, { credits: -3.5 }, { account: other.name }]) {
      expect(await adjust({ ...gift, ...changed })).toMatchObject({
        status: 409,
        body: { code: "idempotency_conflict" }
      })
    }
    expect([await who.purses(), await other.purses()]).toMatchObject([{ balance: 3.5 }, { balance: 0 }])
    expect(await adjust({ account: who.name, credits: -4, key: `${who.name}-fine` })).toMatchObject({
      status: 409,
      body: { code: "insufficient_balance" }
    })
    expect((await adjust({ account: who.name, credits: 0, key: "k" })).body.code).toBe("invalid_amount")
    expect((await adjust({ account: "nobody", credits: 1, key: "k" })).body.code).toBe("account_not_found")
  })

  it("change a plan for the next request", async () => {
    const who = await payer()
    const body = { account: who.name, plan: "owner" }
    expect((await server.asOperator("POST", "/admin/accounts/plan", body)).status).toBe(200)
    expect((await create(who)).headers.get("x-credits-remaining")).toBe("unlimited")
  })
})

it("the metrics count calls and credits by operation", async () => {
  const who = await payer(100)
  const counted = async () => {
    const { body } = await server.call("GET", "/metrics", { key: null })
    const of = (name: string) =>
      Number(new RegExp(`^muniment_${name}\\{operation="attest"\\} (\\S+)$`, "m").exec(body)?.[1] ?? 0)
    return [of("charges_total"), of("credits_charged_total")] as const
  }
  const [calls, credits] = await counted()
  const body = { claim: "memory_count_gte", threshold: 1 }
  for (let made = 0; made < 2; made++) expect((await who.call("POST", "/v1/attestations", { body })).status).toBe(200)
  expect(await counted()).toEqual([calls + 2, credits + 6])
})

it("after all this the ledger proves itself", async () => {
  expect(await proof()).toMatchObject({ ok: true, problems: [] })
})
