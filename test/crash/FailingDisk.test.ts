/** A disk that fails for a moment: what cannot be done is answered 503 with a time to come again, and then it works. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { makeFaultyDisk, type FaultyDisk } from "../support/FaultyDisk.ts"
import { fact, schemaText, text } from "../support/MemoryCalls.ts"
import { type Answer, patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"

let disk: FaultyDisk
let server: TestServer

beforeAll(async () => {
  disk = makeFaultyDisk()
  server = await startServer({ environment: { ...disk.environment, MUNIMENT_EMBEDDING_MODEL: "none" } })
})
afterEach(() => disk.disarm())
afterAll(async () => {
  expect(await server.stop()).toBe(0)
  disk.remove()
})

const always = 1_000_000

describe("a disk that fails under control.db", () => {
  const callsFor = (name: string): ReadonlyArray<() => Promise<Answer>> => [
    () =>
      server.call("POST", "/v1/schemas", {
        body: { name, description: "d", schema: schemaText({ note: text }) }
      }),
    () => server.asOperator("POST", "/admin/keys", { account: name }),
    () => server.call("POST", "/v1/memories", { body: { agentId: name, memories: [fact("Ann", "Ann keeps bees")] } })
  ]

  it.each(["write", "sync"] as const)(
    "answers a new schema, key and agent with 503 and Retry-After, and serves them afterwards: %s",
    async (operation) => {
      for (const call of callsFor(`fails_${operation}`)) {
        disk.arm({ operation, path: "control.db", fault: "EIO", times: always })
        const failed = await call()
        disk.disarm()
        expect([failed.status, failed.body.code]).toEqual([503, "control_unavailable"])
        expect(Number(failed.headers.get("retry-after"))).toBeGreaterThan(0)
        // The outcome of the failed one was unknown: it may be there.
        expect([200, 409]).toContain((await call()).status)
      }
    }
  )

  it("is named in the log, without a stack", () => {
    expect(server.output()).toContain("control.db cannot be used")
    expect(server.output()).not.toContain("request failed with a defect")
  })
})

describe("a read of a namespace's file that fails for a moment", () => {
  const untilServed = async (agentId: string): Promise<Answer> => {
    const deadline = Date.now() + patienceMillis
    for (;;) {
      const answer = await server.call("GET", `/v1/memories?agentId=${agentId}&limit=100`)
      if (answer.status === 200 || Date.now() > deadline) return answer
      await new Promise((wake) => setTimeout(wake, 50))
    }
  }

  const fill = async (agentId: string) => {
    const more = "and more ".repeat(99)
    const memories = Array.from({ length: 100 }, (_, at) => fact(`Ann ${at}`, `Ann keeps ${at} bees ${more}`))
    for (let batch = 0; batch < 10; batch++) {
      expect((await server.call("POST", "/v1/memories", { body: { agentId, memories } })).status).toBe(200)
    }
  }

  it.each(["zeros", "EIO"] as const)("takes no agent offline: %s", async (fault) => {
    // One each: a file that fails again soon after it was found whole stays set aside.
    const agentId = `reads ${fault}`
    await fill(agentId)
    disk.arm({ operation: "read", path: "/namespaces/", fault, times: 1 })
    // What is cached is not read again: other pages are asked for until the fault has happened.
    for (let from = 0; disk.isArmed() && from < 100; from++) {
      await server.call("GET", `/v1/memories/search?query=bees+${from}&agentId=${agentId}&limit=100`)
    }
    expect(disk.isArmed()).toBe(false)
    const after = await untilServed(agentId)
    expect([after.status, after.body.total]).toEqual([200, 1_000])
    const { body } = await server.asOperator("GET", "/admin/status")
    expect(body.quarantined).toEqual([])
  })
})

describe("a write whose outcome a failing disk leaves unknown", () => {
  const pricePerCreate = 5
  let poor: TestServer
  let poorDisk: FaultyDisk

  beforeAll(async () => {
    poorDisk = makeFaultyDisk()
    const environment = { MUNIMENT_EMBEDDING_MODEL: "none", MUNIMENT_MONTHLY_ALLOWANCE: String(pricePerCreate) }
    poor = await startServer({ environment: { ...poorDisk.environment, ...environment } })
  })
  afterAll(async () => {
    expect(await poor.stop()).toBe(0)
    poorDisk.remove()
  })

  const createOf = (key: string, agentId: string, headers: Readonly<Record<string, string>> = {}) =>
    poor.call("POST", "/v1/memories", { key, body: { agentId, memories: [fact("Ann", "Ann keeps bees")] }, headers })
  const memoriesOf = async (key: string, agentId: string): Promise<number> => {
    const { body } = await poor.call("GET", "/v1/account", { key })
    const agents: ReadonlyArray<{ readonly agentId: string; readonly memories: number }> = body.agents
    return agents.find((agent) => agent.agentId === agentId)?.memories ?? 0
  }

  /** An account whose credits are for one creation, which is answered 503 and was done. */
  const doneAndRefused = async (): Promise<string> => {
    for (let attempt = 0; attempt < 30; attempt++) {
      const key = await poor.newAccount(`poor-${attempt}`)
      poorDisk.arm({ operation: "sync", path: "/log/0", fault: "EIO", times: 1, after: attempt % 6 })
      const { body, status } = await createOf(key, "a", { "idempotency-key": "once" })
      poorDisk.disarm()
      if (status === 503 && body.code === "namespace_unavailable" && (await memoriesOf(key, "a")) === 1) return key
    }
    throw new Error("no failed sync left a write done")
  }

  // Where the disk goes on failing nobody can be asked: not charged. No number of failures brings that about every time.
  it("is charged, and gives its answer to its repetition though no credits are left", async () => {
    const key = await doneAndRefused()
    expect((await createOf(key, "b")).status).toBe(403)
    const repeated = await createOf(key, "a", { "idempotency-key": "once" })
    expect([repeated.status, repeated.body.created?.length]).toEqual([200, 1])
    expect(await memoriesOf(key, "a")).toBe(1)
    const other = await createOf(key, "a", { "idempotency-key": "twice" })
    expect([other.status, other.body.code]).toEqual([403, "insufficient_credits"])
    const { body } = await poor.call("GET", "/v1/credits", { key })
    expect(body.allowance.credits + body.balance.credits).toBe(0)
    const check = await poor.asOperator("GET", "/admin/ledger/check")
    expect(check.body).toMatchObject({ ok: true, problems: [] })
  })
})
