/**
 * Deposits by the stock client `x402` of Python, on both real local chains, over both of its HTTP libraries and both
 * protocol versions. Long, because it needs a Python with that client, which the project does not bring.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import {
  decodeHeader,
  depositPath,
  expectMoneyConserved,
  newDepositor,
  newPayer,
  paymentsOf,
  type ProtocolVersion
} from "../support/PaymentCalls.ts"
import { missingChains, type PaymentChains, startPaymentChains, testNetworks } from "../support/PaymentChains.ts"
import { missingPython, type PythonLibrary, type PythonPayer, startPythonPayer } from "../support/PythonPayer.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"

const missing = missingChains + missingPython
if (missing !== "") console.log(`Payments by Python:${missing}`)

const clients: ReadonlyArray<readonly [PythonLibrary, ProtocolVersion]> = [
  ["requests", 2],
  ["requests", 1],
  ["httpx", 2]
]

describe.skipIf(missing !== "")(`the Python client${missing}`, () => {
  let chains: PaymentChains
  let server: TestServer
  let python: PythonPayer
  beforeAll(async () => {
    python = startPythonPayer()
    chains = await startPaymentChains()
    server = await startServer({ environment: chains.environment })
  })
  afterEach(() => expectMoneyConserved(server, chains))
  afterAll(async () => {
    await Promise.all([server.stop(), chains.stop(), python.stop()])
  })

  describe.each(testNetworks)("on %s", (network) => {
    it.each(clients)("deposits over %s, protocol version %i", async (library, version) => {
      const payer = await newPayer(chains, network)
      const who = await newDepositor(server)
      const before = await chains.received(network)
      const answer = await python.send({
        library,
        version,
        payer,
        rpcUrl: chains.solana.rpcUrl,
        method: "POST",
        url: `${server.url}${depositPath("0.75")}`,
        headers: { authorization: `Bearer ${who.secret}` }
      })
      expect([answer.status, await answer.json()]).toMatchObject([200, { balance: { credits: 750, usd: 0.75 } }])
      const confirmation = decodeHeader(answer.headers.get(version === 1 ? "x-payment-response" : "payment-response"))
      expect(confirmation).toMatchObject({ success: true, payer: payer.address })
      expect((await paymentsOf(server))[0]).toMatchObject({
        transaction: confirmation.transaction,
        amountUsd: 0.75,
        network
      })
      expect((await chains.received(network)) - before).toBe(750_000)
      expect(await who.balance()).toBe(750)
    })

    it("pays for a call that meets empty purses", async () => {
      const payer = await newPayer(chains, network)
      const who = await newDepositor(server)
      const answer = await python.send({
        library: "httpx",
        version: 2,
        payer,
        rpcUrl: chains.solana.rpcUrl,
        method: "POST",
        url: `${server.url}/v1/memories`,
        headers: { authorization: `Bearer ${who.secret}`, "content-type": "application/json" },
        body: JSON.stringify({ agentId: "a", memories: [fact("paid", "for")] })
      })
      expect(await answer.json()).toMatchObject({ success: true, created: [{}] })
      expect(answer.headers.get("x-credits-charged")).toBe("5")
      expect(await who.balance()).toBe(95)
    })
  })
})
