/**
 * How long a conversation waits for its reading (contract: Conversations): its messages are stored first; where others
 * wait to be read it is answered `pending` and read later, unless it asks to wait. Who waits shows in health and metrics.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { accountCalls, useAccount } from "../support/MemoryCalls.ts"
import { isLongRun } from "../support/Repetitions.ts"
import { patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"
import { useServer } from "../support/useServer.ts"

const server = useServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
const alice = useAccount(server, "alice")
beforeAll(async () => {
  // Until the rules' thread is there.
  while ((await send("warm", "My name is Ann.", { wait: "extraction" })).body.extraction !== "done");
})

const send = (agentId: string, content: string, rest: object = {}) =>
  alice.post("/v1/memories", { agentId, conversation: [{ id: "m1", role: "user", content }], ...rest })

const totalOf = async (agentId: string, kind: string): Promise<number> =>
  (await alice.call("GET", `/v1/memories?agentId=${agentId}&kind=${kind}`)).body.total

const untilStored = async (agentId: string, count: number, kind: string): Promise<void> => {
  while ((await totalOf(agentId, kind)) < count) await new Promise((wake) => setTimeout(wake, 10))
}

/** Longer work for the reader than a request takes to be stored. */
const long = Array.from({ length: 24 }, (_, at) => ({
  role: "user",
  content: Array.from({ length: 6 }, (_, n) => `I live in Rome with my cat number ${at} ${n}.`).join(" ")
}))

/** Conversations that wait for their reading, one behind the other. */
const occupied = async (name: string, count = 2) => {
  const agents = Array.from({ length: count }, (_, at) => `${name}-${at}`)
  const answers = agents.map((agentId) =>
    alice.post("/v1/memories", { agentId, conversation: long, wait: ["vectors", "extraction"] })
  )
  for (const agentId of agents) await untilStored(agentId, long.length, "conversation_message")
  return () => Promise.all(answers)
}

describe("a conversation beside others that are read", () => {
  it("is stored and charged, answered before it is read, and read soon after", async () => {
    const over = await occupied("busy")
    const { body, headers } = await send("short", "I live in Quimper.")
    expect(body).toMatchObject({ created: [], messages: { stored: 1, known: 0 }, extraction: "pending" })
    expect(headers.get("x-credits-charged")).toBe("5")
    expect(await totalOf("short", "conversation_message")).toBe(1)
    const { checks } = (await server.call("GET", "/health/ready")).body
    expect(checks.conversations.pending).toBeGreaterThan(0)
    const metrics = (await server.call("GET", "/metrics")).body
    expect(Number(/^muniment_conversations_pending (\d+)/m.exec(metrics)?.[1])).toBeGreaterThan(0)
    const again = await send("short", "I live in Quimper.")
    expect([again.body.messages, again.headers.get("x-credits-charged")]).toEqual([{ stored: 0, known: 1 }, "0"])
    await over()
    await untilStored("short", 1, "factual_memory")
    const later = (await send("short", "I live in Quimper.")).body
    expect([later.created, later.extraction]).toEqual([[], "done"])
    expect(later.existing).toEqual([expect.objectContaining({ data: expect.objectContaining({ subject: "user" }) })])
    for (let pending = 1; pending > 0;) {
      pending = (await server.call("GET", "/health/ready")).body.checks.conversations.pending
      await new Promise((wake) => setTimeout(wake, 50))
    }
  })

  it("waits for the end of no other reading, be it one", async () => {
    const over = await occupied("single", 1)
    const { body } = await send("beside", "I live in Quimper.")
    expect(body).toMatchObject({ messages: { stored: 1 }, extraction: "pending" })
    await over()
    await untilStored("beside", 1, "factual_memory")
  })

  it("is read before it is answered if it asks to", async () => {
    const over = await occupied("patient")
    const { body } = await send("patient", "I live in Quimper.", { wait: "extraction" })
    expect(body).toMatchObject({
      extraction: "done",
      created: [{ data: { fact: expect.stringContaining("Quimper") } }]
    })
    await over()
  })

  it("is read also if its caller leaves after it was stored", async () => {
    const over = await occupied("leaving")
    const leaving = new AbortController()
    const asked = fetch(`${server.url}/v1/memories`, {
      method: "POST",
      signal: leaving.signal,
      headers: { authorization: `Bearer ${alice.key}`, "content-type": "application/json" },
      body: JSON.stringify({
        agentId: "left",
        conversation: [{ id: "m1", role: "user", content: "I live in Quimper." }],
        wait: "extraction"
      })
    })
    await untilStored("left", 1, "conversation_message")
    leaving.abort()
    await expect(asked).rejects.toThrow(/abort/)
    await over()
    await untilStored("left", 1, "factual_memory")
  })

  if (isLongRun)
    it("keeps waiting when it keeps no messages, or reads known ones again", async () => {
      const over = await occupied("strict")
      const { body } = await send("strict", "I live in Quimper.", { remember: "extracted" })
      expect(body).toMatchObject({ extraction: "done", created: [expect.anything()] })
      const forced = await send("strict", "I live in Quimper.", { force: true })
      expect(forced.body.extraction).toBe("done")
      await over()
    })
})

