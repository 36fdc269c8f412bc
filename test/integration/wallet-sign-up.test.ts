/**
 * Sign-up of wallets on a public address (contract: Wallet signatures): closed by default, open with bounds, or opened
 * by a deposit. On a loopback address: `trust-wallet-accounts.test.ts`.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { fact } from "../support/MemoryCalls.ts"
import { expectMoneyConserved, newPayer, payerSigner } from "../support/PaymentCalls.ts"
import { missingChains, useChains } from "../support/PaymentChains.ts"
import { type Answer, startServer, type TestServer } from "../support/TestServer.ts"
import { evmWallet, walletCalls, walletHeaders } from "../support/TrustCalls.ts"
import { useServer } from "../support/useServer.ts"

const publicly = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_PUBLIC_URL: "https://memory.example.com" }

const walletAccounts = async (of: TestServer): Promise<ReadonlyArray<string>> => {
  const { body } = await of.asOperator("GET", "/admin/accounts")
  return body.accounts.map(({ id }: { readonly id: string }) => id).filter((id: string) => id.startsWith("0x"))
}

/** A priced read by a wallet, as a proxy forwards it. */
const listFrom = async (of: TestServer, name: string, forwarded: string): Promise<Answer> =>
  of.call("GET", "/v1/memories", {
    key: null,
    headers: { ...(await walletHeaders(evmWallet(name), "GET", "/v1/memories")), "x-forwarded-for": forwarded }
  })

describe("a service with a public URL", () => {
  const server = useServer({ environment: publicly })

  it("opens no account for any wallet, and says why", async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, at) => walletCalls(server, evmWallet(`flood ${at}`)).call("GET", "/v1/memories"))
    )
    for (const { body, status } of answers) expect([status, body.code]).toEqual([403, "sign_up_closed"])
    const mcp = await walletCalls(server, evmWallet("flood 0")).post("/mcp", { jsonrpc: "2.0", id: 1, method: "ping" })
    expect([mcp.status, mcp.body.code]).toEqual([403, "sign_up_closed"])
    expect(await walletAccounts(server)).toEqual([])
  })

  it("serves a wallet that its operator linked", async () => {
    await server.newAccount("linked")
    const signer = evmWallet("linked")
    const body = { account: "linked", address: signer.wallet.address }
    await server.asOperator("POST", "/admin/wallets", body)
    const calls = walletCalls(server, signer)
    expect((await calls.call("GET", "/v1/account")).body.account.name).toBe("linked")
    expect((await calls.call("GET", "/v1/credits")).body.allowance.monthly).toBe(1_000_000)
  })
})

