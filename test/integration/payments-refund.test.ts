/**
 * Refunds on both local chains (contract: Operator routes): the payee's wallet signs, the service sends. Money goes back
 * once, whatever is repeated or killed, and never more than what is final and not spent.
 */
import { ExactEvmScheme } from "@x402/evm"
import { ExactSvmScheme } from "@x402/svm/exact/client"
import { x402Client } from "@x402/fetch"
import { privateKeyToAccount } from "viem/accounts"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { type PaymentNetwork, paymentNetworks, type PaymentRequirement } from "@muniment/domain/Payment"
import { evmAddresses, evmKeys, solanaSeeds, solanaWallet } from "../../scripts/devchains/Wallets.ts"
import { submitAs } from "../component/payments/evm/EvmPayments.ts"
import {
  decodeHeader,
  type Depositor,
  depositor,
  encodeHeader,
  newDepositor,
  newPayer,
  type Payer,
  paymentsOf,
  reconcile
} from "../support/PaymentCalls.ts"
import {
  missingChains,
  type PaymentChains,
  sendMethods,
  startPaymentChains,
  type TestNetwork,
  testNetworks
} from "../support/PaymentChains.ts"
import { type MortalServer, repeatUntilKnown, startMortalServer } from "../support/PaymentKills.ts"
import { everyDay } from "../support/Repetitions.ts"
import { patienceMillis } from "../support/TestServer.ts"

const finalBlocks = 130
const patience = { timeout: patienceMillis, interval: 50 }
const unitsPerUsd = 1_000_000

let chains: PaymentChains
let mortal: MortalServer

const asOperator = (method: string, path: string, body?: object) => mortal.now().asOperator(method, path, body)
const offerOf = (payment: string) => asOperator("GET", `/admin/refunds?payment=${encodeURIComponent(payment)}`)
const send = (payment: string, authorization: string) =>
  asOperator("POST", "/admin/refunds", { payment, authorization })

/** As the command line does: the stock client of version 2 around the payee's key. */
const sign = async (requirement: PaymentRequirement): Promise<string> => {
  const { caip2, domain } = paymentNetworks[requirement.network]
  const payTo = await solanaWallet(solanaSeeds.payTo)
  const scheme =
    domain === undefined
      ? new ExactSvmScheme(payTo.signer, { rpcUrl: chains.solana.rpcUrl })
      : new ExactEvmScheme(privateKeyToAccount(evmKeys.payTo))
  const client = x402Client.fromConfig({ schemes: [{ network: caip2, client: scheme }], spendControls: false })
  const { asset, extra, maxAmountRequired: amount, maxTimeoutSeconds, payTo: receiver } = requirement
  const accepted = { scheme: "exact", network: caip2, asset, amount, payTo: receiver, maxTimeoutSeconds, extra }
  return encodeHeader(
    await client.createPaymentPayload({
      x402Version: 2,
      resource: { url: "http://refund", description: "", mimeType: "application/json" },
      accepts: [accepted]
    })
  )
}

const finalise = async () => {
  await chains.evm.mine(finalBlocks)
  chains.solana.advance(finalBlocks)
  for (let round = 0; round < 3; round++) await reconcile(mortal.now())
}

const heldBy = async (network: TestNetwork, address: string): Promise<number> =>
  Number(
    network === "base-sepolia"
      ? await chains.evm.balanceOf(address as `0x${string}`)
      : await chains.solana.tokenBalance(address as never)
  )

const paid = async (network: TestNetwork, usd: number) => {
  const who = await newDepositor(mortal.now())
  const payer = await newPayer(chains, network)
  const payment = await who.sign(payer, usd)
  expect((await repeatUntilKnown(() => who.deposit(usd, payment))).status).toBe(200)
  const [newest] = await paymentsOf(mortal.now())
  return { who, payer, id: newest?.id ?? "" }
}

const spend = async (who: Depositor, calls: number) => {
  for (let call = 0; call < calls; call++) {
    const memories = [{ kind: "factual_memory", data: { subject: "a", fact: `fact ${call}` } }]
    expect((await who.call("POST", "/v1/memories", { body: { agentId: "a", memories } })).status).toBe(200)
  }
}

/** What the books have received on a network, in units, beside what the payees hold. */
const booksAndChain = async (network: PaymentNetwork & TestNetwork) => {
  const { body } = await asOperator("GET", "/admin/ledger/check")
  expect(body.problems).toEqual([])
  const row = body.balances.find(({ name }: { readonly name: string }) => name === `asset:usdc:${network}`)
  return [(row.debits - row.credits) / 1_000, await chains.received(network)]
}

