/**
 * The account that a wallet opens (contract: Wallet signatures): made by its first priced call, once, on the configured
 * plan; and what its owner does with it over HTTP.
 */
import { describe, expect, it } from "vitest"
import { fact, idsOf } from "../support/MemoryCalls.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { evmWallet, solWallet, walletCalls, walletHeaders } from "../support/TrustCalls.ts"
import { useServer } from "../support/useServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }

const server = useServer({ environment })

interface AccountRecord {
  readonly id: string
  readonly name: string
  readonly plan: string
}

const accounts = async (of: TestServer): Promise<ReadonlyArray<AccountRecord>> =>
  (await of.asOperator("GET", "/admin/accounts")).body.accounts

describe.each([
  ["EVM", evmWallet],
  ["Solana", solWallet]
] as const)("a wallet's first calls (%s)", (family, walletOf) => {
  it("makes an account on the free plan, named like its id, and none before", async () => {
    const signer = walletOf("newcomer")
    const { address } = signer.wallet
    expect((await accounts(server)).map(({ id }) => id)).not.toContain(address)
    expect((await walletCalls(server, signer).call("GET", "/v1/memories")).status).toBe(200)
    const made = (await accounts(server)).filter(({ id }) => id === address)
    expect(made).toEqual([expect.objectContaining({ id: address, name: address, plan: "free" })])
  })

  it("makes one account, however many arrive at once", async () => {
    const signer = walletOf("hurried")
    const before = (await accounts(server)).length
    const startMillis = Date.now()
    const signed = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        walletHeaders(signer, "GET", "/v1/memories", "", { timestampMillis: startMillis + at })
      )
    )
    const answers = await Promise.all(
      signed.map((headers) => server.call("GET", "/v1/memories", { key: null, headers }))
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await accounts(server)).toHaveLength(before + 1)
  })

  it("makes one account when the first of all are writes", async () => {
    const calls = walletCalls(server, walletOf("hurried writer"))
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, at) => calls.create(`agent ${at % 3}`, [fact("tea", `cup number ${at}`)]))
    )
    const { body } = await calls.call("GET", "/v1/memories?limit=100")
    expect(body.total).toBe(20)
    expect(idsOf(body.memories).toSorted()).toEqual(idsOf(made.flat()).toSorted())
  })

  it("may come again inside the window, at once or later", async () => {
    const headers = await walletHeaders(walletOf("repeating"), "GET", "/v1/account")
    const again = () => server.call("GET", "/v1/account", { key: null, headers })
    const answers = [await again(), ...(await Promise.all(Array.from({ length: 10 }, again))), await again()]
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  })

  it("makes no account when it is not valid", async () => {
    const before = await accounts(server)
    const signer = walletOf("never valid")
    const good = await walletHeaders(signer, "GET", "/v1/account")
    const late = await walletHeaders(signer, "GET", "/v1/account", "", { timestampMillis: Date.now() - 121_000 })
    const other = await walletHeaders(signer, "GET", "/v1/schemas")
    const byOther = await walletHeaders(walletOf("newcomer"), "GET", "/v1/account")
    const forged = { ...byOther, "x-wallet-address": signer.wallet.address }
    for (const headers of [{ ...good, "x-wallet-signature": "0x00" }, late, other, forged]) {
      expect((await server.call("GET", "/v1/account", { key: null, headers })).status).toBe(401)
    }
    expect(await accounts(server)).toEqual(before)
  })

  it("makes no account by what is refused, and none by what is free", async () => {
    const before = await accounts(server)
    const calls = walletCalls(server, walletOf("lost"))
    const missing = "/v1/memories/mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"
    const answers = await Promise.all([
      calls.call("GET", "/v1/nothing"),
      calls.call("GET", missing),
      calls.call("DELETE", missing),
      calls.call("DELETE", "/v1/schemas/none"),
      calls.post("/v1/memories", { agentId: "a" }),
      calls.post("/v1/schemas", { name: "x", description: "x", schema: "{" })
    ])
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 400, 400])
    expect(await accounts(server)).toEqual(before)
  })

  it("lets its owner store, find, change and delete, and nobody else", async () => {
    const owner = walletCalls(server, walletOf(`owner ${family}`))
    const stranger = walletCalls(server, walletOf(`stranger ${family}`))
    const [first, second] = await owner.create("a", [fact("tea", "jasmine"), fact("tea", "sencha")])
    const path = `/v1/memories/${first.id}`
    expect(idsOf(await owner.search({ query: "jasmine" }))).toContain(first.id)
    expect(await stranger.search({ query: "jasmine" })).toEqual([])
    for (const [method, body] of [["GET"], ["PATCH", { tags: ["x"] }], ["DELETE"]] as const) {
      const refusal = await stranger.call(method, path, { body })
      expect([method, refusal.status, refusal.body.code]).toEqual([method, 404, "memory_not_found"])
    }
    expect((await owner.call("PATCH", path, { body: { tags: ["green"] } })).body.memory.context.tags).toEqual(["green"])
    expect((await owner.call("DELETE", path)).status).toBe(200)
    expect((await owner.call("GET", path)).status).toBe(404)
    expect((await owner.get(second.id)).data.fact).toBe("sencha")
    const schema = { name: "note", description: "d", schema: '{"type":"object"}' }
    expect((await owner.post("/v1/schemas", schema)).status).toBe(200)
    expect((await stranger.call("GET", "/v1/schemas/note")).status).toBe(404)
  })

  it("writes once under an Idempotency-Key, signed anew or with the same signature", async () => {
    const signer = walletOf("idempotent")
    const calls = walletCalls(server, signer)
    const headers = { "idempotency-key": "one" }
    const body = { agentId: "a", memories: [fact("tea", "oolong")] }
    const first = await calls.post("/v1/memories", body, headers)
    const anew = await calls.post("/v1/memories", body, headers)
    expect([first.status, anew.status, anew.headers.get("idempotency-replayed")]).toEqual([200, 200, "true"])
    expect(anew.body).toEqual(first.body)
    const rawBody = JSON.stringify(body)
    const signed = await walletHeaders(signer, "POST", "/v1/memories", rawBody)
    const send = () => server.call("POST", "/v1/memories", { key: null, rawBody, headers: { ...signed, ...headers } })
    for (const answer of await Promise.all([send(), send(), send()])) expect(answer.body).toEqual(first.body)
    const changed = await calls.post("/v1/memories", { ...body, agentId: "b" }, headers)
    expect([changed.status, changed.body.code]).toEqual([409, "idempotency_conflict"])
    const other = await walletCalls(server, walletOf("idempotent too")).post("/v1/memories", body, headers)
    expect([other.status, other.headers.get("idempotency-replayed")]).toEqual([200, null])
    expect((await calls.call("GET", "/v1/memories")).body.total).toBe(1)
  })
})

it("a wallet's account is on the configured plan, keeps it, and outlives a restart", async () => {
  const dataDirectory = temporaryDirectory()
  const signer = evmWallet("planned")
  const withPlan = async <A>(plan: string, use: (running: TestServer) => Promise<A>): Promise<A> => {
    const running = await startServer({ dataDirectory, environment: { ...environment, MUNIMENT_WALLET_PLAN: plan } })
    return use(running).finally(() => running.stop())
  }
  const whoami = async (running: TestServer) => (await walletCalls(running, signer).call("GET", "/v1/account")).body
  const [{ id }] = await withPlan("starter", async (running) => {
    const entries = await walletCalls(running, signer).create("a", [fact("tea", "pu-erh")])
    expect((await whoami(running)).account.plan).toBe("starter")
    return entries
  })
  await withPlan("pro", async (running) => {
    expect((await whoami(running)).account.plan).toBe("starter")
    expect((await walletCalls(running, signer).get(id)).data.fact).toBe("pu-erh")
    const other = walletCalls(running, solWallet("planned later"))
    await other.create("a", [fact("tea", "mate")])
    expect((await other.call("GET", "/v1/account")).body.account.plan).toBe("pro")
    expect(await accounts(running)).toHaveLength(3)
  })
})
