/**
 * Damaged files: one bad namespace never blocks the start of the others, it is set aside and named; a bad snapshot of
 * an index is only disposable; a bad control.db stops the start with a word about which file it is.
 */
import { randomBytes } from "node:crypto"
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { failingStart } from "../support/FailingStart.ts"
import { namespaceTags } from "../support/namespaceTags.ts"
import { patienceMillis, startServer, type TestServer } from "../support/TestServer.ts"

const memoriesPerAgent = 200
const timeout = 180_000

const agents = [
  "sound",
  "header",
  "middle",
  "zeros",
  "half",
  "garbage",
  "row",
  "version",
  "snapshot",
  "log",
  "log-head"
] as const
type Agent = (typeof agents)[number]

const damaged: ReadonlyArray<Agent> = ["header", "middle", "zeros", "half", "garbage", "row", "version"]
const whole: ReadonlyArray<Agent> = ["sound", "snapshot"]

const overwrite = (file: string, from: number, bytes: Uint8Array): void => {
  const content = readFileSync(file)
  content.set(bytes.subarray(0, content.length - from), from)
  writeFileSync(file, content)
}

const damage: Readonly<Partial<Record<Agent, (file: string) => void>>> = {
  header: (file) => overwrite(file, 0, randomBytes(100)),
  middle: (file) => {
    const size = statSync(file).size
    overwrite(file, Math.floor(size / 4), randomBytes(Math.floor(size / 2)))
  },
  zeros: (file) => writeFileSync(file, new Uint8Array(statSync(file).size)),
  half: (file) => truncateSync(file, Math.floor(statSync(file).size / 2)),
  garbage: (file) => writeFileSync(file, randomBytes(50_000)),
  // One bit of what a caller is given, in a page that is whole.
  row: (file) => {
    const content = readFileSync(file)
    const at = content.lastIndexOf("Fact number 150 of row")
    overwrite(file, at, Buffer.from([content[at]! ^ 1]))
  },
  // One bit of the header, by which SQLite takes the file for one that can only be read.
  version: (file) => overwrite(file, 18, Uint8Array.of(3)),
  snapshot: (file) => {
    for (const model of ["e5-small-v2-q8", "all-minilm-l6-v2-w8"]) {
      for (const end of ["", ".labels", ".writing", ".labels.writing"]) {
        writeFileSync(`${file.slice(0, -3)}.hnsw.${model}${end}`, randomBytes(10_000))
      }
    }
  },
  log: (file) => overwrite(`${file}-wal`, Math.floor(statSync(`${file}-wal`).size / 2), randomBytes(5_000)),
  "log-head": (file) => overwrite(`${file}-wal`, 0, randomBytes(40))
}

const fill = async (server: TestServer): Promise<void> => {
  for (const agentId of agents) {
    for (let from = 0; from < memoriesPerAgent; from += 100) {
      const memories = Array.from({ length: 100 }, (_, at) => ({
        kind: "factual_memory",
        data: {
          subject: agentId,
          fact: `Fact number ${from + at} of ${agentId}: the parrot speaks ${"word ".repeat(20)}`
        }
      }))
      const { status } = await server.call("POST", "/v1/memories", { body: { agentId, memories } })
      if (status !== 200) throw new Error(`not filled: ${status}`)
    }
  }
}

const rowsIn = (file: string): unknown => {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return database.prepare("SELECT count(*) AS rows FROM memory").get()?.["rows"]
  } finally {
    database.close()
  }
}

const environment = { MUNIMENT_EMBEDDING_MODEL: "none" }

