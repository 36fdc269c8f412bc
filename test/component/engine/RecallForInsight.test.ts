/** Reads for duplicates and maps: memories without a subject, vectors, many candidates, neighbouring texts. */
import type { MemoryVector } from "@muniment/engine/store/Commit"
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { type MemoryQuery, MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { tokenize } from "@muniment/language/text/Tokenizer"
import {
  allOf,
  axisVector,
  creating,
  engineOf,
  memoryRecord,
  namespaceKey,
  newMemory,
  patching,
  replacementOf
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const key = namespaceKey()
const idOf = (number: number) => memoryRecord(number, "").id
const store = (...memories: Parameters<typeof creating>[0]) =>
  NamespaceHost.use((host) => host.ask(key, creating(memories)))
const words = (text: string, more: Partial<MemoryQuery> = {}) =>
  MemorySearch.use((search) =>
    Effect.map(
      search.search([key], { text, vectors: new Map(), filter: {}, limit: 10, minRelevance: 0, ...more }),
      ({ hits }) => hits
    )
  )
const foundBy = (text: string) => Effect.map(words(text), (hits) => hits.map(({ memory }) => memory.id))

it.effect.each([
  ["hasNoSubject", "subjectId"],
  ["hasNoThread", "threadId"]
] as const)("the filter `%s` lets through what has no %s, and nothing else", ([filter, field]) =>
  Effect.gen(function* () {
    yield* store(newMemory(memoryRecord(1, "walrus")), newMemory(memoryRecord(2, "walrus", { [field]: "s" })))
    const hits = yield* words("walrus", { filter: { [filter]: true } })
    expect(hits.map(({ memory }) => memory.id)).toEqual([idOf(1)])
    expect(yield* words("walrus", { filter: { [filter]: true, [field]: "s" } })).toEqual([])
  }).pipe(Effect.provide(engineOf(temporaryDirectory())))
)

fresh.effect(
  "the vectors of what was found are copies, by memory, over all namespaces; what has none is left out",
  function* () {
    const host = yield* NamespaceHost
    const search = yield* MemorySearch
    const other = namespaceKey("other")
    yield* store(newMemory(memoryRecord(1, "owl"), axisVector(3)), newMemory(memoryRecord(2, "owl")))
    const elsewhere = memoryRecord(3, "owl", { agentId: "other" })
    yield* host.ask(other, creating([newMemory(elsewhere, axisVector(5, 4, "other-model"))]))
    const query = { text: "owl", vectors: new Map(), filter: {}, limit: 10, minRelevance: 0 }
    const { hits } = yield* search.search([key, other], query)
    expect(hits).toHaveLength(3)
    const vectors = yield* search.vectorsOf([key, other], hits)
    expect([...vectors.keys()].sort()).toEqual([idOf(1), idOf(3)])
    expectNear(vectors.get(idOf(1)), axisVector(3))
    expectNear(vectors.get(idOf(3)), axisVector(5, 4, "other-model"))
    vectors.get(idOf(1))!.values.fill(0)
    expectNear((yield* search.vectorsOf([key], hits)).get(idOf(1)), axisVector(3))
    // Removed since it was found: the vector of the memory that reuses the slot is not returned.
    yield* host.ask(key, { _tag: "RemoveMemories", ids: [idOf(1)], idempotency: undefined })
    yield* store(newMemory(memoryRecord(4, "swan"), axisVector(6)))
    expect(yield* search.vectorsOf([key], hits)).toEqual(new Map())
  }
)

/** Within the precision of stored vectors. */
const expectNear = (found: MemoryVector | undefined, stored: MemoryVector): void => {
  expect(found?.model).toBe(stored.model)
  expect(found?.values).toHaveLength(stored.values.length)
  for (const [at, value] of stored.values.entries()) expect(found?.values[at]).toBeCloseTo(value, 1.7)
}

fresh.effect("a search for a map looks at as many candidates as it asks for", function* () {
  const most = Limits.searchCandidatesMax
  for (let from = 0; from < most * 3; from += most) {
    yield* store(
      ...Array.from({ length: most }, (_, at) => newMemory(memoryRecord(from + at, "owl"), axisVector(from + at)))
    )
  }
  const vectors = new Map([["test-model", axisVector(0).values]])
  expect(yield* words("owl", { vectors: new Map(), limit: 1_000 })).toHaveLength(most)
  expect(yield* words("owl", { vectors: new Map(), limit: 1_000, candidates: 250 })).toHaveLength(250)
  expect(yield* words("nothing of it", { vectors, limit: 1_000, candidates: 1_000 })).toHaveLength(most * 3)
  expect(yield* words("owl", { vectors, limit: 7, candidates: 1_000 })).toHaveLength(7)
})

describe("the neighbouring texts of a memory", () => {
  const record = memoryRecord(1, "likes tea", {
    neighbours: ["we were in Ljubljana"],
    sources: [{ key: "0a", id: "m1" }]
  })

  fresh.effect("are searched, after a patch, a replacement and an import too", function* () {
    const host = yield* NamespaceHost
    yield* store(newMemory(record))
    const isFound = Effect.map(foundBy("Ljubljana"), (ids) => ids.length === 1)
    expect(yield* isFound).toBe(true)
    yield* host.ask(key, patching([record.id], { tags: ["x"] }, 1))
    expect(yield* isFound).toBe(true)
    yield* store(replacementOf(memoryRecord(1, "likes coffee")))
    expect([yield* isFound, yield* foundBy("coffee")]).toEqual([true, [record.id]])
    const exported = yield* host.answer(key, { _tag: "Inserted", afterSeq: 0, limit: 10 })
    expect(exported.versions).toMatchObject([{ neighbours: record.neighbours, sources: record.sources }])
    yield* host.ask(key, { _tag: "RemoveMemories", ids: [record.id], idempotency: undefined })
    expect(yield* isFound).toBe(false)
    const records = exported.versions.map((version) => ({ record: version, vector: undefined }))
    yield* host.ask(key, { _tag: "ImportRecords", records })
    expect(yield* isFound).toBe(true)
    expect((yield* allOf(key)).get(record.id)).toMatchObject({
      neighbours: record.neighbours,
      sources: record.sources
    })
  })

  fresh.effect("are kept up to a number, each up to a length", function* () {
    const long = "word ".repeat(Limits.neighbourTextLengthMax)
    yield* store(
      newMemory({ ...record, neighbours: Array.from({ length: Limits.neighboursPerMemoryMax + 1 }, () => long) })
    )
    const kept = (yield* allOf(key)).get(record.id)?.neighbours ?? []
    expect(kept.map(({ length }) => length)).toEqual(
      Array.from({ length: Limits.neighboursPerMemoryMax }, () => Limits.neighbourTextLengthMax)
    )
    expect(tokenize(kept[0]!).length).toBeGreaterThan(0)
  })
})
