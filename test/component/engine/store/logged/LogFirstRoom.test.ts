/** Room that the store whose commits go to the log first frees on a disk that is really full: here the log's alone. */
import { expect, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { existsSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, vi } from "vitest"
import { listSegments, logFolder, sparePath } from "@muniment/engine/log/segmentFiles"
import { NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import { memoryRecord, namespaceKey } from "../../../../support/EngineFixtures.ts"
import { logFirst } from "../../../../support/SharedLog.ts"
import { makeSmallDisk, type SmallDisk } from "../../../../support/SmallDisk.ts"
import { put, unit } from "../../../../support/storeConformance.ts"
import { temporaryDirectory } from "../../../sqlite/TemporaryDirectory.ts"

let disk: SmallDisk
let directory: string
beforeEach(async () => {
  disk = await makeSmallDisk(4)
  directory = temporaryDirectory()
  symlinkSync(disk.outside, join(directory, logFolder))
})
afterEach(() => disk.remove())

const withStore = <A, E>(use: Effect.Effect<A, E, NamespaceStore | Scope.Scope>) =>
  Effect.suspend(() => use.pipe(Effect.scoped, Effect.provide(logFirst(directory))))

it.live("is that of old segments, whose files are made durable first, then of the spare, and no more", () =>
  Effect.gen(function* () {
    const { open, releaseRoom } = yield* NamespaceStore
    const file = yield* open(namespaceKey())
    const text = "narwhal ".repeat(2_000)
    const segments = () => listSegments(disk.outside)
    let at = 0
    const commit = Effect.suspend(() => file.commit(at, [unit([put(at, memoryRecord(at, text))])], at))
    const insert = Effect.tap(commit, () => Effect.sync(() => at++))
    while (segments().length < 3) yield* insert
    yield* Effect.promise(() => vi.waitUntil(() => existsSync(sparePath(disk.outside)), { timeout: 60_000 }))
    yield* insert
    writeFileSync(join(disk.outside, "taken by others"), Buffer.alloc(disk.freeBytes() - 131_072))
    const newest = segments().at(-1)!

    expect(yield* releaseRoom).toBe(true)
    expect(segments()).toEqual([newest])
    expect(existsSync(sparePath(disk.outside))).toBe(true)

    expect(yield* releaseRoom).toBe(true)
    expect(existsSync(sparePath(disk.outside))).toBe(false)
    expect(yield* Effect.flip(commit)).toMatchObject({ _tag: "StoreFull" })

    expect(yield* releaseRoom).toBe(false)
    expect(segments()).toEqual([newest])
    let rows = 0
    yield* file.whole((all) => all.eachRow(() => rows++))
    expect(rows).toBe(at)
  }).pipe(withStore)
)
