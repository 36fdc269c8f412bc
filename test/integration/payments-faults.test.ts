/**
 * Payments whose node, network or fellow travellers misbehave, on both local chains: each is credited
 * once or not at all, nobody is asked to pay twice, and what the chains hold is what the ledger has.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import type { FaultKind } from "../../scripts/devchains/FaultyRpc.ts"
import { fact } from "../support/MemoryCalls.ts"
import {
  decodeHeader,
  depositPath,
  expectCredited,
  expectMoneyConserved,
  newDepositor,
  newPayer,
  paymentsOf,
  protocolVersions,
  signedDeposit,
  untilKnown
} from "../support/PaymentCalls.ts"
import {
  missingChains,
  type PaymentChains,
  sendMethods,
  startPaymentChains,
  testNetworks
} from "../support/PaymentChains.ts"
import { everyDay } from "../support/Repetitions.ts"
import { type Answer, patienceMillis, refusalOf, startServer, type TestServer } from "../support/TestServer.ts"

const duplicates = 20

/** An account has `Limits.paymentsPerAccountMax` places: without one, a payment is refused and may be repeated. */
const untilTaken = async (ask: () => Promise<Answer>): Promise<Answer> => {
  const deadline = Date.now() + patienceMillis
  for (let answer = await untilKnown(ask); ; answer = await untilKnown(ask)) {
    if (answer.status !== 503 || Date.now() > deadline) return answer
    expect([answer.body.code, Number(answer.headers.get("retry-after")) > 0]).toEqual(["payment_unavailable", true])
  }
}

