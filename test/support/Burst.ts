/**
 * Many tasks at once, as an agent framework starts them, by a client with its defaults: each says something, searches for
 * it and asks for the context of a prompt. What is refused for the moment is repeated until it is served; nothing is lost.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { Muniment } from "@muniment/client/Muniment"
import { pythonVenv } from "./PythonVenv.ts"
import { everyDay } from "./Repetitions.ts"
import { repository, type TestServer } from "./TestServer.ts"

const tasks = 200
const { missing, run } = pythonVenv("packages/python/requirements-test.txt")

/** A test for each client and way of working at once. */
export const loseNothing = (server: () => TestServer): void => {
  it("through the client for TypeScript", async () => {
    const apiKey = await server().newAccount("typescript", "owner")
    const client = new Muniment({ baseUrl: server().url, apiKey })
    const task = async (at: number): Promise<boolean> => {
      const place = { agentId: `agent ${at % 20}`, subjectId: `person ${at}` }
      await client.add(`I keep bicycle number ${at} in the cellar.`, { ...place, wait: "vectors" })
      const query = "Which bicycle do I keep?"
      const { memories } = await client.search({ ...place, query })
      const { text } = await client.context({ ...place, query })
      const isSaid = (words: unknown) => String(words).includes(`bicycle number ${at} `)
      return memories.some(({ data }) => isSaid(data["text"])) && isSaid(text)
    }
    const outcomes = await Promise.allSettled(Array.from({ length: tasks }, (_, at) => task(at)))
    console.log(`TypeScript: ${await refusalsOf(server())} refusals`)
    expect(outcomes.filter(({ status }) => status === "rejected")).toEqual([])
    expect(outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value).length).toBe(tasks)
  })

  it.skipIf(missing !== "").each(everyDay(0, ["threads", "tasks"]))(
    `through the client for Python, by %s${missing}`,
    async (way) => {
      const folder = mkdtempSync(join(tmpdir(), "muniment-burst-"))
      try {
        const program = join(folder, "burst.py")
        writeFileSync(program, pythonProgram)
        const environment = {
          PYTHONPATH: join(repository, "packages", "python", "src"),
          MUNIMENT_URL: server().url,
          MUNIMENT_API_KEY: await server().newAccount(`python-${way}`, "owner")
        }
        const output = await run([program, way, String(tasks)], { environment })
        console.log(`Python, ${way}: ${await refusalsOf(server())} refusals until then`)
        expect(output).toBe(`${tasks} found, 0 lost\n`)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
  )
}

const refusalsOf = async ({ url }: TestServer): Promise<number> => {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  const counts = metrics.matchAll(/^muniment_http_requests_total\{[^}]*status="(?:429|503)"[^}]*\} (\d+)/gm)
  return Array.from(counts, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0)
}

const pythonProgram = `
import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from muniment import AsyncMuniment, Muniment, MunimentError

way, count = sys.argv[1], int(sys.argv[2])
query = "Which bicycle do I keep?"


def place(at: int) -> dict[str, Any]:
    return {"agent_id": f"agent {at % 20}", "subject_id": f"person {at}"}


def said(at: int) -> str:
    return f"I keep bicycle number {at} in the cellar."


def is_found(at: int, found: Any, context: Any) -> bool:
    words = f"bicycle number {at} "
    return any(words in str(hit.data.get("text")) for hit in found.memories) and words in context.text


def report(outcomes: list[bool | None]) -> None:
    print(f"{outcomes.count(True)} found, {outcomes.count(None)} lost")


def by_threads() -> None:
    with Muniment() as memory:

        def task(at: int) -> bool | None:
            try:
                memory.add(said(at), **place(at), wait="vectors")
                return is_found(at, memory.search(**place(at), query=query), memory.context(**place(at), query=query))
            except MunimentError as error:
                print(error, file=sys.stderr)
                return None

        with ThreadPoolExecutor(count) as pool:
            report(list(pool.map(task, range(count))))


async def by_tasks() -> None:
    async with AsyncMuniment() as memory:

        async def task(at: int) -> bool | None:
            try:
                await memory.add(said(at), **place(at), wait="vectors")
                found = await memory.search(**place(at), query=query)
                return is_found(at, found, await memory.context(**place(at), query=query))
            except MunimentError as error:
                print(error, file=sys.stderr)
                return None

        report(list(await asyncio.gather(*(task(at) for at in range(count)))))


by_threads() if way == "threads" else asyncio.run(by_tasks())
`
