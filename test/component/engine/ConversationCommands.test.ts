/**
 * An extraction commits marks of its messages, turns and a summary with its memories, and skips duplicates. Over a
 * real file.
 */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord } from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { StoreMemories } from "@muniment/engine/namespace/Commands"
import type { ConversationScope } from "@muniment/engine/store/Conversations"
import { StoreFault, StoreFull } from "@muniment/engine/store/StoreError"
import {
  allOf,
  creating,
  engineOf,
  extracting,
  memoryRecord,
  namespaceKey,
  newMemory,
  turnOf
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"
import { withEngine } from "./withEngine.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const key = namespaceKey()

const ask = (command: StoreMemories) => NamespaceHost.use((host) => host.ask(key, command))
const contextOf = (scope: ConversationScope = {}) =>
  NamespaceHost.use((host) => host.answer(key, { _tag: "Conversation", scope }))
const processedOf = (numbers: ReadonlyArray<number>, scope: ConversationScope = {}) =>
  NamespaceHost.use((host) =>
    host.answer(key, { _tag: "Processed", scope, keys: numbers.map((number) => turnOf(number).key) })
  )
const contentsOf = (scope?: ConversationScope) =>
  Effect.map(contextOf(scope), ({ turns }) => turns.map(({ content }) => content))
const texts = Effect.map(allOf(key), (all) => Array.from(all.values(), ({ data }) => data["fact"]).sort())

const nothing = { created: [], updated: [], duplicates: [] }

describe("an extraction", () => {
  fresh.effect("commits marks, turns and summary with its memories", function* () {
    const reply = yield* ask(
      extracting([1, 2], [memoryRecord(1, "Alice lives in Seattle")], { summary: "About Alice" })
    )
    expect(reply).toMatchObject({
      isStale: false,
      duplicates: [],
      created: [{ data: { fact: "Alice lives in Seattle" } }]
    })
    expect(yield* processedOf([1, 2, 3])).toEqual(new Set([turnOf(1).key, turnOf(2).key]))
    expect(yield* contextOf()).toMatchObject({ turns: [turnOf(1), turnOf(2)], summary: "About Alice" })
  })

  fresh.effect("keeps who said a turn and when", function* () {
    const turns = [{ ...turnOf(1), name: "Ines", sentAt: "2026-03-04T05:06:07Z" }, turnOf(2)]
    yield* ask(extracting([1, 2], [], { turns }))
    expect((yield* contextOf()).turns).toEqual(turns)
  })

  it.effect("commits marks, turns and summary also without memories", function* () {
    const directory = temporaryDirectory()
    yield* ask(extracting([1])).pipe(Effect.provide(engineOf(directory)))
    // Providing the engine again is a restart.
    expect((yield* processedOf([1]).pipe(Effect.provide(engineOf(directory)))).size).toBe(1)
  })

  fresh.effect("is stale and stores nothing when one of its messages was processed before", function* () {
    yield* ask(extracting([1, 2], [memoryRecord(1, "one")], { summary: "first" }))
    const late = {
      ...extracting([2, 3], [memoryRecord(2, "two")], { summary: "second" }),
      idempotency: { key: "k", fingerprint: "f" }
    }
    expect(yield* ask(late)).toEqual({ ...nothing, isStale: true })
    expect(yield* texts).toEqual(["one"])
    expect((yield* processedOf([3])).size).toBe(0)
    expect((yield* contextOf()).summary).toBe("first")
    // The refusal is not stored under the key, so the caller can retry with it.
    const again = { ...extracting([3], [memoryRecord(2, "two")]), idempotency: late.idempotency }
    expect((yield* ask(again)).created).toHaveLength(1)
  })

  withEngine("replies again under its key after a lost reply, and is not stale against itself", function* ({ probe }) {
    yield* ask(extracting([9]))
    const command = { ...extracting([1], [memoryRecord(1, "one")]), idempotency: { key: "k", fingerprint: "f" } }
    probe.failNext("commit", new StoreFault({ cause: "the power went" }), "after")
    expect((yield* Effect.flip(ask(command)))._tag).toBe("Unavailable")
    expect(yield* ask(command)).toMatchObject({
      isStale: false,
      duplicates: [],
      created: [{ id: memoryRecord(1, "").id }]
    })
    // Without the key it is a new command, which finds the message processed.
    expect(yield* ask({ ...command, idempotency: undefined })).toEqual({ ...nothing, isStale: true })
  })

  withEngine("whose commit fails leaves no mark, no turn and no memory", function* ({ probe }) {
    yield* ask(extracting([9]))
    probe.failNext("commit", new StoreFull({ cause: "no room" }))
    expect((yield* Effect.flip(ask(extracting([1], [memoryRecord(1, "one")]))))._tag).toBe("InsufficientStorage")
    expect((yield* processedOf([1])).size).toBe(0)
    expect(yield* contextOf()).toMatchObject({ turns: [turnOf(9)], summary: undefined })
    expect(yield* texts).toEqual([])
  })

  fresh.effect("that is forced processes messages again, and keeps their turns once, as the newest", function* () {
    yield* ask(extracting([1, 2, 3]))
    const reply = yield* ask(extracting([1], [memoryRecord(1, "found now")], { isForced: true }))
    expect(reply).toMatchObject({ isStale: false, created: [{}] })
    expect(yield* contentsOf()).toEqual(["message 2", "message 3", "message 1"])
  })

  fresh.effect("affects its own scope only: absent subject and thread are values of their own", function* () {
    const scopes: ReadonlyArray<ConversationScope> = [
      {},
      { subjectId: "s" },
      { threadId: "s" },
      { subjectId: "s", threadId: "t" },
      { subjectId: "s", threadId: "u" }
    ]
    for (const [at, scope] of scopes.entries()) {
      const reply = yield* ask(
        extracting([1], [], { scope, turns: [turnOf(1, `in scope ${at}`)], summary: `summary ${at}` })
      )
      expect(reply.isStale).toBe(false)
    }
    for (const [at, scope] of scopes.entries()) {
      expect(yield* contextOf(scope)).toMatchObject({ turns: [turnOf(1, `in scope ${at}`)], summary: `summary ${at}` })
      expect((yield* ask(extracting([1], [], { scope }))).isStale).toBe(true)
    }
  })

  fresh.effect(
    "keeps the newest turns of a scope, oldest first, and the old summary unless it has a new one",
    function* () {
      const most = Limits.conversationContextMax
      yield* ask(extracting([0], [], { summary: "kept" }))
      yield* ask(extracting(Array.from({ length: most + 5 }, (_, at) => at + 1)))
      yield* ask(extracting([100]))
      const expected = [...Array.from({ length: most - 1 }, (_, at) => `message ${at + 7}`), "message 100"]
      expect(yield* contentsOf()).toEqual(expected)
      expect((yield* contextOf()).summary).toBe("kept")
      expect((yield* processedOf([0, 1, 2])).size).toBe(3)
    }
  )

  fresh.effect("returns no expired turn or summary, and still knows the processed messages", function* () {
    yield* ask(extracting([1], [], { summary: "brief", expiresAt: 50 }))
    yield* ask(extracting([2]))
    expect(yield* contextOf()).toMatchObject({ turns: [turnOf(1), turnOf(2)], summary: "brief" })
    yield* TestClock.adjust(50)
    expect(yield* contextOf()).toMatchObject({ turns: [turnOf(2)], summary: undefined })
    expect((yield* processedOf([1])).size).toBe(1)
  })
})

describe("of two extractions in one group", () => {
  const both = (left: StoreMemories, right: StoreMemories) =>
    NamespaceHost.use((host) => Effect.all([host.ask(key, left), host.ask(key, right)], { concurrency: "unbounded" }))

  withEngine("with a message in common, one is stale", function* ({ probe }) {
    const replies = yield* both(
      extracting([1, 2], [memoryRecord(1, "by the first")]),
      extracting([2, 3], [memoryRecord(2, "by the second")])
    )
    expect(replies.map(({ isStale }) => isStale)).toEqual([false, true])
    expect(yield* texts).toEqual(["by the first"])
    expect(probe.count("commit")).toBe(1)
  })

  fresh.effect("that found the same, the second reports it as a duplicate", function* () {
    const [first, second] = yield* both(
      extracting([1], [memoryRecord(1, "the same")]),
      extracting([2], [memoryRecord(2, "the same")])
    )
    expect(first.duplicates).toEqual([])
    expect(second).toEqual({ ...nothing, duplicates: [{ index: 0, id: memoryRecord(1, "").id }], isStale: false })
  })

  fresh.effect("a removal of everything between them makes the second one fresh again", function* () {
    const host = yield* NamespaceHost
    yield* host.ask(key, extracting([1], [memoryRecord(1, "gone")]))
    const [, second] = yield* Effect.all(
      [
        host.ask(key, { _tag: "RemoveMatching", filter: {} }),
        host.ask(key, extracting([1], [memoryRecord(2, "gone")]))
      ],
      { concurrency: "unbounded" }
    )
    expect(second).toMatchObject({ isStale: false, duplicates: [], created: [{ id: memoryRecord(2, "").id }] })
    expect((yield* processedOf([1])).size).toBe(1)
  })
})

describe("skipping duplicates", () => {
  const skipping = (...records: ReadonlyArray<MemoryRecord>): StoreMemories => ({
    ...creating(records.map((record) => newMemory(record))),
    skipsDuplicates: true
  })

  fresh.effect("leaves out a memory that is stored or repeated, and names the stored one", function* () {
    yield* ask(skipping(memoryRecord(1, "old")))
    const reply = yield* ask(skipping(memoryRecord(2, "new"), memoryRecord(3, "old"), memoryRecord(4, "new")))
    expect(reply.created.map(({ id }) => id)).toEqual([memoryRecord(2, "").id])
    expect(reply.duplicates).toEqual([
      { index: 1, id: memoryRecord(1, "").id },
      { index: 2, id: memoryRecord(2, "").id }
    ])
  })

  fresh.effect("is not the default", function* () {
    yield* ask(creating([newMemory(memoryRecord(1, "same")), newMemory(memoryRecord(2, "same"))]))
    expect(yield* texts).toEqual(["same", "same"])
  })

  fresh.effect("compares memories of the same kind and subject only; no subject is a subject of its own", function* () {
    const { contentHash } = memoryRecord(1, "same")
    const reply = yield* ask(
      skipping(
        memoryRecord(1, "same"),
        memoryRecord(2, "same", { subjectId: "a" }),
        memoryRecord(3, "same", { subjectId: "b" }),
        memoryRecord(4, "same", { kind: "preference", contentHash })
      )
    )
    expect(reply.created).toHaveLength(4)
    const again = yield* ask(skipping(memoryRecord(5, "same", { subjectId: "b" })))
    expect(again.duplicates).toEqual([{ index: 0, id: memoryRecord(3, "").id }])
  })

  fresh.effect("ignores memories that have expired or are removed in the same group", function* () {
    const host = yield* NamespaceHost
    yield* ask(skipping(memoryRecord(1, "brief", { expiresAt: 50 }), memoryRecord(2, "removed")))
    yield* TestClock.adjust(50)
    const remove = host.ask(key, { _tag: "RemoveMemories", ids: [memoryRecord(2, "").id], idempotency: undefined })
    const create = ask(skipping(memoryRecord(3, "brief"), memoryRecord(4, "removed")))
    const [, reply] = yield* Effect.all([remove, create], { concurrency: "unbounded" })
    expect(reply.duplicates).toEqual([])
  })

  fresh.effect(
    "compares with the latest version of a unique key: superseded content may be stored again",
    function* () {
      const version = (number: number, text: string) => skipping(memoryRecord(number, text, { uniqueKey: "k" }))
      yield* ask(version(1, "Seattle"))
      expect((yield* ask(version(2, "Seattle"))).duplicates).toHaveLength(1)
      // In one group: the second move is planned before the first is committed.
      const replies = yield* Effect.all(
        [ask(version(3, "Boston")), ask(version(4, "Seattle")), ask(version(5, "Seattle"))],
        { concurrency: "unbounded" }
      )
      expect(replies.map(({ duplicates }) => duplicates)).toEqual([[], [], [{ index: 0, id: memoryRecord(4, "").id }]])
      expect((yield* ask(version(6, "Boston"))).duplicates).toEqual([])
    }
  )

  fresh.effect("compares with the older version when the newer one is removed in the same group", function* () {
    const host = yield* NamespaceHost
    yield* ask(skipping(memoryRecord(1, "Seattle", { uniqueKey: "k" })))
    yield* ask(skipping(memoryRecord(2, "Boston", { uniqueKey: "k" })))
    const remove = host.ask(key, { _tag: "RemoveMemories", ids: [memoryRecord(2, "").id], idempotency: undefined })
    const create = ask(skipping(memoryRecord(3, "Seattle", { uniqueKey: "k" })))
    const [, reply] = yield* Effect.all([remove, create], { concurrency: "unbounded" })
    expect(reply.duplicates).toEqual([{ index: 0, id: memoryRecord(1, "").id }])
  })

  fresh.effect("replies the same under the same idempotency key", function* () {
    yield* ask(skipping(memoryRecord(1, "old")))
    const command = {
      ...extracting([1], [memoryRecord(2, "old"), memoryRecord(3, "new")]),
      idempotency: { key: "k", fingerprint: "f" }
    }
    const first = yield* ask(command)
    expect(first.duplicates).toEqual([{ index: 0, id: memoryRecord(1, "").id }])
    expect(yield* ask(command)).toEqual(first)
    expect((yield* allOf(key)).size).toBe(2)
  })
})
