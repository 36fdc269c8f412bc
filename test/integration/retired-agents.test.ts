/**
 * Agents of which nothing is left, over HTTP (contract: Quotas): they count until the daily job of a day later, then give
 * place and file back, and come back with their next memory. While nobody serves, the day is made due, and the results
 * that are kept for repetitions are made older.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import { namespaceTags } from "../support/namespaceTags.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }
const dayMillis = 86_400_000

const directory = temporaryDirectory()
let server: TestServer
let key = ""
let emptiedId = ""
beforeAll(async () => {
  server = await startServer({ dataDirectory: directory, environment })
  key = await server.newAccount("tenant")
  const limits = { account: "tenant", limits: { agents: 2 } }
  expect((await server.asOperator("POST", "/admin/quotas", limits)).status).toBe(200)
})
afterAll(async () => {
  await server.stop()
})

const remember = (agentId: string, text: string, idempotencyKey = `${agentId} ${text}`) =>
  server.call("POST", "/v1/memories", {
    key,
    headers: { "idempotency-key": idempotencyKey },
    body: { agentId, memories: [fact("Alice", text)] }
  })
const agents = async () =>
  (await server.call("GET", "/v1/account", { key })).body.agents.map(({ agentId }: { agentId: string }) => agentId)

const dayLater = async (results: "two days older" | "as they are") => {
  await server.stop()
  const control = new DatabaseSync(join(directory, "control.db"))
  const row = control.prepare("SELECT last_day FROM job_state").get() as { last_day: string }
  const before = new Date(Date.parse(row.last_day) - dayMillis).toISOString().slice(0, 10)
  control.prepare("UPDATE job_state SET last_day = ?").run(before)
  control.prepare("DELETE FROM job_run").run()
  control.prepare("UPDATE account SET created_at = created_at - ?").run(30 * dayMillis)
  control.close()
  const file = join(directory, "namespaces", `${namespaceTags(directory).get("emptied")}.db`)
  if (results === "two days older") {
    const namespace = new DatabaseSync(file)
    namespace.prepare("UPDATE idempotency SET at = at - ?").run(2 * dayMillis)
    namespace.close()
  }
  server = await startServer({ dataDirectory: directory, environment })
  return file
}

describe("an agent whose last memory was deleted", () => {
  it("holds its place for a day, so that its calls can be repeated", async () => {
    expect((await remember("kept", "Alice has a tortoise")).status).toBe(200)
    const stored = await remember("emptied", "Alice has a canary")
    emptiedId = stored.body.created[0].id
    expect((await server.call("DELETE", `/v1/memories/${emptiedId}`, { key })).status).toBe(200)
    expect((await remember("third", "no place")).body).toMatchObject({ code: "quota_exceeded" })
    const file = await dayLater("as they are")
    expect(existsSync(file)).toBe(true)
    expect((await remember("emptied", "Alice has a canary")).body.created[0].id).toBe(emptiedId)
    expect((await remember("third", "no place")).body).toMatchObject({ code: "quota_exceeded" })
  })

  it("then gives place and file back, and its ids name nothing", async () => {
    const file = await dayLater("two days older")
    expect(existsSync(file)).toBe(false)
    expect(await agents()).toEqual(["kept"])
    expect((await server.call("GET", `/v1/memories/${emptiedId}`, { key })).status).toBe(404)
    expect((await server.call("DELETE", `/v1/memories/${emptiedId}`, { key })).status).toBe(404)
    const search = await server.call("GET", "/v1/memories/search?query=canary&agentId=emptied", { key })
    expect([search.status, search.body.memories]).toEqual([200, []])
    expect((await remember("third", "Bob has a parrot")).status).toBe(200)
    expect((await remember("emptied", "no place")).body).toMatchObject({ code: "quota_exceeded" })
  })

  it("comes back with its next memory once there is room, under the tag that is its own", async () => {
    const limits = { account: "tenant", limits: { agents: 3 } }
    await server.asOperator("POST", "/admin/quotas", limits)
    const importOf = (agentId: string) =>
      server.call("POST", "/admin/import", {
        key: server.operatorToken,
        body: {
          account: "tenant",
          records: [
            {
              ...fact("Alice", "Alice has a canary"),
              id: emptiedId,
              agentId,
              tags: [],
              mentions: [],
              confidence: 1,
              createdAt: Date.now(),
              updatedAt: Date.now(),
              origin: "direct"
            }
          ]
        }
      })
    expect((await importOf("third")).body).toMatchObject({ code: "id_conflict" })
    const back = await remember("emptied", "Alice has a canary", "another day")
    expect(back.status).toBe(200)
    expect(back.body.created[0].id.slice(-9)).toBe(emptiedId.slice(-9))
    expect((await importOf("emptied")).body).toMatchObject({ imported: 1 })
    expect((await server.call("GET", `/v1/memories/${emptiedId}`, { key })).status).toBe(200)
    expect(await agents()).toEqual(["kept", "third", "emptied"])
    expect((await server.asOperator("GET", "/admin/ledger/check")).body).toMatchObject({
      ok: true
    })
  })
})