describe.skipIf(missingChains !== "")(`payments under faults${missingChains}`, () => {
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

  describe.each(everyDay(1, testNetworks))("on %s", (network) => {
    it("the same header again gives the same answer, marked as a repetition, in either version", async () => {
      for (const version of protocolVersions) {
        const payer = await newPayer(chains, network)
        const who = await newDepositor(server)
        chains.solana.tick()
        const payment = await who.sign(payer, 1, version)
        const first = await who.deposit(1, payment)
        const again = await who.deposit(1, payment)
        expect([first.status, again.status, first.body.replayed, again.body.replayed]).toEqual([
          200,
          200,
          undefined,
          true
        ])
        expect([again.body.deposit, again.body.balance]).toEqual([first.body.deposit, first.body.balance])
        const name = version === 1 ? "x-payment-response" : "payment-response"
        expect(decodeHeader(again.headers.get(name))).toEqual(decodeHeader(first.headers.get(name)))
        await expectCredited(who, 1_000)
      }
    })

    it("another account, or another amount, gets nothing by it", async () => {
      const { payment, who } = await signedDeposit(server, chains, network)
      expect((await who.deposit(1, payment)).status).toBe(200)
      const thief = await newDepositor(server)
      const refused = [
        await thief.deposit(1, payment),
        await who.deposit(2, payment),
        await thief.deposit(1_000, payment),
        await thief.call("GET", "/v1/memories/search?query=b", { headers: payment })
      ]
      expect(refused.map(({ body, status }) => [status, body.code])).toEqual(
        refused.map(() => [409, "payment_already_used"])
      )
      expect([await who.balance(), await thief.balance()]).toEqual([1_000, 0])
    })

    it("twenty at once are one: all hear of the same payment", async () => {
      const { payment, who } = await signedDeposit(server, chains, network)
      const answers = await Promise.all(Array.from({ length: duplicates }, () => who.deposit(1, payment)))
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      const hashes = new Set(answers.map(({ headers }) => decodeHeader(headers.get("payment-response")).transaction))
      expect(hashes.size).toBe(1)
      await expectCredited(who, 1_000)
    })

    it("twenty at once of two accounts are credited to one of them", async () => {
      const { payment, who } = await signedDeposit(server, chains, network)
      const other = await newDepositor(server)
      const answers = await Promise.all(
        Array.from({ length: duplicates }, (_, at) => (at % 2 === 0 ? who : other).deposit(1, payment))
      )
      const balances = [await who.balance(), await other.balance()]
      expect(balances.toSorted((one, another) => one - another)).toEqual([0, 1_000])
      const winner = balances.indexOf(1_000)
      for (const [at, { status }] of answers.entries()) expect(at % 2 === winner ? [200] : [409, 202]).toContain(status)
    })

    it("twenty different ones at once are all credited, some only when they are repeated", async () => {
      const payers = await Promise.all(Array.from({ length: duplicates }, () => newPayer(chains, network)))
      const who = await newDepositor(server)
      const payments = await Promise.all(payers.map((payer) => who.sign(payer, 1)))
      const answers = await Promise.all(payments.map((payment) => untilTaken(() => who.deposit(1, payment))))
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      expect(await who.balance()).toBe(duplicates * 1_000)
    })

    it.each<FaultKind>(["refuse", "http-500", "drop-response"])(
      "a node that fails to take the transaction (%s) is asked again",
      async (kind) => {
        const { payment, who } = await signedDeposit(server, chains, network)
        chains.rpc[network].failNext(sendMethods[network], kind)
        expect((await untilKnown(() => who.deposit(1, payment))).status).toBe(200)
        await expectCredited(who, 1_000)
      }
    )

    it("a node that is down from the beginning takes nothing: 503, and the same payment is good later", async () => {
      const { payment, who } = await signedDeposit(server, chains, network)
      const known = (await paymentsOf(server)).length
      for (const kind of ["down", "http-500"] as const) {
        if (kind === "down") chains.rpc[network].down()
        else chains.rpc[network].failNext(() => true, kind, Infinity)
        expect(refusalOf(await who.deposit(1, payment))).toEqual([503, "payment_unavailable"])
        chains.rpc[network].up()
      }
      expect(await paymentsOf(server)).toHaveLength(known)
      expect((await who.deposit(1, payment)).status).toBe(200)
      await expectCredited(who, 1_000)
    })

    it("a client that goes away is credited all the same", async () => {
      const { payment, who } = await signedDeposit(server, chains, network)
      const { calls } = chains.rpc[network]
      const before = calls()
      const leaving = new AbortController()
      const url = `${server.url}${depositPath(1)}`
      const headers = { authorization: `Bearer ${who.secret}`, ...payment }
      const asked = fetch(url, { method: "POST", headers, signal: leaving.signal })
      await vi.waitUntil(() => calls() > before, { timeout: patienceMillis, interval: 1 })
      leaving.abort()
      await expect(asked).rejects.toThrow(/abort/)
      await vi.waitUntil(async () => (await who.balance()) === 1_000, { timeout: patienceMillis, interval: 50 })
      expect((await who.deposit(1, payment)).body.replayed).toBe(true)
    })

    it("of two payments in one request, one in each version, the newer version's is taken", async () => {
      const payer = await newPayer(chains, network)
      const who = await newDepositor(server)
      const [old, newer] = [await who.sign(payer, 1, 1), await who.sign(payer, 1, 2)]
      const { headers, status } = await who.deposit(1, { ...old, ...newer })
      expect([status, headers.get("x-payment-response")]).toEqual([200, null])
      expect(decodeHeader(headers.get("payment-response"))).toMatchObject({ success: true, payer: payer.address })
      await expectCredited(who, 1_000)
    })

    it("a priced call is not served again by a payment that was spent", async () => {
      const payer = await newPayer(chains, network)
      const who = await newDepositor(server)
      const payment = await who.sign(payer, 0.1)
      const body = { agentId: "a", memories: [fact("a", "b")] }
      const statuses: Array<number> = []
      for (let call = 0; call < 21; call++) {
        statuses.push((await who.call("POST", "/v1/memories", { body, headers: payment })).status)
      }
      expect(statuses).toEqual([...Array.from({ length: 20 }, () => 200), 402])
      const { body: listed } = await who.call("GET", "/v1/credits/transactions")
      const deposits = listed.transactions.filter(({ kind }: { readonly kind: string }) => kind === "deposit")
      expect(deposits).toMatchObject([{ credits: 100 }])
      expect(await who.balance()).toBe(0)
    })
  })

  it("two equal deposits that a Solana client of version 1 signs over one blockhash are one payment", async () => {
    const payer = await newPayer(chains, "solana-devnet")
    const who = await newDepositor(server)
    chains.solana.pause()
    const payments = [await who.sign(payer, 1, 1), await who.sign(payer, 1, 1)]
    chains.solana.resume()
    const answers = []
    for (const payment of payments) answers.push(await who.deposit(1, payment))
    expect(answers.map(({ body }) => [body.success, body.replayed])).toEqual([
      [true, undefined],
      [true, true]
    ])
    await expectCredited(who, 1_000)
  })
})
