/** Accounts that the operator suspends, and wallets that are parted from theirs (contract: Identity, Operator routes). */
import { expect, it } from "vitest"
import { contractRoutes } from "../support/Contract.ts"
import { accountCalls, fact, idsOf, schemaText, text } from "../support/MemoryCalls.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { refusalOf } from "../support/TestServer.ts"
import { evmWallet, grantsHeader, nowSeconds, signedGrant, solWallet, walletCalls } from "../support/TrustCalls.ts"

const server = useSharedServer(withoutModel)

it("refuses every key and wallet of a suspended account on every way in, and serves it again as it was", async () => {
  const key = await server.newAccount("kept")
  const second = await server.newAccount("kept")
  const signer = evmWallet("of a suspended account")
  await server.asOperator("POST", "/admin/wallets", { account: server.nameOf("kept"), address: signer.wallet.address })
  const body = { agentId: "a", memories: [fact("tea", "jasmine")] }
  const [{ id }] = (await server.call("POST", "/v1/memories", { key, body })).body.created

  const suspended = await server.asOperator("POST", "/admin/accounts/suspend", { account: server.nameOf("kept") })
  expect(suspended.body.account).toMatchObject({ name: server.nameOf("kept"), suspendedAt: expect.any(Number) })
  const again = await server.asOperator("POST", "/admin/accounts/suspend", { account: server.nameOf("kept") })
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
  const refused = `/admin/requests?account=${server.nameOf("kept")}&refused=true&operation=memories.get`
  expect((await server.asOperator("GET", refused)).body.requests).toMatchObject([{ code: "account_suspended" }])
  expect((await server.call("GET", "/v1/account")).status).toBe(200)

  expect(
    (await server.asOperator("POST", "/admin/accounts/resume", { account: server.nameOf("kept") })).body.account
  ).not.toHaveProperty("suspendedAt")
  expect((await server.call("GET", `/v1/memories/${id}`, { key })).body.memory.data.fact).toBe("jasmine")
  expect((await walletCalls(server, signer).call("GET", "/v1/memories")).body.total).toBe(1)
})

it("refuses a suspended account on every route of the contract that takes its key, and changes nothing", async () => {
  const calls = await accountCalls(server, "every-route")
  const schema = schemaText({ email: text, city: text })
  await calls.post("/v1/schemas", { name: "person", description: "d", uniqueOn: ["email"], schema })
  const [first] = await calls.create("a", [{ kind: "person", data: { email: "ann", city: "Oslo" } }])
  await calls.create("a", [{ kind: "person", data: { email: "ann", city: "Rome" } }], { subjectId: "ann" })
  await calls.create("a", [{ kind: "person", data: { email: "ann", city: "Rome" } }])
  const conversation = [{ id: "m1", role: "user", content: "I drink sencha." }]
  const place = { agentId: "a", subjectId: "ann", threadId: "t" }
  await calls.post("/v1/memories", { ...place, conversation, wait: "extraction" })
  const reads: ReadonlyArray<readonly [method: string, path: string, body?: object]> = [
    ["POST", "/v1/context", { agentId: "a", subjectId: "ann", query: "sencha" }],
    ["GET", "/v1/subjects"],
    ["GET", "/v1/subjects/ann/profile"],
    ["GET", `/v1/memories/${first.id}/history`],
    ["GET", "/v1/memories/search?query=sencha&context=1&rerank=model"]
  ]
  const read = async () => {
    const answers = []
    for (const [method, path, body] of reads) answers.push(await calls.call(method, path, { body }))
    return answers
  }
  const before = await read()
  for (const { status } of before) expect(status).toBe(200)

  await server.asOperator("POST", "/admin/accounts/suspend", { account: server.nameOf("every-route") })
  for (const answer of await read()) {
    expect([answer.status, answer.body.code]).toEqual([403, "account_suspended"])
    expect(JSON.stringify(answer.body)).not.toMatch(/sencha|Oslo|ann\b/)
  }
  for (const { method, name, path } of contractRoutes.filter((route) => !route.isOperators)) {
    const { body, status } = await calls.call(method, path.replace(":id", first.id).replace(/:\w+/, "person"), {
      ...(method !== "GET" && method !== "DELETE" && { body: {} })
    })
    expect([name, status, body.code]).toEqual([name, 403, "account_suspended"])
  }
  await server.asOperator("POST", "/admin/accounts/resume", { account: server.nameOf("every-route") })
  const bodies = (answers: typeof before) => answers.map(({ body }) => ({ ...body, searchedAt: undefined }))
  expect(bodies(await read())).toEqual(bodies(before))
  const restored = await calls.call("POST", `/v1/memories/${first.id}/restore`)
  expect([restored.status, restored.body.memory.data.city]).toEqual([200, "Oslo"])
})

it("lets a context have nothing that a suspended account has granted", async () => {
  const [signer, reader] = [evmWallet("suspended grantor of a context"), evmWallet("reader of a context")]
  const conversation = ["Which tea?", "I drink gyokuro."].map((content, at) => ({
    id: `m${at}`,
    role: "user",
    content
  }))
  await walletCalls(server, signer).post("/v1/memories", { agentId: "a", threadId: "t", conversation })
  const { address } = signer.wallet
  const grant = await signedGrant(signer, { g: reader.wallet.address, e: nowSeconds() + 3_600 })
  const headers = grantsHeader([grant])
  const found = async () => {
    const handed = await walletCalls(server, reader).post("/v1/context", { query: "gyokuro" }, headers)
    const path = "/v1/memories/search?query=gyokuro&scope=shared&context=1"
    const searched = await walletCalls(server, reader).call("GET", path, { headers })
    return `${handed.body.text}${JSON.stringify(searched.body.memories)}`
  }
  expect(await found()).toMatch(/I drink gyokuro[^]*Which tea/)
  await server.asOperator("POST", "/admin/accounts/suspend", { account: address })
  expect(await found()).not.toMatch(/gyokuro|Which tea/)
  await server.asOperator("POST", "/admin/accounts/resume", { account: address })
  expect(await found()).toMatch(/I drink gyokuro/)
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
  await server.asOperator("POST", "/admin/wallets", { account: server.nameOf("shared"), address })
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
  expect(unlinked.body.wallet).toEqual({ address, family: "sol", account: server.nameOf("shared") })
  expect(refusalOf(await walletCalls(server, signer).call("GET", "/v1/memories"))).toEqual([403, "sign_up_closed"])
  expect((await searchShared()).body.memories).toEqual([])
  expect((await server.asOperator("POST", "/admin/wallets/unlink", { address })).body.code).toBe("wallet_not_found")
  expect(idsOf((await server.call("GET", "/v1/memories", { key })).body.memories)).toHaveLength(1)

  await server.newAccount("other")
  expect((await server.asOperator("POST", "/admin/wallets", { account: server.nameOf("other"), address })).status).toBe(
    200
  )
  expect((await walletCalls(server, signer).call("GET", "/v1/account")).body.account.name).toBe(server.nameOf("other"))
})

it("does not let a wallet back into an account of its own that it was parted from", async () => {
  const signer = evmWallet("parted from itself")
  await walletCalls(server, signer).create("a", [fact("tea", "oolong")])
  await server.asOperator("POST", "/admin/wallets/unlink", { address: signer.wallet.address })
  expect(refusalOf(await walletCalls(server, signer).call("GET", "/v1/account"))).toEqual([403, "sign_up_closed"])
})
