/**
 * Payments for tool calls (contract: Payments): asked for in `_meta`, given in `_meta`, in both protocol versions, on
 * the real local chains.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { mcpCaller } from "../support/McpCalls.ts"
import {
  decodeHeader,
  expectMoneyConserved,
  newDepositor,
  newPayer,
  paymentsOf,
  protocolVersions
} from "../support/PaymentCalls.ts"
import { missingChains, type PaymentChains, startPaymentChains, testNetworks } from "../support/PaymentChains.ts"
import { everyDay } from "../support/Repetitions.ts"
import { patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"

const alice = { agentId: "a", subject: "Alice", fact: "Alice lives in Seattle" }
const repeatsMax = 100
const payment = (text: unknown) => ({ "x402/payment": text })

it("without deposits, empty purses are told without a demand that names no way to pay", async () => {
  const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_MONTHLY_ALLOWANCE: "6" }
  const server = await startServer({ environment })
  try {
    const mcp = await mcpCaller(server, await server.newAccount("poor"))
    expect((await mcp.call("write_factual_memory", alice)).isError).toBe(false)
    const refused = await mcp.call("write_factual_memory", alice)
    const told = { success: false, error: expect.any(String), code: "insufficient_credits" }
    expect(refused).toMatchObject({ isError: true, json: told, structured: undefined, meta: {} })
    expect((await mcp.call("memory_get", { id: "mem_x" })).json.code).toBe("memory_not_found")
    expect(await mcp.toolNames()).toContain("memory_search")
  } finally {
    await server.stop()
  }
})

describe.skipIf(missingChains !== "")(`a tool call with empty purses${missingChains}`, () => {
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

  it("asks for the smallest deposit, with what paying clients need", async () => {
    const who = await newDepositor(server)
    const mcp = await mcpCaller(server, who.secret)
    const { isError, json, meta, structured } = await mcp.call("write_factual_memory", alice)
    expect(isError).toBe(true)
    expect(json).toMatchObject({
      x402Version: 1,
      code: "insufficient_credits",
      accepts: [
        { network: "base-sepolia", maxAmountRequired: "100000", resource: `${server.url}/mcp` },
        { network: "solana-devnet", maxAmountRequired: "100000", resource: `${server.url}/mcp` }
      ]
    })
    expect([structured, meta["x402/error"]]).toEqual([json, json])
  })

  it.each(
    everyDay(
      1,
      testNetworks.flatMap((network) => protocolVersions.map((version) => [network, version] as const))
    )
  )("is paid on %s in version %i, once, as text or as an object", async (network, version) => {
    const payer = await newPayer(chains, network)
    const who = await newDepositor(server)
    const mcp = await mcpCaller(server, who.secret)
    const [signed] = Object.values(await who.sign(payer, 0.1, version))
    const given = version === 1 ? signed : decodeHeader(signed ?? "")
    const written = await mcp.call("write_factual_memory", alice, payment(given))
    expect(written.json).toMatchObject({ success: true, memories: [{ kind: "factual_memory" }] })
    expect(written.meta["x402/payment-response"]).toMatchObject({
      success: true,
      transaction: expect.any(String),
      payer: payer.address,
      network: version === 1 ? network : expect.stringContaining(":")
    })
    expect(written.meta["muniment/credits"]).toEqual({ charged: 5, remaining: 95 })
    expect(await who.balance()).toBe(95)
  })

  it("is refused a payment that is none, and stores nothing", async () => {
    const who = await newDepositor(server)
    const mcp = await mcpCaller(server, who.secret)
    for (const given of ["%%%", 7, {}, { x402Version: 3 }, [], { x402Version: 1, scheme: "exact", network: "mars" }]) {
      const { isError, json } = await mcp.call("write_factual_memory", alice, payment(given))
      expect([isError, json.code], JSON.stringify(given)).toEqual([true, "payment_invalid"])
      expect(json.accepts).toHaveLength(2)
    }
    expect(await who.balance()).toBe(0)
  })

  it("whose payment has no outcome yet is told to come again with the same one", async () => {
    const payer = await newPayer(chains, "base-sepolia")
    const who = await newDepositor(server)
    const mcp = await mcpCaller(server, who.secret)
    const [signed] = Object.values(await who.sign(payer, 0.1))
    await chains.evm.setAutomine(false)
    const asked = mcp.call("write_factual_memory", alice, payment(signed))
    const isSent = async () => (await paymentsOf(server)).some(({ state }) => state === "broadcasting")
    await vi.waitFor(async () => expect(await isSent()).toBe(true), patienceMillis)
    // Who waits for a chain takes no place from writes.
    const { body: metrics } = await server.call("GET", "/metrics", { key: null })
    expect(metrics).toMatch(/^muniment_admission_in_work\{work="write"\} 0$/m)
    const pending = await asked
    await chains.evm.setAutomine(true)
    await chains.evm.mine()
    expect(pending).toMatchObject({ isError: true, json: { success: false, code: "payment_pending" } })
    expect(pending.json.retryAfterSeconds).toBeGreaterThan(0)
    expect(pending.meta).toEqual({})
    const again = () => mcp.call("write_factual_memory", alice, payment(signed))
    let known = await again()
    for (let round = 0; known.json.code === "payment_pending" && round < repeatsMax; round++) known = await again()
    expect(known.json, JSON.stringify(known.json)).toMatchObject({ success: true })
    expect(await who.balance()).toBe(95)
  })
})
