/** An agent's file that is gone while the log has none of its records: the agent does not answer as one that knows nothing. */
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import { namespaceTags } from "../support/namespaceTags.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"

const others = ["a", "b", "c", "d"]

const write = (server: TestServer, agentId: string) =>
  server.call("POST", "/v1/memories", { body: { agentId, memories: [fact(agentId, "keeps bees")] } })

const factsOf = async (server: TestServer, agentId: string) => {
  const { body, status } = await server.call("GET", `/v1/memories?agentId=${agentId}`)
  return [status, body.code ?? body.total]
}

it("answers 503 over starts until its file is back, and the others go on", async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-lost-"))
  const start = () => startServer({ dataDirectory, environment: withoutModel })
  try {
    const first = await start()
    for (const agentId of ["lost", ...others]) expect((await write(first, agentId)).status).toBe(200)
    expect(await first.stop()).toBe(0)
    const name = `namespaces/${namespaceTags(dataDirectory).get("lost")}.db`
    const file = join(dataDirectory, name)
    cpSync(file, join(dataDirectory, "kept.db"))
    for (const end of ["", "-wal", "-shm"]) rmSync(`${file}${end}`, { force: true })
    rmSync(join(dataDirectory, "log"), { recursive: true })

    for (let starts = 0; starts < 2; starts++) {
      const without = await start()
      expect(await factsOf(without, "lost")).toEqual([503, "namespace_unavailable"])
      expect((await write(without, "lost")).status).toBe(503)
      for (const agentId of others) expect(await factsOf(without, agentId)).toEqual([200, 1])
      expect((await without.asOperator("GET", "/admin/status")).body.quarantined).toEqual([
        { file: name, reason: "the file is gone, and the log has none of its records" }
      ])
      expect(await without.stop()).toBe(0)
      expect(existsSync(file)).toBe(false)
    }

    cpSync(join(dataDirectory, "kept.db"), file)
    const again = await start()
    expect(await factsOf(again, "lost")).toEqual([200, 1])
    expect((await write(again, "lost")).status).toBe(200)
    expect(await again.stop()).toBe(0)
  } finally {
    rmSync(dataDirectory, { recursive: true, force: true })
  }
})
