/**
 * The operator's webhook (contract: Webhooks) around a real payment: told once the money is there, also if the service
 * is killed between the two, and seen by the operator.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { paymentsOf, signedDeposit, untilKnown } from "../support/PaymentCalls.ts"
import { missingChains, type PaymentChains, startPaymentChains } from "../support/PaymentChains.ts"
import { type MortalServer, startMortalServer } from "../support/PaymentKills.ts"
import { refusalOf, startServer } from "../support/TestServer.ts"
import { isSigned, startWebhookReceiver, type WebhookReceiver, webhookSecretText } from "../support/WebhookReceiver.ts"

let chains: PaymentChains
let receiver: WebhookReceiver
let mortal: MortalServer

const asOperator = (method: string, path: string, body?: object) => mortal.now().asOperator(method, path, body)
const webhooks = async () => (await asOperator("GET", "/admin/webhooks")).body.webhooks
const until = async (isSo: () => boolean | Promise<boolean>) => {
  while (!(await isSo())) await new Promise((wake) => setTimeout(wake, 50))
}

describe.skipIf(missingChains !== "")(`the webhook${missingChains}`, () => {
  beforeAll(async () => {
    chains = await startPaymentChains()
    receiver = await startWebhookReceiver()
    mortal = await startMortalServer({
      ...chains.environment,
      MUNIMENT_EMBEDDING_MODEL: "none",
      MUNIMENT_WEBHOOK_URL: receiver.url,
      MUNIMENT_WEBHOOK_SECRET: webhookSecretText
    })
  })
  afterAll(async () => {
    await mortal.end()
    await receiver[Symbol.asyncDispose]()
    await chains.stop()
  })

  it("is told of a payment that was credited before a kill, once the service lives again", async () => {
    receiver.answer = () => "hang"
    const { payer, payment, who } = await signedDeposit(mortal.now(), chains, "base-sepolia", 5)
    expect((await untilKnown(() => who.deposit(5, payment))).status).toBe(200)
    const { id, transaction } = (await paymentsOf(mortal.now()))[0]!
    await until(() => receiver.deliveries.length > 0)
    await mortal.kill()
    receiver.answer = () => 200
    await mortal.start()
    await until(async () => (await webhooks())[0].state === "delivered")

    const [before, after] = [receiver.deliveries[0]!, receiver.deliveries.at(-1)!]
    expect(receiver.deliveries.length).toBeGreaterThan(1)
    expect(after.headers["webhook-id"]).toBe(before.headers["webhook-id"])
    expect(await isSigned(after)).toBe(true)
    expect(after.body).toMatchObject({
      type: "payment.settled",
      data: { payment: id, payer: payer.address, network: "base-sepolia", amountUsd: 5, credits: 5_000, transaction }
    })
  })

  it("is shown to the operator: what it took, what it did not, and a try", async () => {
    const { webhooks: health } = (await asOperator("GET", "/admin/status")).body
    expect(health).toEqual({ isConfigured: true, pending: 0, oldestSeconds: 0, failed: 0 })
    const { body: metrics } = await mortal.now().call("GET", "/metrics", { key: null })
    expect(metrics).toMatch(/^muniment_webhooks_pending 0$/m)
    expect(metrics).toMatch(/^muniment_webhook_deliveries_total\{outcome="delivered"\} 1$/m)

    const [{ id }] = await webhooks()
    const count = receiver.deliveries.length
    expect((await asOperator("POST", "/admin/webhooks/resend", { webhook: id })).body).toMatchObject({ resent: 1 })
    await until(() => receiver.deliveries.length > count)
    expect(receiver.deliveries.at(-1)?.headers["webhook-id"]).toBe(id)
    expect((await asOperator("POST", "/admin/webhooks/resend", {})).body).toMatchObject({ resent: 0 })
    const unknown = await asOperator("POST", "/admin/webhooks/resend", { webhook: "msg_none" })
    expect([unknown.status, unknown.body.code]).toEqual([404, "webhook_not_found"])

    expect((await asOperator("POST", "/admin/webhooks/test")).body).toMatchObject({ delivered: true, reason: null })
    expect(receiver.deliveries.at(-1)?.body.type).toBe("test")
    const { body: audit } = await asOperator("GET", "/admin/audit")
    expect(JSON.stringify(audit)).toContain(`"webhook":"${id}"`)
  })

  it("keeps what it was not told yet while it is not configured", async () => {
    receiver.answer = () => 500
    const first = await signedDeposit(mortal.now(), chains, "base-sepolia")
    expect((await untilKnown(() => first.who.deposit(1, first.payment))).status).toBe(200)
    await mortal.kill()
    const environment = { ...chains.environment, MUNIMENT_EMBEDDING_MODEL: "none" }
    const lone = await startServer({ dataDirectory: mortal.dataDirectory, environment })
    const { body } = await lone.asOperator("GET", "/admin/status")
    expect(body.webhooks).toMatchObject({ isConfigured: false, pending: 1 })
    expect(refusalOf(await lone.asOperator("POST", "/admin/webhooks/test"))).toEqual([409, "webhook_not_configured"])
    await lone.stop()
  })
})
