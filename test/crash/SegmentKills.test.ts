/**
 * Kill -9 while segments of vectors are saved and outdated: whatever was being written, a segment that is
 * there is what its vectors are, byte by byte, and nothing else in the file disagrees.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it } from "vitest"
import { bundledProgram } from "../support/BundledService.ts"
import { namespaceKey } from "../support/EngineFixtures.ts"
import { segmentFaults } from "../support/FileAudit.ts"
import { chosenSeed, SeededRandom } from "../support/SeededRandom.ts"

const kills = 5
/** After the writer has begun, milliseconds. */
const runMillis = { least: 1, most: 120 }

const killedRun = async (directory: string, random: SeededRandom): Promise<void> => {
  const writer = await bundledProgram("test/crash/SegmentWriter.ts")
  const seed = String(random.between(0, 1_000_000))
  const child = spawn(process.execPath, [writer, directory, seed], { stdio: ["ignore", "pipe", "inherit"] })
  const closed = once(child, "close")
  await Promise.race([once(child.stdout, "data"), closed])
  await new Promise((wake) => setTimeout(wake, random.between(runMillis.least, runMillis.most)))
  child.kill("SIGKILL")
  await closed
}

/** Looks at a copy, log included, so that nothing is repaired for the next run. */
const look = (directory: string) => {
  const file = join(directory, "namespaces", `${namespaceKey().tag}.db`)
  const aside = mkdtempSync(join(tmpdir(), "muniment-segment-copy-"))
  const copy = join(aside, "copy.db")
  copyFileSync(file, copy)
  if (existsSync(`${file}-wal`)) copyFileSync(`${file}-wal`, `${copy}-wal`)
  const database = new DatabaseSync(copy)
  try {
    const values = (sql: string) =>
      database
        .prepare(sql)
        .all()
        .flatMap((row) => Object.values(row))
    return {
      faults: [...segmentFaults(database), ...values("PRAGMA integrity_check").filter((verdict) => verdict !== "ok")],
      segments: Number(values("SELECT count(*) FROM index_segment")[0]),
      vectors: Number(values("SELECT count(*) FROM vector")[0])
    }
  } finally {
    database.close()
    rmSync(aside, { recursive: true, force: true })
  }
}

describe(`kill -9 while segments are saved, ${kills} times`, () => {
  it("leaves none that is not what its vectors are", async () => {
    const seed = chosenSeed()
    const random = new SeededRandom(seed)
    const directory = mkdtempSync(join(tmpdir(), "muniment-segment-kill-"))
    const seen: Array<number> = []
    try {
      for (let run = 0; run < kills; run++) {
        await killedRun(directory, random)
        const { faults, segments, vectors } = look(directory)
        expect(faults).toEqual([])
        expect(vectors).toBeGreaterThan(0)
        seen.push(segments)
      }
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
    console.log(`kill -9 while segments are saved: seed ${seed}, segments found after each kill ${seen.join(" ")}`)
    expect(Math.max(...seen)).toBeGreaterThan(0)
  })
})
