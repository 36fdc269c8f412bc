/**
 * Payments whose outcome is not known in time, and payments that somebody else hands in: 202 and never
 * 402 as long as money may have moved, and one credit in the end, by whichever transaction it came.
 */
import type { Hex } from "viem"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import type { EvmChain } from "../../scripts/devchains/EvmChain.ts"
import type { FaultKind } from "../../scripts/devchains/FaultyRpc.ts"
import { usdcAbi } from "../../scripts/devchains/UsdcContract.ts"
import { evmAddresses } from "../../scripts/devchains/Wallets.ts"
import { fact } from "../support/MemoryCalls.ts"
import {
  decodeHeader,
  type Depositor,
  expectCredited,
  expectMoneyConserved,
  expectUnknown,
  newDepositor,
  newPayer,
  paymentHeader,
  paymentsOf,
  reconcile,
  signedDeposit,
  untilKnown
} from "../support/PaymentCalls.ts"
import {
  missingChains,
  type PaymentChains,
  sendMethods,
  startPaymentChains,
  type TestNetwork,
  testNetworks
} from "../support/PaymentChains.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { patienceMillis, refusalOf, startServer, type TestServer } from "../support/TestServer.ts"
import { clientOf, payloadFor, type Payload, submitAs } from "../component/payments/evm/EvmPayments.ts"

/** Blocks after which the chain calls a transaction final. */
const finalBlocks = 130
const patience = { timeout: patienceMillis, interval: 50 }

/** Hands the payer's authorisation in, at a fee that comes first. Resolves before it is mined. */
const outbid = (chain: EvmChain, { authorization, signature }: Payload): Promise<Hex> => {
  const { from, nonce, to, validAfter, validBefore, value } = authorization
  return clientOf(chain).writeContract({
    account: evmAddresses.admin,
    address: chain.usdc.address,
    abi: usdcAbi,
    functionName: "transferWithAuthorization",
    args: [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, signature],
    maxPriorityFeePerGas: 9_000_000_000n,
    maxFeePerGas: 20_000_000_000n
  })
}

