/** What counts as durable of a copy: what its file has, and not what only SQLite's own log has. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { cpSync, existsSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { listSegments, logFolder } from "@muniment/engine/log/segmentFiles"
import { NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import { openCommitThread } from "@muniment/engine/store/sqlite/CommitThread"
import { openMigrated, syncClosedCopy } from "@muniment/engine/store/sqlite/namespaceFiles"
import { axisVector, memoryRecord, namespaceKey } from "../../../../support/EngineFixtures.ts"
import { logFirst } from "../../../../support/SharedLog.ts"
import { put, unit } from "../../../../support/storeConformance.ts"
import { temporaryDirectory } from "../../../sqlite/TemporaryDirectory.ts"

const key = namespaceKey()
const fileIn = (directory: string) => join(directory, "namespaces", `${key.tag}.db`)
const logOf = (filename: string) => `${filename}-wal`

/** The directory as a power cut leaves it that takes everything from SQLite's logs. */
const withoutLogs = (directory: string): string => {
  const left = temporaryDirectory()
  cpSync(directory, left, { recursive: true })
  for (const suffix of ["-wal", "-shm"]) rmSync(`${fileIn(left)}${suffix}`, { force: true })
  return left
}

it.live("has in its file what the log drops, although the first attempt failed", () =>
  Effect.gen(function* () {
    const directory = temporaryDirectory()
    // Half a megabyte of memories, in segments of a quarter.
    const text = "narwhal ".repeat(1_000)
    const slots = Array.from({ length: 40 }, (_, at) => at)
    const left = yield* Effect.gen(function* () {
      const { open, releaseRoom } = yield* NamespaceStore
      const file = yield* open(key)
      const reader = openMigrated(fileIn(directory))
      reader.exec("BEGIN")
      expect(reader.value("SELECT count(*) FROM memory")).toBe(0)
      for (const at of slots) yield* file.commit(at, [unit([put(at, memoryRecord(at, text), axisVector(at))])], 1)
      const segments = () => listSegments(join(directory, logFolder))
      const before = segments()
      yield* releaseRoom
      expect(segments()).toEqual(before)
      reader.close()
      expect(yield* releaseRoom).toBe(true)
      expect(segments().length).toBeLessThan(before.length)
      return withoutLogs(directory)
    }).pipe(Effect.scoped, Effect.provide(logFirst(directory)))
    const found = yield* Effect.gen(function* () {
      const file = yield* (yield* NamespaceStore).open(key)
      const rows: Array<number> = []
      yield* file.whole((all) => all.eachRow(({ slot }) => rows.push(slot)))
      return rows
    }).pipe(Effect.scoped, Effect.provide(logFirst(left)))
    expect(found).toEqual(slots)
  })
)

it.effect("is not durable while it is closed and SQLite's log is not empty", () =>
  Effect.gen(function* () {
    const filename = join(temporaryDirectory(), "a.db")
    const database = openMigrated(filename)
    database.exec("CREATE TABLE more (a)")
    expect(yield* Effect.flip(syncClosedCopy(filename))).toMatchObject({ _tag: "StoreFault" })
    database.close()
    yield* syncClosedCopy(filename)
  })
)

it.effect("is moved into its file by the thread, unless somebody reads it for long", () =>
  Effect.gen(function* () {
    const filename = join(temporaryDirectory(), "a.db")
    const thread = yield* openCommitThread()
    yield* thread.empty(filename)
    expect(existsSync(filename)).toBe(false)
    const database = openMigrated(filename)
    database.exec("CREATE TABLE more (a)")
    const reader = openMigrated(filename)
    reader.exec("BEGIN")
    expect(reader.value("SELECT count(*) FROM more")).toBe(0)
    database.exec("INSERT INTO more VALUES (1)")
    expect(yield* Effect.flip(thread.empty(filename))).toMatchObject({ _tag: "StoreFault" })
    reader.exec("COMMIT")
    yield* thread.empty(filename)
    expect(statSync(logOf(filename)).size).toBe(0)
    for (const one of [reader, database]) one.close()
  }).pipe(Effect.scoped)
)
