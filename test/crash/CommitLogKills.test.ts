/** kill -9 of a process that appends to the commit log and erases in it: no acknowledged record is lost, no erased text stays. */
import { describe, expect, it } from "vitest"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { recoverLog } from "@muniment/engine/log/LogScan"
import { RecordReader } from "@muniment/engine/log/RecordReader"
import { listSegments, segmentPath } from "@muniment/engine/log/segmentFiles"
import { bundledProgram } from "../support/BundledService.ts"
import { logTag } from "../support/CommitLogs.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"

const kills = 5

interface Line {
  readonly number: number
  readonly ordinal?: number
  readonly erased?: number
}

/** Runs the writer and kills it after so many lines. */
const runUntil = async (
  directory: string,
  starts: ReadonlyArray<number>,
  linesMax: number
): Promise<ReadonlyArray<Line>> => {
  const writer = await bundledProgram("test/crash/CommitLogWriter.ts")
  const child = spawn(process.execPath, [writer, directory, JSON.stringify(starts)])
  const exit = once(child, "exit")
  const lines: Array<Line> = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(JSON.parse(line) as Line)
    if (lines.length === linesMax) child.kill("SIGKILL")
  }
  await exit
  return lines
}

describe("a commit log whose process is killed", () => {
  it(`has all that was acknowledged, and nothing that was erased, after each of ${kills} kills`, async () => {
    const directory = temporaryDirectory()
    const acknowledged = new Map<number, number>()
    const erased = new Map<number, number>()
    const starts = [0, 0, 0, 0]
    for (let kill = 0; kill < kills; kill++) {
      // Odd numbers of lines, so that a kill meets appends and erasures alike.
      const lines = await runUntil(directory, starts, 83 + kill * 37)
      for (const { erased: through, number, ordinal } of lines) {
        if (ordinal !== undefined) acknowledged.set(ordinal, number)
        if (through !== undefined) erased.set(number, through)
      }
      const { damage, index } = recoverLog(directory)
      expect(damage).toEqual([])
      const reader = new RecordReader(directory)
      const texts = textsIn(directory)
      for (const number of [1, 2, 3, 4]) {
        const through = index.erasedThrough(logTag(number))
        expect(through).toBeGreaterThanOrEqual(erased.get(number) ?? 0)
        const entries = index.commitsOf(logTag(number), 0)
        starts[number - 1] = entries.length
        const found = new Set(entries.map(({ ordinal }) => ordinal))
        const lost = [...acknowledged].filter(([ordinal, owner]) => owner === number && !found.has(ordinal))
        expect(lost).toEqual([])
        const kept = entries.filter(({ ordinal }) => ordinal > through).map((entry) => reader.read(entry))
        const firstSeq = entries.length - kept.length
        expect(kept.map(({ header }) => header.fromSeq)).toEqual(kept.map((_, at) => firstSeq + at))
        for (let seq = 0; seq < firstSeq; seq++) expect(texts).not.toContain(`secret ${number} ${seq} `)
      }
      reader.close()
    }
    expect(acknowledged.size).toBeGreaterThan(kills * 50)
  })
})

/** Secrets that any segment still holds, whole or in part. */
const textsIn = (directory: string): ReadonlySet<string> =>
  new Set(
    listSegments(directory).flatMap(
      (segment) => readFileSync(segmentPath(directory, segment), "latin1").match(/secret \d+ \d+ /g) ?? []
    )
  )