/** What a log has from its beginning is made again (`CommitLogService.test.ts`); of these files it has nothing. */
describe("with damaged files of which there is no log", () => {
  let dataDirectory: string
  let server: TestServer

  beforeAll(async () => {
    dataDirectory = mkdtempSync(join(tmpdir(), "muniment-damage-"))
    const first = await startServer({ dataDirectory, environment })
    await fill(first)
    const tags = namespaceTags(dataDirectory)
    const fileOf = (agent: Agent) => join(dataDirectory, "namespaces", `${tags.get(agent)}.db`)
    for (const agent of agents)
      await vi.waitFor(() => expect(rowsIn(fileOf(agent))).toBe(memoriesPerAgent), patienceMillis)
    // Killed, so that SQLite's logs stay beside their files; those damaged in the file lose theirs first.
    await first.kill()
    rmSync(join(dataDirectory, logFolder), { recursive: true })
    for (const agent of agents) {
      const file = fileOf(agent)
      if (!agent.startsWith("log")) new DatabaseSync(file).exec("PRAGMA wal_checkpoint(TRUNCATE)")
      damage[agent]?.(file)
    }
    server = await startServer({ dataDirectory, environment })
  })

  afterAll(async () => {
    expect(await server.stop()).toBe(0)
    rmSync(dataDirectory, { recursive: true, force: true })
  })

  const search = (agent: string) =>
    server.call("GET", `/v1/memories/search?query=parrot+speaks&agentId=${agent}&limit=100`)

  it.each(whole)("an agent whose own file is whole has all its memories: %s", async (agent) => {
    const list = await server.call("GET", `/v1/memories?agentId=${agent}`)
    expect([list.status, list.body.total]).toEqual([200, memoriesPerAgent])
    const found = await search(agent)
    expect([found.status, found.body.memories.length]).toEqual([200, 100])
  })

  it.each(damaged)(
    "an agent whose file is damaged answers 503 to reads and writes, and changes nothing: %s",
    async (agent) => {
      const file = join(dataDirectory, "namespaces", `${namespaceTags(dataDirectory).get(agent)}.db`)
      const memories = [{ kind: "factual_memory", data: { subject: "s", fact: "f" } }]
      const answers = [
        await search(agent),
        await server.call("GET", `/v1/memories?agentId=${agent}&limit=100`),
        await server.call("POST", "/v1/memories", { body: { agentId: agent, memories } }),
        await server.call("POST", "/v1/memories/batch/delete", { body: { filters: { agentId: agent } } })
      ]
      const before = readFileSync(file)
      for (const { status, body } of answers) expect([status, body.code]).toEqual([503, "namespace_unavailable"])
      await search(agent)
      expect(readFileSync(file).equals(before)).toBe(true)
    }
  )

  it.each(["log", "log-head"])("an agent whose log is damaged serves what the log still proves: %s", async (agent) => {
    const { status, body } = await server.call("GET", `/v1/memories?agentId=${agent}`)
    expect(status).toBe(200)
    expect(body.total).toBeLessThanOrEqual(memoriesPerAgent)
    expect((await search(agent)).status).toBe(200)
    const memories = [{ kind: "factual_memory", data: { subject: "s", fact: "f" } }]
    const made = await server.call("POST", "/v1/memories", { body: { agentId: agent, memories } })
    expect(made.status).toBe(200)
  })

  it("searches and lists of the whole account go on with what can be read", async () => {
    for (const path of ["/v1/memories/search?query=parrot+speaks&limit=100", "/v1/memories?limit=100"]) {
      const { status, body } = await server.call("GET", path)
      expect([status, body.memories.length]).toEqual([200, 100])
    }
  })

  it("readiness says how many agents are set aside and why it is not ready, and the operator's status names each damaged file and nothing else", async () => {
    for (const agent of damaged) await search(agent)
    const ready = await server.call("GET", "/health/ready")
    expect([ready.status, ready.body.status, ready.body.checks.quarantined]).toEqual([
      503,
      "unavailable",
      damaged.length
    ])
    const { control, agents: known } = ready.body.checks
    expect([control, known.setAside, known.total]).toEqual(["ok", damaged.length, agents.length])
    expect(known.reason).toBe(
      `${damaged.length} damaged or in use by another process; more than 25 % of all agents: not ready`
    )
    const { body } = await server.asOperator("GET", "/admin/status")
    const tags = namespaceTags(dataDirectory)
    const files = body.quarantined.map(({ file }: { readonly file: string }) => file)
    expect(files.toSorted()).toEqual(damaged.map((agent) => `namespaces/${tags.get(agent)}.db`).toSorted())
    expect(body.warnings.join()).toContain("damaged")
  })

  it("the account is told of every agent, and which of them cannot be read", async () => {
    for (const agent of damaged) await search(agent)
    const { body, status } = await server.call("GET", "/v1/account")
    expect(status).toBe(200)
    const counts = new Map(
      body.agents.map((entry: { agentId: string; memories: number | null }) => [entry.agentId, entry.memories])
    )
    for (const agent of whole) expect(counts.get(agent)).toBe(memoriesPerAgent)
    for (const agent of damaged) expect(counts.get(agent)).toBeNull()
  })

  it("new agents can be made", async () => {
    const memories = [{ kind: "factual_memory", data: { subject: "s", fact: "f" } }]
    const { status } = await server.call("POST", "/v1/memories", { body: { agentId: "new", memories } })
    expect(status).toBe(200)
  })
})

