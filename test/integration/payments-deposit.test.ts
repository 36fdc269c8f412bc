/**
 * Deposits in USDC over HTTP (contract: Payments): the real server, both real local chains, the stock clients of both
 * protocol versions as they are published.
 */
import { afterAll, afterEach, assert, beforeAll, describe, expect, it } from "vitest"
import {
  extractReceiptFromResponse,
  isJWSSignedReceipt,
  verifyReceiptSignatureJWS
} from "@x402/extensions/offer-receipt"
import { decodePaymentResponseHeader } from "@x402/fetch"
import { evmSigner } from "@muniment/trust/WalletSigner"
import { privateKeyToAccount } from "viem/accounts"
import { decodeXPaymentResponse, wrapFetchWithPayment } from "x402-fetch"
import { evmAddresses, solanaSeeds, solanaWallet } from "../../scripts/devchains/Wallets.ts"
import { fact } from "../support/MemoryCalls.ts"
import {
  decodeHeader,
  depositPath,
  expectMoneyConserved,
  type Fetch,
  newDepositor,
  newPayer,
  paymentsOf,
  type ProtocolVersion
} from "../support/PaymentCalls.ts"
import {
  missingChains,
  type PaymentChains,
  startPaymentChains,
  type TestNetwork,
  testNetworks
} from "../support/PaymentChains.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { walletHeaders } from "../support/TrustCalls.ts"

const caip2: Readonly<Record<TestNetwork, string>> = {
  "base-sepolia": "eip155:84532",
  "solana-devnet": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
}
const clients: ReadonlyArray<readonly [string, ProtocolVersion, TestNetwork]> = testNetworks.flatMap((network) => [
  [`x402-fetch 1.2.0 on ${network}`, 1, network] as const,
  [`@x402/fetch 2.27 on ${network}`, 2, network] as const
])

