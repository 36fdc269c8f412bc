/**
 * Many tasks at once, as an agent framework starts them: each stores, waits for its vector, and finds what it stored, by a
 * client with its defaults. What is refused for the moment is repeated until it is served; nothing is lost.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { tmpdir } from "node:os"
import { mkdtempSync, rmSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Muniment } from "@muniment/client/Muniment"
import { pythonVenv } from "../support/PythonVenv.ts"
import { startServer, repository, type TestServer } from "../support/TestServer.ts"

const tasks = 200
const patienceMillis = 600_000

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

const refusals = async (): Promise<number> => {
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  const counts = metrics.matchAll(/^muniment_http_requests_total\{[^}]*status="(?:429|503)"[^}]*\} (\d+)/gm)
  return Array.from(counts, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0)
}

describe("200 tasks at once that store, wait for vectors and search lose nothing", () => {
  it("through the client for TypeScript", { timeout: patienceMillis }, async () => {
    const apiKey = await server.newAccount("typescript", "owner")
    const client = new Muniment({ baseUrl: server.url, apiKey })
    const task = async (at: number): Promise<boolean> => {
      const data = { subject: `Person ${at}`, fact: `Person ${at} keeps bicycle number ${at}` }
      const memories = [{ kind: "factual_memory", data }]
      const { created } = await client.create({ agentId: `agent ${at % 20}`, memories, wait: "vectors" })
      const { memories: found } = await client.search({ query: `Which bicycle does person ${at} keep?`, limit: 100 })
      return found.some(({ id }) => id === created[0]?.id)
    }
    const outcomes = await Promise.allSettled(Array.from({ length: tasks }, (_, at) => task(at)))
    const lost = outcomes.filter(({ status }) => status === "rejected")
    console.log(`TypeScript: ${lost.length} of ${tasks} lost, ${await refusals()} refusals until then`)
    expect(lost).toEqual([])
    expect(outcomes.every((outcome) => outcome.status === "fulfilled" && outcome.value)).toBe(true)
  })

  const { missing, run } = pythonVenv("packages/python/requirements-test.txt")
  const folder = mkdtempSync(join(tmpdir(), "muniment-burst-"))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it.skipIf(missing !== "").each(["threads", "tasks"])(
    `through the client for Python, by %s${missing}`,
    { timeout: patienceMillis },
    async (way) => {
      const program = join(folder, "burst.py")
      writeFileSync(program, pythonProgram)
      const environment = {
        PYTHONPATH: join(repository, "packages", "python", "src"),
        MUNIMENT_URL: server.url,
        MUNIMENT_API_KEY: await server.newAccount(`python-${way}`, "owner")
      }
      const output = await run([program, way, String(tasks)], { environment })
      console.log(`Python, ${way}: ${output.trim()}; ${await refusals()} refusals until then`)
      expect(output).toBe(`${tasks} found, 0 lost\n`)
    }
  )
})

const pythonProgram = `
import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

from muniment import AsyncMuniment, Muniment, MunimentError, NewMemory

way, count = sys.argv[1], int(sys.argv[2])


def fact(at: int) -> NewMemory:
    return NewMemory("factual_memory", {"subject": f"Person {at}", "fact": f"Person {at} keeps bicycle number {at}"})


def report(outcomes: list[bool | None]) -> None:
    print(f"{outcomes.count(True)} found, {outcomes.count(None)} lost")


def by_threads() -> None:
    with Muniment() as memory:

        def task(at: int) -> bool | None:
            try:
                created = memory.create(agent_id=f"agent {at % 20}", memories=[fact(at)], wait="vectors").created
                found = memory.search(query=f"Which bicycle does person {at} keep?", limit=100).memories
            except MunimentError as error:
                print(error, file=sys.stderr)
                return None
            return created[0].id in {hit.id for hit in found}

        with ThreadPoolExecutor(count) as pool:
            report(list(pool.map(task, range(count))))


async def by_tasks() -> None:
    async with AsyncMuniment() as memory:

        async def task(at: int) -> bool | None:
            try:
                created = (await memory.create(agent_id=f"agent {at % 20}", memories=[fact(at)], wait="vectors")).created
                found = (await memory.search(query=f"Which bicycle does person {at} keep?", limit=100)).memories
            except MunimentError as error:
                print(error, file=sys.stderr)
                return None
            return created[0].id in {hit.id for hit in found}

        report(list(await asyncio.gather(*(task(at) for at in range(count)))))


by_threads() if way == "threads" else asyncio.run(by_tasks())
`
