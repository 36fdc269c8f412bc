/** Messages as memories: their places in their conversation, and their marks. Over a real file. */
import { describe, expect } from "vitest"
import { Clock, Effect } from "effect"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { ConversationScope } from "@muniment/engine/store/Conversations"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
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
} from "../../support/EngineFixtures.ts"
import { filesWith } from "../../support/filesWith.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const key = namespaceKey()

const store = (...records: ReadonlyArray<MemoryRecord>) =>
  NamespaceHost.use((host) => host.ask(key, creating(records.map((record) => newMemory(record)))))
const remove = (...numbers: ReadonlyArray<number>) =>
  NamespaceHost.use((host) => host.ask(key, { _tag: "RemoveMemories", ids: numbers.map(idOf), idempotency: undefined }))
const storedOf = (numbers: ReadonlyArray<number>, scope: ConversationScope = {}) =>
  NamespaceHost.use((host) =>
    host.answer(key, { _tag: "Stored", scope, keys: numbers.map((number) => turnOf(number).key) })
  )
const idOf = (number: number): string => messageRecord(number, "").id
const positions = Effect.map(allOf(key), (all) =>
  Array.from(all.values(), ({ data, position }) => `${position} ${String(data["text"])}`).sort()
)

describe("a message", () => {
  fresh.effect("gets the next position of its conversation, which is never used again", function* () {
    const { created } = yield* store(messageRecord(1, "one"), messageRecord(2, "two"))
    expect(created.map(({ position }) => position)).toEqual([0, 1])
    yield* store(messageRecord(3, "elsewhere", { threadId: "t" }))
    yield* remove(2)
    yield* store(messageRecord(4, "four"))
    expect(yield* positions).toEqual(["0 elsewhere", "0 one", "2 four"])
  })

  fresh.effect("is stored once in its conversation, also within one command and one group", function* () {
    const again = (number: number, id: number) => messageRecord(number, "again", { id: idOf(id) })
    const [first, second] = yield* Effect.all(
      [store(messageRecord(1, "one"), again(1, 11)), store(again(1, 12), messageRecord(2, "two"))],
      { concurrency: "unbounded" }
    )
    expect(first.created.map(({ id }) => id)).toEqual([idOf(1)])
    expect(second.created.map(({ id }) => id)).toEqual([idOf(2)])
    expect((yield* store(again(2, 13), again(1, 14))).created).toEqual([])
    expect((yield* store({ ...again(1, 15), subjectId: "s" })).created).toHaveLength(1)
    expect(yield* positions).toEqual(["0 again", "0 one", "1 two"])
  })

  it.effect("that was erased leaves its mark, so that it does not come back", () => {
    const directory = temporaryDirectory()
    return Effect.gen(function* () {
      yield* store(messageRecord(1, "one"), messageRecord(2, "two")).pipe(Effect.provide(engineOf(directory)))
      yield* Effect.gen(function* () {
        yield* remove(1)
        expect(yield* storedOf([1, 2, 3])).toEqual(
          new Map([
            [turnOf(1).key, undefined],
            [turnOf(2).key, idOf(2)]
          ])
        )
        expect((yield* store(messageRecord(1, "one"))).created).toEqual([])
        expect(yield* positions).toEqual(["1 two"])
      }).pipe(Effect.provide(engineOf(directory)))
    })
  })

  fresh.effect("comes back after its conversation was forgotten, also in the same group", function* () {
    const host = yield* NamespaceHost
    yield* store(messageRecord(1, "one", { threadId: "t" }), messageRecord(2, "two", { threadId: "u" }))
    const [, again] = yield* Effect.all(
      [
        host.ask(key, { _tag: "RemoveMatching", filter: { threadId: "t" } }),
        store(messageRecord(1, "one again", { threadId: "t" }), messageRecord(2, "two", { threadId: "u" }))
      ],
      { concurrency: "unbounded" }
    )
    expect(again.created.map(({ data }) => data["text"])).toEqual(["one again"])
    expect(yield* storedOf([1], { threadId: "t" })).toEqual(new Map([[turnOf(1).key, idOf(1)]]))
  })

  fresh.effect("is marked as stored and as read apart", function* () {
    const host = yield* NamespaceHost
    const processed = host.answer(key, { _tag: "Processed", scope: {}, keys: [turnOf(1).key, turnOf(2).key] })
    yield* store(messageRecord(1, "one"))
    expect((yield* processed).size).toBe(0)
    expect((yield* host.ask(key, extracting([1, 2]))).isStale).toBe(false)
    expect(yield* processed).toEqual(new Set([turnOf(1).key, turnOf(2).key]))
    expect(yield* storedOf([1, 2])).toEqual(new Map([[turnOf(1).key, idOf(1)]]))
    expect((yield* store(messageRecord(2, "two"))).created).toHaveLength(1)
    expect((yield* processed).size).toBe(2)
  })

  fresh.effect("that is corrected keeps its place, and its turn is erased", function* () {
    const host = yield* NamespaceHost
    yield* host.ask(key, extracting([1, 2], [messageRecord(1, "one"), messageRecord(2, "two")]))
    const corrected = { ...messageRecord(1, "one, corrected"), threadId: "elsewhere" }
    yield* host.ask(key, creating([replacementOf(corrected)]))
    expect(yield* positions).toEqual(["0 one, corrected", "1 two"])
    expect((yield* allOf(key)).get(idOf(1))).toMatchObject({
      origin: "conversation",
      sources: [turnOf(1)].map(({ key }) => ({ key }))
    })
    const { turns } = yield* host.answer(key, { _tag: "Conversation", scope: {} })
    expect(turns).toMatchObject([{ key: turnOf(2).key }])
  })

  fresh.effect("is imported at its position with its mark, unless it is there", function* () {
    const host = yield* NamespaceHost
    const importing = (...records: ReadonlyArray<MemoryRecord>) =>
      host.ask(key, { _tag: "ImportRecords", records: records.map((record) => ({ record, vector: undefined })) })
    expect(yield* importing(messageRecord(3, "three", { position: 7 }), messageRecord(1, "one", { position: 2 }))).toBe(
      2
    )
    expect((yield* store(messageRecord(3, "three"), messageRecord(4, "four"))).created).toMatchObject([{ position: 8 }])
    expect(yield* importing({ ...messageRecord(3, "three"), id: idOf(33) })).toBe(0)
    yield* remove(3)
    expect(yield* importing(messageRecord(3, "three", { position: 7 }))).toBe(1)
    expect(yield* positions).toEqual(["2 one", "7 three", "8 four"])
  })

  it.effect("is ranked by its speaker, traits, place and time, also after a restart", () => {
    const directory = temporaryDirectory()
    const when = "2024-02-29T08:00:00.000Z"
    const data = { role: "user", name: "Ann", text: "I moved to Rome" }
    const found = Effect.gen(function* () {
      const host = yield* NamespaceHost
      const query = { terms: ["rome"], idf: [1], documents: 1, averageLength: 1, scoreBound: 2 }
      const atMillis = yield* Clock.currentTimeMillis
      const { candidates } = yield* host.answer(key, {
        _tag: "Candidates",
        query,
        vectors: new Map(),
        filter: {},
        atMillis
      })
      const names = { words: new Set(["ann"]), capitals: new Set(["ann"]) }
      const filter = { subjectId: "s" }
      const { speakers } = yield* host.answer(key, { _tag: "Terms", terms: [], names, filter, atMillis })
      return { speakers, candidates: candidates.map(({ eventAt, message }) => ({ eventAt, message })) }
    })
    // Of its speaker, short, sorted, with a place and a name, of nobody.
    const traits = 1 + 4 + 8 + 16 + 128 + 256 + 1024
    const expected = {
      speakers: ["Ann"],
      candidates: [
        { eventAt: Date.parse(when), message: { position: 0, speaker: "Ann", traits } },
        { eventAt: undefined, message: undefined }
      ]
    }
    return Effect.gen(function* () {
      const before = Effect.gen(function* () {
        const elsewhere = { role: "assistant", text: "Where?" }
        yield* store(
          messageRecord(1, "", { subjectId: "s", data, when }),
          messageRecord(2, "", { subjectId: "t", data: elsewhere }),
          memoryRecord(3, "Rome is a city")
        )
        return yield* found
      })
      const sorted = ({ candidates, speakers }: Effect.Success<typeof found>) => ({
        speakers,
        candidates: candidates.toSorted((left) => (left.message === undefined ? 1 : -1))
      })
      expect(sorted(yield* Effect.provide(before, engineOf(directory)))).toEqual(expected)
      expect(sorted(yield* Effect.provide(found, engineOf(directory)))).toEqual(expected)
    })
  })
})

