/** A namespace's file: how it is made, later releases, damage, owners, bytes in the file. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { placeEmptyFile, openMigrated } from "@muniment/engine/store/sqlite/namespaceFiles"
import { namespaceMigrations } from "@muniment/engine/store/sqlite/namespaceMigrations"
import { NamespaceState } from "@muniment/engine/namespace/NamespaceState"
import { axisVector, exactOnly, memoryRecord, namespaceKey } from "../../../support/EngineFixtures.ts"
import { openedIn } from "../../../support/SharedLog.ts"
import { put, unit } from "../../../support/storeConformance.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"

const key = namespaceKey()
const fileOf = (directory: string) => join(directory, "namespaces", `${key.tag}.db`)
const opening = (directory: string, by = key) => openedIn(directory, by)
/** Two memories with vectors. */
const fill = (directory: string) =>
  Effect.scoped(
    Effect.flatMap(opening(directory), (file) =>
      file.commit(0, [unit([0, 1].map((slot) => put(slot, memoryRecord(slot, "narwhal"), axisVector(slot))))], 1)
    )
  )
const tamper = (directory: string, sql: string): void => {
  const database = new DatabaseSync(fileOf(directory))
  database.exec(sql)
  database.close()
}
/** Where the root page of a table or an index begins. */
const pageOf = (directory: string, name: string): number => {
  const database = new DatabaseSync(fileOf(directory))
  const { rootpage } = database.prepare("SELECT rootpage FROM sqlite_master WHERE name = ?").get(name) ?? {}
  const { page_size: pageBytes } = database.prepare("PRAGMA page_size").get() ?? {}
  database.close()
  return (Number(rootpage) - 1) * Number(pageBytes)
}
/** Overwrites the root page of a table. */
const breakTable = (directory: string, table: string): void => {
  const start = pageOf(directory, table)
  const bytes = readFileSync(fileOf(directory))
  writeFileSync(fileOf(directory), bytes.fill(0xff, start, start + 4_096))
}
/** Opens the file and loads its image. */
const loading = (directory: string) =>
  Effect.scoped(Effect.flatMap(opening(directory), (file) => NamespaceState.load(file, exactOnly)))

