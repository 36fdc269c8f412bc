/**
 * Kill -9 during extractions: a message is marked if and only if its memory is there, what was acknowledged
 * is there, and turns and summary belong to messages that are marked.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it } from "vitest"
import { Limits } from "@muniment/domain/Limits"
import { namespaceKey } from "../support/EngineFixtures.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"
import { sourceKeyOf, takesMemory } from "./ConversationMessages.ts"
import { killedWriter } from "./KilledWriter.ts"

const kills = 8
/** After the first reply, milliseconds. */
const runMillis = { least: 1, most: 250 }
/** Messages of one run have numbers of their own. */
const messagesPerRun = 1_000_000

interface Found {
  readonly marks: ReadonlyArray<string>
  readonly memories: ReadonlyArray<string>
  readonly turns: ReadonlyArray<string>
  readonly summary: string
}

/** Looks at a copy, log included, so that nothing is repaired for the next run. */
const look = (directory: string): Found => {
  const file = join(directory, "namespaces", `${namespaceKey().tag}.db`)
  const aside = mkdtempSync(join(tmpdir(), "muniment-conversation-copy-"))
  const copy = join(aside, "copy.db")
  copyFileSync(file, copy)
  if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${copy}-wal`)
  const database = new DatabaseSync(copy)
  try {
    const column = (sql: string) =>
      database
        .prepare(sql)
        .all()
        .map((row) => String(Object.values(row)[0]))
    expect(column("PRAGMA integrity_check")).toEqual(["ok"])
    expect(column("PRAGMA foreign_key_check")).toEqual([])
    return {
      marks: column("SELECT key FROM conversation_mark ORDER BY key"),
      memories: column("SELECT json_extract(sources, '$[0].key') FROM memory ORDER BY 1"),
      turns: column("SELECT key FROM conversation_turn ORDER BY turn"),
      summary: column("SELECT summary FROM conversation")[0] ?? ""
    }
  } finally {
    database.close()
    rmSync(aside, { recursive: true, force: true })
  }
}

describe(`kill -9 during extractions, ${kills} times`, () => {
  it("leaves a mark where the memory is, a memory where the mark is, and all that was acknowledged", async () => {
    const seed = chosenSeed()
    const random = new SeededRandom(seed)
    const directory = mkdtempSync(join(tmpdir(), "muniment-conversation-kill-"))
    const told: Array<string> = []
    let afterCut = 0
    try {
      for (let run = 0; run < kills; run++) {
        const first = String(run * messagesPerRun)
        const lines = await killedWriter("test/crash/ConversationWriter.ts", [directory, first], runMillis, random)
        told.push(...lines.map((line) => sourceKeyOf(Number(line))))
        const { marks, memories, summary, turns } = look(directory)
        const marked = new Set(marks)
        expect(marks.filter((key) => takesMemory(Number.parseInt(key, 16)))).toEqual(memories)
        expect(told.filter((key) => !marked.has(key))).toEqual([])
        expect(turns).toHaveLength(Math.min(Limits.conversationContextMax, marks.length))
        expect(turns.filter((key) => !marked.has(key))).toEqual([])
        // Turn and summary of one extraction are one commit.
        expect(summary).toBe(`after ${Number.parseInt(turns.at(-1)!, 16)}`)
        afterCut = marks.length - told.length
      }
      console.log(
        `kill -9 during extractions: seed ${seed}, ${told.length} acknowledged, ${afterCut} committed unheard`
      )
      expect(told.length).toBeGreaterThan(kills)
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})
