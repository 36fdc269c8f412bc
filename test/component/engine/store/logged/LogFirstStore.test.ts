/** The store whose commits go to the log first: the conformance suite, copies that are behind or gone, removal, erasure. */
import { describe, expect, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Limits } from "@muniment/domain/Limits"
import { CommitLog } from "@muniment/engine/log/CommitLog"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { NamespaceStore, type OpenNamespace } from "@muniment/engine/store/NamespaceStore"
import { encodeCommit } from "@muniment/engine/store/sqlite/commitBody"
import { namespaceMigrations } from "@muniment/engine/store/sqlite/namespaceMigrations"
import { Database } from "@muniment/sqlite/Database"
import { migrate, NewerDatabase } from "@muniment/sqlite/Migrate"
import { axisVector, memoryRecord, namespaceKey } from "../../../../support/EngineFixtures.ts"
import { logFirst, sharedLog } from "../../../../support/SharedLog.ts"
import { put, storeConformance, unit } from "../../../../support/storeConformance.ts"
import { patienceMillis } from "../../../../support/TestServer.ts"
import { forgetLog, versionWithoutLog } from "../../../../support/earlierFiles.ts"
import { temporaryDirectory } from "../../../sqlite/TemporaryDirectory.ts"

storeConformance("log first", logFirst)

const key = namespaceKey()
const fileOf = (directory: string) => join(directory, "namespaces", `${key.tag}.db`)
const store = <A, E>(directory: string, use: (opened: NamespaceStore["Service"]) => Effect.Effect<A, E>) =>
  Effect.scoped(NamespaceStore.use(use).pipe(Effect.provide(logFirst(directory))))
const opened = <A, E>(directory: string, use: (file: OpenNamespace) => Effect.Effect<A, E>) =>
  store(directory, ({ open }) => Effect.scoped(Effect.flatMap(open(key), use)))
const insert = (file: OpenNamespace, at: number) =>
  file.commit(at, [unit([put(at, memoryRecord(at, `narwhal ${at}`), axisVector(at))], `key ${at}`)], at)
const insertAll = (file: OpenNamespace, from: number, to: number) =>
  Effect.forEach(
    Array.from({ length: to - from }, (_, at) => from + at),
    (at) => insert(file, at),
    { discard: true }
  )
const slotsIn = (directory: string) =>
  opened(directory, (file) =>
    Effect.gen(function* () {
      const slots: Array<number> = []
      yield* file.whole((all) => all.eachRow(({ slot }) => slots.push(slot)))
      const vectors: Array<number> = []
      yield* file.whole((all) => all.eachVector(({ slot }) => vectors.push(slot)))
      expect(vectors).toEqual(slots)
      expect(file.postings.occurrences("narwhal").map(({ slot }) => slot)).toEqual(slots)
      expect(file.lastSeq).toBe(slots.length)
      return slots
    })
  )
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at)
/** The directory as a kill leaves it. */
const killed = (directory: string): string => {
  const left = temporaryDirectory()
  cpSync(directory, left, { recursive: true })
  return left
}
/** What the copy has, as another connection sees it. */
const rowsOf = (directory: string): number => {
  const copy = new DatabaseSync(fileOf(directory), { readOnly: true })
  const rows = Number(copy.prepare("SELECT count(*) AS count FROM memory").get()!["count"])
  copy.close()
  return rows
}
const untilRows = (directory: string, count: number) =>
  Effect.promise(() => vi.waitFor(() => expect(rowsOf(directory)).toBe(count), patienceMillis))