describe("a namespace file", () => {
  it("is made by the migrations once, and then copied: both are alike, and neither replaces a file", () => {
    const directory = temporaryDirectory()
    const schemaOf = (name: string) => {
      const database = openMigrated(join(directory, name))
      const schema = database.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY rowid").all()
      const meta = database.prepare("SELECT * FROM meta ORDER BY key").all()
      const version = database.value("PRAGMA user_version")
      database.close()
      return { schema, meta, version }
    }
    expect(schemaOf("second.db")).toEqual(schemaOf("first.db"))
    expect(schemaOf("third.db").version).toBe(namespaceMigrations.length)
    expect(readdirSync(directory).toSorted()).toEqual(["first.db", "second.db", "third.db"])
    // What a crash left of a copy is not taken for the file.
    writeFileSync(join(directory, "fourth.db.new"), "half of it")
    expect(schemaOf("fourth.db")).toEqual(schemaOf("first.db"))
    expect(existsSync(join(directory, "fourth.db.new"))).toBe(false)
    const bytes = readFileSync(join(directory, "first.db"))
    expect(placeEmptyFile(join(directory, "first.db"), () => undefined)).toBe(false)
    expect(readFileSync(join(directory, "first.db"))).toEqual(bytes)
  })

  it.effect("is made at the first open, in WAL with synchronous FULL, and named by a hash", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* fill(directory)
      expect(readdirSync(join(directory, "namespaces"))).toEqual([`${key.tag}.db`])
      const database = new DatabaseSync(fileOf(directory), { readOnly: true })
      const value = (sql: string) => Object.values(database.prepare(sql).get() ?? {})[0]
      expect(value("PRAGMA journal_mode")).toBe("wal")
      expect(value("PRAGMA user_version")).toBe(namespaceMigrations.length)
      expect(value("PRAGMA integrity_check")).toBe("ok")
      const meta = database.prepare("SELECT key, value FROM meta ORDER BY key").all()
      expect(meta.map((row) => ({ ...row }))).toEqual([
        { key: "account", value: key.account },
        { key: "agent", value: key.agentId },
        { key: "born", value: expect.any(Number) },
        { key: "bytes", value: expect.any(Number) },
        { key: "epoch", value: 1 },
        { key: "event_floor", value: 0 },
        { key: "ordinal", value: 1 },
        { key: "seq", value: 2 },
        { key: "sum", value: expect.any(Number) }
      ])
      database.close()
    })
  )

  it.effect("claims nothing when it is opened", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* fill(directory)
      yield* loading(directory)
      const before = readFileSync(fileOf(directory))
      yield* loading(directory)
      expect(readFileSync(fileOf(directory)).equals(before)).toBe(true)
    })
  )

  it.effect("of a later release is refused and left alone", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* fill(directory)
      const later = namespaceMigrations.length + 1
      tamper(directory, `CREATE TABLE later (id); PRAGMA user_version=${later}`)
      const refused = yield* Effect.flip(Effect.scoped(opening(directory)))
      expect(refused).toMatchObject({ _tag: "StoreDamaged", reason: expect.stringContaining(`version ${later}`) })
      tamper(directory, `DROP TABLE later; PRAGMA user_version=${namespaceMigrations.length}`)
      yield* loading(directory)
    })
  )

  it.effect("of another agent under this name is refused", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* fill(directory)
      const stranger = { ...key, agentId: "someone else" }
      expect(yield* Effect.flip(Effect.scoped(opening(directory, stranger)))).toMatchObject({
        _tag: "StoreDamaged",
        reason: expect.stringContaining("another agent")
      })
    })
  )

  const damages: ReadonlyArray<readonly [string, string]> = [
    ["a column that does not parse", "UPDATE memory SET tags = '[' WHERE slot = 1"],
    ["a vector of a broken length", "UPDATE vector SET value = x'0102030405' WHERE slot = 1"],
    ["a vector of another width", "UPDATE vector SET value = x'00000000' WHERE slot = 1"],
    ["a vector that is not finite", `UPDATE vector SET value = x'${"00".repeat(28)}0000807f' WHERE slot = 1`]
  ]
  for (const [what, sql] of damages) {
    it.effect(`with ${what} is damaged, never served in part`, () =>
      Effect.gen(function* () {
        const directory = temporaryDirectory()
        yield* fill(directory)
        tamper(directory, sql)
        expect((yield* Effect.flip(loading(directory)))._tag).toBe("StoreDamaged")
      })
    )
  }

  it.effect("with a broken page of token counts is damaged", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      yield* fill(directory)
      breakTable(directory, "fulltext_length")
      expect((yield* Effect.flip(loading(directory)))._tag).toBe("StoreDamaged")
    })
  )

  it.effect("with a flipped bit in its index of ids finds each memory, or says that it is damaged", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const records = Array.from({ length: 30 }, (_, slot) => memoryRecord(slot, "narwhal"))
      yield* Effect.scoped(
        Effect.flatMap(opening(directory), (file) =>
          file.commit(0, [unit(records.map((record, slot) => put(slot, record, axisVector(slot))))], 1)
        )
      )
      const whole = readFileSync(fileOf(directory))
      const start = pageOf(directory, "sqlite_autoindex_memory_1")
      for (const { id } of records.slice(2)) {
        const at = whole.indexOf(id, start)
        // The slot is the byte behind the id; 0 and 1 take none.
        for (const [byte, bit] of [
          [0, 1],
          [4, 7],
          [id.length - 1, 0],
          [id.length - 1, 3],
          [id.length, 1]
        ] as const) {
          const flipped = Buffer.from(whole)
          flipped[at + byte]! ^= 1 << bit
          writeFileSync(fileOf(directory), flipped)
          const found = yield* Effect.scoped(
            Effect.flatMap(opening(directory), (file) =>
              Effect.forEach(records, (record) => Effect.result(file.slotOf(record.id)))
            )
          )
          const wrong = found.filter((one, slot) => (one._tag === "Success" ? one.success !== slot : false))
          expect([id, byte, bit, wrong]).toEqual([id, byte, bit, []])
          expect(found.some((one) => one._tag === "Failure" && one.failure._tag === "StoreDamaged")).toBe(true)
        }
      }
    })
  )

  it.effect("that is no database is damaged", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      mkdirSync(join(directory, "namespaces"), { recursive: true })
      copyFileSync(import.meta.filename, fileOf(directory))
      expect((yield* Effect.flip(Effect.scoped(opening(directory))))._tag).toBe("StoreDamaged")
    })
  )

  it.effect("holds no trace of a removed memory once its log is truncated", () =>
    Effect.gen(function* () {
      const directory = temporaryDirectory()
      const vector = axisVector(37)
      const bytes = Buffer.from(vector.values.buffer)
      const holds = (needle: Buffer | string) =>
        ["", "-wal"].some((suffix) => {
          const path = `${fileOf(directory)}${suffix}`
          return existsSync(path) && readFileSync(path).includes(needle)
        })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const file = yield* opening(directory)
          yield* file.commit(0, [unit([put(0, memoryRecord(1, "narwhal"), vector)])], 1)
          expect([holds("narwhal"), holds(bytes)]).toEqual([true, true])
          yield* file.commit(1, [unit([{ _tag: "Remove", slot: 0 }])], 2)
          yield* file.checkpoint("TRUNCATE")
          expect([holds("narwhal"), holds(bytes)]).toEqual([false, false])
        })
      )
    })
  )
})
