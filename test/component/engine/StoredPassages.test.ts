/** A long message in passages: each is searched by itself, all of them live and end with their message. Over a real file. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { join } from "node:path"
import { Database } from "@muniment/sqlite/Database"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import type { MemoryVector } from "@muniment/engine/store/Commit"
import { memoryUnits } from "@muniment/engine/text/MemoryText"
import {
  axisVector,
  creating,
  engineOf,
  memoryRecord,
  messageRecord,
  namespaceKey,
  newMemory,
  patching,
  replacementOf
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const key = namespaceKey()

/** Four passages: "bicycle" is in the second and third one, "violin" in the last. */
const filler = "Nothing else was said about this at all. "
const sentences = (count: number) => filler.repeat(count)
const text = `The garden comes first. ${sentences(19)}A bicycle is here. ${sentences(19)}A bicycle and a bicycle. ${sentences(18)}The violin is last.`
const long = (number = 1, fields: Partial<MemoryRecord> = {}) => messageRecord(number, text, fields)
const units = memoryUnits(long())
const vectorOf = (axis: number): MemoryVector => ({
  ...axisVector(axis),
  passages: units.slice(1).map((_, at) => axisVector(axis + at + 1).values)
})

const ask = (...records: ReadonlyArray<MemoryRecord>) =>
  NamespaceHost.use((host) => host.ask(key, creating(records.map((record) => newMemory(record)))))
const search = (query: string, fields: object = {}) =>
  MemorySearch.use((service) =>
    service.search([key], { text: query, vectors: new Map(), filter: {}, limit: 10, minRelevance: 0, ...fields })
  )
const found = (query: string, fields: object = {}) =>
  Effect.map(search(query, fields), ({ hits }) =>
    hits.map(({ memory, ranked }) => {
      const { passage } = ranked.candidate
      return { id: memory.id, says: passage === undefined ? undefined : text.slice(passage.start, passage.end) }
    })
  )
const listed = MemorySearch.use((service) => service.list([key], {}, { after: undefined, limit: 10 }))

