/**
 * Another program reads the service's database files while it runs, as the command `sqlite3` does, and the service is
 * killed among writes. Nothing that was acknowledged is lost as long as SQLite keeps its locks, which any descriptor of
 * the same process that is closed would drop.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startMuniment } from "../support/CliProcess.ts"
import { openDatabases, unlockedFiles } from "../support/FileLocks.ts"
import { fact } from "../support/MemoryCalls.ts"
import { besideReader } from "../support/OutsideReader.ts"
import { patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"

const agents = ["ann", "bob", "cy", "dee"]
const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }

/** Repeated under its key, as the contract says: a reader that gets no processor time may hold a file too long. */
const create = async (server: TestServer, agentId: string, text: string) => {
  const deadline = Date.now() + patienceMillis
  for (;;) {
    const { body, status } = await server.call("POST", "/v1/memories", {
      headers: { "idempotency-key": text },
      body: { agentId, memories: [fact(text, `It is the memory of ${text}`)] }
    })
    if (status === 200) return
    expect([status, Date.now() < deadline], JSON.stringify(body)).toEqual([503, true])
  }
}

describe("beside another program", () => {
  let directory: string
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "muniment-outside-"))
  })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  const written = new Map(agents.map((agent) => [agent, 0]))
  let payee: string
  let adjusted = 0

  /** Each agent writes, one after the other; what is answered counts. */
  const write = async (server: TestServer, count: number) => {
    payee ??= await server.newAccount("payee")
    for (let at = 0; at < count; at++) {
      for (const agent of agents) {
        await create(server, agent, `${agent} ${written.get(agent)}`)
        written.set(agent, written.get(agent)! + 1)
      }
      const key = `gift ${adjusted}`
      const gift = { account: "payee", credits: 1, reason: "gift", key }
      const { body, status } = await server.asOperator("POST", "/admin/ledger/adjustments", gift)
      expect(status, JSON.stringify(body)).toBe(200)
      adjusted++
    }
  }

  /** Credits of the account that the adjustments went to. */
  const balance = async (server: TestServer): Promise<number> =>
    (await server.call("GET", "/v1/credits", { key: payee })).body.balance.credits

  const demandLocks = async ({ process: { pid } }: TestServer): Promise<void> => {
    // Only Linux says which locks there are.
    if (existsSync("/proc/locks")) expect(await unlockedFiles(directory, pid!)).toEqual([])
  }

  it("every file stays locked over starts, writes and a backup, and kills beside a reader lose nothing", async () => {
    for (let start = 1; start <= 4; start++) {
      const server = await startServer({ dataDirectory: directory, environment })
      await demandLocks(server)
      for (const agent of agents) {
        const { body } = await server.call("GET", `/v1/memories?agentId=${agent}&limit=1`)
        expect([agent, body.total]).toEqual([agent, written.get(agent)])
      }
      if (start > 1) expect(await balance(server)).toBe(adjusted)
      const books = await server.asOperator("GET", "/admin/ledger/check")
      expect(books.body).toMatchObject({ ok: true, problems: [] })
      expect(server.output()).not.toContain("control.db had lost changes")
      await besideReader(directory, () => write(server, 3))
      await demandLocks(server)
      if (start === 3) {
        const to = join(directory, "backup")
        const made = await startMuniment(["backup", "create", "--to", to], { MUNIMENT_DATA_DIR: directory }).ended
        expect(made.code, made.err).toBe(0)
        await demandLocks(server)
      }
      // The reader is gone: it was the last at the files if nobody else seemed to have them.
      await write(server, 2)
      await demandLocks(server)
      if (existsSync("/proc/locks"))
        expect(openDatabases(directory, server.process.pid!)).toBeGreaterThan(agents.length)
      await (start % 2 === 0 ? server.kill() : server.stop())
    }
  })
})
