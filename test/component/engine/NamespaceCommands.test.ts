/** What each command changes (contract: Memories, Schemas), over a real file. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord } from "@muniment/domain/Memory"
import type { MovedMemory, PreparedMemory, StoreMemories } from "@muniment/engine/namespace/Commands"
import { versionTag } from "@muniment/engine/namespace/versionTag"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import {
  allOf,
  axisVector,
  creating,
  engineOf,
  memoryRecord,
  namespaceKey,
  newMemory,
  replacementOf
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { itWith } from "../../support/it.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const key = namespaceKey()

const create = (...memories: ReadonlyArray<PreparedMemory>) =>
  NamespaceHost.use((host) => host.ask(key, creating(memories)))
const store = (...records: ReadonlyArray<MemoryRecord>) => create(...records.map((record) => newMemory(record)))
const pendingOf = (model: string) =>
  NamespaceHost.use((host) => host.answer(key, { _tag: "CountWithoutVector", model }))

describe("a create that names a record", () => {
  fresh.effect("replaces its data, and otherwise only the fields in the request", function* () {
    const old = memoryRecord(1, "old", { subjectId: "s", threadId: "t", tags: ["kept"], expiresAt: 9_000 })
    yield* store(old)
    const fresh = memoryRecord(1, "new", { subjectId: "s", updatedAt: 7_000, createdAt: 7_000 })
    const { created, updated } = yield* create(replacementOf(fresh))
    expect(created).toEqual([])
    const { data, contentHash } = fresh
    const expected = { ...old, data, contentHash, updatedAt: 7_000 }
    expect(updated).toEqual([expect.objectContaining({ ...expected, isLatest: true })])
    expect((yield* allOf(key)).get(old.id)).toMatchObject(expected)
  })

  fresh.effect("sets an expiry only if the request has one", function* () {
    yield* store(memoryRecord(1, "old", { expiresAt: 9_000 }))
    yield* create(replacementOf(memoryRecord(1, "new", { expiresAt: 8_000 })))
    expect((yield* allOf(key)).get(memoryRecord(1, "").id)?.expiresAt).toBe(8_000)
  })

  fresh.effect(
    "is refused for a missing record, another subject or another kind, and then nothing is stored",
    function* () {
      yield* store(memoryRecord(1, "there", { subjectId: "s" }))
      const refusals: ReadonlyArray<readonly [MemoryRecord, string]> = [
        [memoryRecord(7, "missing"), "memory_not_found"],
        [memoryRecord(1, "no subject"), "memory_not_found"],
        [memoryRecord(1, "other subject", { subjectId: "t" }), "memory_not_found"],
        [memoryRecord(1, "other kind", { subjectId: "s", kind: "temporal_event" }), "kind_mismatch"]
      ]
      for (const [record, code] of refusals) {
        const refused = yield* Effect.flip(create(newMemory(memoryRecord(2, "beside")), replacementOf(record)))
        expect(refused).toMatchObject({ code })
      }
      expect([...(yield* allOf(key)).values()].map(({ data }) => data)).toEqual([{ fact: "there" }])
    }
  )

  fresh.effect("applies both replacements when a request names the record twice", function* () {
    yield* store(memoryRecord(1, "old"))
    yield* create(
      replacementOf(memoryRecord(1, "first", { expiresAt: 8_000 })),
      replacementOf(memoryRecord(1, "second"))
    )
    expect((yield* allOf(key)).get(memoryRecord(1, "").id)).toMatchObject({
      data: { fact: "second" },
      expiresAt: 8_000
    })
  })

  fresh.effect("takes the record out of the chain of a unique key", function* () {
    yield* store(memoryRecord(1, "one", { uniqueKey: "k" }), memoryRecord(2, "two", { uniqueKey: "k" }))
    yield* create(replacementOf(memoryRecord(2, "no longer of that key")))
    const all = yield* allOf(key)
    expect([...all.values()].map(({ isLatest }) => isLatest)).toEqual([true, true])
  })
})

fresh.effect(
  "a unique key has one latest version; the previous one is latest again when that expires or is removed",
  function* () {
    const host = yield* NamespaceHost
    const ids = [1, 2, 3].map((number) => memoryRecord(number, "").id)
    yield* store(memoryRecord(1, "one", { uniqueKey: "k" }))
    yield* store(memoryRecord(2, "two", { uniqueKey: "k" }))
    yield* store(memoryRecord(3, "three", { uniqueKey: "k", expiresAt: 60 }))
    const latest = Effect.map(allOf(key), (all) => ids.filter((id) => all.get(id)?.isLatest))
    expect(yield* latest).toEqual([ids[2]])
    expect((yield* allOf(key)).get(ids[1]!)).toMatchObject({ supersedes: ids[0], supersededBy: ids[2] })
    yield* TestClock.adjust(60)
    expect(yield* latest).toEqual([ids[1]])
    yield* host.ask(key, { _tag: "RemoveMemories", ids: [ids[1]!], idempotency: undefined })
    expect(yield* latest).toEqual([ids[0]])
  }
)

describe("a move to another unique key", () => {
  const [first, second, third, merged] = [1, 2, 3, 4].map((number) => memoryRecord(number, "").id)
  const chains = Effect.andThen(
    store(memoryRecord(1, "one", { uniqueKey: "a" }), memoryRecord(2, "two", { uniqueKey: "b" })),
    store(memoryRecord(3, "three", { uniqueKey: "a" }))
  )
  const moveOf = (id: string | undefined, to: string | undefined) =>
    Effect.map(allOf(key), (all): MovedMemory => {
      const memory = all.get(id!)!
      return { id: memory.id, from: memory.uniqueKey!, to, version: versionTag(memory, memory.isLatest) }
    })
  const movesOf = (ids: ReadonlyArray<string | undefined>, to: string | undefined) =>
    Effect.forEach(ids, (id) => moveOf(id, to))
  const moving = (moves: ReadonlyArray<MovedMemory>, ...memories: ReadonlyArray<MemoryRecord>): StoreMemories => ({
    ...creating(memories.map((record) => newMemory(record))),
    moves
  })
  const mergedRecord = memoryRecord(4, "one, two and three", { uniqueKey: "c" })

  fresh.effect(
    "makes one history of two, whose last is what the same commit stores, and another move undoes it",
    function* () {
      const host = yield* NamespaceHost
      yield* chains
      const before = yield* allOf(key)
      const moves = yield* movesOf([first, second, third], "c")
      yield* host.ask(key, moving(moves, mergedRecord))
      yield* host.close(key)
      const all = yield* allOf(key)
      expect([first, second, third, merged].map((id) => all.get(id!)?.supersedes)).toEqual([
        undefined,
        first,
        second,
        third
      ])
      expect([...all.values()].filter(({ isLatest }) => isLatest).map(({ id }) => id)).toEqual([merged])
      for (const [id, { data, tags, updatedAt }] of before) expect(all.get(id)).toMatchObject({ data, tags, updatedAt })

      const back = [
        ...(yield* movesOf([first, third], "a")),
        ...(yield* movesOf([second], "b")),
        ...(yield* movesOf([merged], undefined))
      ]
      yield* host.ask(key, moving(back))
      expect(yield* allOf(key)).toEqual(before)
      yield* host.close(key)
      expect(yield* allOf(key)).toEqual(before)
    }
  )

  fresh.effect("of a memory that is not as the command says changes nothing", function* () {
    const host = yield* NamespaceHost
    yield* chains
    const before = yield* allOf(key)
    const [one, two, three] = yield* movesOf([first, second, third], "c")
    const wrong: ReadonlyArray<MovedMemory> = [
      { ...three!, from: "b" },
      { ...three!, version: "another" },
      { ...three!, id: memoryRecord(9, "").id }
    ]
    for (const move of wrong) {
      const reply = yield* host.ask(key, moving([one!, two!, move], mergedRecord))
      expect(reply).toMatchObject({ isStale: true, created: [] })
    }
    expect(yield* allOf(key)).toEqual(before)
  })

  fresh.effect("is seen by the next commands of the same commit", function* () {
    const host = yield* NamespaceHost
    yield* chains
    const [one, two, three] = yield* movesOf([first, second, third], "b")
    const isStale = Effect.fnUntraced(function* (moves: ReadonlyArray<MovedMemory>) {
      return (yield* host.ask(key, moving(moves))).isStale
    })
    // The third was inserted last, so it supersedes the second under the key of that one.
    const after = { ...two!, version: versionTag(memoryRecord(2, "two"), false) }
    const asked = [[one!, three!], [two!], [after], [three!]]
    const replies = yield* Effect.forEach(asked, isStale, { concurrency: "unbounded" })
    expect(replies).toEqual([false, true, false, true])
    const all = yield* allOf(key)
    expect([all.get(second!)?.supersededBy, all.get(third!)?.isLatest]).toEqual([third, true])
  })
})

fresh.effect("RemoveMatching removes all versions, in portions, until nothing matches", function* () {
  const host = yield* NamespaceHost
  const most = Limits.removalsPerCommitMax
  for (let number = 0; number < most * 2 + 50; number += 50) {
    yield* store(
      ...Array.from({ length: 50 }, (_, at) => memoryRecord(number + at, "gone", { uniqueKey: `k${at % 7}` }))
    )
  }
  yield* store(memoryRecord(9_000, "kept", { kind: "temporal_event" }))
  const part = host.ask(key, { _tag: "RemoveMatching", filter: { kind: "factual_memory" } })
  expect([yield* part, yield* part, yield* part, yield* part]).toEqual([most, most, 50, 0])
  expect([...(yield* allOf(key)).values()].map(({ data }) => data)).toEqual([{ fact: "kept" }])
})

describe("StoreVectors", () => {
  fresh.effect("stores a vector only if the memory still has the text it was made of", function* () {
    const host = yield* NamespaceHost
    const old = memoryRecord(1, "old text")
    yield* store(old, memoryRecord(2, "other text"))
    yield* create(replacementOf(memoryRecord(1, "new text")))
    const stored = yield* host.ask(key, {
      _tag: "StoreVectors",
      vectors: [
        { id: old.id, contentHash: old.contentHash, vector: axisVector(1) },
        { id: memoryRecord(2, "").id, contentHash: memoryRecord(2, "other text").contentHash, vector: axisVector(2) },
        { id: "mem_gone", contentHash: old.contentHash, vector: axisVector(3) }
      ]
    })
    expect(stored).toBe(1)
    expect(yield* pendingOf("test-model")).toBe(1)
  })

  fresh.effect("replaces the vector of another model", function* () {
    const host = yield* NamespaceHost
    const record = memoryRecord(1, "text")
    yield* create(newMemory(record, axisVector(1, 8, "old-model")))
    const { id, contentHash } = record
    yield* host.ask(key, {
      _tag: "StoreVectors",
      vectors: [{ id, contentHash, vector: axisVector(1, 4, "new-model") }]
    })
    expect(yield* Effect.map(host.answer(key, { _tag: "Counts" }), ({ models }) => models)).toEqual(["new-model"])
    expect([yield* pendingOf("old-model"), yield* pendingOf("new-model")]).toEqual([1, 0])
  })
})

describe("ImportRecords", () => {
  fresh.effect("keeps ids and times, and skips what is stored, also within one batch", function* () {
    const host = yield* NamespaceHost
    yield* store(memoryRecord(1, "was here"))
    const fresh = memoryRecord(2, "imported", { createdAt: 5, updatedAt: 6, origin: "extraction", confidence: 0.5 })
    const records = [memoryRecord(1, "not this"), fresh, fresh].map((record) => ({ record, vector: undefined }))
    expect(yield* host.ask(key, { _tag: "ImportRecords", records })).toBe(1)
    expect(yield* host.ask(key, { _tag: "ImportRecords", records })).toBe(0)
    const all = yield* allOf(key)
    expect(all.get(fresh.id)).toMatchObject(fresh)
    expect(all.get(memoryRecord(1, "").id)?.data).toEqual({ fact: "was here" })
  })

  fresh.effect("does not bring back an id whose memory has expired and waits for the sweep", function* () {
    const host = yield* NamespaceHost
    yield* store(memoryRecord(1, "expired", { expiresAt: 0 }))
    const records = [{ record: memoryRecord(1, "again"), vector: undefined }]
    expect(yield* host.ask(key, { _tag: "ImportRecords", records })).toBe(0)
  })
})

fresh.effect("Sweep removes expired rows for good, and frees their ids", function* () {
  const host = yield* NamespaceHost
  yield* store(memoryRecord(1, "gone soon", { expiresAt: 50 }), memoryRecord(2, "stays"))
  expect(yield* host.ask(key, { _tag: "Sweep" })).toBe(0)
  yield* TestClock.adjust(50)
  const counts = host.answer(key, { _tag: "Counts" })
  expect(yield* counts).toMatchObject({ live: 1, rows: 2, expired: 1 })
  expect(yield* host.ask(key, { _tag: "Sweep" })).toBe(1)
  expect(yield* counts).toMatchObject({ live: 1, rows: 1, expired: 0 })
  const records = [{ record: memoryRecord(1, "again"), vector: undefined }]
  expect(yield* host.ask(key, { _tag: "ImportRecords", records })).toBe(1)
})