describe("a long message", () => {
  it("has four passages", () => {
    expect(units.map(({ columns }) => columns.main.includes("bicycl"))).toEqual([false, true, true, false])
  })

  fresh.effect("is found once, by its best passage, and counts once", function* () {
    yield* ask(long(), memoryRecord(2, "A bicycle"))
    const all = yield* found("bicycle")
    expect(all.map(({ id }) => id).sort()).toEqual([long().id, memoryRecord(2, "").id])
    expect(all.find(({ id }) => id === long().id)?.says).toContain("A bicycle and a bicycle")
    expect((yield* found("violin"))[0]?.says).toContain("The violin is last.")
    expect((yield* found("garden"))[0]?.says).toMatch(/^The garden/)
    expect(all.find(({ id }) => id === memoryRecord(2, "").id)).toHaveProperty("says", undefined)
    expect(yield* listed).toMatchObject({ total: 2, memories: [{}, {}] })
    const counts = yield* NamespaceHost.use((host) => host.answer(key, { _tag: "Counts" }))
    expect(counts).toMatchObject({ live: 2, latest: 2, rows: 2 })
    const query = { text: "bicycle", vectors: new Map(), filter: {}, limit: 10, minRelevance: 0 }
    expect(yield* MemorySearch.use((service) => service.countMatching([key], query))).toBe(2)
  })

  fresh.effect("is searched within filters like its message", function* () {
    const host = yield* NamespaceHost
    yield* ask(long(1, { subjectId: "s", threadId: "t", when: "2024-01-01T00:00:00.000Z" }))
    const times = { eventFrom: Date.parse("2024-01-01"), eventTo: Date.parse("2024-01-02") }
    const matching = [
      { subjectId: "s" },
      { threadId: "t" },
      { kind: long().kind },
      times,
      { anyOf: [{ subjectId: "s" }] }
    ]
    for (const filter of matching) expect(yield* found("violin", { filter })).toHaveLength(1)
    const others = [{ subjectId: "u" }, { threadId: "u" }, { kind: "note" }, { tags: ["late"] }, { eventTo: 1 }]
    for (const filter of others) expect(yield* found("violin", { filter })).toEqual([])
    yield* host.ask(key, patching([long().id], { tags: ["late"], expiresAt: 50 }, 1))
    expect(yield* found("violin", { filter: { tags: ["late"] } })).toHaveLength(1)
    expect((yield* found("late"))[0]?.id).toBe(long().id)
    yield* TestClock.adjust(50)
    expect(yield* found("violin")).toEqual([])
    yield* host.ask(key, { _tag: "Sweep" })
    expect(yield* found("late")).toEqual([])
  })

  fresh.effect("has a vector for each passage, which come with it or later", function* () {
    const host = yield* NamespaceHost
    const { contentHash, id } = long()
    const missing = Effect.all([
      host.answer(key, { _tag: "CountWithoutVector", model: "test-model" }),
      host.answer(key, { _tag: "WithoutVector", model: "test-model", afterSlot: -1, limit: 10 })
    ])
    const meant = (axis: number) => ({ vectors: new Map([["test-model", axisVector(axis).values]]) })
    yield* host.ask(key, creating([newMemory(long(), axisVector(0))]))
    expect(yield* missing).toMatchObject([1, [{ record: { id } }]])
    yield* host.ask(key, { _tag: "StoreVectors", vectors: [{ id, contentHash, vector: vectorOf(0) }] })
    expect(yield* missing).toEqual([0, []])
    for (const [at, { passage }] of units.entries()) {
      const [hit] = (yield* search("zzz", meant(at))).hits
      expect(hit?.ranked.candidate.passage).toEqual(passage)
      const vectors = yield* MemorySearch.use((service) => service.vectorsOf([key], [hit!]))
      expect(vectors.get(id)?.values[at]).toBeCloseTo(1, 1)
    }
    yield* host.ask(key, creating([newMemory(messageRecord(2, text), vectorOf(4))]))
    expect(yield* missing).toEqual([0, []])
  })

  it.effect("is the same after a restart, and its slots are taken by nothing else", () => {
    const directory = temporaryDirectory()
    const state = Effect.gen(function* () {
      const { hits } = yield* search("bicycle garden violin", {
        vectors: new Map([["test-model", axisVector(2).values]])
      })
      return hits.map(({ memory, ranked }) => [
        memory.id,
        ranked.relevance,
        ranked.candidate.passage,
        ranked.candidate.unit
      ])
    })
    return Effect.gen(function* () {
      const before = yield* Effect.gen(function* () {
        const host = yield* NamespaceHost
        yield* ask(memoryRecord(5, "goes away"))
        yield* host.ask(key, creating([newMemory(long(), vectorOf(0)), newMemory(messageRecord(2, "short"))]))
        yield* host.ask(key, { _tag: "RemoveMemories", ids: [memoryRecord(5, "").id], idempotency: undefined })
        return yield* state
      }).pipe(Effect.provide(engineOf(directory)))
      yield* Effect.gen(function* () {
        expect(yield* state).toEqual(before)
        yield* ask(...Array.from({ length: 6 }, (_, at) => memoryRecord(10 + at, `other ${at}`)), long(3))
        expect((yield* state).find(([id]) => id === long().id)).toBeDefined()
        expect((yield* found("violin")).map(({ id }) => id).sort()).toEqual([long(1).id, long(3).id])
        expect(yield* listed).toMatchObject({ total: 9 })
      }).pipe(Effect.provide(engineOf(directory)))
    })
  })

  it.effect("that is corrected or removed leaves no row, no word and no vector of its passages", () => {
    const directory = temporaryDirectory()
    const left = () => {
      const database = new Database({ filename: join(directory, "namespaces", `${key.tag}.db`) })
      const count = (table: string) => Number(database.value(`SELECT count(*) FROM ${table}`))
      const counts = ["memory", "passage", "fulltext_length", "fulltext"].map(count)
      database.close()
      return counts
    }
    return Effect.gen(function* () {
      const host = yield* NamespaceHost
      yield* host.ask(key, creating([newMemory(long(), vectorOf(0)), newMemory(messageRecord(2, "short"))]))
      expect(left()).toEqual([2, 3, 5, 5])
      yield* host.ask(key, creating([replacementOf(messageRecord(1, `${text} And a flute.`), vectorOf(0))]))
      expect(left()).toEqual([2, 3, 5, 5])
      expect((yield* found("flute")).map(({ id }) => id)).toEqual([long().id])
      yield* host.ask(key, creating([replacementOf(messageRecord(1, "not long"))]))
      expect(left()).toEqual([2, 0, 2, 2])
      expect(yield* found("violin")).toEqual([])
      yield* host.ask(key, creating([replacementOf(long(1), vectorOf(0))]))
      yield* host.ask(key, { _tag: "RemoveMemories", ids: [long().id], idempotency: undefined })
      expect(left()).toEqual([1, 0, 1, 1])
      expect(yield* found("violin garden bicycle")).toEqual([])
    }).pipe(Effect.provide(engineOf(directory)))
  })
})
