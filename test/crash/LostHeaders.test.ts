/** A log record of a stopped service loses its header: its agent says so, and all others answer with everything. */
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { headerBytes, recordKinds } from "@muniment/engine/log/logFormat"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { startMuniment } from "../support/CliProcess.ts"
import { fact } from "../support/MemoryCalls.ts"
import { namespaceTags } from "../support/namespaceTags.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { withoutModel } from "../support/SharedServer.ts"
import { startServer, type TestServer } from "../support/TestServer.ts"
import { flipBit } from "./flipOne.ts"
import { type LoggedRecord, safeRecords } from "./LoggedRecords.ts"

/** They write until the kill: files are behind the log. */
const busy = Array.from({ length: 12 }, (_, at) => `busy ${at}`)
/** They have written before a clean stop, and nothing since. */
const idle = Array.from({ length: 6 }, (_, at) => `idle ${at}`)
const each = 3

let killed: string
beforeAll(async () => {
  killed = mkdtempSync(join(tmpdir(), "muniment-headers-"))
  const first = await startServer({ dataDirectory: killed, environment: withoutModel })
  for (const agent of [...busy, ...idle]) await write(first, agent, 0)
  expect(await first.stop()).toBe(0)
  const second = await startServer({ dataDirectory: killed, environment: withoutModel })
  // One after the other, so that the record behind another one is of another agent.
  for (let at = 1; at < each; at++) for (const agent of busy) await write(second, agent, at)
  await second.kill()
})
afterAll(() => rmSync(killed, { recursive: true, force: true }))

const write = async (server: TestServer, agentId: string, at: number) => {
  const memories = [fact(agentId, `${agentId} keeps ${at} bees`)]
  const { body, status } = await server.call("POST", "/v1/memories", { body: { agentId, memories } })
  expect(status, JSON.stringify(body)).toBe(200)
}

/** -> `[status, how many memories]` by agent. */
const answersOf = async (server: TestServer) => {
  const answers = new Map<string, ReadonlyArray<unknown>>()
  for (const agent of [...busy, ...idle]) {
    const { body, status } = await server.call("GET", `/v1/memories?agentId=${encodeURIComponent(agent)}&limit=1`)
    answers.set(agent, [status, status === 200 ? body.total : body.code])
  }
  return answers
}

const everything = new Map<string, ReadonlyArray<unknown>>([
  ...busy.map((agent) => [agent, [200, each]] as const),
  ...idle.map((agent) => [agent, [200, 1]] as const)
])

const ways = {
  "with a flipped bit": ({ at, path }: LoggedRecord, random: SeededRandom) =>
    flipBit(path, { at: at + random.between(0, headerBytes - 1), bit: random.between(0, 7) }),
  "without one whole byte": ({ at, path }: LoggedRecord) => {
    for (let byte = 0; byte < headerBytes; byte++) for (const bit of [1, 3, 4, 6]) flipBit(path, { at: at + byte, bit })
  }
} as const

it.each(Object.keys(ways) as ReadonlyArray<keyof typeof ways>)(
  "the header of one record %s costs at most the agent whose record it was",
  async (way) => {
    const seed = chosenSeed()
    const random = new SeededRandom(seed)
    const directory = mkdtempSync(join(tmpdir(), "muniment-header-"))
    cpSync(killed, directory, { recursive: true })
    const agents = new Map([...namespaceTags(directory)].map(([agent, tag]) => [tag, agent]))
    const safe = safeRecords(join(directory, logFolder)).filter(({ header: { kind } }) => kind === recordKinds.commit)
    const record = random.pick(safe.slice(-busy.length))!
    const owner = agents.get(record.header.tag)!
    ways[way](record, random)
    for (let start = 0; start < 2; start++) {
      const server = await startServer({ dataDirectory: directory, environment: withoutModel })
      const answers = await answersOf(server)
      const { body } = await server.asOperator("GET", "/admin/status")
      const told = `seed ${seed}, record ${record.header.ordinal} of ${owner}: ${JSON.stringify([...answers])}`
      expect(body.commitLog.damage, told).toEqual([
        expect.stringContaining(`record ${record.header.ordinal} is damaged`)
      ])
      expect(server.output(), told).toContain(`record ${record.header.ordinal} is damaged`)
      // Its file had the record before the kill, or the agent is set aside.
      const own = answers.get(owner)
      if (own?.[0] !== 200) expect(own, told).toEqual([503, "namespace_unavailable"])
      expect(new Map([...answers, [owner, everything.get(owner)]]), told).toEqual(everything)
      if (own?.[0] === 200) expect(own, told).toEqual(everything.get(owner))
      expect(body.quarantined.length, told).toBe(own?.[0] === 200 ? 0 : 1)
      // The others go on.
      for (const agent of [busy.find((one) => one !== owner)!, idle[0]!]) {
        const memories = [fact(agent, `${agent} has seen start ${start} of record ${record.header.ordinal}`)]
        const made = await server.call("POST", "/v1/memories", { body: { agentId: agent, memories } })
        expect(made.status, told).toBe(200)
        await server.call("DELETE", `/v1/memories/${made.body.created[0].id}`)
      }
      await (start === 0 ? server.kill() : server.stop())
    }
    rmSync(directory, { recursive: true, force: true })
  }
)

it("a record that rots while the service runs is named by the copy of the log, and a backup is made without it", async () => {
  const directory = mkdtempSync(join(tmpdir(), "muniment-rotten-"))
  const server = await startServer({ dataDirectory: directory, environment: withoutModel })
  for (let at = 0; at < each; at++) for (const agent of busy) await write(server, agent, at)
  const commits = safeRecords(join(directory, logFolder)).filter(({ header: { kind } }) => kind === recordKinds.commit)
  const { at, header, path } = commits.at(-1)!
  flipBit(path, { at: at + headerBytes + 8, bit: 3 })
  const { body, status } = await server.asOperator(
    "GET",
    `/admin/backups/copies?id=20261129T000000000Z-5f3a&file=log/${header.ordinal - 1}`
  )
  expect([status, body.state, body.reason]).toEqual([200, "damaged", `segment 1 of the log is damaged at byte ${at}`])
  const to = join(directory, "backups")
  const made = await startMuniment(["backup", "create", "--to", to], { MUNIMENT_DATA_DIR: directory }).ended
  expect([made.code, made.err]).toEqual([0, expect.not.stringContaining("cannot be copied")])
  expect(await server.stop()).toBe(0)
  rmSync(directory, { recursive: true, force: true })
})
