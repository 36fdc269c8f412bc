/** SQLite's locks of a namespace's file stay while the store commits, counts, checks, syncs and drops its log (Linux). */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync } from "node:fs"
import { NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import { axisVector, memoryRecord, namespaceKey } from "../../../../support/EngineFixtures.ts"
import { openDatabases, unlockedFiles } from "../../../../support/FileLocks.ts"
import { logFirst } from "../../../../support/SharedLog.ts"
import { put, unit } from "../../../../support/storeConformance.ts"
import { temporaryDirectory } from "../../../sqlite/TemporaryDirectory.ts"

const key = namespaceKey()

it.live.skipIf(!existsSync("/proc/locks"))("stay through every step that reads or syncs the file", () => {
  const directory = temporaryDirectory()
  const life = Effect.gen(function* () {
    const store = yield* NamespaceStore
    const file = yield* store.open(key)
    const at = file.lastSeq
    const steps: ReadonlyArray<readonly [name: string, step: Effect.Effect<unknown, unknown>]> = [
      ["open", Effect.void],
      ["commit", file.commit(at, [unit([put(at, memoryRecord(at, "narwhal"), axisVector(at))])], 1)],
      ["count", store.storedBytes(key)],
      ["events", store.events(key, 0, 10)],
      ["check", store.check(key, () => Effect.void)],
      ["drop of the log", store.releaseRoom],
      ["checkpoint", file.checkpoint("TRUNCATE")]
    ]
    for (const [name, step] of steps) {
      yield* step
      const unlocked = yield* Effect.promise(() => unlockedFiles(directory, process.pid))
      expect([name, unlocked]).toEqual([name, []])
      expect(openDatabases(directory, process.pid)).toBeGreaterThan(0)
    }
  }).pipe(Effect.scoped, Effect.provide(logFirst(directory)))
  // The first opening makes the file, the second finds it.
  return Effect.repeat(life, { times: 1 })
})
