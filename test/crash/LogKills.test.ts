/**
 * Kill -9 while commits go to the log and files follow it: what was acknowledged is there after the next open, in the
 * order of its commits and once, and what was removed stays removed.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import { memoryRecord, namespaceKey } from "../support/EngineFixtures.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { logFirst } from "../support/SharedLog.ts"
import { logAgents } from "./LogAgents.ts"

const kills = 6
/** After the first answer, milliseconds. */
const runMillis = { least: 1, most: 400 }
/** Numbers of one run of the writer. */
const numbersPerRun = 100_000

interface Told {
  readonly stored: Set<string>
  readonly removing: Set<string>
  readonly removed: Set<string>
}

const killedRun = async (directory: string, first: number, random: SeededRandom, told: Told): Promise<void> => {
  const writer = join(import.meta.dirname, "LogWriter.ts")
  const child = spawn(process.execPath, [writer, directory, String(first)], { stdio: ["ignore", "pipe", "inherit"] })
  const closed = once(child, "close")
  const sets = new Map([
    ["+", told.stored],
    ["?", told.removing],
    ["-", told.removed]
  ])
  const lines = createInterface({ input: child.stdout })
  lines.on("line", (line) => sets.get(line[0] ?? "")?.add(line.slice(1)))
  await Promise.race([once(lines, "line"), closed])
  await new Promise((wake) => setTimeout(wake, random.between(runMillis.least, runMillis.most)))
  child.kill("SIGKILL")
  await closed
}

/** Numbers of the memories of an agent in the order of their insertion, and what disagrees with their rows. */
const look = (directory: string, agent: string) =>
  Effect.gen(function* () {
    const file = yield* NamespaceStore.use(({ open }) => open(namespaceKey(agent)))
    const rows: Array<{ readonly slot: number; readonly createdSeq: number; readonly number: number }> = []
    yield* file.eachRow(({ createdSeq, id, slot }) =>
      rows.push({ slot, createdSeq, number: Number(id.slice("mem_".length)) })
    )
    const vectors: Array<number> = []
    yield* file.eachVector(({ slot }) => vectors.push(slot))
    const slots = rows.map(({ slot }) => slot)
    const words = file.postings.occurrences("narwhal").map(({ slot }) => slot)
    const isWhole = [vectors, words].every((found) => JSON.stringify(found) === JSON.stringify(slots))
    return { numbers: rows.toSorted((a, b) => a.createdSeq - b.createdSeq).map(({ number }) => number), isWhole }
  }).pipe(Effect.scoped, Effect.provide(logFirst("sync")(directory)), Effect.runPromise)

const faultsOf = (agent: string, numbers: ReadonlyArray<number>, { removed, removing, stored }: Told) => {
  const there = new Set(numbers)
  const isTold = (set: ReadonlySet<string>, number: number) => set.has(`${agent}:${number}`)
  const mine = [...stored].filter((one) => one.startsWith(`${agent}:`)).map((one) => Number(one.split(":")[1]))
  const byWriter = [0, 1].map((writer) => numbers.filter((number) => number % 2 === writer))
  return {
    lost: mine.filter((number) => !there.has(number) && !isTold(removing, number)),
    back: mine.filter((number) => there.has(number) && isTold(removed, number)),
    doubled: numbers.length - there.size,
    outOfOrder: byWriter.filter((list) => list.some((number, at) => at > 0 && number < list[at - 1]!)).length
  }
}

describe(`kill -9 while files follow the log, ${kills} times`, () => {
  it("loses nothing that was acknowledged, doubles nothing and brings nothing back", async () => {
    expect(memoryRecord(7, "").id).toMatch(/^mem_0*7$/)
    const random = new SeededRandom(chosenSeed())
    const directory = mkdtempSync(join(tmpdir(), "muniment-log-kill-"))
    const told: Told = { stored: new Set(), removing: new Set(), removed: new Set() }
    try {
      for (let kill = 0; kill < kills; kill++) {
        await killedRun(directory, kill * numbersPerRun, random, told)
        for (const agent of logAgents) {
          const { isWhole, numbers } = await look(directory, agent)
          expect({ isWhole, ...faultsOf(agent, numbers, told) }).toEqual({
            isWhole: true,
            lost: [],
            back: [],
            doubled: 0,
            outOfOrder: 0
          })
        }
      }
      console.log(`${told.stored.size} stored, ${told.removed.size} removed`)
      expect(told.stored.size).toBeGreaterThan(kills)
      expect(told.removed.size).toBeGreaterThan(0)
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})
