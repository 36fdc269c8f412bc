/**
 * Payments and the chains' own changes of mind: reorganised blocks, lifetimes that run out, wallets that
 * are emptied meanwhile. A credit stays as long as its money does, and no balance becomes negative.
 *
 * The clock of the EVM chain runs ahead of ours from test to test, hence payments made by hand.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { evmAddresses } from "../../scripts/devchains/Wallets.ts"
import { fact } from "../support/MemoryCalls.ts"
import {
  type Depositor,
  expectCredited,
  expectMoneyConserved,
  newDepositor,
  newPayer,
  paymentHeader,
  paymentsOf,
  reconcile,
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
import { everyDay, isLongRun } from "../support/Repetitions.ts"
import { patienceMillis, refusalOf, startServer, type TestServer } from "../support/TestServer.ts"
import { clientOf, lifetimeSeconds, nowSeconds, payloadFor, spend } from "../component/payments/evm/EvmPayments.ts"

const dollar = 1_000_000n
const patience = { timeout: patienceMillis, interval: 50 }
/** Blocks after which no message that anybody signed can land. */
const slotsOfAnyLifetime = 400

describe.skipIf(missingChains !== "")(`a payment${missingChains}`, () => {
  let chains: PaymentChains
  let server: TestServer
  let secondsAhead = 0
  beforeAll(async () => {
    chains = await startPaymentChains()
    server = await startServer({ environment: chains.environment })
    await chains.fund("base-sepolia", evmAddresses.payer, 100n * dollar)
  })
  afterEach(async () => {
    for (const network of testNetworks) chains.rpc[network].up()
    await expectMoneyConserved(server, chains)
  })
  afterAll(async () => {
    await server.stop()
    await chains.stop()
  })

  /** By the common payer on EVM, whose wallet `spend` can empty. */
  const signedDollar = async (network: TestNetwork) => {
    const who = await newDepositor(server)
    if (network === "solana-devnet") return { who, payment: await who.sign(await newPayer(chains, network), 1) }
    const validBefore = BigInt(nowSeconds() + secondsAhead + lifetimeSeconds)
    return { who, payment: paymentHeader(network, await payloadFor(chains.evm, { value: dollar, validBefore })) }
  }
  /** Whatever is signed by now can no more reach the chain. */
  const outlive = async (network: TestNetwork) => {
    if (network === "solana-devnet") return chains.solana.advance(slotsOfAnyLifetime)
    secondsAhead += 2 * lifetimeSeconds
    await chains.evm.increaseTime(2 * lifetimeSeconds)
  }
  const undo = async (network: TestNetwork) => {
    const [newest] = await paymentsOf(server)
    await chains.reorg(network, newest?.transaction ?? "")
    return newest
  }
  /** -> resolves at the next sending. */
  const nextSending = (network: TestNetwork) => {
    const { calls } = chains.rpc[network]
    const before = calls(sendMethods[network])
    return () => vi.waitUntil(() => calls(sendMethods[network]) > before, patience)
  }
  const pay = (who: Depositor, payment: Readonly<Record<string, string>>) => untilKnown(() => who.deposit(1, payment))
  /** The chain says twice, by different blocks, that it holds nothing. */
  const lookTwice = async (network: TestNetwork) => {
    await reconcile(server)
    await (network === "solana-devnet" ? chains.solana.advance(1) : chains.evm.mine())
    await reconcile(server)
  }

  describe.each(everyDay(1, [...testNetworks].reverse()))("on %s", (network) => {
    it("whose block is replaced is sent again, and stays credited", async () => {
      const { payment, who } = await signedDollar(network)
      expect((await pay(who, payment)).status).toBe(200)
      const received = await chains.received(network)
      const { id } = (await undo(network)) ?? {}
      expect(received - (await chains.received(network))).toBe(Number(dollar))
      await reconcile(server)
      await vi.waitUntil(async () => (await chains.received(network)) === received, patience)
      expect((await paymentsOf(server))[0]).toMatchObject({ id, state: "settled" })
      expect((await pay(who, payment)).body.replayed).toBe(true)
      await expectCredited(who, 1_000)
    })

    it("whose block is replaced for good is taken back, as much of it as is left", async () => {
      const { payment, who } = await signedDollar(network)
      expect((await pay(who, payment)).status).toBe(200)
      const memory = { agentId: "a", memories: [fact("a", "b")] }
      expect((await who.call("POST", "/v1/memories", { body: memory })).status).toBe(200)
      await undo(network)
      await outlive(network)
      await lookTwice(network)
      expect((await paymentsOf(server))[0]).toMatchObject({ state: "reversed" })
      expect(await who.balance()).toBe(0)
      const { body } = await who.call("GET", "/v1/credits/transactions")
      expect(body.transactions).toMatchObject([
        { kind: "reversal", credits: -995 },
        { kind: "charge", credits: -5 },
        { kind: "deposit", credits: 1_000 }
      ])
      expect(refusalOf(await who.deposit(1, payment))).toEqual([402, "payment_invalid"])
    })

    if (isLongRun)
      it("that runs out before any node takes it fails, and another one is good", async () => {
        const { payment, who } = await signedDollar(network)
        chains.rpc[network].failNext(sendMethods[network], "refuse", Infinity)
        const begun = nextSending(network)
        const asked = who.deposit(1, payment)
        await begun()
        await outlive(network)
        await asked
        await lookTwice(network)
        expect(await pay(who, payment)).toMatchObject({ status: 402, body: { code: "payment_invalid" } })
        await expectCredited(who, 0)

        chains.rpc[network].up()
        const other = await signedDollar(network)
        expect((await pay(who, other.payment)).status).toBe(200)
        await expectCredited(who, 1_000)
      })
  })

  if (isLongRun)
    it("of a wallet that is emptied before ours is mined fails when it can no longer come", async () => {
      const { payment, who } = await signedDollar("base-sepolia")
      await chains.evm.setAutomine(false)
      const begun = nextSending("base-sepolia")
      const asked = who.deposit(1, payment)
      await begun()
      await spend(chains.evm, await chains.evm.balanceOf(evmAddresses.payer))
      await vi.waitUntil(async () => (await clientOf(chains.evm).getTxpoolStatus()).pending === 2, patience)
      await chains.evm.setAutomine(true)
      await chains.evm.mine()
      expect(await chains.evm.balanceOf(evmAddresses.payer)).toBe(0n)
      await outlive("base-sepolia")
      await asked
      await lookTwice("base-sepolia")
      expect(await pay(who, payment)).toMatchObject({ status: 402, body: { code: "payment_invalid" } })
      await expectCredited(who, 0)
    })
})
