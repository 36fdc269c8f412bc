/**
 * Kill -9 at every state of a payment, on both chains at once: the client that repeats its header is credited once, and
 * so is the one that never comes back, by what the next start finds in the journal and on the chain.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import {
  type Depositor,
  depositor,
  expectMoneyConserved,
  newPayer,
  type Payer,
  paymentsOf,
  reconcile,
  unitsPerUsd
} from "../support/PaymentCalls.ts"
import {
  missingChains,
  type PaymentChains,
  startPaymentChains,
  type TestNetwork,
  testNetworks
} from "../support/PaymentChains.ts"
import {
  depositInVain,
  diesAt,
  holdAt,
  type Moment,
  type MortalServer,
  newestOnDisk,
  openChargesOnDisk,
  repeatUntilKnown,
  startMortalServer,
  type Step,
  unsign
} from "../support/PaymentKills.ts"
import { everyDay } from "../support/Repetitions.ts"

const caseMillisMax = 600_000
const usd = 0.5
const credits = 500
const pollMillis = 100
/** Blocks after which both chains call a transaction final. */
const finalBlocks = 130

let chains: PaymentChains
let mortal: MortalServer
let payers: Readonly<Record<TestNetwork, Payer>>

describe.skipIf(missingChains !== "")(`kill -9 at every state of a payment${missingChains}`, () => {
  beforeAll(async () => {
    chains = await startPaymentChains()
    mortal = await startMortalServer(chains.environment)
    const [evm, solana] = await Promise.all(testNetworks.map((network) => newPayer(chains, network)))
    payers = { "base-sepolia": evm!, "solana-devnet": solana! }
  })
  // What a case left undone is its own affair.
  beforeEach(async () => {
    await revive()
    await expectMoneyConserved(mortal.now(), chains)
  })
  afterAll(async () => {
    await mortal.end()
    await chains.stop()
  })

  const steps: ReadonlyArray<{ readonly step: Step; readonly title: string; readonly onDisk: string | undefined }> = [
    { step: "verify", title: "while it is verified, before it is claimed", onDisk: undefined },
    { step: "sign", title: "after it is claimed, before it is signed", onDisk: "verified" },
    { step: "send", title: "after it is journalled, before the chain has it", onDisk: "broadcasting" },
    { step: "look", title: "after the chain has it, before it is credited", onDisk: "broadcasting" }
  ]

  it.each(steps)(
    "$title: who repeats the same header is credited once",
    async ({ onDisk, step }) => {
      const cases = await killAt(step, onDisk)
      for (const { account, headers } of cases) {
        const repeat = () => again(account).deposit(usd, headers)
        expect(await repeatUntilKnown(repeat)).toMatchObject({ status: 200, body: { balance: { credits } } })
        expect(await repeat()).toMatchObject({ status: 200, body: { replayed: true, balance: { credits } } })
      }
      await expectMoneyConserved(mortal.now(), chains)
    },
    caseMillisMax
  )

  // `PaymentInterleavings` kills at any of them every day, and a third of its clients never come back.
  it.each(everyDay(1, steps.slice(1).toReversed()))(
    "$title: who never repeats it is credited once all the same",
    async ({ onDisk, step }) => {
      const cases = await killAt(step, onDisk)
      // The round of the start sends what was not sent, and credits what is there; what it has sent is
      // credited by a later one.
      for (const { account, network, received } of cases) {
        await until(async () =>
          step === "look"
            ? (await again(account).balance()) === credits
            : (await chains.received(network)) === received + usd * unitsPerUsd
        )
      }
      await expectMoneyConserved(mortal.now(), chains)
      for (const { account } of cases) expect(await again(account).balance()).toBe(credits)
    },
    caseMillisMax
  )

  it(
    "before it is claimed: who never repeats it has lost nothing",
    async () => {
      const before = await paymentsOf(mortal.now())
      const cases = await killAt("verify", undefined)
      await expectMoneyConserved(mortal.now(), chains)
      expect(await paymentsOf(mortal.now())).toHaveLength(before.length)
      for (const { account, network, received } of cases) {
        expect(await again(account).balance()).toBe(0)
        expect(await chains.received(network)).toBe(received)
      }
    },
    caseMillisMax
  )

  it(
    "after it is credited, before it is final: it stays credited once and becomes final",
    async () => {
      const cases = await Promise.all(testNetworks.map((network) => newCase(network)))
      for (const { account, headers } of cases) expect((await again(account).deposit(usd, headers)).status).toBe(200)
      await mortal.kill()
      for (const network of testNetworks) expect(newestOnDisk(mortal.dataDirectory, network)?.state).toBe("settled")
      await mortal.start()
      await chains.evm.mine(finalBlocks)
      chains.solana.advance(finalBlocks)
      await reconcile(mortal.now())
      expect(new Set((await paymentsOf(mortal.now())).map(({ state }) => state))).toEqual(new Set(["finalized"]))
      for (const { account, headers } of cases) {
        expect(await again(account).deposit(usd, headers)).toMatchObject({
          status: 200,
          body: { replayed: true, balance: { credits } }
        })
      }
      await expectMoneyConserved(mortal.now(), chains)
    },
    caseMillisMax
  )

  it.each(everyDay(1, testNetworks))(
    "on %s, after it is credited, before its answer is sent: who repeats it is told so, and it is credited once",
    async (network) => {
      await restart(diesAt("answer"))
      const { account, headers, received } = await newCase(network)
      await depositInVain(account, usd, headers)
      await mortal.kill()
      expect(newestOnDisk(mortal.dataDirectory, network)?.state).toBe("settled")
      expect(await chains.received(network)).toBe(received + usd * unitsPerUsd)
      await mortal.start(diesAt(undefined))
      expect(await again(account).balance()).toBe(credits)
      expect(await again(account).deposit(usd, headers)).toMatchObject({
        status: 200,
        body: { replayed: true, balance: { credits } }
      })
      await expectMoneyConserved(mortal.now(), chains)
    },
    caseMillisMax
  )

  const stored = "after its memory is stored, before it is charged and its answer kept"
  const kept = "after its answer is kept, before it is charged and answered"
  const moments: ReadonlyArray<{ readonly moment: Moment; readonly title: string; readonly network: TestNetwork }> = [
    { moment: "keep", title: stored, network: "base-sepolia" },
    { moment: "answer", title: kept, network: "solana-devnet" },
    { moment: "keep", title: stored, network: "solana-devnet" },
    { moment: "answer", title: kept, network: "base-sepolia" }
  ]

  it.each(everyDay(2, moments))(
    "of a call paid on $network, $title: it is charged once, and the repeat gets its outcome",
    async ({ moment, network }) => {
      await restart(diesAt(moment))
      const paid = await newCase(network, 0.1)
      expect(await create(paid).catch(() => undefined)).toBeUndefined()
      await mortal.kill()
      expect(newestOnDisk(mortal.dataDirectory, network)?.state).toBe("settled")
      expect(openChargesOnDisk(mortal.dataDirectory)).toBe(1)
      await mortal.start(diesAt(undefined))
      await expectServedOnce(paid)
      const outcome = await create(paid)
      expect(outcome).toMatchObject({ status: 200, body: { created: [{ data: fact("paid", "on demand").data }] } })
      expect((await create(paid)).body).toEqual(outcome.body)
      await expectServedOnce(paid)
      await expectMoneyConserved(mortal.now(), chains)
    },
    caseMillisMax
  )

  it(
    "on a call with empty purses: the repeat is served, the payment credited and the call charged once",
    async () => {
      const cases = await Promise.all(testNetworks.map((network) => newCase(network, 0.1)))
      const held = cases.map(({ network }) => holdAt(chains, network, "look"))
      const cut = cases.map((one) => create(one).catch(() => undefined))
      await Promise.all(held)
      await restart()
      expect(await Promise.all(cut)).toEqual([undefined, undefined])
      for (const one of cases) {
        expect((await repeatUntilKnown(() => create(one))).status).toBe(200)
        expect((await create(one)).status).toBe(200)
        await expectServedOnce(one)
      }
      await expectMoneyConserved(mortal.now(), chains)
    },
    caseMillisMax
  )
})

