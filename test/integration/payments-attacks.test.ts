/**
 * Attacks on money that once worked: a write that is not paid for, a payment that hears a lie, memories
 * that go although their owner has paid.
 */
import { randomBytes } from "node:crypto"
import { connect } from "node:net"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { beforeAll, describe, expect, it, vi } from "vitest"
import { toHex } from "viem"
import { Limits } from "@muniment/domain/Limits"
import { clientOf, code, payloadFor, units } from "../component/payments/evm/EvmPayments.ts"
import { fact } from "../support/MemoryCalls.ts"
import { runsOnOneBox } from "../support/OneBox.ts"
import { depositor, newDepositor, newPayer, paymentHeader, paymentsOf, reconcile } from "../support/PaymentCalls.ts"
import { signedDeposit, unitsPerUsd } from "../support/PaymentCalls.ts"
import { missingChains, sendMethods, testNetworks, useChains } from "../support/PaymentChains.ts"
import { everyDay } from "../support/Repetitions.ts"
import { useSharedServer, withoutModel } from "../support/SharedServer.ts"
import { patienceMillis, refusalOf, startServer, type TestServer } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const dayMillis = 86_400_000
const patience = { timeout: patienceMillis, interval: 50 }

/** A write whose client goes away so many milliseconds after it was sent. */
const writeAndLeave = (
  server: TestServer,
  secret: string,
  headers: ReadonlyArray<string>,
  body: object,
  millis: number
) =>
  new Promise<void>((left) => {
    const text = JSON.stringify(body)
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(server.url).port) })
    const head = [
      "POST /v1/memories HTTP/1.1",
      "host: localhost",
      `authorization: Bearer ${secret}`,
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(text)}`,
      ...headers
    ]
    // That the server ends the connection as well is no news.
    socket.on("error", () => socket.destroy())
    socket.once("close", () => left())
    socket.write(`${head.join("\r\n")}\r\n\r\n${text}`)
    setTimeout(() => socket.destroy(), millis)
  })

describe("an Idempotency-Key whose client goes away before the answer", () => {
  const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_MONTHLY_ALLOWANCE: "1000" }
  const price = 5
  const server = useServer(() => ({ environment }))

  it("pays for one body, not for one for each agent", async () => {
    const who = depositor(server, "hasty", await server.newAccount("hasty"))
    const memories = Array.from({ length: 100 }, (_, at) => fact("a", `b${at}`))
    for (let at = 0; at < 12; at++) {
      const body = { agentId: `agent-${at}`, memories }
      await writeAndLeave(server, who.secret, ["idempotency-key: once"], body, 1 + at * 8)
    }
    await vi.waitFor(async () => {
      const { agents } = (await who.call("GET", "/v1/account")).body
      const { credits } = (await who.call("GET", "/v1/credits")).body.allowance
      const written = agents.filter(({ memories }: { readonly memories: number }) => memories > 0)
      expect(written.length).toBeGreaterThan(0)
      expect(1_000 - credits).toBe(price * written.length)
    }, patience)
  })
})

describe("a slip of the operator's hand", () => {
  const server = useSharedServer(withoutModel)

  it("gives no credits that no double can count, and none finer than a millionth", async () => {
    await server.newAccount("lucky")
    const give = async (credits: number) => {
      const body = { account: server.nameOf("lucky"), credits, reason: "r", key: `gift-${credits}` }
      const answer = await server.asOperator("POST", "/admin/ledger/adjustments", body)
      return answer.body.code ?? answer.body.balance
    }
    for (const credits of [1e300, 9e9, -9e9, 1_000_001, 1e-7, 1.5e-6, 0]) {
      expect([credits, await give(credits)]).toEqual([credits, "invalid_amount"])
    }
    expect([await give(1_000_000), await give(0.1), await give(0.000_001)]).toEqual([
      1_000_000, 1_000_000.1, 1_000_000.100001
    ])
  })
})

describe.skipIf(missingChains !== "")(`payments${missingChains}`, () => {
  const chains = useChains()
  const server = useServer(() => ({ environment: chains.environment }))

  describe("while every place of an account is taken by payments that wait for a silent node", () => {
    it.each(everyDay(1, testNetworks))("on %s, one that was credited hears so again", async (network) => {
      const credited = await signedDeposit(server, chains, network)
      expect((await credited.who.deposit(1, credited.payment)).status).toBe(200)
      const crowd = await newDepositor(server)
      const payer = await newPayer(chains, network)
      const payments: Array<Readonly<Record<string, string>>> = []
      for (let at = 0; at < Limits.paymentsPerAccountMax; at++) payments.push(await crowd.sign(payer, 0.2))
      const fresh = await signedDeposit(server, chains, network)

      chains.rpc[network].failNext(() => true, "hang", 100 * payments.length)
      const before = chains.rpc[network].calls()
      const answers = Promise.all(payments.map((payment) => crowd.deposit(0.2, payment)))
      await vi.waitFor(() => {
        expect(chains.rpc[network].calls() - before).toBeGreaterThanOrEqual(payments.length)
      }, patience)
      expect(refusalOf(await fresh.who.deposit(1, fresh.payment))).toEqual([503, "payment_unavailable"])
      const again = await credited.who.deposit(1, credited.payment)
      expect([again.status, again.body.replayed]).toEqual([200, true])
      expect(refusalOf(await fresh.who.deposit(1, credited.payment))).toEqual([409, "payment_already_used"])
      await answers
      chains.rpc[network].up()
      expect((await fresh.who.deposit(1, fresh.payment)).status).toBe(200)
    })
  })

  describe("a contract wallet that halts oddly when it is asked whether it signed", () => {
    it("is the payer's fault (402), and no trouble of the network", async () => {
      const from = toHex(randomBytes(20))
      await chains.evm.mint(from, BigInt(units))
      const who = await newDepositor(server)
      const before = await paymentsOf(server)
      const { burns, copies, invalid, jumps, overflows, underflows, unknown } = code
      for (const bytecode of [burns, copies, invalid, jumps, overflows, underflows, unknown]) {
        await clientOf(chains.evm).setCode({ address: from, bytecode })
        const payload = await payloadFor(chains.evm, { from })
        const { body, status } = await who.deposit(units / unitsPerUsd, paymentHeader("base-sepolia", payload))
        expect([status, JSON.stringify(body)]).toEqual([402, expect.stringContaining("ERC-1271")])
      }
      expect(await paymentsOf(server)).toEqual(before)
      const honest = await signedDeposit(server, chains, "base-sepolia")
      expect((await honest.who.deposit(1, honest.payment)).status).toBe(200)
    })
  })

  describe("a balance that covers one payment", () => {
    it.each(everyDay(1, testNetworks))(
      "lets one of many be sent, on %s: fees are paid for that one alone",
      async (network) => {
        const who = await newDepositor(server)
        const payer = await newPayer(chains, network, 0.15)
        const payments: Array<Readonly<Record<string, string>>> = []
        for (let at = 0; at < 12; at++) payments.push(await who.sign(payer, 0.1, 2))
        const sent = chains.rpc[network].calls(sendMethods[network])
        const before = await paymentsOf(server)
        const answers = await Promise.all(payments.map((payment) => who.deposit(0.1, payment)))
        const statuses = answers.map(({ status }) => status).toSorted()
        expect(statuses).toEqual([200, ...Array.from({ length: 11 }, () => 402)])
        expect(chains.rpc[network].calls(sendMethods[network]) - sent).toBe(1)
        expect(await who.balance()).toBe(100)
        expect(await paymentsOf(server)).toHaveLength(before.length + 1)
      }
    )
  })

  describe("a deposit that a crash leaves open when the daily job is due", () => {
    let directory = ""
    beforeAll(() => {
      directory = temporaryDirectory()
    })

    /** The last day is due again, also for accounts that are younger. */
    const giveDayBack = (dataDirectory: string) => {
      const control = new DatabaseSync(join(dataDirectory, "control.db"))
      control.exec("UPDATE job_state SET last_day = date(last_day, '-1 day')")
      control.prepare("UPDATE account SET created_at = created_at - ?").run(30 * dayMillis)
      control.close()
    }
    const weekOld = (letter: string) => ({
      id: `mem_01KAJ8Q0V7E5XK9D2M4N6P8R0${letter}`,
      agentId: "assistant",
      ...fact("Alice", `Alice has tortoise ${letter}`),
      tags: [],
      mentions: [],
      confidence: 1,
      createdAt: Date.now() - 8 * dayMillis,
      updatedAt: Date.now() - 8 * dayMillis,
      origin: "direct"
    })

    it.runIf(runsOnOneBox("changed")).each(everyDay(1, testNetworks))(
      "does not insure until it is seen, in time for what the job has only marked, on %s",
      async (network) => {
        const dataDirectory = join(directory, network)
        const options = { dataDirectory, environment: chains.environment }
        let server = await startServer(options)
        const { payment, who } = await signedDeposit(server, chains, network)
        const body = { account: who.name, records: ["A", "B"].map(weekOld) }
        const imported = await server.asOperator("POST", "/admin/import", body)
        expect(imported.body).toMatchObject({ imported: 2 })
        chains.rpc[network].failNext(sendMethods[network], "drop-response")
        // The chain has the payment, and the server cannot see it any more.
        chains.rpc[network].failNext(isLook, "refuse", 1_000)
        const asking = who.deposit(1, payment).catch(() => undefined)
        await vi.waitFor(async () => expect(await statesIn(server)).toEqual(["broadcasting"]), patience)
        await vi.waitFor(
          async () => expect(chains.rpc[network].calls(sendMethods[network])).toBeGreaterThan(0),
          patience
        )
        await server.kill()
        await asking

        giveDayBack(dataDirectory)
        server = await startServer(options)
        expect(server.output()).toContain("daily storage job done")
        const there = depositor(server, who.name, who.secret)
        expect((await there.call("GET", "/v1/credits")).body.purgeNotice).toMatchObject({ memories: 2 })
        chains.rpc[network].up()
        await vi.waitFor(async () => {
          await reconcile(server)
          expect(await there.balance()).toBe(1_000)
        }, patience)
        expect((await there.call("GET", "/v1/credits")).body).not.toHaveProperty("purgeNotice")
        expect((await there.call("GET", "/v1/account")).body.agents).toEqual([{ agentId: "assistant", memories: 2 }])
        await server.stop()
      }
    )
  })
})

/** What a payment is looked at by, once it is sent. */
const isLook = ({ method }: { readonly method: string }): boolean =>
  method === "eth_getTransactionReceipt" || method === "getSignatureStatuses"

const statesIn = async (server: TestServer) => (await paymentsOf(server)).map(({ state }) => state)
