/** The client against a server that asks for money: one payment for a call, repeated until its outcome is known. */
import type { CallOptions } from "@muniment/client/Contract"
import { Muniment, type MunimentOptions } from "@muniment/client/Muniment"
import { MunimentError } from "@muniment/client/MunimentError"
import type { Pay, Payment, PaymentDemand } from "@muniment/client/Payment"
import { describe, expect, it } from "vitest"
import { startWireServer, type WireAnswer, type WireRequest } from "./WireServer.ts"

const entry = {
  scheme: "exact",
  network: "base-sepolia",
  maxAmountRequired: "500000",
  resource: "http://localhost/v1/credits/deposit",
  description: "500 credits for 0.50 USD",
  mimeType: "application/json",
  payTo: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  maxTimeoutSeconds: 60,
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  extra: { name: "USDC", version: "2" }
}
const demandBody = (code: string) => ({ x402Version: 1, error: "pay", accepts: [entry], code })
const payFirst = (code = "payment_required"): WireAnswer => ({
  status: 402,
  body: demandBody(code),
  headers: { "payment-required": "djI=" }
})
const pending: WireAnswer = {
  status: 202,
  body: { success: false, error: "on its way", code: "payment_pending" },
  headers: { "retry-after": "2" }
}
const receipt = { success: true, transaction: "0xabc", network: "base-sepolia", payer: "0x70" }
const deposited = {
  success: true,
  deposit: { amount_usd: 0.5, credits: 500 },
  balance: { credits: 500, usd: 0.5 },
  message: "500 credits were added"
}
const done: WireAnswer = {
  status: 200,
  body: deposited,
  headers: { "x-payment-response": btoa(JSON.stringify(receipt)) }
}
const refusedFor = (status: number, code: string): WireAnswer => ({
  status,
  body: { success: false, error: code, code }
})

const payment: Payment = { header: "x-payment", value: "c2lnbmVk" }

/** Answers in this order, the last one for ever. */
const inTurn =
  (...answers: ReadonlyArray<WireAnswer | undefined>) =>
  (_: WireRequest, index: number) =>
    answers[Math.min(index, answers.length - 1)]

interface Run {
  readonly outcome: unknown
  readonly demands: ReadonlyArray<PaymentDemand>
  readonly pauses: ReadonlyArray<number>
  readonly requests: ReadonlyArray<WireRequest>
}

/** A deposit of half a dollar whose `pay` counts how often it is asked. */
const run = async (
  answer: (request: WireRequest, index: number) => WireAnswer | undefined,
  settings: {
    readonly options?: CallOptions
    readonly client?: Partial<Omit<MunimentOptions, "apiKey" | "wallet">>
    readonly call?: (client: Muniment, pay: Pay) => Promise<unknown>
  } = {}
): Promise<Run> => {
  await using server = await startWireServer(answer)
  const demands: Array<PaymentDemand> = []
  const pauses: Array<number> = []
  const pay: Pay = async (demand) => {
    demands.push(demand)
    return payment
  }
  const client = new Muniment({
    baseUrl: server.url,
    apiKey: "key",
    pause: async (millis) => void pauses.push(millis),
    ...settings.client
  })
  const call = settings.call ?? ((muniment: Muniment) => muniment.deposit(0.5, { pay, ...settings.options }))
  const outcome = await call(client, pay).catch((cause: unknown) => cause)
  return { outcome, demands, pauses, requests: server.requests }
}

const paymentsOf = (requests: ReadonlyArray<WireRequest>) => requests.map(({ headers }) => headers["x-payment"])

