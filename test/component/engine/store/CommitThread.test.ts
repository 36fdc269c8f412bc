/** Files that follow the log on a thread, and the failures of the thread. */
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { existsSync, lstatSync, readdirSync, readlinkSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { TestClock } from "effect/testing"
import { bodyFormat, recordFlags, recordKinds } from "@muniment/engine/log/logFormat"
import { encodeCommit } from "@muniment/engine/store/sqlite/commitBody"
import { type FollowedEntry, openCommitThread } from "@muniment/engine/store/sqlite/CommitThread"
import { NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import { openMigrated } from "@muniment/engine/store/sqlite/namespaceFiles"
import { Database } from "@muniment/sqlite/Database"
import { axisVector, memoryRecord, namespaceKey, turnOf } from "../../../support/EngineFixtures.ts"
import { logFirst } from "../../../support/SharedLog.ts"
import { put, unit } from "../../../support/storeConformance.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"

const key = namespaceKey()
const opening = NamespaceStore.use((store) => store.open(key))

/** A commit without changes: the first one of an owner, or one after it. */
const entry = (ordinal: number): FollowedEntry => {
  const { text } = encodeCommit({ group: [], key, erases: false })
  const isClaim = ordinal === 1
  const fields = {
    kind: recordKinds.commit,
    flags: isClaim ? recordFlags.claim : 0,
    tag: key.tag,
    changes: 0,
    fromSeq: 0
  }
  const written = { epoch: isClaim ? 0 : 1, atMillis: 1, ordinal, unsynced: 0 }
  const header = { ...fields, ...written, length: text.length, bodySum: 0, format: bodyFormat, textBytes: text.length }
  return { ordinal, record: { header, text, vectors: Buffer.alloc(0) } }
}
const [first, second] = [[entry(1)], [entry(2)]]

/** What the process has open, on Linux. */
const openFiles = "/proc/self/fd"

const openIn = (directory: string): ReadonlyArray<string> => {
  const targets = readdirSync(openFiles).flatMap((name) => {
    const link = join(openFiles, name)
    return lstatSync(link, { throwIfNoEntry: false }) === undefined ? [] : [readlinkSync(link)]
  })
  return targets.filter((path) => path.startsWith(directory) && path.endsWith(".db")).map((path) => basename(path))
}

const failureOf = <A, E>(exit: Exit.Exit<A, E>): E | undefined =>
  Exit.isFailure(exit)
    ? Cause.findErrorOption(exit.cause).pipe((found) => (found._tag === "Some" ? found.value : undefined))
    : undefined

describe("a namespace whose file follows on a thread", () => {
  it.effect("shows a commit completely as soon as it is answered, also a large one", () =>
    Effect.gen(function* () {
      const file = yield* opening
      const changes = Array.from({ length: 300 }, (_, slot) =>
        put(slot, memoryRecord(slot, `memory narwhal ${slot}`), axisVector(slot))
      )
      expect(yield* file.commit(0, [unit(changes, "key")], 1)).toBe(300)
      expect(file.postings.occurrences("narwhal")).toHaveLength(300)
      expect((yield* file.record(299))?.id).toBe(memoryRecord(299, "").id)
      expect((yield* file.storedResult("key"))?.result).toBe("result of key")
    }).pipe(Effect.provide(logFirst(temporaryDirectory())), Effect.scoped)
  )

  it.effect("lets housekeeping and commits write one after the other", () =>
    Effect.gen(function* () {
      const file = yield* opening
      yield* file.commit(0, [unit([], "old")], 1)
      const commits = Effect.gen(function* () {
        for (let seq = 0; seq < 20; seq++) yield* file.commit(seq, [unit([put(seq, memoryRecord(seq, "x"))])], 1)
      })
      const tidying = Effect.gen(function* () {
        let forgotten = 0
        for (let at = 0; at < 20; at++) {
          forgotten += yield* file.whole((all) => all.forgetResultsBefore(10))
          yield* file.checkpoint("TRUNCATE")
        }
        return forgotten
      })
      const [, forgotten] = yield* Effect.all([commits, tidying], { concurrency: 2 })
      expect(forgotten).toBe(1)
    }).pipe(Effect.provide(logFirst(temporaryDirectory())), Effect.scoped)
  )

  it.effect("knows which conversations were erased from, and when the next turn expires", () =>
    Effect.gen(function* () {
      const file = yield* opening
      const scope = { subjectId: "ann", threadId: undefined }
      const turns = [turnOf(1)]
      const processed = turns.map((turn) => turn.key)
      const taken = memoryRecord(1, "taken", { subjectId: "ann", sources: turns.map((turn) => ({ key: turn.key })) })
      const advance = { _tag: "Advance" as const, scope, processed, turns, summary: "s" }
      yield* file.commit(
        0,
        [unit([put(0, taken)], undefined, { ...advance, expiresAt: 500, summaryExpiresAt: 400 })],
        1
      )
      expect(file.conversations.nextExpiry).toBe(400)
      const { readAt, turns: kept } = yield* file.conversations.context(scope, 2)
      expect(kept).toHaveLength(1)
      expect(file.conversations.isErasedSince(scope, readAt)).toBe(false)
      yield* file.commit(1, [unit([{ _tag: "Remove", slot: 0 }])], 3)
      expect(file.conversations.isErasedSince(scope, readAt)).toBe(true)
      expect(file.conversations.isErasedSince({ subjectId: "bob" }, readAt)).toBe(false)
    }).pipe(Effect.provide(logFirst(temporaryDirectory())), Effect.scoped)
  )
})

describe("the thread", () => {
  it.effect("tells damage from other failures", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const filename = join(directory, "damaged.db")
      writeFileSync(filename, "no database at all, whatever its name says ".repeat(200))
      const thread = yield* openCommitThread()
      expect(failureOf(yield* Effect.exit(thread.follow(filename, first)))).toMatchObject({ _tag: "StoreDamaged" })
      const nowhere = join(directory, "no folder", "a.db")
      expect(failureOf(yield* Effect.exit(thread.follow(nowhere, first)))).toMatchObject({ _tag: "StoreFault" })
    }).pipe(Effect.scoped)
  )

  it.effect.runIf(existsSync(openFiles))("keeps as many files open as it is told, and serves all", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const thread = yield* openCommitThread({ filesOpenMax: 2 })
      for (const round of [0, 1]) {
        for (let at = 0; at < 5; at++) {
          const filename = join(directory, `${at}.db`)
          if (round === 0) openMigrated(filename).close()
          expect((yield* thread.follow(filename, [entry(round + 1)])).content.ordinal).toBe(round + 1)
        }
      }
      expect(openIn(directory).toSorted()).toEqual(["3.db", "4.db"])
    }).pipe(Effect.scoped)
  )

  it.effect.runIf(existsSync(openFiles))(
    "that rests ends with its files closed, and the next order starts another",
    () =>
      Effect.gen(function* () {
        const directory = temporaryDirectory()
        const filename = join(directory, "a.db")
        openMigrated(filename).close()
        const thread = yield* openCommitThread()
        expect((yield* thread.follow(filename, first)).content.ordinal).toBe(1)
        expect(openIn(directory)).toEqual(["a.db"])
        yield* TestClock.adjust("2 minutes")
        yield* thread.close(filename)
        expect(openIn(directory)).toEqual([])
        expect((yield* thread.follow(filename, second)).content.ordinal).toBe(2)
      }).pipe(Effect.scoped)
  )

  it.live("waits for a lock as before after it could not empty a file that somebody reads", () =>
    Effect.gen(function* () {
      const filename = join(temporaryDirectory(), "a.db")
      openMigrated(filename).close()
      const thread = yield* openCommitThread()
      yield* thread.follow(filename, first)
      const other = new Database({ filename })
      yield* Effect.addFinalizer(() => Effect.sync(() => other.close()))
      other.exec("BEGIN; SELECT * FROM memory")
      expect(failureOf(yield* Effect.exit(thread.empty(filename)))).toMatchObject({ _tag: "StoreFault" })
      other.exec("ROLLBACK; BEGIN IMMEDIATE")
      const commit = yield* Effect.forkScoped(thread.follow(filename, second))
      // Longer than the wait for readers.
      yield* Effect.sleep(200)
      expect(commit.pollUnsafe()).toBeUndefined()
      other.exec("ROLLBACK")
      yield* Effect.exit(Fiber.join(commit))
    }).pipe(Effect.scoped)
  )

  it.effect("that dies fails its unanswered orders, and the next one starts another", () =>
    Effect.gen(function* () {
      const thread = yield* openCommitThread()
      const filename = join(temporaryDirectory(), "a.db")
      const lost = Effect.exit(thread.follow(filename, first))
      const [exit] = yield* Effect.all([lost, thread.end], { concurrency: 2 })
      expect(failureOf(exit)).toMatchObject({ _tag: "StoreFault" })
      // An empty file has no tables: the new thread answers with that error.
      expect(failureOf(yield* Effect.exit(thread.follow(filename, first)))).toMatchObject({ _tag: "StoreDamaged" })
    }).pipe(Effect.scoped)
  )
})
