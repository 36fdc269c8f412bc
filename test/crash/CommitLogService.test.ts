/** The service with its commit log: what is damaged, cut short or refused by the disk around it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type FaultyDisk, makeFaultyDisk } from "../support/FaultyDisk.ts"
import { namespaceTags } from "../support/namespaceTags.ts"
import { fact } from "../support/MemoryCalls.ts"
import { repetitions } from "../support/Repetitions.ts"
import { SeededRandom } from "../support/SeededRandom.ts"
import { patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"

const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }

const create = async (server: TestServer, agentId: string, at: number) =>
  server.call("POST", "/v1/memories", {
    headers: { "idempotency-key": `${agentId}-${at}` },
    body: { agentId, memories: [fact(`Ann ${at}`, `Ann keeps ${at} bees`)] }
  })

const fill = async (server: TestServer, agentId: string, count: number) => {
  for (let at = 0; at < count; at++) expect((await create(server, agentId, at)).status).toBe(200)
}

const total = async (server: TestServer, agentId: string) => {
  const { body, status } = await server.call("GET", `/v1/memories?agentId=${agentId}&limit=1`)
  return [status, body.total]
}

const namespaces = (directory: string) => join(directory, "namespaces")
const walsOf = (directory: string) => readdirSync(namespaces(directory)).filter((name) => name.endsWith("-wal"))

describe("after a kill", () => {
  let directory: string
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "muniment-log-"))
  })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  it("bits flipped in SQLite's own logs, files rolled back and files gone lose no acknowledged memory", async () => {
    const random = new SeededRandom(7)
    for (let round = 0; round < repetitions(8); round++) {
      const agents = ["flipped", "emptied", "gone"].map((name) => `${name} ${round}`)
      const server = await startServer({ dataDirectory: directory, environment })
      for (const agent of agents) await fill(server, agent, 20)
      await server.kill()
      for (const name of walsOf(directory)) {
        const path = join(namespaces(directory), name)
        const bytes = readFileSync(path)
        if (bytes.length === 0) continue
        const at = random.between(0, bytes.length - 1)
        bytes[at]! ^= 1 << random.between(0, 7)
        writeFileSync(path, bytes)
      }
      const tags = namespaceTags(directory)
      rmSync(join(namespaces(directory), `${tags.get(agents[1]!)}.db-wal`), { force: true })
      for (const end of ["", "-wal", "-shm"])
        rmSync(join(namespaces(directory), `${tags.get(agents[2]!)}.db${end}`), { force: true })
      const again = await startServer({ dataDirectory: directory, environment })
      for (const agent of agents) expect([agent, ...(await total(again, agent))]).toEqual([agent, 200, 20])
      await again.stop()
    }
  })

  it("agents whose files are garbage, zeros, cut in half or of no version are served again with everything", async () => {
    const flipped = (file: string, at: number) => {
      const database = new DatabaseSync(file)
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      database.close()
      return readFileSync(file).map((byte, place) => (place === at ? byte ^ 1 : byte))
    }
    const damages: Readonly<Record<string, (size: number, file: string) => Uint8Array>> = {
      garbage: (size) => new Uint8Array(size).fill(9),
      zeros: (size) => new Uint8Array(size),
      version: (_, file) => flipped(file, 60),
      "next-version": (_, file) => flipped(file, 63)
    }
    const server = await startServer({ dataDirectory: directory, environment })
    for (const agent of [...Object.keys(damages), "half"]) await fill(server, agent, 20)
    await server.kill()
    for (const [agent, tag] of namespaceTags(directory)) {
      const file = join(namespaces(directory), `${tag}.db`)
      const { size } = statSync(file)
      if (damages[agent] !== undefined) writeFileSync(file, damages[agent](size, file))
      if (agent === "half") truncateSync(file, Math.floor(size / 2))
    }
    const again = await startServer({ dataDirectory: directory, environment })
    const deadline = Date.now() + patienceMillis
    for (const agent of [...Object.keys(damages), "half"]) {
      while ((await total(again, agent))[0] !== 200) {
        expect(Date.now()).toBeLessThan(deadline)
        await new Promise((wake) => setTimeout(wake, 50))
      }
      expect([agent, ...(await total(again, agent))]).toEqual([agent, 200, 20])
    }
    await again.stop()
  })
})

describe("a disk that fails under the commit log", () => {
  let disk: FaultyDisk
  let server: TestServer
  beforeAll(async () => {
    disk = makeFaultyDisk()
    server = await startServer({ environment: { ...disk.environment, ...environment } })
  })
  afterAll(async () => {
    expect(await server.stop()).toBe(0)
    disk.remove()
  })

  it.each(["write", "sync"] as const)(
    "leaves the outcome open with 503 and Retry-After; the repeated call is carried out once: %s",
    async (operation) => {
      await fill(server, operation, 5)
      // The segments: the one that is made ahead is nobody's outcome.
      disk.arm({ operation, path: "/log/0", fault: "EIO", times: 1 })
      const failed = await create(server, operation, 5)
      expect(failed.status).toBe(503)
      expect(Number(failed.headers.get("retry-after"))).toBeGreaterThan(0)
      disk.disarm()
      const deadline = Date.now() + patienceMillis
      for (let status = 503; status !== 200;) {
        status = (await create(server, operation, 5)).status
        expect(Date.now()).toBeLessThan(deadline)
      }
      expect(await total(server, operation)).toEqual([200, 6])
      const { body } = await server.asOperator("GET", "/admin/status")
      expect([body.quarantined, body.commitLog.isCurrent, body.commitLog.damage]).toEqual([[], true, []])
    }
  )
})