describe("an extracted memory", () => {
  const taken = (number: number, from: ReadonlyArray<number>, fields: Partial<MemoryRecord> = {}) =>
    memoryRecord(number, `taken ${number}`, {
      origin: "extraction",
      sources: from.map((source) => ({ key: turnOf(source).key })),
      ...fields
    })
  const left = Effect.map(allOf(key), (all) => [...all.keys()].map((id) => Number(id.slice(4))).sort((a, b) => a - b))
  const filled = store(
    ...[1, 2, 3].map((number) => messageRecord(number, `message ${number}`)),
    taken(10, [1]),
    taken(11, [1, 2]),
    // Its other message was never stored.
    taken(12, [1, 99]),
    taken(13, [1], { threadId: "elsewhere" }),
    memoryRecord(14, "direct")
  )

  it.effect("goes with the last message that it was taken from, also after a restart", () => {
    const directory = temporaryDirectory()
    return Effect.gen(function* () {
      yield* Effect.provide(filled, engineOf(directory))
      yield* Effect.gen(function* () {
        expect(yield* remove(1)).toBe(1)
        expect(yield* left).toEqual([2, 3, 11, 12, 13, 14])
        yield* remove(2)
        expect(yield* left).toEqual([3, 12, 13, 14])
      }).pipe(Effect.provide(engineOf(directory)))
    })
  })

  fresh.effect("goes with messages that are removed together, by ids or by a filter", function* () {
    const host = yield* NamespaceHost
    yield* filled
    yield* remove(2, 1)
    expect(yield* left).toEqual([3, 12, 13, 14])
    yield* store(taken(15, [3]))
    const { kind } = messageRecord(3, "")
    expect(yield* host.ask(key, { _tag: "RemoveMatching", filter: { kind } })).toBe(1)
    expect(yield* left).toEqual([12, 13, 14])
  })

  fresh.effect("goes with its message in one group of commands", function* () {
    yield* store(messageRecord(1, "one"))
    yield* Effect.all([store(taken(10, [1])), remove(1)], { concurrency: "unbounded" })
    expect(yield* left).toEqual([])
  })

  it.effect("that stays keeps no words of an erased message beside its own, and its vector", () => {
    const directory = temporaryDirectory()
    const near = { neighbours: ["zanzibarquux two", "one", "three"] }
    return Effect.gen(function* () {
      const host = yield* NamespaceHost
      const texts = ["one", "zanzibarquux two", "three"]
      yield* store(...texts.map((text, at) => messageRecord(at + 1, text)), taken(11, [1, 2], near))
      yield* host.ask(key, creating([newMemory(taken(12, [3], near), axisVector(3))]))
      const found = MemorySearch.use((search) =>
        search.search([key], {
          text: "zanzibarquux",
          vectors: new Map(),
          filter: { include: "extracted" },
          limit: 9,
          minRelevance: 0
        })
      )
      expect((yield* found).hits).toHaveLength(2)
      yield* remove(2)
      expect((yield* found).hits).toEqual([])
      const all = yield* allOf(key)
      expect([11, 12].map((number) => all.get(idOf(number))?.neighbours)).toEqual([
        ["one", "three"],
        ["one", "three"]
      ])
      expect(yield* host.answer(key, { _tag: "CountWithoutVector", model: axisVector(3).model })).toBe(3)
      yield* host.maintain
      expect(filesWith(directory, "three")).not.toEqual([])
      expect(filesWith(directory, "zanzibarquux")).toEqual([])
    }).pipe(Effect.provide(engineOf(directory)))
  })

  fresh.effect("stays when its message is corrected or expires", function* () {
    const host = yield* NamespaceHost
    yield* store(messageRecord(1, "one"), messageRecord(2, "two", { expiresAt: 0 }), taken(10, [1]), taken(11, [2]))
    yield* host.ask(key, creating([replacementOf(messageRecord(1, "corrected"))]))
    yield* host.ask(key, { _tag: "Sweep" })
    expect(yield* left).toEqual([1, 10, 11])
  })
})
