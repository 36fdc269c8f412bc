/**
 * An operator changes where payments go, who sends them and which networks are served, while payments are in every
 * state: each is judged by the payee that its payer signed for.
 */
import { describe, expect, it } from "vitest"
import {
  type Depositor,
  depositor,
  expectMoneyConserved,
  expectUnknown,
  newDepositor,
  newPayer,
  paymentsOf,
  reconcile
} from "../support/PaymentCalls.ts"
import { missingChains, testNetworks, useChains } from "../support/PaymentChains.ts"
import { everyDay, isLongRun } from "../support/Repetitions.ts"
import { repeatUntilKnown, useMortalServer } from "../support/PaymentKills.ts"

const finalBlocks = 130

describe.skipIf(missingChains !== "")(`payments made before the operator changed everything${missingChains}`, () => {
  const chains = useChains()
  const mortal = useMortalServer(chains)

  const again = ({ name, secret }: Depositor) => depositor(mortal.now(), name, secret)
  const restart = async (changed: Readonly<Record<string, string>>) => {
    await mortal.kill()
    for (const network of testNetworks) chains.rpc[network].up()
    await mortal.start(changed)
  }
  const states = async () =>
    Object.fromEntries(
      (await paymentsOf(mortal.now())).map(({ amountUsd, network, state }) => [`${network} ${amountUsd}`, state])
    )

  if (isLongRun)
    it("stay credited, or are credited when they land, and nothing is reversed", async () => {
      const who = await newDepositor(mortal.now())
      for (const network of testNetworks) {
        const payment = await who.sign(await newPayer(chains, network), 1)
        expect((await repeatUntilKnown(() => who.deposit(1, payment))).status).toBe(200)
      }
      const waiting = await Promise.all(
        testNetworks.map(async (network) => who.sign(await newPayer(chains, network), 2))
      )
      await chains.evm.setAutomine(false)
      chains.solana.pause()
      const sent = await Promise.all(waiting.map((payment) => who.deposit(2, payment)))
      expect(sent.map(({ status }) => status)).toEqual([202, 202])

      await restart(chains.rotations[1]!)
      for (let round = 0; round < 3; round++) {
        await reconcile(mortal.now())
      }
      await chains.evm.setAutomine(true)
      await chains.evm.mine()
      chains.solana.resume()
      for (const payment of waiting) {
        expect((await repeatUntilKnown(() => again(who).deposit(2, payment))).status).toBe(200)
      }
      const fresh = await again(who).sign(await newPayer(chains, "base-sepolia"), 4)
      expect((await repeatUntilKnown(() => again(who).deposit(4, fresh))).status).toBe(200)
      await chains.evm.mine(finalBlocks)
      chains.solana.advance(finalBlocks)
      await reconcile(mortal.now())
      await reconcile(mortal.now())
      expect(await states()).toEqual({
        "base-sepolia 1": "finalized",
        "solana-devnet 1": "finalized",
        "base-sepolia 2": "finalized",
        "solana-devnet 2": "finalized",
        "base-sepolia 4": "finalized"
      })
      expect(await again(who).balance()).toBe(10_000)
      await expectMoneyConserved(mortal.now(), chains)
    })

  it("wait while their network is not served, and go on when it is again", async () => {
    await restart(chains.rotations[0]!)
    const who = await newDepositor(mortal.now())
    const payment = await who.sign(await newPayer(chains, "base-sepolia"), 3)
    await chains.evm.setAutomine(false)
    expect((await who.deposit(3, payment)).status).toBe(202)
    await restart({ MUNIMENT_PAYMENT_NETWORKS: "solana-devnet", ...chains.rotations[1] })
    await chains.evm.setAutomine(true)
    await chains.evm.mine(finalBlocks)
    await reconcile(mortal.now())
    expect(await states()).toMatchObject({ "base-sepolia 3": "broadcasting" })
    // The journal answers: a 402 would make its payer sign another one.
    expectUnknown(await again(who).deposit(3, payment))
    const stranger = await newDepositor(mortal.now())
    expect((await stranger.deposit(3, payment)).body).toMatchObject({ code: "payment_already_used" })
    await restart({ MUNIMENT_PAYMENT_NETWORKS: testNetworks.join(",") })
    expect((await repeatUntilKnown(() => again(who).deposit(3, payment))).status).toBe(200)
    expect(await again(who).balance()).toBe(3_000)
    await expectMoneyConserved(mortal.now(), chains)
  })

  if (isLongRun)
    it("are taken by the second node where the first is away, and final once two agree", async () => {
      const urls = {
        base: chains.environment["MUNIMENT_EVM_RPC_URL"],
        solana: chains.environment["MUNIMENT_SOLANA_RPC_URL"]
      }
      const away = "http://127.0.0.1:9"
      await restart({
        MUNIMENT_PAYMENT_NETWORKS: testNetworks.join(","),
        MUNIMENT_EVM_RPC_URL: `${away},${urls.base}`,
        MUNIMENT_SOLANA_RPC_URL: `${away},${urls.solana}`
      })
      const who = await newDepositor(mortal.now())
      for (const network of testNetworks) {
        const payment = await who.sign(await newPayer(chains, network), 6)
        expect((await repeatUntilKnown(() => who.deposit(6, payment))).status).toBe(200)
      }
      const finalise = async () => {
        await chains.evm.mine(finalBlocks)
        chains.solana.advance(finalBlocks)
        await reconcile(mortal.now())
        await reconcile(mortal.now())
      }
      await finalise()
      expect(await states()).toMatchObject({ "base-sepolia 6": "settled", "solana-devnet 6": "settled" })
      await restart({
        MUNIMENT_EVM_RPC_URL: `${chains.evm.rpcUrl},${urls.base}`,
        MUNIMENT_SOLANA_RPC_URL: `${chains.solana.rpcUrl},${urls.solana}`
      })
      await finalise()
      expect(await states()).toMatchObject({ "base-sepolia 6": "finalized", "solana-devnet 6": "finalized" })
      await expectMoneyConserved(mortal.now(), chains)
    })

  it("are answered by the journal when their network is not served, and new ones are refused", async () => {
    await restart({ MUNIMENT_PAYMENT_NETWORKS: testNetworks.join(","), ...chains.rotations[0] })
    const who = await newDepositor(mortal.now())
    const paid = await Promise.all(
      testNetworks.map(async (network) => ({
        network,
        payment: await who.sign(await newPayer(chains, network), 5),
        unused: await who.sign(await newPayer(chains, network), 5)
      }))
    )
    for (const { payment } of paid) expect((await repeatUntilKnown(() => who.deposit(5, payment))).status).toBe(200)
    for (const { network, payment, unused } of paid) {
      const other = testNetworks.find((one) => one !== network)!
      for (const served of everyDay(1, network === "base-sepolia" ? [other, ""] : ["", other])) {
        await restart({ MUNIMENT_PAYMENT_NETWORKS: served })
        expect(await again(who).deposit(5, payment)).toMatchObject({ status: 200, body: { replayed: true } })
        const refused = await again(who).deposit(5, unused)
        const { code, error } = refused.body
        if (served === "") expect([refused.status, code]).toEqual([403, "deposits_off"])
        else
          expect([refused.status, code, error]).toEqual([
            402,
            "payment_invalid",
            expect.stringContaining("not accepted")
          ])
      }
    }
    await restart({ MUNIMENT_PAYMENT_NETWORKS: testNetworks.join(",") })
    expect(await again(who).balance()).toBe(10_000)
    await expectMoneyConserved(mortal.now(), chains)
  })
})