describe.skipIf(missingChains !== "")(`refunds${missingChains}`, () => {
  beforeAll(async () => {
    chains = await startPaymentChains()
    mortal = await startMortalServer(chains.environment)
  })
  afterAll(async () => {
    await mortal.end()
    await chains.stop()
  })

  const expectRefunded = async (network: TestNetwork, payer: Payer, before: number, units: number) => {
    expect(await heldBy(network, payer.address)).toBe(before + units)
    const [books, chain] = await booksAndChain(network)
    expect(books).toBe(chain)
  }

  for (const network of everyDay(1, testNetworks)) {
    it(`on ${network} give back what is not spent, once, and take the credits`, async () => {
      const { id, payer, who } = await paid(network, 5)
      expect((await offerOf(id)).body).toMatchObject({
        code: "not_refundable",
        error: expect.stringContaining("final")
      })
      await finalise()
      await spend(who, 3)
      const before = await heldBy(network, payer.address)
      const { body: offer } = await offerOf(id)
      expect(offer).toMatchObject({
        refund: null,
        requirement: { network, maxAmountRequired: String(4.985 * unitsPerUsd), payTo: payer.address }
      })
      expect(await heldBy(network, payer.address)).toBe(before)

      for (const wrong of [
        { maxAmountRequired: "1" },
        {
          payTo:
            network === "base-sepolia"
              ? privateKeyToAccount(evmKeys.admin).address
              : (await solanaWallet(solanaSeeds.payer)).address
        }
      ]) {
        const refused = await send(id, await sign({ ...offer.requirement, ...wrong }))
        expect([refused.status, refused.body.code], JSON.stringify(refused.body)).toEqual([400, "invalid_request"])
      }
      expect(await who.balance()).toBe(4_985)

      const authorization = await sign(offer.requirement)
      const answers = await Promise.all([send(id, authorization), send(id, authorization)])
      for (const { body, status } of answers) {
        expect([status, body.refund?.state], JSON.stringify(body)).toEqual([
          200,
          expect.stringMatching(/settled|finalized/)
        ])
      }
      expect(await who.balance()).toBe(0)
      const again = await send(id, await sign(offer.requirement))
      expect(again.body.refund.id).toBe(answers[0]!.body.refund.id)
      await expectRefunded(network, payer, before, 4.985 * unitsPerUsd)
      const { body: audit } = await asOperator("GET", "/admin/audit")
      expect(audit.events[0]).toMatchObject({ action: "money.refund", detail: { payment: id } })
      expect(JSON.stringify(audit)).not.toContain(authorization)
      await finalise()
      expect((await offerOf(id)).body.refund.state).toBe("finalized")
    })

    it(`on ${network} go on after a kill between the journal and the chain, and pay once`, async () => {
      const { id, payer, who } = await paid(network, 2)
      await finalise()
      const before = await heldBy(network, payer.address)
      const { body: offer } = await offerOf(id)
      const authorization = await sign(offer.requirement)
      chains.rpc[network].failNext(sendMethods[network], "refuse", 1_000)
      const asked = send(id, authorization).catch(() => undefined)
      const isJournalled = async () => (await offerOf(id)).body.refund?.state === "broadcasting"
      while (!(await isJournalled())) await new Promise((wake) => setTimeout(wake, 20))
      expect(await who.balance()).toBe(0)
      await mortal.kill()
      await asked
      expect(await heldBy(network, payer.address)).toBe(before)
      chains.rpc[network].up()
      await mortal.start()
      const { body } = await send(id, await sign(offer.requirement))
      expect(body.refund.state).toMatch(/settled|finalized/)
      expect(await depositor(mortal.now(), who.name, who.secret).balance()).toBe(0)
      await expectRefunded(network, payer, before, 2 * unitsPerUsd)
    })
  }

  it("that somebody else hands in before the service leave once, and give no credits back", async () => {
    const network = "base-sepolia"
    const { id, payer, who } = await paid(network, 2)
    await finalise()
    const before = await heldBy(network, payer.address)
    const authorization = await sign((await offerOf(id)).body.requirement)
    chains.rpc[network].failNext(sendMethods[network], "refuse", Infinity)
    const asked = send(id, authorization)
    await vi.waitUntil(async () => (await offerOf(id)).body.refund?.state === "broadcasting", patience)
    await submitAs(chains.evm, evmAddresses.admin, decodeHeader(authorization).payload)
    await asked
    chains.rpc[network].up()
    await finalise()
    expect((await offerOf(id)).body.refund.state).toBe("finalized")
    expect(await who.balance()).toBe(0)
    await expectRefunded(network, payer, before, 2 * unitsPerUsd)
  })

  it("are refused for payments that are unknown or spent", async () => {
    expect((await offerOf("evm:1:2:3")).body).toMatchObject({ code: "payment_not_found" })
    const { id, who } = await paid("base-sepolia", 0.1)
    await finalise()
    await spend(who, 20)
    expect((await offerOf(id)).body).toMatchObject({ code: "not_refundable", error: expect.stringContaining("spent") })
  })
})
