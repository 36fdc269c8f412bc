/** Keys that an account manages itself (contract: Identity): listed, made within one's own restriction, revoked at once. */
import { describe, expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import { limitedRates, sharedServer, useSharedServer, withoutModel } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"
import { refusalOf } from "../support/TestServer.ts"
import { evmWallet, walletCalls } from "../support/TrustCalls.ts"

const server = useSharedServer(withoutModel)

const as = (key: string) => (method: string, path: string, body?: object) => server.call(method, path, { key, body })
const made = ({ body, status }: Answer): string => {
  expect(status, JSON.stringify(body)).toBe(200)
  return body.secret
}
const idsOf = ({ body }: Answer): ReadonlyArray<string> => body.keys.map(({ id }: { readonly id: string }) => id)

describe("an account", () => {
  it("makes keys, sees them without secrets, and revokes them at once", async () => {
    const key = await server.newAccount("own")
    const own = as(key)
    const answer = await own("POST", "/v1/keys", { label: "laptop" })
    const second = made(answer)
    expect(answer.body.key).toMatchObject({ account: server.nameOf("own"), label: "laptop" })
    const listed = await own("GET", "/v1/keys")
    expect(listed.body.keys).toHaveLength(2)
    for (const secret of [key, second]) expect(JSON.stringify(listed.body)).not.toContain(secret)
    expect((await as(second)("POST", "/v1/memories", { agentId: "a", memories: [fact("a", "b")] })).status).toBe(200)
    const revoked = await own("DELETE", `/v1/keys/${answer.body.key.id}`)
    expect([revoked.status, typeof revoked.body.key.revokedAt]).toEqual([200, "number"])
    expect((await as(second)("GET", "/v1/account")).body.code).toBe("invalid_api_key")
    expect(idsOf(await own("GET", "/v1/keys"))).not.toContain(answer.body.key.id)
    expect((await own("DELETE", `/v1/keys/${answer.body.key.id}`)).body.code).toBe("key_not_found")
  })

  it("does not reach another account's keys", async () => {
    const mine = as(await server.newAccount("mine"))
    const others = as(await server.newAccount("others"))
    const [id] = idsOf(await others("GET", "/v1/keys"))
    expect(refusalOf(await mine("DELETE", `/v1/keys/${id!}`))).toEqual([404, "key_not_found"])
    expect(idsOf(await mine("GET", "/v1/keys"))).not.toContain(id)
    expect((await others("GET", "/v1/account")).status).toBe(200)
  })

  it("makes restricted keys that are as restricted as they say", async () => {
    const own = as(await server.newAccount("restricting"))
    const reader = as(made(await own("POST", "/v1/keys", { readOnly: true, agents: ["a"], expiresIn: "1h" })))
    const refused = await reader("POST", "/v1/memories", { agentId: "a", memories: [fact("a", "b")] })
    expect([refused.status, refused.body.code]).toEqual([403, "key_scope"])
    const { body } = await reader("GET", "/v1/keys")
    expect(body.keys).toMatchObject([{ readOnly: true, agents: ["a"], expiresAt: expect.any(Number) }])
  })

  it("revokes with a key what it made, and what that made", async () => {
    const own = as(await server.newAccount("leaked"))
    const leaked = await own("POST", "/v1/keys", {})
    const kept = await own("POST", "/v1/keys", {})
    const child = await as(leaked.body.secret)("POST", "/v1/keys", {})
    const grandchild = await as(child.body.secret)("POST", "/v1/keys", { agents: ["a"] })
    const { body: listed } = await own("GET", "/v1/keys")
    const makers = new Map(listed.keys.map((key: { id: string; madeBy?: string }) => [key.id, key.madeBy]))
    expect(makers.get(grandchild.body.key.id)).toBe(child.body.key.id)
    expect(makers.get(child.body.key.id)).toBe(leaked.body.key.id)
    const revoked = await own("DELETE", `/v1/keys/${leaked.body.key.id}`)
    expect(revoked.body.alsoRevoked).toEqual([child.body.key.id, grandchild.body.key.id].toSorted())
    for (const { body } of [leaked, child, grandchild]) {
      expect((await as(body.secret)("GET", "/v1/account")).status).toBe(401)
    }
    expect((await as(kept.body.secret)("GET", "/v1/account")).status).toBe(200)
    // Other files use the server too.
    const { body } = await as(server.operatorToken)("GET", "/admin/audit?limit=100")
    const lists = body.events.map(({ detail }: { detail: { alsoRevoked?: unknown } }) => detail.alsoRevoked)
    expect(lists).toContainEqual(revoked.body.alsoRevoked)
  })

  it("replaces a key by one that it made, which then goes with the first one's maker", async () => {
    const own = as(await server.newAccount("rotating"))
    const first = await own("POST", "/v1/keys", {})
    const second = await as(first.body.secret)("POST", "/v1/keys", {})
    const third = await as(second.body.secret)("POST", "/v1/keys", {})
    const answer = await as(third.body.secret)("DELETE", `/v1/keys/${second.body.key.id}?keepMade=true`)
    expect([answer.status, answer.body.alsoRevoked]).toEqual([200, []])
    expect((await as(second.body.secret)("GET", "/v1/account")).status).toBe(401)
    expect((await as(third.body.secret)("GET", "/v1/account")).status).toBe(200)
    const revoked = await server.asOperator("DELETE", `/admin/keys/${first.body.key.id}`)
    expect(revoked.body.alsoRevoked).toEqual([third.body.key.id])
    expect((await as(third.body.secret)("GET", "/v1/account")).status).toBe(401)
  })

  it.each([{ agents: [] }, { expiresIn: "soon" }, { read_only: true }, { readonly: true }, { scope: "all" }])(
    "is told what is wrong with %j, and gets no wider key",
    async (body) => {
      const own = as(await server.newAccount("wrong"))
      const before = idsOf(await own("GET", "/v1/keys"))
      expect((await own("POST", "/v1/keys", body)).status).toBe(400)
      expect(idsOf(await own("GET", "/v1/keys"))).toEqual(before)
    }
  )

  it("gets the first answer again for the same Idempotency-Key, and no second key", async () => {
    const key = await server.newAccount("repeating")
    const create = () =>
      server.call("POST", "/v1/keys", { key, body: { label: "x" }, headers: { "idempotency-key": "once" } })
    const first = await create()
    expect(made(await create())).toBe(made(first))
    expect((await as(key)("GET", "/v1/keys")).body.keys).toHaveLength(2)
  })

  it("has its changes in the audit log, with who made them, and no secret", async () => {
    const own = as(await server.newAccount("audited"))
    const answer = await own("POST", "/v1/keys", { label: "secret label" })
    await own("DELETE", `/v1/keys/${answer.body.key.id}`)
    const { body } = await as(server.operatorToken)("GET", "/admin/audit?limit=2")
    const detail = { keyId: answer.body.key.id, by: expect.stringMatching(/^key_/) }
    expect(body.events).toMatchObject([
      { action: "keys.revokeKey", subject: server.nameOf("audited"), detail },
      { action: "keys.createKey", subject: server.nameOf("audited"), detail }
    ])
    expect(JSON.stringify(body)).not.toContain(answer.body.secret)
  })

  it("is an operator's change once, as theirs, where one acts for the account, which learns no name", async () => {
    const own = as(await server.newAccount("served"))
    const headers = { "x-account": server.nameOf("served") }
    const made = await server.call("POST", "/v1/keys", {
      key: server.operatorToken,
      headers,
      body: { label: "theirs" }
    })
    const audit = `/admin/audit?subject=${server.nameOf("served")}&action=keys`
    expect((await as(server.operatorToken)("GET", audit)).body.events).toMatchObject([
      { action: "keys.createKey", operator: "operator", detail: { keyId: made.body.key.id } }
    ])
    const { secret } = (await as(server.operatorToken)("POST", "/admin/operators", { name: "mo", role: "maintainer" }))
      .body
    await server.call("GET", "/v1/schemas", { key: secret, headers })
    expect((await own("GET", "/v1/account/requests?caller=operator")).body.requests.length).toBeGreaterThan(0)
    expect((await own("GET", "/v1/account/requests?caller=operator:mo")).body.requests).toEqual([])
  })
})

describe("a restricted key", () => {
  const restricted = async (name: string, scope: object) => {
    const own = as(await server.newAccount(name))
    return { own, inner: as(made(await own("POST", "/v1/keys", scope))) }
  }
  const expectRefused = ({ body, status }: Answer) =>
    expect([status, body.code], JSON.stringify(body)).toEqual([403, "key_scope"])

  it.each([
    [{ agents: ["a", "b"] }, [{}, { agents: ["a", "c"] }, { subjects: ["s"] }], { agents: ["b"] }],
    [{ subjects: ["s"] }, [{}, { agents: ["a"] }, { subjects: ["t"] }], { subjects: ["s"], agents: ["a"] }],
    [{ expiresIn: "1h" }, [{}, { expiresIn: "2h" }, { readOnly: true }], { expiresIn: "30m" }]
  ])("with %j makes none of %j, but %j", async (scope, wider, narrower) => {
    const { inner } = await restricted(`narrow ${JSON.stringify(scope)}`, scope)
    for (const each of wider) expectRefused(await inner("POST", "/v1/keys", each))
    made(await inner("POST", "/v1/keys", narrower))
  })

  it("that only reads makes and revokes none, itself included", async () => {
    const { inner, own } = await restricted("reading", { readOnly: true })
    expectRefused(await inner("POST", "/v1/keys", { readOnly: true }))
    for (const id of idsOf(await own("GET", "/v1/keys"))) expectRefused(await inner("DELETE", `/v1/keys/${id}`))
    expect((await inner("GET", "/v1/account")).status).toBe(200)
  })

  it("sees and revokes keys within its restriction only", async () => {
    const { inner, own } = await restricted("seeing", { agents: ["a", "b"] })
    const within = await own("POST", "/v1/keys", { agents: ["a"] })
    const outside = await own("POST", "/v1/keys", { agents: ["a", "c"] })
    const seen = idsOf(await inner("GET", "/v1/keys"))
    expect(seen).toHaveLength(2)
    expect(seen).toContain(within.body.key.id)
    expect((await inner("DELETE", `/v1/keys/${outside.body.key.id}`)).body.code).toBe("key_not_found")
    expect((await inner("DELETE", `/v1/keys/${within.body.key.id}`)).status).toBe(200)
    expect((await as(outside.body.secret)("GET", "/v1/account")).status).toBe(200)
  })

  it("that ends sees and revokes no key that ends later or never", async () => {
    const { inner, own } = await restricted("ending", { expiresIn: "1h" })
    const within = await own("POST", "/v1/keys", { expiresIn: "30m" })
    const later = await own("POST", "/v1/keys", { expiresIn: "2h" })
    const [lasting] = idsOf(await own("GET", "/v1/keys"))
    const seen = idsOf(await inner("GET", "/v1/keys"))
    expect(seen).toHaveLength(2)
    expect(seen).toContain(within.body.key.id)
    for (const id of [later.body.key.id, lasting]) {
      expect((await inner("DELETE", `/v1/keys/${id}`)).body.code).toBe("key_not_found")
    }
    expect((await as(later.body.secret)("GET", "/v1/account")).status).toBe(200)
    expect((await inner("DELETE", `/v1/keys/${within.body.key.id}`)).status).toBe(200)
  })

  it.each([{ expiresIn: "1h" }, { agents: ["a"] }])(
    "with %j is not given a wider key by the Idempotency-Key that made it",
    async (scope) => {
      const key = await server.newAccount(`repeated ${JSON.stringify(scope)}`)
      const options = { body: { label: "wide" }, headers: { "idempotency-key": "deploy" } }
      const wide = made(await server.call("POST", "/v1/keys", { ...options, key }))
      const inner = made(await as(key)("POST", "/v1/keys", scope))
      const answer = await server.call("POST", "/v1/keys", { ...options, key: inner })
      expectRefused(answer)
      expect(JSON.stringify(answer.body)).not.toContain(wide)
    }
  )
})

describe("a wallet", () => {
  it("makes keys of its account, which its first call may open, and revokes them", async () => {
    const wallet = walletCalls(server, evmWallet("key maker"))
    expect((await wallet.call("GET", "/v1/keys")).body.keys).toEqual([])
    const answer = await wallet.post("/v1/keys", { label: "agent" })
    const key = as(made(answer))
    expect((await key("GET", "/v1/account")).body.account.id).toBe(evmWallet("key maker").wallet.address)
    expect((await wallet.call("DELETE", `/v1/keys/${answer.body.key.id}`)).status).toBe(200)
    expect((await key("GET", "/v1/account")).status).toBe(401)
  })
})

describe("calls for keys", () => {
  it("are free and counted by the rate limits", async () => {
    const own = await sharedServer(limitedRates)
    const key = await own.newAccount("limited")
    // One is given back each second.
    const calls = Array.from({ length: 10 }, () => own.call("GET", "/v1/keys", { key }))
    const left = (await Promise.all(calls)).map(({ headers }) => Number(headers.get("x-ratelimit-remaining")))
    expect(Math.max(...left)).toBe(59)
    const next = await own.call("POST", "/v1/keys", { key, body: {} })
    expect(Number(next.headers.get("x-ratelimit-remaining"))).toBeLessThan(59)
    expect((await own.call("GET", "/v1/credits/transactions", { key })).body.transactions.length).toBeLessThan(2)
  })
})
