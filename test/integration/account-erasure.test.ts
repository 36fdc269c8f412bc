/**
 * An account that its operator erases wholly (contract: Operator routes): nothing of it is left on the disk but its
 * closed ledger, also after a kill in the middle.
 */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { filesWith } from "../support/filesWith.ts"
import { accountCalls, fact } from "../support/MemoryCalls.ts"
import { useModel } from "../support/ModelServer.ts"
import { answer } from "../support/ModelServerReplies.ts"
import { type Answer, patienceMillis, refusalOf, startServer, type TestServer } from "../support/TestServer.ts"
import { evmWallet, walletCalls } from "../support/TrustCalls.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }
const agents = 30
const secretWord = "xylographic"

const dataDirectory = temporaryDirectory()
let server: TestServer
beforeAll(async () => {
  server = await startServer({ dataDirectory, environment })
})
afterAll(async () => {
  await server.stop()
})

const erase = (account: string, dryRun = false): Promise<Answer> =>
  server.asOperator("POST", "/admin/accounts/erase", { account, dryRun })

const schema = { name: `${secretWord}_note`, description: `notes on ${secretWord}`, schema: '{"type":"object"}' }

/** An account with something of everything that is kept; its key. */
const furnished = async (name: string): Promise<string> => {
  const key = await server.newAccount(name)
  await server.asOperator("POST", "/admin/wallets", { account: name, address: evmWallet(name).wallet.address })
  await server.asOperator("POST", "/admin/ledger/adjustments", {
    account: name,
    credits: 500,
    reason: "gift",
    key: name
  })
  await server.call("POST", "/v1/schemas", { key, body: schema })
  for (let agent = 0; agent < agents; agent++) {
    const body = { agentId: `agent ${agent}`, memories: [fact("wood", `${secretWord} ${agent}`)] }
    const headers = { "idempotency-key": `write ${agent}` }
    const made = await server.call("POST", "/v1/memories", { key, body, headers })
    expect(made.status, JSON.stringify(made.body)).toBe(200)
  }
  return key
}

const namespaceFiles = (): ReadonlyArray<string> => readdirSync(join(dataDirectory, "namespaces"))

const expectErased = async (name: string, report: Answer["body"]): Promise<void> => {
  expect(report.erasure).toMatchObject({
    dryRun: false,
    finishedAt: expect.any(Number),
    removed: { agents, memories: agents, keys: 1, wallets: 1, schemas: 1, answers: agents },
    files: { left: [] },
    ledger: { total: 0 }
  })
  expect(report.erasure.files.removed.length).toBeGreaterThanOrEqual(agents)
  expect(report.erasure.ledger.closed).toContainEqual({
    name: `liability:credits:${report.erasure.account}`,
    credits: 500
  })
  const files = namespaceFiles()
  for (const removed of report.erasure.files.removed) expect(files).not.toContain(removed)
  expect(filesWith(dataDirectory, secretWord)).toEqual([])
  const { body } = await server.asOperator("GET", "/admin/accounts")
  expect(body.accounts.map((account: { name: string }) => account.name)).not.toContain(name)
  const ledger = await server.asOperator("GET", "/admin/ledger/check")
  expect(ledger.body).toMatchObject({ ok: true, problems: [] })
  for (const { credits, debits, name: owned } of ledger.body.balances) {
    if (owned.endsWith(`:${report.erasure.account}`)) expect([owned, credits - debits]).toEqual([owned, 0])
  }
}

