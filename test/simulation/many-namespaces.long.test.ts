/**
 * Many namespaces on one server: open files and memory stay within their bounds, everything is found, a restart finds
 * it again. Prints the figures.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { startServer, type TestServer } from "../support/TestServer.ts"

const openMax = 256
const memoriesPerAgent = 50
const writers = 8
/** Three for each open file, and what the process itself needs: modules, sockets, control.db. */
const descriptorsMax = openMax * 3 + 200
const residentMebibytesMax = 900

const timeout = 3_600_000

const topics = ["garden", "harbour", "violin", "glacier", "bakery", "railway", "orchard", "lantern", "market", "desert"]
const agentOf = (at: number) => `agent-${at}`
const wordOf = (at: number) => `unique${at.toString(36)}word`

const factsOf = (agent: number) =>
  Array.from({ length: memoriesPerAgent }, (_, at) => ({
    kind: "factual_memory",
    data: {
      subject: `${topics[(agent + at) % topics.length]}`,
      fact: `Note ${at} about the ${topics[(agent + at) % topics.length]}${at === 0 ? ` and ${wordOf(agent)}` : ""}`
    }
  }))

interface Figures {
  readonly descriptors: number
  readonly residentMebibytes: number
}

const figuresOf = ({ process: { pid } }: TestServer): Figures => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  const kibibytes = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1])
  return { descriptors: readdirSync(`/proc/${pid}/fd`).length, residentMebibytes: Math.round(kibibytes / 1_024) }
}

const inParallel = async (count: number, work: (at: number) => Promise<void>): Promise<void> => {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: writers }, worker))
}

const percentiles = (millis: ReadonlyArray<number>): string => {
  const sorted = millis.toSorted((left, right) => left - right)
  const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`
}

const timed = async <A>(work: () => Promise<A>): Promise<readonly [A, number]> => {
  const startedMillis = performance.now()
  const result = await work()
  return [result, performance.now() - startedMillis]
}

const fill = (server: TestServer, agents: number, watch: () => void): Promise<void> =>
  inParallel(agents, async (at) => {
    const body = { agentId: agentOf(at), memories: factsOf(at) }
    const { status } = await server.call("POST", "/v1/memories/batch/create", { body })
    if (status !== 200) throw new Error(`agent ${at}: ${status}`)
    watch()
  })

/** Searches every agent for its own word, in an order that finds most files closed; the times. */
const searchAll = async (server: TestServer, agents: number, watch: () => void): Promise<ReadonlyArray<number>> => {
  const millis: Array<number> = []
  for (let at = 0; at < agents; at++) {
    const agent = (at * 617) % agents
    const path = `/v1/memories/search?query=${wordOf(agent)}&agentId=${agentOf(agent)}&limit=1`
    const [{ status, body }, took] = await timed(() => server.call("GET", path))
    expect([status, body.memories[0]?.data.fact]).toEqual([200, expect.stringContaining(wordOf(agent))])
    millis.push(took)
    watch()
  }
  return millis
}

const run = async (agents: number, environment: Readonly<Record<string, string>>): Promise<void> => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "muniment-many-"))
  const settings = { dataDirectory, environment: { MUNIMENT_OPEN_NAMESPACES: String(openMax), ...environment } }
  const most = { descriptors: 0, residentMebibytes: 0 }
  try {
    let server = await startServer(settings)
    const watch = () => {
      const now = figuresOf(server)
      most.descriptors = Math.max(most.descriptors, now.descriptors)
      most.residentMebibytes = Math.max(most.residentMebibytes, now.residentMebibytes)
    }
    const [, fillMillis] = await timed(() => fill(server, agents, watch))
    const afterFill = figuresOf(server)
    const byAgent = await searchAll(server, agents, watch)
    const whole = `/v1/memories/search?query=${wordOf(1)}+garden&limit=10`
    const [wide, wideMillis] = await timed(() => server.call("GET", whole))
    expect([wide.status, JSON.stringify(wide.body.memories[0])]).toEqual([200, expect.stringContaining(wordOf(1))])
    watch()
    const listed = await server.call("GET", "/v1/memories?limit=1")
    expect(listed.body.total).toBe(agents * memoriesPerAgent)
    watch()
    const [code, stopMillis] = await timed(() => server.stop())
    expect(code).toBe(0)

    const [again, startMillis] = await timed(() => startServer(settings))
    server = again
    const afterRestart = await searchAll(server, Math.min(agents, 300), watch)
    expect((await server.call("GET", "/v1/memories?limit=1")).body.total).toBe(agents * memoriesPerAgent)
    watch()
    expect(await server.stop()).toBe(0)
    console.log(
      [
        `${agents} namespaces x ${memoriesPerAgent} memories, at most ${openMax} open, ${JSON.stringify(environment)}:`,
        `filled in ${(fillMillis / 1_000).toFixed(1)} s (${Math.round((agents * memoriesPerAgent) / (fillMillis / 1_000))} memories/s)`,
        `most descriptors ${most.descriptors}, RSS after filling ${afterFill.residentMebibytes} MiB, most ${most.residentMebibytes} MiB`,
        `search by agent ${percentiles(byAgent)}; after a restart ${percentiles(afterRestart)}`,
        `search of the whole account ${wideMillis.toFixed(0)} ms; stop ${(stopMillis / 1_000).toFixed(1)} s, start ${(startMillis / 1_000).toFixed(1)} s`
      ].join("\n  ")
    )
    expect(most.descriptors).toBeLessThan(descriptorsMax)
    expect(most.residentMebibytes).toBeLessThan(residentMebibytesMax)
  } finally {
    rmSync(dataDirectory, { recursive: true, force: true })
  }
}

describe("far more namespaces than may be open", () => {
  it(
    "2,000 of them, by words alone: descriptors and memory are bounded, all is found, a restart works",
    () => run(2_000, { MUNIMENT_EMBEDDING_MODEL: "none" }),
    timeout
  )

  it("400 of them with the real model: the same", () => run(400, {}), timeout)
})