describe("a file of a later release", () => {
  it("is named with its version in the answer, the status and the readiness", async () => {
    const directory = mkdtempSync(join(tmpdir(), "muniment-newer-"))
    const first = await startServer({ dataDirectory: directory, environment })
    for (const agentId of ["a", "b", "c", "d"]) {
      const memories = [{ kind: "factual_memory", data: { subject: "s", fact: "f" } }]
      const made = await first.call("POST", "/v1/memories", { body: { agentId, memories } })
      expect(made.status, first.output()).toBe(200)
    }
    await first.stop()
    new DatabaseSync(join(directory, "namespaces", `${namespaceTags(directory).get("a")}.db`)).exec(
      "CREATE TABLE later (id); PRAGMA user_version=999"
    )
    const second = await startServer({ dataDirectory: directory, environment })
    const refused = await second.call("GET", "/v1/memories?agentId=a")
    expect([refused.status, refused.body.code]).toEqual([503, "namespace_unavailable"])
    expect(refused.body.error).toMatch(/has version 999 of a later release, this one knows \d+/)
    const ready = await second.call("GET", "/health/ready")
    expect([ready.status, ready.body.status]).toEqual([200, "degraded"])
    expect(ready.body.checks.agents).toEqual({ total: 4, setAside: 1, reason: "1 of a later release (version 999)" })
    const { body } = await second.asOperator("GET", "/admin/status")
    expect(body.quarantined[0].reason).toContain("version 999 of a later release")
    await second.stop()
    rmSync(directory, { recursive: true, force: true })
  })
})

/** One that the log or its base has is made again (`ControlLog.test.ts`). */
describe("a damaged control.db of which there is no other copy", () => {
  const whole = mkdtempSync(join(tmpdir(), "muniment-control-"))
  beforeAll(async () => {
    await (await startServer({ dataDirectory: whole, environment })).stop()
    for (const name of [logFolder, "control.db.base", "control.db.base.json"])
      rmSync(join(whole, name), { recursive: true, force: true })
  })
  afterAll(() => rmSync(whole, { recursive: true, force: true }))

  it.each([
    ["overwritten with noise", (file: string) => writeFileSync(file, randomBytes(40_000))],
    ["overwritten with zeros", (file: string) => writeFileSync(file, new Uint8Array(40_000))],
    ["damaged past its first page", (file: string) => overwrite(file, 4_096, randomBytes(100_000))]
  ])(
    "stops the start with a line that names the file, and is left as it is: %s",
    async (_, spoil) => {
      const directory = mkdtempSync(join(tmpdir(), "muniment-control-"))
      try {
        cpSync(whole, directory, { recursive: true })
        const file = join(directory, "control.db")
        spoil(file)
        copyFileSync(file, `${file}.spoilt`)
        const { code, output } = await failingStart(directory)
        expect(code).toBe(1)
        expect(output).toContain("control.db")
        expect(output).toMatch(/damaged/)
        expect(output).not.toMatch(/^\s+at /m)
        expect(readFileSync(file).equals(readFileSync(`${file}.spoilt`))).toBe(true)
        expect(existsSync(`${file}-wal`) ? statSync(`${file}-wal`).size : 0).toBe(0)
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    },
    timeout
  )
})