describe("an erased account", () => {
  it("is only counted by a dry run", async () => {
    const key = await furnished("rehearsed")
    const { body } = await erase("rehearsed", true)
    expect(body.erasure).toMatchObject({
      dryRun: true,
      finishedAt: null,
      removed: { agents, memories: agents, keys: 1, wallets: 1, schemas: 1, answers: agents }
    })
    expect((await server.call("GET", "/v1/memories", { key })).body.total).toBe(agents)
    expect((await erase("rehearsed")).status).toBe(200)
  })

  it("leaves nothing on the disk but its closed ledger, and its keys open nothing", async () => {
    const key = await furnished("gone")
    const neighbour = await server.newAccount("neighbour")
    const kept = { agentId: "a", memories: [fact("tea", "kept")] }
    await server.call("POST", "/v1/memories", { key: neighbour, body: kept })
    const report = await erase("gone")
    expect(report.status, JSON.stringify(report.body)).toBe(200)
    await expectErased("gone", report.body)
    expect((await server.call("GET", "/v1/account", { key })).body.code).toBe("invalid_api_key")
    expect((await server.call("GET", "/v1/memories", { key: neighbour })).body.total).toBe(1)
    const again = await erase("gone")
    expect(again.body).toEqual(report.body)
    expect((await erase(report.body.erasure.account)).body).toEqual(report.body)
    expect((await erase("never was")).body.code).toBe("account_not_found")
  })

  it("waits for calls under way, and refuses those that come", async () => {
    const key = await furnished("busy")
    const writes = Array.from({ length: 40 }, (_, at) =>
      server.call("POST", "/v1/memories", { key, body: { agentId: `late ${at}`, memories: [fact("w", secretWord)] } })
    )
    const report = await erase("busy")
    expect(report.status, JSON.stringify(report.body)).toBe(200)
    for (const { body, status } of await Promise.all(writes)) {
      expect([200, 401, 403, 503], JSON.stringify(body)).toContain(status)
    }
    expect(filesWith(dataDirectory, secretWord)).toEqual([])
    expect((await server.asOperator("GET", "/admin/ledger/check")).body.ok).toBe(true)
  })

  it("may come again: a wallet's new account is empty, and is erased again", async () => {
    const signer = evmWallet("returning")
    const calls = walletCalls(server, signer)
    const { address } = signer.wallet
    await calls.create("agent", [fact("tea", "first life")])
    const first = await erase(address)
    expect(first.body.erasure).toMatchObject({ account: address, removed: { memories: 1, wallets: 1 } })
    // The allowance of this month is gone with the first account.
    expect(refusalOf(await calls.call("GET", "/v1/memories"))).toEqual([403, "insufficient_credits"])
    await server.asOperator("POST", "/admin/ledger/adjustments", {
      account: address,
      credits: 50,
      reason: "back",
      key: "back"
    })
    expect((await calls.call("GET", "/v1/memories")).body.total).toBe(0)
    await calls.create("agent", [fact("tea", "second life")])
    expect((await calls.call("GET", "/v1/memories")).body.total).toBe(1)
    const second = await erase(address)
    expect(second.body.erasure).toMatchObject({ removed: { memories: 1 }, files: { left: [] }, ledger: { total: 0 } })
    expect(filesWith(dataDirectory, "second life")).toEqual([])
  })

  it("is erased by the next start when a kill comes in the middle", async () => {
    await furnished("killed")
    const { account } = (await erase("killed", true)).body.erasure
    const before = namespaceFiles().length
    const asked = erase("killed").catch(() => undefined)
    const deadline = Date.now() + patienceMillis
    while (namespaceFiles().length >= before && Date.now() < deadline) await new Promise((wake) => setImmediate(wake))
    await server.kill()
    await asked
    server = await startServer({ dataDirectory, environment })
    const report = await erase("killed")
    expect(report.body.erasure.account).toBe(account)
    await expectErased("killed", report.body)
  })
})

describe("an erasure that has begun", () => {
  const model = useModel()

  it("waits for what an operator changes in the account, and nothing comes to it or ends it any more", async () => {
    const own = await startServer({ environment: { ...environment, ...model.environment() } })
    try {
      const calls = await accountCalls(own, "waited")
      const headers = { authorization: `Bearer ${own.operatorToken}`, "x-account": "waited" }
      const change = (path: string, body: object) => own.call("POST", path, { key: null, headers, body })
      model.script({ kind: "slow", millis: 8_000, then: answer({}) })
      const conversation = [{ role: "user", content: `I am Zoe and I carve ${secretWord} signs.` }]
      const underWay = change("/v1/memories", { agentId: "zoe", conversation, wait: "extraction" })
      await vi.waitFor(() => expect(model.underWay).toBe(1), patienceMillis)
      const asked = own.asOperator("POST", "/admin/accounts/erase", { account: "waited" })
      await vi.waitFor(async () => {
        expect((await calls.call("GET", "/v1/account")).body.code).toBe("account_suspended")
      }, patienceMillis)

      const open = [409, "erasure_open"]
      const memories = [fact("wood", secretWord)]
      expect(refusalOf(await change("/v1/memories", { agentId: "new", memories }))).toEqual(open)
      expect(refusalOf(await change("/v1/schemas", schema))).toEqual(open)
      const asOperator = (path: string, rest: object = {}) =>
        own.asOperator("POST", path, { account: "waited", ...rest })
      expect(refusalOf(await asOperator("/admin/import", { records: [] }))).toEqual(open)
      expect(refusalOf(await asOperator("/admin/accounts/resume"))).toEqual(open)
      expect((await underWay).status).toBe(200)
      const report = await asked
      expect(report.status, JSON.stringify(report.body)).toBe(200)
      expect(report.body.erasure).toMatchObject({ finishedAt: expect.any(Number), files: { left: [] } })
      expect(filesWith(own.dataDirectory, secretWord)).toEqual([])
    } finally {
      await own.stop()
    }
  })
})