describe.skipIf(missingChains !== "")(`payments${missingChains}`, () => {
  let chains: PaymentChains
  let server: TestServer
  beforeAll(async () => {
    chains = await startPaymentChains()
    server = await startServer({ environment: chains.environment })
  })
  afterEach(async () => {
    for (const network of testNetworks) chains.rpc[network].up()
    await expectMoneyConserved(server, chains)
  })
  afterAll(async () => {
    await server.stop()
    await chains.stop()
  })

  describe("with an outcome that is not known in time", () => {
    /** Blocks come only when told. */
    const holdBlocks = async () => {
      await chains.evm.setAutomine(false)
      chains.solana.pause()
    }
    const releaseBlocks = async () => {
      await chains.evm.setAutomine(true)
      await chains.evm.mine()
      chains.solana.resume()
    }
    const create = (who: Depositor, payment: Readonly<Record<string, string>>) =>
      who.call("POST", "/v1/memories", { body: { agentId: "a", memories: [fact("a", "b")] }, headers: payment })

    it("are 202: a repetition finds them credited, reconciliation credits those that nobody repeats", async () => {
      const cases = await Promise.all(
        testNetworks.map(async (network) => {
          const asking = await signedDeposit(server, chains, network)
          const keyed = await signedDeposit(server, chains, network)
          const calling = await signedDeposit(server, chains, network, 0.1)
          const asks = [
            () => asking.who.deposit(1, asking.payment),
            () => keyed.who.deposit(1, { ...keyed.payment, "idempotency-key": "while-unknown" }),
            () => create(calling.who, calling.payment)
          ]
          return { asks, asking, keyed, calling, silent: await signedDeposit(server, chains, network) }
        })
      )
      await holdBlocks()
      const unknown = await Promise.all(
        cases.flatMap(({ asks, silent }) => [...asks.map((ask) => ask()), silent.who.deposit(1, silent.payment)])
      )
      await releaseBlocks()
      unknown.forEach(expectUnknown)
      for (const { asks, asking, calling, keyed, silent } of cases) {
        expect((await calling.who.call("GET", "/v1/account")).body.agents).toEqual([])
        for (const ask of asks) expect((await untilKnown(ask)).status).toBe(200)
        for (const { who } of [asking, keyed]) await expectCredited(who, 1_000)
        expect(await calling.who.balance()).toBe(95)
        await reconcile(server)
        await expectCredited(silent.who, 1_000)
      }
    })

    if (isLongRun)
      it("are 202 while the node is silent from the sending on, and credited when it is back, whatever it heard", async () => {
        const heard: Readonly<Record<TestNetwork, FaultKind>> = {
          "base-sepolia": "drop-response",
          "solana-devnet": "refuse"
        }
        await Promise.all(
          testNetworks.map(async (network) => {
            const { payment, who } = await signedDeposit(server, chains, network)
            const rpc = chains.rpc[network]
            rpc.failNext(({ method }) => {
              if (method !== sendMethods[network]) return false
              rpc.down()
              return true
            }, heard[network])
            expectUnknown(await who.deposit(1, payment))
            expect(await who.balance()).toBe(0)
            rpc.up()
            expect((await untilKnown(() => who.deposit(1, payment))).status).toBe(200)
            await expectCredited(who, 1_000)
          })
        )
      })

    it("are 202 when they were claimed and could not be signed", async () => {
      const { payment, who } = await signedDeposit(server, chains, "base-sepolia")
      chains.rpc["base-sepolia"].failNext("eth_maxPriorityFeePerGas", "http-500")
      expectUnknown(await who.deposit(1, payment))
      expect((await untilKnown(() => who.deposit(1, payment))).status).toBe(200)
      await expectCredited(who, 1_000)
    })
  })

  describe("handed in by somebody else", () => {
    const dollar = 1_000_000n
    const funded = async () => {
      const payer = await newPayer(chains, "base-sepolia")
      const who = await newDepositor(server)
      const from = payer.address as `0x${string}`
      const payload = await payloadFor(chains.evm, { key: payer.key, from, value: dollar })
      return { who, payload, payment: paymentHeader("base-sepolia", payload) }
    }
    const sent = async (before: number) => {
      const { calls } = chains.rpc["base-sepolia"]
      await vi.waitUntil(() => calls("eth_sendRawTransaction") > before, patience)
    }

    it("between our claim and our sending are credited once, by that transaction", async () => {
      const { payload, payment, who } = await funded()
      const rpc = chains.rpc["base-sepolia"]
      const before = rpc.calls("eth_sendRawTransaction")
      rpc.failNext("eth_sendRawTransaction", "refuse", Infinity)
      const answer = who.deposit(1, payment)
      await sent(before)
      const hash = await submitAs(chains.evm, evmAddresses.admin, payload)
      const { headers, status } = await answer
      expect([status, decodeHeader(headers.get("x-payment-response")).transaction]).toEqual([200, hash])
      await expectCredited(who, 1_000)
    })

    it("before it is presented are credited to the payer's own wallet account, once they are final", async () => {
      const { payload, payment, who } = await funded()
      const own = payload.authorization.from.toLowerCase()
      await submitAs(chains.evm, evmAddresses.admin, payload)
      expect(refusalOf(await who.deposit(1, payment))).toEqual([409, "payment_already_used"])
      const row = async () => (await paymentsOf(server)).find(({ account }) => account === own)
      expect(await row()).toMatchObject({ state: "broadcasting" })
      await chains.evm.mine(finalBlocks)
      await reconcile(server)
      expect(await row()).toMatchObject({ state: "finalized", amountUsd: 1 })
      expect((await who.deposit(1, payment)).status).toBe(409)
      await expectCredited(who, 0)
    })

    it("are refused where the chain shows another amount than is claimed", async () => {
      const { payload, payment, who } = await funded()
      await submitAs(chains.evm, evmAddresses.admin, payload)
      const more = { ...payload, authorization: { ...payload.authorization, value: "2000000" } }
      expect(refusalOf(await who.deposit(2, paymentHeader("base-sepolia", more)))).toEqual([402, "payment_invalid"])
      expect((await who.deposit(1, payment)).status).toBe(409)
      await chains.evm.mine(finalBlocks)
    })

    if (isLongRun)
      it("in the same block and before ours are credited once, although ours reverts", async () => {
        const { payload, payment, who } = await funded()
        const before = chains.rpc["base-sepolia"].calls("eth_sendRawTransaction")
        await chains.evm.setAutomine(false)
        const answer = who.deposit(1, payment)
        await sent(before)
        const hash = await outbid(chains.evm, payload)
        const pool = clientOf(chains.evm)
        await vi.waitUntil(async () => (await pool.getTxpoolStatus()).pending === 2, patience)
        await chains.evm.setAutomine(true)
        await chains.evm.mine()
        const { headers, status } = await answer
        expect([status, decodeHeader(headers.get("x-payment-response")).transaction]).toEqual([200, hash])
        await expectCredited(who, 1_000)
      })
  })
})