describe.skipIf(missingChains !== "")(`deposits${missingChains}`, () => {
  let chains: PaymentChains
  let server: TestServer
  beforeAll(async () => {
    chains = await startPaymentChains()
    server = await startServer({ environment: chains.environment })
  })
  afterEach(() => expectMoneyConserved(server, chains))
  afterAll(async () => {
    await server.stop()
    await chains.stop()
  })

  const post = (pay: Fetch, path: string, key: string, init: RequestInit = {}) =>
    pay(`${server.url}${path}`, {
      method: "POST",
      ...init,
      headers: { authorization: `Bearer ${key}`, ...init.headers }
    })

  /** What a receipt says, if the published key of the service signed it. */
  const receiptOf = async (receipt: ReturnType<typeof extractReceiptFromResponse>) => {
    assert(receipt !== undefined && isJWSSignedReceipt(receipt))
    const { body } = await server.call("GET", "/.well-known/muniment-keys.json", { key: null })
    const x = Buffer.from(body.attestationPublicKey.slice(2), "hex").toString("base64url")
    return verifyReceiptSignatureJWS(receipt, { kty: "OKP", crv: "Ed25519", alg: "EdDSA", x })
  }

  describe.each(clients)("by %s", (_, version, network) => {
    const confirmation = (answer: Response) => {
      const header = answer.headers.get(version === 1 ? "x-payment-response" : "payment-response") ?? ""
      return version === 1 ? decodeXPaymentResponse(header) : decodePaymentResponseHeader(header)
    }

    it("are credited, confirmed in the client's own protocol, and on the account's list", async () => {
      const payer = await newPayer(chains, network)
      const who = await newDepositor(server)
      const before = await chains.received(network)
      const answer = await post(payer.paying(version), depositPath(5), who.secret)
      expect(answer.status).toBe(200)
      expect(await answer.json()).toEqual({
        success: true,
        deposit: { amount_usd: 5, credits: 5_000 },
        balance: { credits: 5_000, usd: 5 },
        message: expect.stringContaining("Storage insurance is active")
      })
      const told = confirmation(answer)
      expect(told).toMatchObject({
        success: true,
        network: version === 1 ? network : caip2[network],
        payer: payer.address,
        transaction: expect.stringMatching(/^[0-9A-Za-z]{64,90}$/)
      })
      const receipt = extractReceiptFromResponse(answer)
      if (version === 1) expect(receipt).toBeUndefined()
      else
        expect(await receiptOf(receipt)).toMatchObject({
          version: 1,
          network: caip2[network],
          resourceUrl: `${server.url}/v1/credits/deposit`,
          payer: payer.address,
          transaction: told.transaction
        })
      expect((await paymentsOf(server))[0]).toMatchObject({ transaction: told.transaction, amountUsd: 5, network })
      expect((await chains.received(network)) - before).toBe(5_000_000)

      expect((await who.call("GET", "/v1/credits")).body.balance).toEqual({ credits: 5_000, usd: 5 })
      const { body } = await who.call("GET", "/v1/credits/transactions")
      expect(body.transactions).toMatchObject([{ kind: "deposit", purse: "balance", credits: 5_000 }])
    })

    it("of several amounts add up, the smallest being what is asked for without an amount", async () => {
      const payer = await newPayer(chains, network)
      const who = await newDepositor(server)
      const deposits = [
        ["/v1/credits/deposit", 0.1],
        [depositPath("0.10"), 0.1],
        [depositPath("12.34"), 12.34],
        [depositPath(1_000), 1_000]
      ] as const
      let total = 0
      for (const [path, usd] of deposits) {
        chains.solana.tick()
        const answer = await post(payer.paying(version), path, who.secret)
        total += Math.round(usd * 1_000)
        expect(await answer.json()).toMatchObject({
          deposit: { amount_usd: usd, credits: usd * 1_000 },
          balance: { credits: total, usd: total / 1_000 }
        })
      }
    })

    it("happen by themselves when a priced call meets empty purses: it is paid, served and charged in one go", async () => {
      const payer = await newPayer(chains, network)
      const who = await newDepositor(server)
      const pay = payer.paying(version)
      const made = await post(pay, "/v1/memories", who.secret, {
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ agentId: "a", memories: [fact("paid", "for")] })
      })
      expect(await made.json()).toMatchObject({ success: true, created: [{}] })
      expect([made.headers.get("x-credits-charged"), made.headers.get("x-credits-remaining")]).toEqual(["5", "95"])
      expect(confirmation(made)).toMatchObject({ success: true, payer: payer.address })

      const other = await newDepositor(server)
      chains.solana.tick()
      const found = await post(pay, "/v1/memories/search?query=for", other.secret, { method: "GET" })
      expect(await found.json()).toMatchObject({ success: true, memories: [] })
      expect([found.headers.get("x-credits-charged"), await other.balance()]).toEqual(["2", 98])
      const { body } = await other.call("GET", "/v1/credits/transactions")
      expect(body.transactions).toMatchObject([
        { kind: "charge", credits: -2 },
        { kind: "deposit", credits: 100 }
      ])
    })
  })

  it("are within the cap that a stock client has when nobody gives it one", async () => {
    const payer = await newPayer(chains, "base-sepolia")
    const who = await newDepositor(server)
    const pay = wrapFetchWithPayment(fetch, privateKeyToAccount(payer.key))
    expect((await post(pay, "/v1/credits/deposit", who.secret)).status).toBe(200)
    expect(await who.balance()).toBe(100)
  })

  it.each([1, 2] as const)("of an agent that has nothing but a wallet, protocol version %i", async (version) => {
    const payer = await newPayer(chains, "base-sepolia")
    const signer = evmSigner(payer.key.slice(2))
    const path = depositPath("2.50")
    const answer = await payer.paying(version)(`${server.url}${path}`, {
      method: "POST",
      headers: await walletHeaders(signer, "POST", path)
    })
    expect([answer.status, await answer.json()]).toMatchObject([200, { balance: { credits: 2_500 } }])
  })

  it("with an Idempotency-Key give the first answer again, and are credited once", async () => {
    const payer = await newPayer(chains, "base-sepolia")
    const who = await newDepositor(server)
    const key = { "idempotency-key": "deposit-1" }
    expect((await who.deposit(5, key)).status).toBe(402)
    const first = await post(payer.paying(1), depositPath(5), who.secret, { headers: key })
    expect(first.status).toBe(200)
    const again = await who.deposit(5, { ...key, ...(await who.sign(payer, 5)) })
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"])
    expect(again.body).toEqual(await first.json())
    expect(await who.balance()).toBe(5_000)
  })

  it("of two accounts by one wallet go to the account that asks", async () => {
    const payer = await newPayer(chains, "solana-devnet")
    const [one, other] = [await newDepositor(server), await newDepositor(server)]
    await post(payer.paying(2), depositPath(1), one.secret)
    await post(payer.paying(2), depositPath(2), other.secret)
    expect([await one.balance(), await other.balance()]).toEqual([1_000, 2_000])
  })

  describe("asked for", () => {
    it("say field by field how they are paid, on EVM first, in both versions of the protocol", async () => {
      const who = await newDepositor(server)
      const { body, headers, status } = await who.deposit("12.5")
      expect(status).toBe(402)
      expect(Object.keys(body).slice(0, 4)).toEqual(["x402Version", "error", "deposit", "accepts"])
      const shared = {
        scheme: "exact",
        maxAmountRequired: "12500000",
        resource: `${server.url}/v1/credits/deposit`,
        description: body.deposit.description,
        mimeType: "application/json",
        maxTimeoutSeconds: 60
      }
      const solana = {
        payTo: (await solanaWallet(solanaSeeds.payTo)).address,
        asset: chains.solana.usdc,
        extra: { feePayer: (await solanaWallet(solanaSeeds.operator)).address }
      }
      const evm = {
        payTo: evmAddresses.payTo,
        asset: chains.evm.usdc.address,
        extra: { name: chains.evm.usdc.name, version: chains.evm.usdc.version }
      }
      expect(body).toEqual({
        x402Version: 1,
        error: expect.any(String),
        deposit: { amount_usd: 12.5, credits: 12_500, description: expect.any(String) },
        accepts: [
          { ...shared, network: "base-sepolia", ...evm },
          { ...shared, network: "solana-devnet", ...solana }
        ],
        code: "payment_required"
      })
      const sharedV2 = { scheme: "exact", amount: "12500000", maxTimeoutSeconds: 60 }
      expect(decodeHeader(headers.get("payment-required"))).toEqual({
        x402Version: 2,
        error: body.error,
        resource: {
          url: `${server.url}/v1/credits/deposit`,
          description: body.deposit.description,
          mimeType: "application/json"
        },
        accepts: [
          { ...sharedV2, network: caip2["base-sepolia"], ...evm },
          { ...sharedV2, network: caip2["solana-devnet"], ...solana }
        ],
        extensions: {
          "offer-receipt": {
            info: {
              offers: [
                { format: "jws", acceptIndex: 0, signature: expect.any(String) },
                { format: "jws", acceptIndex: 1, signature: expect.any(String) }
              ]
            },
            schema: expect.any(Object)
          }
        }
      })
      expect(headers.get("cache-control")).toBe("no-store")
    })

    it("by a call with empty purses name that call and the smallest deposit, and offer no deposit object", async () => {
      const who = await newDepositor(server)
      const { body, status } = await who.call("GET", "/v1/memories/search?query=b")
      expect([status, body.code, body.deposit]).toEqual([402, "insufficient_credits", undefined])
      const resource = `${server.url}/v1/memories/search`
      expect(body.accepts).toMatchObject([
        { network: "base-sepolia", maxAmountRequired: "100000", resource },
        { network: "solana-devnet", maxAmountRequired: "100000", resource }
      ])
    })

    it("are not, for a call that would fail anyway", async () => {
      const who = await newDepositor(server)
      expect((await who.call("GET", "/v1/memories/search?query=")).status).toBe(400)
      expect((await who.call("GET", "/v1/memories/mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T")).status).toBe(404)
      expect((await server.call("POST", depositPath(1), { key: null })).status).toBe(401)
    })

    it("are quoted while no chain can be reached, as that needs none", async () => {
      const who = await newDepositor(server)
      for (const network of testNetworks) chains.rpc[network].down()
      const { body, status } = await who.deposit(1)
      for (const network of testNetworks) chains.rpc[network].up()
      expect([status, body.accepts.length]).toEqual([402, 2])
    })
  })
})