it("is accepted while the reader starts, and read once it has", async () => {
  const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_READING_WAIT_MILLIS: "1" }
  const fresh = await startServer({ environment })
  const { call, post } = await accountCalls(fresh, "early")
  const conversation = [{ id: "m1", role: "user", content: "I live in Quimper." }]
  const first = await post("/v1/memories", { agentId: "first", conversation })
  expect([first.status, first.headers.get("x-credits-charged")]).toEqual([200, "5"])
  expect(first.body).toMatchObject({ messages: { stored: 1, known: 0 }, extraction: "pending" })
  const found = async () => (await call("GET", "/v1/memories?agentId=first&kind=factual_memory")).body.total
  await expect.poll(found, { timeout: patienceMillis }).toBe(1)
  await fresh.stop()
})

it("that keeps no messages waits for the start of the reader", async () => {
  const fresh = await startServer({ environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
  const { post } = await accountCalls(fresh, "early")
  const conversation = [{ id: "m1", role: "user", content: "I live in Quimper." }]
  const [stored, tried] = await Promise.all([
    post("/v1/memories", { agentId: "first", conversation, remember: "extracted" }),
    post("/v1/memories/extract", { conversation })
  ])
  expect(stored.body).toMatchObject({ created: [expect.anything()], extraction: "done" })
  expect(tried.body.found).toHaveLength(1)
  await fresh.stop()
})

if (isLongRun)
  it("is charged once if the service is killed before it is read, and it is sent again", async () => {
    const dataDirectory = temporaryDirectory()
    const start = () => startServer({ dataDirectory, environment: { MUNIMENT_EMBEDDING_MODEL: "none" } })
    const before = await start()
    const { key } = await accountCalls(before, "carol")
    const remember = (at: TestServer, agentId: string, conversation: ReadonlyArray<object>, rest: object = {}) =>
      at.call("POST", "/v1/memories", { key, body: { agentId, conversation, ...rest } })
    const short = [{ id: "m1", role: "user", content: "I live in Quimper." }]
    // Read meanwhile, and cut off by the kill.
    const others = ["one", "two", "three"].map((agentId) => remember(before, agentId, long).catch(String))
    const stored = async () => (await before.call("GET", "/v1/memories?agentId=one&limit=1", { key })).body.total
    await expect.poll(stored, { timeout: patienceMillis }).toBe(long.length)
    const left = await remember(before, "short", short)
    expect([left.body.extraction, left.headers.get("x-credits-charged")]).toEqual(["pending", "5"])
    await before.kill()
    await Promise.all(others)
    const after = await start()
    const again = await remember(after, "short", short)
    expect([again.body.messages, again.headers.get("x-credits-charged")]).toEqual([{ stored: 0, known: 1 }, "0"])
    const { transactions } = (await after.call("GET", "/v1/credits/transactions?limit=100", { key })).body
    const ofShort = transactions.filter(({ agentId }: { readonly agentId?: string }) => agentId === "short")
    expect(ofShort).toEqual([expect.objectContaining({ kind: "charge", operation: "create", credits: -5 })])
    const forced = await remember(after, "short", short, { force: true })
    expect([forced.body.extraction, forced.headers.get("x-credits-charged")]).toEqual(["done", "5"])
    await after.stop()
  })

it.each([["words"], [[]], [["vectors", "words"]]])("`wait` of %j is refused", async (wait) => {
  expect((await send("bad", "x", { wait })).body.code).toBe("invalid_request")
})