const dropCopy = (directory: string) => {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${fileOf(directory)}${suffix}`, { force: true })
}
const logHolds = (directory: string, text: string) =>
  readdirSync(join(directory, logFolder)).some((name) => readFileSync(join(directory, logFolder, name)).includes(text))

describe("a copy", () => {
  it.effect("that lacks acknowledged commits after a kill follows the log when it opens", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const left = yield* opened(directory, (file) =>
        Effect.map(insertAll(file, 0, 30), () => {
          const { postings } = file
          expect(postings.occurrences("narwhal").map(({ slot }) => slot)).toEqual(numbers(30))
          return killed(directory)
        })
      )
      const behind = new DatabaseSync(fileOf(left))
      expect(Number(behind.prepare("SELECT count(*) AS count FROM memory").get()!["count"])).toBeLessThan(30)
      behind.close()
      expect(yield* slotsIn(left)).toEqual(numbers(30))
    })
  )

  it.effect("that is counted while it is closed or behind is counted with all that was acknowledged", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const census = { atMillis: 1e15, createdBefore: 0 }
      const left = yield* store(directory, ({ census: count, open }) =>
        Effect.scoped(
          Effect.gen(function* () {
            yield* insertAll(yield* open(key), 0, 9)
            const copy = killed(directory)
            expect((yield* count(key, census)).live).toBe(9)
            return copy
          })
        )
      )
      const counted = yield* store(left, (closed) => Effect.all([closed.census(key, census), closed.storedBytes(key)]))
      expect(counted[0].live).toBe(9)
      expect(counted[1]).toBe(yield* opened(directory, (file) => Effect.succeed(file.bytes())))
    })
  )

  it.effect("that lacks few commits waits ten seconds for more, and follows once sixteen have come", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* store(directory, ({ open }) =>
        Effect.scoped(
          Effect.gen(function* () {
            const file = yield* open(key)
            yield* insertAll(file, 0, 4)
            yield* TestClock.adjust("9 seconds")
            // The thread that follows would have been asked to before it was asked for this.
            yield* insert(yield* open(namespaceKey("bob")), 0)
            expect(rowsOf(directory)).toBe(1)
            yield* TestClock.adjust("2 seconds")
            yield* untilRows(directory, 4)
            yield* insertAll(file, 4, 20)
            yield* TestClock.adjust("100 millis")
            yield* untilRows(directory, 20)
          })
        )
      )
    })
  )

  it.effect("that is rolled back, or gone, is made again", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* opened(directory, (file) => insertAll(file, 0, 5))
      const older = killed(directory)
      yield* opened(directory, (file) => insertAll(file, 5, 70))
      const gone = killed(directory)
      dropCopy(gone)
      dropCopy(directory)
      cpSync(fileOf(older), fileOf(directory))
      expect(yield* slotsIn(directory)).toEqual(numbers(70))
      expect(yield* slotsIn(gone)).toEqual(numbers(70))
    })
  )

  it.effect("takes a key again that it has forgotten, also where it still has it", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const write = (file: OpenNamespace, at: number) => {
        const stored = unit([put(at, memoryRecord(at, `narwhal ${at}`), axisVector(at))])
        const idempotency = { key: "daily", fingerprint: "f", result: `${at}` }
        return file.commit(at, [{ ...stored, idempotency }], at * Limits.idempotencyRetentionMillis)
      }
      yield* opened(directory, (file) => write(file, 0))
      const older = killed(directory)
      const verdict = yield* store(directory, ({ check, open }) =>
        Effect.gen(function* () {
          yield* Effect.scoped(
            Effect.gen(function* () {
              const file = yield* open(key)
              expect(yield* file.whole((all) => all.forgetResultsBefore(1))).toBe(1)
              yield* write(file, 1)
            })
          )
          return yield* check(key, () => Effect.void)
        })
      )
      expect(verdict.faults).toEqual([])
      const gone = killed(directory)
      dropCopy(gone)
      // As after a power cut that lost what housekeeping had deleted.
      dropCopy(directory)
      cpSync(fileOf(older), fileOf(directory))
      for (const left of [directory, gone]) {
        expect(yield* slotsIn(left)).toEqual([0, 1])
        expect(yield* opened(left, (file) => file.storedResult("daily"))).toMatchObject({ result: "1" })
      }
    })
  )

  it.effect("is damaged, with the record named, when neither it nor the log has what is missing", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* opened(directory, (file) => insertAll(file, 0, 5))
      yield* opened(directory, (file) => insertAll(file, 5, 7))
      dropCopy(directory)
      const folder = join(directory, logFolder)
      rmSync(join(folder, readdirSync(folder).toSorted()[0]!))
      const refused = yield* Effect.flip(opened(directory, () => Effect.void))
      expect(refused).toMatchObject({ _tag: "StoreDamaged", reason: expect.stringMatching(/record/) })
    })
  )

  it.effect("that is damaged is made again if the log has all of its commits, and stays as it is otherwise", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* opened(directory, (file) => insertAll(file, 0, 300))
      const garbage = Buffer.alloc(5_000, 7)
      writeFileSync(fileOf(directory), garbage)
      expect(yield* Effect.flip(opened(directory, () => Effect.void))).toMatchObject({ _tag: "StoreDamaged" })
      expect(yield* store(directory, ({ remake }) => remake(key))).toBe(true)
      expect(yield* slotsIn(directory)).toEqual(numbers(300))
      const folder = join(directory, logFolder)
      rmSync(join(folder, readdirSync(folder).toSorted()[0]!))
      writeFileSync(fileOf(directory), garbage)
      expect(yield* store(directory, ({ remake }) => remake(key))).toBe(false)
      expect(readFileSync(fileOf(directory)).equals(garbage)).toBe(true)
      expect(readdirSync(join(directory, "namespaces"))).toEqual([`${key.tag}.db`])
    })
  )

  it.effect("refuses once what breaks a rule of its tables, and opens again", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* opened(directory, (file) => insertAll(file, 0, 3))
      // A commit that a process wrote and was killed before the copy could refuse it.
      const group = [unit([put(3, memoryRecord(1, "the id of another slot"))])]
      const poison = CommitLog.use(({ current }) =>
        Effect.gen(function* () {
          const log = yield* current
          yield* log.attach(key.tag, { epoch: 1, seq: 3 })
          const commit = { tag: key.tag, epoch: 1, fromSeq: 3, changes: 1, isClaim: false, atMillis: 1 }
          const body = encodeCommit({ group, key: undefined, erases: false })
          yield* log.whenSynced((yield* log.append({ ...commit, isErasure: false, body })).ordinal)
        })
      )
      yield* Effect.scoped(poison.pipe(Effect.provide(sharedLog(directory))))
      expect(yield* slotsIn(directory)).toEqual(numbers(3))
      yield* opened(directory, (file) => insertAll(file, 3, 5))
      dropCopy(directory)
      expect(yield* slotsIn(directory)).toEqual(numbers(5))
    })
  )

  it.effect("that followed a log that is gone goes on with the one that is there", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* opened(directory, (file) => insertAll(file, 0, 9))
      rmSync(join(directory, logFolder), { recursive: true })
      yield* opened(directory, (file) => insertAll(file, 9, 12))
      expect(yield* slotsIn(killed(directory))).toEqual(numbers(12))
    })
  )

  it.effect("is synced before the log drops what it has, and still has it then", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const segments = () => readdirSync(join(directory, logFolder)).filter((name) => name.endsWith(".log"))
      // Half a megabyte of memories, in segments of a quarter.
      const text = "narwhal ".repeat(1_000)
      yield* store(directory, ({ open }) =>
        Effect.gen(function* () {
          yield* Effect.scoped(
            Effect.flatMap(open(key), (file) =>
              Effect.forEach(numbers(40), (at) =>
                file.commit(at, [unit([put(at, memoryRecord(at, text), axisVector(at))])], 1)
              )
            )
          )
          const before = segments()
          yield* TestClock.adjust("20 minutes")
          while (segments().includes(before[0]!)) yield* Effect.yieldNow
          expect(segments().length).toBeLessThan(before.length)
        })
      )
      expect(yield* slotsIn(directory)).toEqual(numbers(40))
    })
  )

  it.effect("of a release without a log is opened as it is, and from its first commit refused by that release", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* opened(directory, (file) => insertAll(file, 0, 2))
      forgetLog(directory, [key.tag])
      const before = readFileSync(fileOf(directory))
      yield* opened(directory, () => Effect.void)
      expect(readFileSync(fileOf(directory)).equals(before)).toBe(true)
      yield* opened(directory, (file) => insertAll(file, 2, 4))
      expect(yield* slotsIn(directory)).toEqual(numbers(4))
      expect(readdirSync(join(directory, "namespaces"))).toEqual([`${key.tag}.db`])
      const earlier = namespaceMigrations.slice(0, versionWithoutLog)
      const file = new Database({ filename: fileOf(directory) })
      expect(() => migrate(file, earlier, { snapshot: "" })).toThrow(NewerDatabase)
      file.close()
    })
  )
})

describe("what is removed", () => {
  it.effect("leaves the log with the next truncation, and stays removed", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* opened(directory, (file) =>
        Effect.gen(function* () {
          yield* file.commit(0, [unit([put(0, memoryRecord(0, "quagga")), put(1, memoryRecord(1, "narwhal"))])], 1)
          expect(logHolds(directory, "quagga")).toBe(true)
          yield* file.commit(2, [unit([{ _tag: "Remove", slot: 0 }])], 2)
          yield* file.checkpoint("TRUNCATE")
          expect(logHolds(directory, "quagga")).toBe(false)
          yield* file.commit(3, [unit([put(2, memoryRecord(2, "later"))])], 3)
        })
      )
      const later = yield* opened(killed(directory), (file) => file.records([0, 1, 2]))
      expect(later.map(({ slot }) => slot)).toEqual([1, 2])
    })
  )

  it.effect("before a kill leaves the log with the first truncation after it", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const left = yield* opened(directory, (file) =>
        Effect.gen(function* () {
          yield* file.commit(0, [unit([put(0, memoryRecord(0, "quagga"))])], 1)
          yield* file.commit(1, [unit([{ _tag: "Remove", slot: 0 }])], 2)
          return killed(directory)
        })
      )
      expect(logHolds(left, "quagga")).toBe(true)
      yield* opened(left, (file) => file.checkpoint("TRUNCATE"))
      expect(logHolds(left, "quagga")).toBe(false)
    })
  )

  it.effect("costs a log without removals nothing", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* opened(directory, (file) => Effect.andThen(insertAll(file, 0, 3), file.checkpoint("TRUNCATE")))
      dropCopy(directory)
      expect(yield* slotsIn(directory)).toEqual(numbers(3))
    })
  )

  it.effect("as a whole namespace is in no file, and one of the same name begins anew", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* opened(directory, (file) => insertAll(file, 0, 3))
      yield* store(directory, ({ remove }) => remove(key.tag))
      expect(readdirSync(join(directory, "namespaces"))).toEqual([])
      expect(logHolds(directory, "narwhal")).toBe(false)
      expect(yield* slotsIn(killed(directory))).toEqual([])
      yield* opened(directory, (file) => insertAll(file, 0, 2))
      dropCopy(directory)
      expect(yield* slotsIn(directory)).toEqual(numbers(2))
    })
  )

  it.effect("as a whole namespace does not come back with an older file of it", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* opened(directory, (file) => insertAll(file, 0, 3))
      const older = killed(directory)
      const bringBack = Effect.sync(() => {
        dropCopy(directory)
        cpSync(fileOf(older), fileOf(directory))
      })
      yield* store(directory, ({ remove }) => remove(key.tag))
      yield* bringBack
      expect((yield* store(directory, ({ census }) => census(key, { atMillis: 1e15, createdBefore: 0 }))).live).toBe(0)
      yield* bringBack
      expect(yield* slotsIn(directory)).toEqual([])
      yield* opened(directory, (file) => insertAll(file, 0, 2))
      yield* bringBack
      expect(yield* slotsIn(directory)).toEqual(numbers(2))
    })
  )
})
