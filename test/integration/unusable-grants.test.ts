/** Grants that open nothing (contract: Grants): each is named with its reason, and none stands in the way of others. */
import { beforeAll, describe, expect, it } from "vitest"
import { accountCalls, fact, idsOf, type MemoryCalls } from "../support/MemoryCalls.ts"
import { useSharedServer } from "../support/SharedServer.ts"
import type { Answer } from "../support/TestServer.ts"
import { evmWallet, grantsHeader, nowSeconds, signedGrant, walletCalls } from "../support/TrustCalls.ts"

const server = useSharedServer()
let b: Omit<MemoryCalls, "key">
let granted: string
const signerA = evmWallet("unusable a")
const signerB = evmWallet("unusable b")

beforeAll(async () => {
  const a = walletCalls(server, signerA)
  b = walletCalls(server, signerB)
  const [entry] = await a.create("travel", [fact("Kim", "drinks jasmine tea")])
  granted = entry.id
  await b.create("own", [fact("Bo", "likes tea")])
})

const toB = (rest: object = {}, signer = signerA) => signedGrant(signer, { g: signerB.wallet.address, ...rest })
const ask = (grants: ReadonlyArray<unknown>, parameters: object = {}) =>
  b.call("GET", `/v1/memories/search?${new URLSearchParams({ query: "tea", scope: "shared", ...parameters })}`, {
    headers: grantsHeader(grants)
  })
const namedIn = ({ body, status }: Answer) => {
  expect(status, JSON.stringify(body)).toBe(200)
  return (body.unusableGrants ?? []).map(({ index, reason }: { index: number; reason: string }) => [index, reason])
}

describe("a grant that opens nothing", () => {
  it("is named with its reason, beside one that opens something", async () => {
    const good = await toB()
    const { e: _, ...withoutExpiry } = good.p
    const unknown = evmWallet("unusable nobody")
    const grants: ReadonlyArray<readonly [unknown, string]> = [
      [await toB({ e: nowSeconds() - 10 }), "expired"],
      [await toB({ e: Date.now() + 3_600_000 }), "bad_expiry"],
      [{ ...good, p: { ...good.p, a: "travel" } }, "bad_signature"],
      [{ ...good, c: "sol" }, "bad_grantor"],
      [{ ...good, c: "btc" }, "unknown_family"],
      [await toB({ g: signerA.wallet.address }), "not_for_caller"],
      [await toB({ x: 1 }), "unknown_payload_field"],
      [await toB({}, unknown), "no_account"],
      [{ ...good, p: withoutExpiry }, "malformed"]
    ]
    const answer = await ask([...grants.map(([grant]) => grant), good])
    expect(namedIn(answer)).toEqual(grants.map(([, reason], index) => [index, reason]))
    expect(idsOf(answer.body.memories)).toEqual([granted])
    for (const { message } of answer.body.unusableGrants) expect(message.length).toBeGreaterThan(10)
    expect(answer.body.unusableGrants[0]).toMatchObject({ grantor: signerA.wallet.address })
    expect(answer.body.unusableGrants[1].message).toContain("if it is meant in milliseconds")
  })

  it.each([1, null, "grant", [], {}, { p: 1 }])("may have any form: %j", async (element) => {
    const answer = await ask([element, await toB()])
    expect(namedIn(answer)).toEqual([[0, "malformed"]])
    expect(idsOf(answer.body.memories)).toEqual([granted])
  })

  it("is named in every mode and in a batch, and not where grants are not looked at", async () => {
    const expired = await toB({ e: nowSeconds() - 10 })
    for (const mode of ["llm", "answer", "map"])
      expect(namedIn(await ask([expired], { mode }))).toEqual([[0, "expired"]])
    expect(namedIn(await ask([expired], { scope: "all" }))).toEqual([[0, "expired"]])
    expect((await ask([expired], { scope: "own" })).body).not.toHaveProperty("unusableGrants")
    expect((await ask([await toB()])).body).not.toHaveProperty("unusableGrants")
    const batch = await b.post("/v1/memories/batch/search", { queries: [{ query: "tea" }] }, grantsHeader([expired]))
    expect(namedIn(batch)).toEqual([[0, "expired"]])
  })

  it("because it was revoked says so, and one in milliseconds cannot be revoked", async () => {
    const grant = await toB({ a: "travel" })
    const a = walletCalls(server, signerA)
    expect((await a.post("/v1/grants/revoke", { grant })).status).toBe(200)
    expect(namedIn(await ask([grant]))).toEqual([[0, "revoked"]])
    const inMillis = await toB({ e: Date.now() + 3_600_000 })
    const { body, status } = await a.post("/v1/grants/revoke", { grant: inMillis })
    expect([status, body.code, body.error]).toEqual([400, "invalid_expiry", expect.stringContaining("milliseconds")])
  })

  it("by a key that is bound is named too", async () => {
    const account = await accountCalls(server, "bound")
    const { body } = await account.post("/v1/keys", { agents: ["own"] })
    const made = await server.call("GET", "/v1/memories/search?query=tea", {
      key: body.secret,
      headers: grantsHeader([await signedGrant(signerA, { g: body.key.id })])
    })
    expect(namedIn(made)).toEqual([[0, "bound_key"]])
  })
})
