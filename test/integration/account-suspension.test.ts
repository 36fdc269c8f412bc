/** Accounts that the operator suspends, and wallets that are parted from theirs (contract: Identity, Operator routes). */
import { afterAll, beforeAll, expect, it } from "vitest"
import { fact, idsOf } from "../support/MemoryCalls.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { evmWallet, grantsHeader, nowSeconds, signedGrant, solWallet, walletCalls } from "../support/TrustCalls.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
})
afterAll(() => server.stop())

it("refuses every key and wallet of a suspended account on every way in, and serves it again as it was", async () => {
  const key = await server.newAccount("kept")
  const second = await server.newAccount("kept")
  const signer = evmWallet("of a suspended account")
  await server.asOperator("POST", "/admin/wallets", { account: "kept", address: signer.wallet.address })
  const body = { agentId: "a", memories: [fact("tea", "jasmine")] }
  const [{ id }] = (await server.call("POST", "/v1/memories", { key, body })).body.created

  const suspended = await server.asOperator("POST", "/admin/accounts/suspend", { account: "kept" })
  expect(suspended.body.account).toMatchObject({ name: "kept", suspendedAt: expect.any(Number) })
  const again = await server.asOperator("POST", "/admin/accounts/suspend", { account: "kept" })
  expect(again.body.account.suspendedAt).toBe(suspended.body.account.suspendedAt)
  const ping = { jsonrpc: "2.0", id: 1, method: "tools/list" }
  const answers = [
    await server.call("GET", `/v1/memories/${id}`, { key }),
    await server.call("GET", "/v1/account", { key: second }),
    await server.call("POST", "/v1/memories", { key, body }),
    await server.call("POST", "/mcp", { key, body: ping }),
    await walletCalls(server, signer).call("GET", "/v1/memories"),
    await walletCalls(server, signer).post("/mcp", ping)
  ]
  for (const answer of answers) expect([answer.status, answer.body.code]).toEqual([403, "account_suspended"])
  expect((await server.call("GET", "/v1/account")).status).toBe(200)

  expect(
    (await server.asOperator("POST", "/admin/accounts/resume", { account: "kept" })).body.account
  ).not.toHaveProperty("suspendedAt")
  expect((await server.call("GET", `/v1/memories/${id}`, { key })).body.memory.data.fact).toBe("jasmine")
  expect((await walletCalls(server, signer).call("GET", "/v1/memories")).body.total).toBe(1)
})

it("lets grants of a suspended account open nothing until it is resumed", async () => {
  const signer = evmWallet("suspended grantor")
  await walletCalls(server, signer).create("a", [fact("tea", "gyokuro")])
  const { address } = signer.wallet
  const reader = evmWallet("reader of the suspended")
  const grant = await signedGrant(signer, { g: reader.wallet.address, e: nowSeconds() + 3_600 })
  const found = async () => {
    const headers = grantsHeader([grant])
    const path = "/v1/memories/search?query=gyokuro&scope=shared"
    return (await walletCalls(server, reader).call("GET", path, { headers })).body.memories.length
  }
  expect(await found()).toBe(1)
  await server.asOperator("POST", "/admin/accounts/suspend", { account: address })
  expect(await found()).toBe(0)
  await server.asOperator("POST", "/admin/accounts/resume", { account: address })
  expect(await found()).toBe(1)
})

it("answers 404 for an account that there is not", async () => {
  for (const path of ["/admin/accounts/suspend", "/admin/accounts/resume"]) {
    expect((await server.asOperator("POST", path, { account: "nobody" })).body.code).toBe("account_not_found")
  }
})

it("lets an unlinked wallet open nothing, not even an account of its own, until it is linked again", async () => {
  const key = await server.newAccount("shared")
  const signer = solWallet("unlinked")
  const { address } = signer.wallet
  await server.asOperator("POST", "/admin/wallets", { account: "shared", address })
  const body = { agentId: "a", memories: [fact("tea", "sencha")] }
  await server.call("POST", "/v1/memories", { key, body })
  const reader = evmWallet("reader of the unlinked")
  const grant = await signedGrant(signer, { g: reader.wallet.address, e: nowSeconds() + 3_600 })
  const searchShared = async () =>
    walletCalls(server, reader).call("GET", "/v1/memories/search?query=sencha&scope=shared", {
      headers: grantsHeader([grant])
    })
  expect((await searchShared()).body.memories).toHaveLength(1)

  const unlinked = await server.asOperator("POST", "/admin/wallets/unlink", { address })
  expect(unlinked.body.wallet).toEqual({ address, family: "sol", account: "shared" })
  const refused = await walletCalls(server, signer).call("GET", "/v1/memories")
  expect([refused.status, refused.body.code]).toEqual([403, "sign_up_closed"])
  expect((await searchShared()).body.memories).toEqual([])
  expect((await server.asOperator("POST", "/admin/wallets/unlink", { address })).body.code).toBe("wallet_not_found")
  expect(idsOf((await server.call("GET", "/v1/memories", { key })).body.memories)).toHaveLength(1)

  await server.newAccount("other")
  expect((await server.asOperator("POST", "/admin/wallets", { account: "other", address })).status).toBe(200)
  expect((await walletCalls(server, signer).call("GET", "/v1/account")).body.account.name).toBe("other")
})

it("does not let a wallet back into an account of its own that it was parted from", async () => {
  const signer = evmWallet("parted from itself")
  await walletCalls(server, signer).create("a", [fact("tea", "oolong")])
  await server.asOperator("POST", "/admin/wallets/unlink", { address: signer.wallet.address })
  const refused = await walletCalls(server, signer).call("GET", "/v1/account")
  expect([refused.status, refused.body.code]).toEqual([403, "sign_up_closed"])
})
