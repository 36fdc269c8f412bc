/** GET /v1/account and what a key opens (contract: Identity). */
import { describe, expect, it } from "vitest"
import { accountCalls, fact } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import { operatorKey } from "../support/TestServer.ts"

const server = useSharedServer()

describe("GET /v1/account", () => {
  it("says who the credentials belong to, with the live memories of each agent", async () => {
    const alice = await accountCalls(server, "alice")
    await alice.create("one", [fact("a", "b"), fact("c", "d")])
    await alice.createExpired("one", fact("e", "f"))
    await alice.create("two", [fact("a", "b")])
    const { status, body } = await alice.call("GET", "/v1/account")
    expect(status).toBe(200)
    expect(body).toEqual({
      success: true,
      account: {
        id: expect.stringMatching(/^acc_/),
        name: expect.stringMatching(/^alice-/),
        plan: "free",
        createdAt: expect.any(Number)
      },
      agents: expect.any(Array),
      quotas: expect.any(Array)
    })
    expect(body.agents).toHaveLength(2)
    expect(body.agents).toContainEqual({ agentId: "one", memories: 2 })
    expect(body.agents).toContainEqual({ agentId: "two", memories: 1 })
  })

  it("shows the operator's own account on the plan owner", async () => {
    const { body } = await server.call("GET", "/v1/account", { key: operatorKey })
    expect(body.account).toMatchObject({ name: "operator", plan: "owner" })
  })
})

describe("keys", () => {
  it("of one account share its memories and schemas", async () => {
    const first = await accountCalls(server, "shared")
    const [entry] = await first.create("a", [fact("a", "b")])
    const second = await server.newAccount("shared")
    expect(second).not.toBe(first.key)
    expect((await server.call("GET", `/v1/memories/${entry.id}`, { key: second })).status).toBe(200)
  })

  it("are shown once and never again", async () => {
    const { body } = await server.asOperator("POST", "/admin/keys", { account: "once" })
    expect(body.secret).toMatch(/^mun_[\w-]{40}$/)
    const listed = await server.asOperator("GET", "/admin/keys?account=once")
    expect(listed.body.keys).toHaveLength(1)
    expect(JSON.stringify(listed.body)).not.toContain(body.secret)
  })

  it("are taken from the scheme Bearer in any case, and from no other", async () => {
    const authorization = async (value: string) => {
      const answer = await server.call("GET", "/v1/account", { key: null, headers: { authorization: value } })
      return [answer.status, answer.body.code]
    }
    expect(await authorization(`bearer ${operatorKey}`)).toEqual([200, undefined])
    expect(await authorization(`Basic ${operatorKey}`)).toEqual([401, "missing_credentials"])
    expect(await authorization(operatorKey)).toEqual([401, "missing_credentials"])
    expect(await authorization("Bearer")).toEqual([401, "missing_credentials"])
    expect(await authorization(`Bearer ${operatorKey}x`)).toEqual([401, "invalid_api_key"])
  })
})
