/** The file of one damaged agent comes back from a backup (operations page), and the commit log brings it up to date. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { fact } from "../support/MemoryCalls.ts"
import { namespaceTags } from "../support/namespaceTags.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { AgentBackups } from "./AgentBackups.ts"
import { flipBit } from "./flipOne.ts"

const agents = ["hit", "sound", "other", "idle"]

const write = async (server: TestServer, agentId: string, text: string): Promise<string> => {
  const { body, status } = await server.call("POST", "/v1/memories", {
    body: { agentId, memories: [fact(agentId, text)] }
  })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.created[0].id
}

const factsOf = async (server: TestServer, agentId: string) => {
  const { body, status } = await server.call("GET", `/v1/memories?agentId=${agentId}&limit=100`)
  if (status !== 200) return [status, body.code]
  return [status, body.memories.map(({ data }: { readonly data: { readonly fact: string } }) => data.fact).toSorted()]
}

it("has what was acknowledged before the backup and after it, and the others go on", async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-restored-"))
  const backups = new AgentBackups(dataDirectory)
  const start = () => startServer({ dataDirectory, environment: withoutModel })
  try {
    const first = await start()
    for (const agent of agents) {
      await write(first, agent, "a first one that stays")
      const id = await write(first, agent, "a second one that goes")
      expect((await first.call("DELETE", `/v1/memories/${id}`)).status).toBe(200)
    }
    // The log has lost the text of the one that went: no file can be made again from it alone.
    expect(await first.stop()).toBe(0)

    const second = await start()
    await backups.make()
    for (const agent of agents) await write(second, agent, "a third one after the backup")
    expect(await second.stop()).toBe(0)
    const tag = namespaceTags(dataDirectory).get("hit")!
    const file = join(dataDirectory, "namespaces", `${tag}.db`)
    flipBit(file, { at: readFileSync(file).lastIndexOf("a first one that stays"), bit: 0 })

    const all = [200, ["a first one that stays", "a third one after the backup"]]
    const damaged = await start()
    expect(await factsOf(damaged, "hit")).toEqual([503, "namespace_unavailable"])
    for (const agent of agents.slice(1)) expect([agent, ...(await factsOf(damaged, agent))]).toEqual([agent, ...all])
    expect(await damaged.stop()).toBe(0)

    await backups.bringBack([tag])
    const mended = await start()
    for (const agent of agents) expect([agent, ...(await factsOf(mended, agent))]).toEqual([agent, ...all])
    expect((await mended.asOperator("GET", "/admin/status")).body.quarantined).toEqual([])
    await write(mended, "hit", "a fourth one")
    expect(await mended.stop()).toBe(0)
  } finally {
    backups.remove()
    rmSync(dataDirectory, { recursive: true, force: true })
  }
})
