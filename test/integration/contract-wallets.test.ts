/** Contract wallets (contract: Wallet signatures): only where they are switched on, within a budget by client. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { evmWallet, fullHeaders, grantsHeader, nowSeconds, signedGrant } from "../support/TrustCalls.ts"
import { useServer } from "../support/useServer.ts"

const contract = `0x${"c0".repeat(20)}`
const path = "/v1/account"

/** A chain on which the contract takes the signature 0xc0ffee and no other; `asked` counts its questions. */
const chain = { asked: 0 }
let node: Server
let rpcUrl: string
beforeAll(async () => {
  node = createServer((request, response) => {
    request.setEncoding("utf8")
    request.on("data", (text: string) => {
      chain.asked += 1
      const { id, params } = JSON.parse(text) as {
        readonly id: number
        readonly params: [{ to: string; data: string }]
      }
      const [{ data, to }] = params
      const isYes = to.toLowerCase() === contract && data.includes("c0ffee")
      const result = isYes ? `0x1626ba7e${"0".repeat(56)}` : `0x${"0".repeat(64)}`
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }))
    })
  })
  await new Promise<void>((ready) => node.listen(0, "127.0.0.1", ready))
  rpcUrl = `http://127.0.0.1:${(node.address() as AddressInfo).port}`
})
afterAll(() => node.close())

const environment = () => ({
  MUNIMENT_EMBEDDING_MODEL: "none",
  MUNIMENT_EVM_RPC_URL: rpcUrl,
  MUNIMENT_TRUSTED_PROXIES: "127.0.0.1",
  MUNIMENT_WALLET_SIGNUP: "open",
  MUNIMENT_RATE_LIMITS: "off"
})

const send = async (server: TestServer, signature: string, from: string) => {
  const headers = await fullHeaders(evmWallet("any"), "GET", path, { audience: server.url })
  return server.call("GET", path, {
    key: null,
    headers: { ...headers, "x-wallet-address": contract, "x-wallet-signature": signature, "x-forwarded-for": from }
  })
}

describe("a node alone", () => {
  it("is not asked about signatures", async () => {
    const server = await startServer({ environment: environment() })
    chain.asked = 0
    const { body, status } = await send(server, "0xc0ffee", "192.0.2.1")
    await server.stop()
    expect([status, body.code, chain.asked]).toEqual([401, "invalid_signature", 0])
  })
})

describe("with MUNIMENT_ERC1271=on", () => {
  const server = useServer(() => ({ environment: { ...environment(), MUNIMENT_ERC1271: "on" } }))

  it("a contract signs for its address, in one question each time", async () => {
    chain.asked = 0
    for (const questions of [1, 2]) {
      const { body, status } = await send(server, "0xc0ffee", "192.0.2.1")
      expect([status, body.account.id, chain.asked]).toEqual([200, contract, questions])
    }
  })

  it("a client that has it refuse too often waits, and nobody else", async () => {
    chain.asked = 0
    const codes: Record<string, number> = {}
    // At once: the budget refills with time.
    const answers = await Promise.all(
      Array.from({ length: 2 * Limits.contractRefusalsPerMinute }, (_, sent) =>
        send(server, `0x${sent.toString(16).padStart(64, "b")}`, "192.0.2.2")
      )
    )
    for (const { body, headers, status } of answers) {
      codes[body.code] = (codes[body.code] ?? 0) + 1
      if (status === 429) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0)
    }
    expect(Object.keys(codes).toSorted()).toEqual(["invalid_signature", "rate_limited"])
    // Each question was answered, and none was asked beyond the budget.
    expect(chain.asked).toBe(codes["invalid_signature"])
    expect(codes["invalid_signature"]).toBeGreaterThanOrEqual(Limits.contractRefusalsPerMinute)
    expect((await send(server, "0xc0ffee", "192.0.2.3")).status).toBe(200)
  })

  it("grants of one request stay within the budget as well", async () => {
    const key = await server.newAccount("grantee")
    const { body } = await server.call("GET", "/v1/account", { key })
    const later = nowSeconds() + 3_600
    const search = async (sent: number) => {
      const made = await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          signedGrant(evmWallet("any"), { g: body.account.id, a: `${at}`, e: later + sent })
        )
      )
      // Signed by no key: ten questions.
      const forged = made.map((grant, at) => ({ ...grant, p: { ...grant.p, f: contract }, s: `0xbad${at}` }))
      const headers = { ...grantsHeader(forged), "x-forwarded-for": "192.0.2.4" }
      const { status } = await server.call("GET", "/v1/memories/search?query=tea&scope=shared", { key, headers })
      expect(status).toBe(200)
    }
    chain.asked = 0
    await Promise.all(Array.from({ length: 10 }, (_, sent) => search(sent)))
    expect(chain.asked).toBeGreaterThanOrEqual(Limits.contractRefusalsPerMinute)
    expect(chain.asked).toBeLessThan(100)
  })
})