describe("a deposit", () => {
  it("asks, pays what is demanded, and tells the transaction", async () => {
    const { demands, outcome, requests } = await run(inTurn(payFirst(), done))
    expect(outcome).toEqual({ ...deposited, receipt })
    expect(demands).toEqual([{ ...demandBody("payment_required"), header: "djI=" }])
    expect(paymentsOf(requests)).toEqual([undefined, payment.value])
    expect(requests[1]?.url).toBe("/v1/credits/deposit?amount_usd=0.5")
    expect(new Set(requests.map(({ headers }) => headers["idempotency-key"])).size).toBe(1)
  })

  it("sends the same payment again while its outcome is unknown, as late as the service asks", async () => {
    const { demands, outcome, pauses, requests } = await run(inTurn(payFirst(), pending, pending, done))
    expect(outcome).toMatchObject({ receipt })
    expect(demands).toHaveLength(1)
    expect(pauses.map((millis, at) => millis >= 2_000 && millis <= 2_000 + 2_000 * 2 ** at)).toEqual([true, true])
    expect(paymentsOf(requests)).toEqual([undefined, ...Array(3).fill(payment.value)])
  })

  it("sends the same payment again after a cut connection and while the chain is unreachable", async () => {
    const { demands, outcome, requests } = await run(
      inTurn(payFirst(), undefined, refusedFor(503, "payment_unavailable"), done)
    )
    expect(outcome).toMatchObject({ receipt })
    expect(demands).toHaveLength(1)
    expect(paymentsOf(requests).slice(1)).toEqual(Array(3).fill(payment.value))
  })

  it("gives up on a payment that stays pending, and hands it out to go on with", async () => {
    const { demands, outcome, requests } = await run(inTurn(payFirst(), pending))
    expect(outcome).toBeInstanceOf(MunimentError)
    expect(outcome).toMatchObject({ status: 202, code: "payment_pending", retryAfterMillis: 2_000, payment })
    expect(demands).toHaveLength(1)
    expect(requests).toHaveLength(1 + 1 + 30)
  })

  it("goes on with a payment that was signed before, and signs nothing", async () => {
    const { demands, outcome, requests } = await run(inTurn(done), { options: { payment } })
    expect(outcome).toMatchObject({ receipt })
    expect(demands).toHaveLength(0)
    expect(paymentsOf(requests)).toEqual([payment.value])
  })

  it("never pays a second time when the payment is refused", async () => {
    const { demands, outcome, requests } = await run(inTurn(payFirst(), payFirst("payment_invalid")))
    expect(outcome).toMatchObject({ status: 402, code: "payment_invalid", payment })
    expect(demands).toHaveLength(1)
    expect(requests).toHaveLength(2)
  })

  it("sends nothing when who pays declines", async () => {
    const { outcome, requests } = await run(inTurn(payFirst(), done), {
      options: { pay: () => Promise.reject(new Error("too dear")) }
    })
    expect(outcome).toMatchObject({ message: "too dear" })
    expect(requests).toHaveLength(1)
  })

  it("fails with what to pay when nobody pays", async () => {
    const { outcome } = await run(inTurn(payFirst()), { call: (client) => client.deposit(0.5) })
    expect(outcome).toMatchObject({ status: 402, paymentRequired: { accepts: [entry], header: "djI=" } })
  })

  it("asks nobody to pay when there is no way to", async () => {
    const { demands, outcome } = await run(
      inTurn({ status: 402, body: { ...demandBody("payment_required"), accepts: [] } })
    )
    expect(outcome).toMatchObject({ status: 402 })
    expect(demands).toHaveLength(0)
  })

  it("succeeds when the receipt cannot be read", async () => {
    const { outcome } = await run(inTurn({ ...done, headers: { "x-payment-response": "%" } }))
    expect(outcome).toEqual(deposited)
  })
})

describe("a call that meets empty purses", () => {
  const found: WireAnswer = { status: 200, body: { success: true, memories: [] } }
  const search = (client: Muniment) => client.search({ query: "q" })

  it("pays by the client's onPaymentRequired and is made again", async () => {
    const asked: Array<string> = []
    const { outcome, requests } = await run(inTurn(payFirst("insufficient_credits"), pending, found), {
      client: {
        onPaymentRequired: async ({ code }) => {
          asked.push(code)
          return { header: "payment-signature", value: "djI=" }
        }
      },
      call: search
    })
    expect(outcome).toEqual(found.body)
    expect(asked).toEqual(["insufficient_credits"])
    expect(requests.map(({ headers }) => headers["payment-signature"])).toEqual([undefined, "djI=", "djI="])
  })

  it("is paid even by a client that repeats nothing", async () => {
    const { outcome, requests } = await run(inTurn(payFirst("insufficient_credits"), pending, found), {
      client: { retries: 0 },
      call: (client, pay) => client.delete("m", { pay })
    })
    expect(outcome).toEqual(found.body)
    expect(requests).toHaveLength(3)
  })

  it("fails with insufficient_credits otherwise", async () => {
    const { outcome, requests } = await run(inTurn(payFirst("insufficient_credits")), { call: search })
    expect(outcome).toMatchObject({ status: 402, code: "insufficient_credits" })
    expect(requests).toHaveLength(1)
  })
})