describe("an open service with a public URL", () => {
  const server = useServer({
    environment: {
      ...publicly,
      MUNIMENT_WALLET_SIGNUP: "open",
      MUNIMENT_WALLET_ALLOWANCE: "7",
      MUNIMENT_RATE_LIMITS: "on",
      MUNIMENT_TRUSTED_PROXIES: "127.0.0.0/8, 10.0.0.0/8"
    }
  })

  it("opens as many accounts for one client as the limit says, whatever the client forwards itself", async () => {
    const flood = await Promise.all(
      Array.from({ length: Limits.signUpsPerClientHour + 15 }, (_, at) =>
        listFrom(server, `one ${at}`, `203.0.113.${at}, 198.51.100.7, 10.1.2.3`)
      )
    )
    const refused = flood.filter(({ status }) => status === 429)
    expect(flood.filter(({ status }) => status === 200)).toHaveLength(Limits.signUpsPerClientHour)
    expect(refused).toHaveLength(15)
    for (const { body, headers } of refused) {
      expect([body.code, body.details[0].path]).toEqual(["sign_up_limited", "sign_ups"])
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(3_000)
    }
    expect(await walletAccounts(server)).toHaveLength(Limits.signUpsPerClientHour)
    // Its accounts go on, and other clients come in.
    const known = (await walletAccounts(server)).length
    expect((await listFrom(server, "two", "198.51.100.8")).status).toBe(200)
    expect(await walletAccounts(server)).toHaveLength(known + 1)
  })

  it("looks at no more signatures of a client whose wallets are refused again and again", async () => {
    const tries = Limits.signUpsPerClientHour + Limits.wrongSignaturesPerMinute + 30
    const codes = new Set<string>()
    for (let at = 0; at < tries; at++) {
      const { body, status } = await listFrom(server, `refused ${at}`, "198.51.100.9")
      if (status === 429) codes.add(body.code)
    }
    expect([...codes]).toEqual(["sign_up_limited", "rate_limited"])
    expect((await listFrom(server, "elsewhere", "198.51.100.10")).status).toBe(200)
  })

  it("makes no account by what is refused, missing or free, and shows an empty one", async () => {
    const before = await walletAccounts(server)
    const calls = walletCalls(server, evmWallet("looking"))
    const missing = "/v1/memories/mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"
    const answers = [
      await calls.call("GET", missing),
      await calls.post("/v1/memories", { agentId: "a", memories: [] }),
      await calls.call("GET", "/v1/account"),
      await calls.call("GET", "/v1/credits"),
      await calls.call("GET", "/v1/credits/transactions"),
      await calls.call("GET", "/v1/schemas")
    ]
    expect(answers.map(({ status }) => status)).toEqual([404, 400, 200, 200, 200, 200])
    expect(answers[2]!.body).toMatchObject({ account: { id: evmWallet("looking").wallet.address }, agents: [] })
    expect(answers[3]!.body).toMatchObject({ balance: { credits: 0 }, allowance: { credits: 7, monthly: 7 } })
    expect(await walletAccounts(server)).toEqual(before)
  })

  it("gives such an account its own allowance, and others theirs", async () => {
    const signer = evmWallet("two")
    const { body } = await walletCalls(server, signer).call("GET", "/v1/credits")
    expect(body.allowance).toMatchObject({ credits: 6, monthly: 7 })
    const key = await server.newAccount("with key")
    expect((await server.call("GET", "/v1/credits", { key })).body.allowance.monthly).toBe(1_000_000)
    const poor = await walletCalls(server, signer).post("/v1/memories/batch/create", {
      agentId: "a",
      memories: [fact("tea", "sencha")]
    })
    expect([poor.status, poor.body.code]).toEqual([403, "insufficient_credits"])
  })

  it("makes an account by a schema that is registered", async () => {
    const headers = { "x-forwarded-for": "198.51.100.11" }
    const calls = walletCalls(server, evmWallet("schemas first"))
    const broken = await calls.post("/v1/schemas", { name: "note", description: "d", schema: "{" }, headers)
    expect(broken.status).toBe(400)
    expect(await walletAccounts(server)).not.toContain(evmWallet("schemas first").wallet.address)
    const schema = { name: "note", description: "d", schema: '{"type":"object"}' }
    expect((await calls.post("/v1/schemas", schema, headers)).status).toBe(200)
    expect(await walletAccounts(server)).toContain(evmWallet("schemas first").wallet.address)
  })
})

describe.skipIf(missingChains !== "")(`a service whose sign-up is paid${missingChains}`, () => {
  const chains = useChains()
  let server: TestServer
  beforeAll(async () => {
    const environment = { ...publicly, ...chains.environment, MUNIMENT_WALLET_SIGNUP: "paid" }
    server = await startServer({ environment })
  })
  afterAll(async () => {
    await server.stop()
  })

  it.each([
    ["/v1/memories", "payment_required"],
    ["/v1/schemas", "payment_required"],
    ["/v1/memories/mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T", "payment_required"]
  ])("asks a wallet without an account for a deposit: GET %s", async (path, code) => {
    const { body, status } = await walletCalls(server, evmWallet("unpaid")).call("GET", path)
    expect([status, body.code, body.deposit.amount_usd]).toEqual([402, code, 0.1])
    expect(body.accepts.length).toBeGreaterThan(0)
    expect(await walletAccounts(server)).toEqual([])
  })

  it.each([
    ["a deposit of its own amount", "POST", "/v1/credits/deposit?amount_usd=2", 2_000],
    ["any call, which is then served", "GET", "/v1/memories", 99]
  ] as const)("opens an account by %s", async (_, method, path, credits) => {
    const payer = await newPayer(chains, "base-sepolia")
    const signer = payerSigner(payer)
    const before = await walletAccounts(server)
    const headers = await walletHeaders(signer, method, path)
    const answer = await payer.paying(1)(`${server.url}${path}`, { method, headers })
    expect(answer.status, await answer.text()).toBe(200)
    expect(await walletAccounts(server)).toEqual([...before, signer.wallet.address])
    const { body } = await walletCalls(server, signer).call("GET", "/v1/credits")
    expect(body).toMatchObject({ balance: { credits }, allowance: { credits: 0, monthly: 0 } })
    await expectMoneyConserved(server, chains)
  })
})