/** A payment on one of the chains, for an account of its own. */
interface Case {
  readonly network: TestNetwork
  readonly account: Depositor
  readonly headers: Readonly<Record<string, string>>
  /** Units at the receiver before. */
  readonly received: number
}

let accounts = 0

const newCase = async (network: TestNetwork, amount = usd): Promise<Case> => {
  const server = mortal.now()
  const name = `killed-${++accounts}`
  const account = depositor(server, name, await server.newAccount(name))
  const headers = await account.sign(payers[network], amount)
  return { network, account, headers, received: await chains.received(network) }
}

/** The account at the server that lives now. */
const again = ({ name, secret }: Depositor): Depositor => depositor(mortal.now(), name, secret)

/** A call that the payment pays for. */
const create = ({ account, headers, network }: Case) =>
  again(account).call("POST", "/v1/memories", {
    body: { agentId: "a", memories: [fact("paid", "on demand")] },
    headers: { ...headers, "idempotency-key": network }
  })

/** By `create`: a memory, a payment of 0.1 USD and a charge. */
const expectServedOnce = async ({ account }: Case): Promise<void> => {
  const { body } = await again(account).call("GET", "/v1/account")
  expect(body.agents).toEqual([{ agentId: "a", memories: 1 }])
  expect(await again(account).balance()).toBe(100 - 5)
}

/** A payment on each chain comes as far as `step`; the server is killed there and started anew. */
const killAt = async (step: Step, onDisk: string | undefined): Promise<ReadonlyArray<Case>> => {
  const cases = await Promise.all(testNetworks.map((network) => newCase(network)))
  const journalled = (await paymentsOf(mortal.now())).length
  const held = cases.map(({ network }) => holdAt(chains, network, step))
  const cut = cases.map(({ account, headers }) => depositInVain(account, usd, headers))
  await Promise.all(held)
  await mortal.kill()
  await Promise.all(cut)
  if (step === "sign") unsign(mortal.dataDirectory, "solana-devnet")
  if (onDisk !== undefined) {
    for (const network of testNetworks) {
      expect({ network, state: newestOnDisk(mortal.dataDirectory, network)?.state }).toEqual({ network, state: onDisk })
    }
  }
  for (const { network, received } of cases) {
    const isThere = (await chains.received(network)) > received
    expect({ network, isThere }).toEqual({ network, isThere: step === "look" })
  }
  await revive()
  expect(await paymentsOf(mortal.now())).toHaveLength(journalled + (onDisk === undefined ? 0 : cases.length))
  return cases
}

const restart = async (changed?: Readonly<Record<string, string>>): Promise<void> => {
  await mortal.kill()
  await revive(changed)
}

/** The nodes work again, and so does the server. */
const revive = async (changed?: Readonly<Record<string, string>>): Promise<void> => {
  for (const network of testNetworks) chains.rpc[network].up()
  await mortal.start(changed)
}

const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  const deadline = Date.now() + caseMillisMax / 2
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error("the start did not bring the payment on")
    await new Promise((wake) => setTimeout(wake, pollMillis))
  }
}
