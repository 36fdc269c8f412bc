/** Vectors follow the write (contract: Memories, Vectors): a backlog that survives kills, and a caller that waits. */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it } from "vitest"
import { accountCalls, fact } from "../support/MemoryCalls.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const many = (count: number) =>
  Array.from({ length: count }, (_, at) => fact("Ann", `Visit ${at} was to the harbour, where the ferries leave`))

const progress = async (server: TestServer): Promise<{ readonly pending: number; readonly total: number }> =>
  (await server.asOperator("GET", "/admin/reembed")).body

const untilEmpty = async (server: TestServer, total: number): Promise<void> => {
  for (;;) {
    const now = await progress(server)
    if (now.pending === 0 && now.total === total) return
    await new Promise((wake) => setTimeout(wake, 20))
  }
}

const withoutVector = (dataDirectory: string): number => {
  const directory = join(dataDirectory, "namespaces")
  let missing = 0
  for (const name of readdirSync(directory).filter((file) => file.endsWith(".db"))) {
    const database = new DatabaseSync(join(directory, name))
    const sql = "SELECT count(*) AS n FROM memory WHERE slot NOT IN (SELECT slot FROM vector)"
    missing += Number(database.prepare(sql).get()?.["n"])
    database.close()
  }
  return missing
}

describe("a large write", () => {
  it("is answered before its vectors, which follow, through a kill too, and show in health and metrics", async () => {
    const dataDirectory = temporaryDirectory()
    const first = await startServer({ dataDirectory })
    const count = 300
    for (let at = 0; at < count; at += 100) {
      const body = { agentId: `agent-${at % 200}`, memories: many(100) }
      expect((await first.call("POST", "/v1/memories", { body })).status).toBe(200)
    }
    const { checks } = (await first.call("GET", "/health/ready")).body
    expect(checks.embedding.pending).toBeGreaterThan(0)
    const metrics = (await first.call("GET", "/metrics")).body
    expect(Number(/^muniment_vectors_pending (\d+)/m.exec(metrics)?.[1])).toBeGreaterThan(0)
    await first.kill()

    const second = await startServer({ dataDirectory })
    await untilEmpty(second, count)
    const { body } = await second.call("GET", "/v1/memories/search?query=boats&explain=true&limit=5")
    expect(body.memories.map(({ explain }: { explain: { dense: number | null } }) => explain.dense)).not.toContain(null)
    expect(body.memories).toHaveLength(5)
    await second.stop()
    expect(withoutVector(dataDirectory)).toBe(0)
  })

  it("that waits for its vectors is found by meaning when it is answered, beside a backlog", async () => {
    const server = await startServer()
    try {
      const calls = await accountCalls(server, "waits")
      const body = { agentId: "import", memories: many(100) }
      expect((await calls.post("/v1/memories", body)).status).toBe(200)
      await calls.create("said", [fact("Ben", "Ben owns two dogs"), ...many(5)])
      const [hit] = await calls.search({ query: "who has pets?", agentId: "said", explain: "true" })
      expect([hit.data.fact, typeof hit.explain.dense]).toEqual(["Ben owns two dogs", "number"])
      expect((await calls.post("/v1/memories", { ...body, wait: "words" })).body.code).toBe("invalid_request")
    } finally {
      await server.stop()
    }
  })
})
