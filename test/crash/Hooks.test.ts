/**
 * A webhook of an account through kills (contract: Webhooks of accounts): every change arrives at least once, repeats are
 * known by their ids, and without them each agent's changes are in order.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { startServer } from "../support/TestServer.ts"
import { startWebhookReceiver } from "../support/WebhookReceiver.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_ACCOUNT_WEBHOOKS: "any" }

it("60 writes to 3 agents and a kill: nothing is lost, doubles have their ids", async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-hooks-"))
  await using receiver = await startWebhookReceiver()
  // Refuses now and then, so that kills meet messages that wait.
  let answers = 0
  receiver.answer = () => (++answers % 16 === 0 ? 500 : 204)
  let server = await startServer({ dataDirectory, environment })
  const agents = ["one", "two", "three"]
  const written = new Map<string, Array<string>>(agents.map((agentId) => [agentId, []]))
  const write = async (agentId: string, at: number) => {
    const memories = [{ kind: "factual_memory", data: { subject: agentId, fact: `number ${at}` } }]
    const headers = { "idempotency-key": `${agentId} ${at}` }
    const { body, status } = await server.call("POST", "/v1/memories", { body: { agentId, memories }, headers })
    expect(status).toBe(200)
    written.get(agentId)!.push(body.created[0].id)
  }
  const told = () => {
    const seen = new Set<unknown>()
    const first = receiver.deliveries.filter(({ headers }, at) => {
      if ((at + 1) % 16 === 0 || seen.has(headers["webhook-id"])) return false
      seen.add(headers["webhook-id"])
      return true
    })
    return new Map(
      agents.map((agentId) => [
        agentId,
        first.flatMap(({ body: { data } }) => (data["agentId"] === agentId ? [data["memoryId"]] : []))
      ])
    )
  }
  const toldCount = () => [...told().values()].reduce((sum, { length }) => sum + length, 0)
  try {
    expect((await server.call("POST", "/v1/webhooks", { body: { url: receiver.url } })).status).toBe(200)
    for (let at = 0; at < 20; at++) {
      await Promise.all(agents.map((agentId) => write(agentId, at)))
      if (at !== 9) continue
      // With messages on their way, and others not yet read from the log of events.
      await expect.poll(toldCount, { timeout: 60_000, interval: 5 }).toBeGreaterThan(at)
      await server.kill()
      server = await startServer({ dataDirectory, environment })
    }
    await expect.poll(toldCount, { timeout: 120_000 }).toBe(60)
    expect(told()).toEqual(written)
  } finally {
    await server.kill()
    rmSync(dataDirectory, { recursive: true, force: true })
  }
})
