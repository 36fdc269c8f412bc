/**
 * Files of versions 1, 3 and 6, written with the SQL of that time, opened by this release: nothing is lost, and later
 * features work on them.
 */
import { describe, expect, it } from "@effect/vitest"
import { mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { COLUMNS, columnsLength, memoryColumns } from "@muniment/engine/text/MemoryText"
import { memoryBytes } from "@muniment/engine/store/MemoryRow"
import { countExtras, namespaceMigrations, withMetadata } from "@muniment/engine/store/sqlite/namespaceMigrations"
import { retokenise } from "@muniment/engine/store/sqlite/SqlitePostings"
import { englishOnly } from "@muniment/language/text/Tokenizer"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { Database } from "@muniment/sqlite/Database"
import {
  allOf,
  axisVector,
  creating,
  engineOf,
  extracting,
  memoryRecord,
  messageRecord,
  namespaceKey,
  newMemory,
  replacementOf,
  turnOf
} from "../../../support/EngineFixtures.ts"
import { removeExtras, removeSums } from "../../../support/earlierFiles.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"

const key = namespaceKey()
const records: ReadonlyArray<MemoryRecord> = [
  memoryRecord(1, "the narwhal sings", { subjectId: "s", tags: ["sea"], uniqueKey: "k" }),
  memoryRecord(2, "the narwhal swims", { subjectId: "s", uniqueKey: "k", when: "2026-01-01T00:00:00.000Z" }),
  memoryRecord(3, "an ibex", { threadId: "t", origin: "extraction", confidence: 0.5 })
]
const vector = axisVector(3)

/** As the first release wrote it: its tables, its insert, a vector for the first row, a result under a key. */
const writeFirstVersion = (directory: string): void => {
  mkdirSync(join(directory, "namespaces"), { recursive: true })
  const database = new Database({ filename: join(directory, "namespaces", `${key.tag}.db`) })
  namespaceMigrations[0]!.up(database)
  for (const [slot, record] of records.entries()) {
    const { confidence, contentHash, createdAt, data, id, kind, mentions, origin, tags, updatedAt } = record
    const given = [slot, slot + 1, id, kind, record.subjectId ?? null, record.threadId ?? null]
    const lists = [JSON.stringify(data), JSON.stringify(tags), JSON.stringify(mentions), record.when ?? null]
    const rest = [confidence, contentHash, createdAt, updatedAt, null, record.uniqueKey ?? null, origin]
    database
      .prepare(
        `INSERT INTO memory (slot, created_seq, id, kind, subject_id, thread_id, data, tags, mentions, event_time,
           confidence, content_hash, created_at, updated_at, expires_at, unique_key, origin)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
      )
      .run(...given, ...lists, ...rest)
    // That release did not map irregular words.
    const { main, ...columns } = memoryColumns(record)
    const then = { ...columns, main: main.map((token) => (token === "swim" ? "swam" : token)) }
    const texts = COLUMNS.map((name) => then[name].join(" "))
    database
      .prepare('INSERT INTO fulltext (rowid, main, subject, neighbours, "when", tags) VALUES (?, ?, ?, ?, ?, ?)')
      .run(slot, ...texts)
    database.prepare("INSERT INTO fulltext_length (slot, tokens) VALUES (?, ?)").run(slot, columnsLength(then))
  }
  const bytes = new Uint8Array(vector.values.buffer)
  database.prepare("INSERT INTO vector (slot, seq, model, value) VALUES (0, 1, ?, ?)").run(vector.model, bytes)
  const stored = JSON.stringify({ created: [records[2]!.id], updated: [] })
  database.prepare("INSERT INTO idempotency (key, fingerprint, at, result) VALUES ('k', 'f', 0, ?)").run(stored)
  for (const [name, value] of Object.entries({ seq: 3, epoch: 1, account: key.account, agent: key.agentId })) {
    database.prepare("INSERT INTO meta (key, value) VALUES (?, ?)").run(name, value)
  }
  database.exec("PRAGMA user_version=1")
  database.close()
}

describe("a namespace file of version 1", () => {
  it.effect("keeps every record, version, word, vector and result", () => {
    const directory = temporaryDirectory()
    writeFirstVersion(directory)
    return Effect.gen(function* () {
      const host = yield* NamespaceHost
      const all = yield* allOf(key)
      for (const record of records) expect(all.get(record.id)).toMatchObject(record)
      expect(records.map(({ id }) => all.get(id)?.isLatest)).toEqual([false, true, true])
      const { hits } = yield* MemorySearch.use((search) =>
        search.search([key], { text: "narwhal", vectors: new Map(), filter: {}, limit: 10, minRelevance: 0 })
      )
      expect(hits.map(({ memory }) => memory.id)).toEqual([records[1]!.id])
      const { hits: swimming } = yield* MemorySearch.use((search) =>
        search.search([key], { text: "who swam", vectors: new Map(), filter: {}, limit: 10, minRelevance: 0 })
      )
      expect(swimming.map(({ memory }) => memory.id)).toEqual([records[1]!.id])
      const places = records.map(({ id }, slot) => ({ id, slot }))
      const vectors = yield* host.answer(key, { _tag: "VectorsOf", places })
      expect([...vectors.keys()]).toEqual([records[0]!.id])
      // With the precision of the index.
      for (const [at, value] of vectors.get(records[0]!.id)!.values.entries())
        expect(Math.abs(value - vector.values[at]!)).toBeLessThan(0.01)
      const again = yield* host.ask(key, {
        _tag: "StoreMemories",
        memories: [newMemory(memoryRecord(9, "not stored"))],
        idempotency: { key: "k", fingerprint: "f" }
      })
      expect(again).toMatchObject({ created: [{ id: records[2]!.id }], duplicates: [], isStale: false })
    }).pipe(Effect.provide(engineOf(directory)))
  })

  it.effect("is migrated by its first use, also if that counts it", () => {
    const directory = temporaryDirectory()
    writeFirstVersion(directory)
    return Effect.gen(function* () {
      const host = yield* NamespaceHost
      const counted = yield* host.census(key, { atMillis: 5_000, createdBefore: 5_000 })
      expect(counted).toEqual({
        live: 3,
        liveMessages: 0,
        liveBefore: 3,
        expired: 0,
        unexpired: 3,
        nextExpiry: Infinity,
        turnsBefore: 0,
        isEmpty: false
      })
      expect(readdirSync(join(directory, "namespaces"))).toContain(`${key.tag}.db.before-migration.v1`)
    }).pipe(Effect.provide(engineOf(directory)))
  })

  it.effect("accepts conversations, and finds duplicates of its memories", () => {
    const directory = temporaryDirectory()
    writeFirstVersion(directory)
    return Effect.gen(function* () {
      const host = yield* NamespaceHost
      const found = [
        memoryRecord(4, "an ibex"),
        memoryRecord(5, "a yak", { sources: [{ key: "01" }], neighbours: ["moo"] })
      ]
      const reply = yield* host.ask(key, extracting([1], found))
      expect(reply.duplicates).toEqual([{ index: 0, id: records[2]!.id }])
      expect(reply.created).toMatchObject([{ sources: [{ key: "01" }], neighbours: ["moo"] }])
      const context = yield* host.answer(key, { _tag: "Conversation", scope: {} })
      expect(context.turns).toEqual([turnOf(1)])
    }).pipe(Effect.provide(engineOf(directory)))
  })
})

/** As the first build wrote it: an extraction from message 1, which is marked as processed. */
const writeThirdVersion = (directory: string): void => {
  writeFirstVersion(directory)
  const database = new Database({ filename: join(directory, "namespaces", `${key.tag}.db`) })
  for (const { up } of namespaceMigrations.slice(1, 3)) up(database)
  const sources = JSON.stringify([{ key: turnOf(1).key }])
  database.prepare("UPDATE memory SET sources = ?, thread_id = NULL WHERE id = ?").run(sources, records[2]!.id)
  database.exec("INSERT INTO conversation (id, scope) VALUES (1, '[null,null]')")
  database.prepare("INSERT INTO conversation_mark (conversation, key) VALUES (1, ?)").run(turnOf(1).key)
  database.exec("PRAGMA user_version=3")
  database.close()
}

describe("a namespace file of version 3", () => {
  it.effect("keeps its marks as read, and can store the messages behind them", () => {
    const directory = temporaryDirectory()
    writeThirdVersion(directory)
    return Effect.gen(function* () {
      const host = yield* NamespaceHost
      const keys = [turnOf(1).key]
      const marks = Effect.all([
        host.answer(key, { _tag: "Processed", scope: {}, keys }),
        host.answer(key, { _tag: "Stored", scope: {}, keys })
      ])
      expect(yield* marks).toEqual([new Set(keys), new Map()])
      const message = messageRecord(8, "an ibex was here", { sources: [{ key: turnOf(1).key }] })
      expect((yield* host.ask(key, creating([newMemory(message)]))).created).toMatchObject([{ position: 0 }])
      expect(yield* marks).toEqual([new Set(keys), new Map([[turnOf(1).key, message.id]])])
      const ids = [message.id]
      yield* host.ask(key, { _tag: "RemoveMemories", ids, idempotency: undefined })
      expect([...(yield* allOf(key)).keys()]).not.toContain(records[2]!.id)
    }).pipe(Effect.provide(engineOf(directory)))
  })
})

/** A message of Ines that is stored and kept as a turn, beside a turn whose message is not stored. */
const writeSixthVersion = (directory: string): void => {
  writeThirdVersion(directory)
  const database = new Database({ filename: join(directory, "namespaces", `${key.tag}.db`) })
  for (const { up } of namespaceMigrations.slice(3, 6)) up(database)
  const data = JSON.stringify({ role: "user", name: "Ines", text: "an ibex", sentAt: "2026-03-04T05:06:07Z" })
  database.prepare("UPDATE memory SET data = ? WHERE id = ?").run(data, records[2]!.id)
  database.prepare("UPDATE conversation_mark SET memory = ?").run(records[2]!.id)
  const turn = database.prepare(
    "INSERT INTO conversation_turn (conversation, key, role, content, created_at) VALUES (1, ?, ?, ?, 0)"
  )
  for (const { content, key: message, role } of [turnOf(1), turnOf(2)]) turn.run(message, role, content)
  database.exec("PRAGMA user_version=6")
  database.close()
}

describe("a namespace file of version 6", () => {
  it.effect("learns who said a kept turn from its message", () => {
    const directory = temporaryDirectory()
    writeSixthVersion(directory)
    return Effect.gen(function* () {
      const host = yield* NamespaceHost
      const { turns } = yield* host.answer(key, { _tag: "Conversation", scope: {} })
      expect(turns).toEqual([{ ...turnOf(1), name: "Ines", sentAt: "2026-03-04T05:06:07Z" }, turnOf(2)])
    }).pipe(Effect.provide(engineOf(directory)))
  })
})

const fileOf = (directory: string): string => join(directory, "namespaces", `${key.tag}.db`)

const writeNinthVersion = (directory: string): void => {
  writeThirdVersion(directory)
  const database = new Database({ filename: fileOf(directory) })
  for (const { up } of namespaceMigrations.slice(3, 9)) up(database)
  database.exec("PRAGMA user_version=9")
  database.close()
}

const schemaOf = (database: Database) =>
  database
    .prepare("SELECT name, sql FROM sqlite_schema ORDER BY name")
    .allArrays()
    .map(([name, sql]) => `${String(name)} ${String(sql).replaceAll(/\s/g, "")}`)

describe("a namespace file of version 9", () => {
  it.effect("is given sums without a copy, by which a row that changes afterwards is named", () => {
    const directory = temporaryDirectory()
    writeNinthVersion(directory)
    const check = NamespaceHost.use((host) => host.check(key, () => Effect.void))
    return Effect.gen(function* () {
      yield* Effect.gen(function* () {
        expect((yield* allOf(key)).size).toBe(records.length)
        expect(yield* check).toMatchObject({ faults: [] })
      }).pipe(Effect.provide(engineOf(directory)))
      expect(readdirSync(join(directory, "namespaces"))).toEqual([`${key.tag}.db`])
      for (const [table, change] of changes) {
        const database = new Database({ filename: fileOf(directory) })
        database.exec(`CREATE TEMP TABLE before AS SELECT * FROM ${table}; ${change}`)
        const { faults } = yield* Effect.provide(check, Layer.fresh(engineOf(directory)))
        expect(faults.join("; "), change).toContain(table)
        database.exec(`DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM before`)
        database.close()
      }
    })
  })

  it.effect("is what the removal of its sums leaves, and is given them again", () => {
    const directory = temporaryDirectory()
    writeNinthVersion(directory)
    return Effect.gen(function* () {
      const before = new Database({ filename: fileOf(directory) })
      const schema = schemaOf(before)
      before.close()
      yield* Effect.provide(allOf(key), Layer.fresh(engineOf(directory)))
      const database = new Database({ filename: fileOf(directory) })
      expect(schemaOf(database)).not.toEqual(schema)
      database.transaction(() => removeSums(database))
      database.exec("PRAGMA user_version=9")
      expect(schemaOf(database)).toEqual(schema)
      expect(database.value("SELECT count(*) FROM meta WHERE key = 'sum'")).toBe(0)
      database.close()
      const checked = NamespaceHost.use((host) => host.check(key, () => Effect.void))
      expect(yield* Effect.provide(checked, Layer.fresh(engineOf(directory)))).toMatchObject({ faults: [] })
      const again = yield* Effect.provide(Effect.andThen(allOf(key), checked), Layer.fresh(engineOf(directory)))
      expect(again).toMatchObject({ faults: [] })
    })
  })
})

const wordsOf = (database: Database) =>
  database
    .prepare("SELECT rowid, * FROM fulltext ORDER BY rowid")
    .allArrays()
    .map((row) => row.join("|"))

describe("a namespace file of version 11", () => {
  it.effect("is given words by the language of their text, and its former ones for an earlier release", () => {
    const directory = temporaryDirectory()
    const german = memoryRecord(1, "Meine Schwester mag die alten H\u00e4user am Fluss.", { tags: ["H\u00e4user"] })
    const russian = memoryRecord(
      2,
      "\u0421\u043e\u0431\u0430\u043a\u0430 \u0441\u043f\u0438\u0442 \u043f\u043e\u0434 \u0441\u0442\u043e\u043b\u043e\u043c"
    )
    const english = memoryRecord(3, "the narwhal sings")
    const long = "Der Hund liegt im Garten und schl\u00e4ft. ".repeat(100)
    const found = (text: string) =>
      Effect.map(
        MemorySearch.use((search) =>
          search.search([key], { text, vectors: new Map(), filter: {}, limit: 10, minRelevance: 0 })
        ),
        ({ hits }) => hits.map(({ memory }) => memory.id)
      )
    return Effect.gen(function* () {
      yield* NamespaceHost.use((host) =>
        Effect.andThen(
          host.ask(key, creating([german, russian, english].map((record) => newMemory(record)))),
          host.ask(key, creating([messageRecord(4, long), messageRecord(5, "Ja")].map((record) => newMemory(record))))
        )
      ).pipe(Effect.provide(Layer.fresh(engineOf(directory))))
      const database = new Database({ filename: fileOf(directory) })
      const now = wordsOf(database)
      database.transaction(() => retokenise(database, englishOnly))
      removeExtras(database)
      const before = wordsOf(database)
      // Both memories, and passages of the long message.
      expect(before.filter((row, at) => row !== now[at]).length).toBeGreaterThan(3)
      expect(before.join(" ")).not.toMatch(/[\u1d48\u02b3]/)
      database.exec("PRAGMA user_version=11")
      database.close()
      yield* Effect.gen(function* () {
        expect(yield* found("Welches Haus ist alt?")).toContain(german.id)
        expect(yield* found("\u0441\u043e\u0431\u0430\u043a\u0430\u043c\u0438")).toEqual([russian.id])
        expect(yield* found("narwhals")).toEqual([english.id])
        expect(yield* NamespaceHost.use((host) => host.check(key, () => Effect.void))).toMatchObject({ faults: [] })
      }).pipe(Effect.provide(Layer.fresh(engineOf(directory))))
      const after = new Database({ filename: fileOf(directory) })
      expect(wordsOf(after)).toEqual(now)
      after.close()
    })
  })
})

describe("a namespace file of version 12", () => {
  it.effect("keeps its rows and their sums, and may hold when data was replaced", () => {
    const directory = temporaryDirectory()
    const given = [memoryRecord(1, "the narwhal sings"), memoryRecord(2, "the walrus hums")]
    const checked = NamespaceHost.use((host) => host.check(key, () => Effect.void))
    const storing = (record: MemoryRecord, of = newMemory) =>
      NamespaceHost.use((host) => host.ask(key, creating([of(record)])))
    return Effect.gen(function* () {
      yield* Effect.forEach(given, (record) => storing(record)).pipe(Effect.provide(Layer.fresh(engineOf(directory))))
      const database = new Database({ filename: fileOf(directory) })
      const bytes = database.value("SELECT value FROM meta WHERE key = 'bytes'")
      const before = database.prepare("SELECT slot, sum FROM fulltext_length ORDER BY slot").allArrays()
      removeExtras(database)
      database.exec("PRAGMA user_version=12")
      database.close()
      yield* Effect.gen(function* () {
        expect([...(yield* allOf(key)).values()].map(({ data }) => data)).toEqual(
          given.map(({ data }) => data).reverse()
        )
        expect(yield* checked).toMatchObject({ faults: [] })
      }).pipe(Effect.provide(Layer.fresh(engineOf(directory))))
      const after = new Database({ filename: fileOf(directory) })
      expect(after.prepare("SELECT slot, sum FROM fulltext_length ORDER BY slot").allArrays()).toEqual(before)
      expect(after.value("SELECT value FROM meta WHERE key = 'bytes'")).toBe(bytes)
      after.close()
      yield* Effect.gen(function* () {
        yield* storing(memoryRecord(1, "the narwhal hums", { updatedAt: 5_000 }), replacementOf)
        expect(yield* checked).toMatchObject({ faults: [] })
      }).pipe(Effect.provide(Layer.fresh(engineOf(directory))))
      const again = yield* Effect.provide(allOf(key), Layer.fresh(engineOf(directory)))
      expect(Array.from(again.values(), ({ changedAt }) => changedAt)).toEqual([undefined, 5_000])
    })
  })
})

describe("a namespace file of version 13", () => {
  it.effect("keeps its rows, and counts the bytes of feedback from then on", () => {
    const directory = temporaryDirectory()
    const given = memoryRecord(1, "the narwhal sings", { metadata: { a: 1 } })
    const feedback = { useful: true, query: "who sings", at: 1e12 }
    const bytesIn = () => {
      const database = new Database({ filename: fileOf(directory) })
      const bytes = Number(database.value("SELECT value FROM meta WHERE key = 'bytes'"))
      database.close()
      return bytes
    }
    return Effect.gen(function* () {
      yield* NamespaceHost.use((host) => host.ask(key, creating([newMemory(given)]))).pipe(
        Effect.provide(Layer.fresh(engineOf(directory)))
      )
      expect(bytesIn()).toBe(memoryBytes(given))
      const database = new Database({ filename: fileOf(directory) })
      database.exec(countExtras(withMetadata))
      database.exec("PRAGMA user_version=13")
      database.close()
      yield* NamespaceHost.use((host) =>
        Effect.gen(function* () {
          yield* host.ask(key, { _tag: "GiveFeedback", id: given.id, feedback, idempotency: undefined })
          expect(yield* host.check(key, () => Effect.void)).toMatchObject({ faults: [] })
        })
      ).pipe(Effect.provide(Layer.fresh(engineOf(directory))))
      expect(bytesIn()).toBe(memoryBytes({ ...given, feedback: [feedback] }))
      const [stored] = (yield* Effect.provide(allOf(key), Layer.fresh(engineOf(directory)))).values()
      expect(stored).toMatchObject({ feedback: [feedback], metadata: { a: 1 } })
    })
  })
})

/** Each is as good a row to SQLite. */
const changes: ReadonlyArray<readonly [string, string]> = [
  ["vector", "UPDATE vector SET value = zeroblob(length(value))"],
  ["idempotency", "UPDATE idempotency SET result = '[]'"],
  ["conversation_mark", "UPDATE conversation_mark SET is_read = 1 - is_read"],
  ["fulltext_length", "UPDATE fulltext_length SET tokens = tokens + 1"],
  ["meta", "UPDATE meta SET value = value + 1 WHERE key = 'bytes'"]
]
