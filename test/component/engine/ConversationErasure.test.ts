/**
 * Erasure of conversations: turns, summaries and marks are removed with the memories taken from them, and after one
 * round of housekeeping no file of the namespace holds a byte of them.
 */
import { describe, expect } from "vitest"
import { copyFileSync, existsSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { Command, ConversationCommit } from "@muniment/engine/namespace/Commands"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { ConversationScope } from "@muniment/engine/store/Conversations"
import {
  engineOf,
  extracting,
  memoryRecord,
  messageRecord,
  namespaceKey,
  newMemory,
  replacementOf,
  turnOf,
  untilLater
} from "../../support/EngineFixtures.ts"
import { filesWith } from "../../support/filesWith.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"
import { withEngine } from "./withEngine.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const key = namespaceKey()
const secret = "zanzibarquux"
/** The key of a message, in hex. */
const secretMark = "0a7e3f11c4"
const secretTurn = { ...turnOf(1, `they said ${secret}`), key: secretMark }
const scope = { subjectId: "s", threadId: "t" }
const id = memoryRecord(1, "").id

const asking = (command: Command) => NamespaceHost.use((host) => host.ask(key, command))
const contextOf = (of: ConversationScope) =>
  NamespaceHost.use((host) => host.answer(key, { _tag: "Conversation", scope: of }))
const isMarked = (of: ConversationScope) =>
  NamespaceHost.use((host) =>
    Effect.map(host.answer(key, { _tag: "Processed", scope: of, keys: [secretMark] }), (found) => found.size > 0)
  )
const maintain = NamespaceHost.use((host) => host.maintain)

/** One memory taken from the secret turn; `ordinary` words stay in another conversation. */
const talk = Effect.fnUntraced(function* (conversation: Partial<ConversationCommit> = {}, expiresAt?: number) {
  const { subjectId, threadId } = conversation.scope ?? scope
  const record = memoryRecord(1, "a fact", {
    subjectId,
    threadId,
    expiresAt,
    origin: "extraction",
    sources: [{ key: secretMark, id: "m1" }]
  })
  const turns = [turnOf(2, "hello"), secretTurn]
  yield* asking(
    extracting([2], [record], {
      scope,
      turns,
      processed: [secretMark],
      summary: `once about ${secret}`,
      ...conversation
    })
  )
  yield* asking(
    extracting([3], [], { scope: { subjectId: "other" }, turns: [turnOf(3, "ordinary")], summary: "ordinary" })
  )
})

const expectErased = (directory: string, ...needles: ReadonlyArray<string>) => {
  expect(filesWith(directory, "ordinary")).not.toEqual([])
  for (const needle of needles) expect(filesWith(directory, needle)).toEqual([])
}

describe("the removal of a memory erases the turns it was taken from, and the summary", () => {
  const ways: ReadonlyArray<readonly [string, Command]> = [
    ["by id", { _tag: "RemoveMemories", ids: [id], idempotency: undefined }],
    ["by a filter", { _tag: "RemoveMatching", filter: { kind: "factual_memory" } }],
    ["by age", { _tag: "RemoveCreatedBefore", beforeMillis: 1_002 }]
  ]
  for (const [way, command] of ways) {
    it.effect(`when it is removed ${way}`, () => {
      const directory = temporaryDirectory()
      return Effect.gen(function* () {
        yield* TestClock.adjust(5_000)
        yield* talk()
        expect(filesWith(directory, secret)).not.toEqual([])
        expect(yield* asking(command)).toBe(1)
        expect(yield* contextOf(scope)).toMatchObject({ turns: [turnOf(2, "hello")], summary: undefined })
        expect((yield* contextOf({ subjectId: "other" })).summary).toBe("ordinary")
        // The message stays marked as processed: it is not read again.
        expect(yield* isMarked(scope)).toBe(true)
        yield* maintain
        expectErased(directory, secret)
      }).pipe(Effect.provide(engineOf(directory)))
    })
  }

  withEngine("when it has expired and is swept", function* ({ directory }) {
    yield* talk({}, 30_000)
    yield* TestClock.adjust(Limits.expirySweepMillis)
    yield* maintain
    expectErased(directory, secret)
  })

  withEngine("when it moves to another thread", function* ({ directory }) {
    yield* talk()
    const same = memoryRecord(1, "corrected", { subjectId: "s", threadId: "t" })
    const replace = (record: typeof same) =>
      asking({ _tag: "StoreMemories", memories: [replacementOf(record)], idempotency: undefined })
    yield* replace(same)
    expect((yield* contextOf(scope)).turns).toHaveLength(2)
    yield* replace({ ...same, threadId: "u" })
    expect((yield* contextOf(scope)).turns).toEqual([turnOf(2, "hello")])
    yield* maintain
    expectErased(directory, secret)
  })
})

describe("an extraction that was shown memories", () => {
  const shown = [{ id, contentHash: memoryRecord(1, "a fact").contentHash }]
  const isStored = asking(extracting([9], [memoryRecord(9, "carried on")], { shown }))
  const ways: ReadonlyArray<readonly [string, Command]> = [
    ["is erased", { _tag: "RemoveMemories", ids: [id], idempotency: undefined }],
    [
      "is corrected",
      {
        _tag: "StoreMemories",
        memories: [replacementOf(memoryRecord(1, "corrected", { subjectId: "s" }))],
        idempotency: undefined
      }
    ]
  ]
  for (const [way, command] of ways) {
    fresh.effect(`stores nothing once one of them ${way}`, function* () {
      yield* talk()
      yield* asking(command)
      expect(yield* isStored).toMatchObject({ isStale: true, created: [] })
    })
  }

  fresh.effect("stores nothing in the place of one that another version has replaced", function* () {
    const first = memoryRecord(1, "a fact", { uniqueKey: "one" })
    yield* asking(extracting([1], [first]))
    const newer = memoryRecord(9, "carried on", { uniqueKey: "one" })
    const replacing = { shown: [{ id, contentHash: first.contentHash, isReplaced: true }] }
    yield* asking(extracting([2], [memoryRecord(2, "by a caller", { uniqueKey: "one" })]))
    expect(yield* asking(extracting([9], [newer], replacing))).toMatchObject({ isStale: true, created: [] })
  })

  fresh.effect("stores what it found while they are there, superseded ones too", function* () {
    const first = memoryRecord(1, "a fact", { uniqueKey: "one" })
    yield* asking(extracting([1], [first]))
    yield* asking(extracting([2], [memoryRecord(2, "another", { uniqueKey: "one" })]))
    expect(yield* isStored).toMatchObject({ isStale: false, created: [{ id: memoryRecord(9, "").id }] })
  })
})

it.effect(
  "a message that is not to be kept goes with its turn, the summary, and what was taken from it alone, whether it is stored or not",
  () => {
    const directory = temporaryDirectory()
    return Effect.gen(function* () {
      const both = memoryRecord(4, "of two messages", {
        ...scope,
        origin: "extraction",
        sources: [{ key: secretMark }, { key: turnOf(2).key }],
        neighbours: [secretTurn.content, turnOf(2).content]
      })
      for (const isMessageStored of [false, true]) {
        if (isMessageStored) {
          const record = messageRecord(7, secret, { ...scope, sources: [{ key: secretMark }] })
          yield* asking(extracting([], [record], { scope, isForced: true }))
        }
        yield* talk({ isForced: true })
        if (!isMessageStored) yield* asking(extracting([], [both], { scope }))
        const commit = { scope, withheld: [secretMark], isForced: true, summary: "without it" }
        yield* asking(extracting([5], [], commit))
        expect(yield* contextOf(scope)).toMatchObject({
          turns: [{ content: "hello" }, { content: turnOf(5).content }],
          summary: "without it"
        })
        const keys = [secretMark, turnOf(2).key]
        const left = yield* NamespaceHost.use((host) =>
          host.answer(key, { _tag: "ExtractedFrom", scope, keys, limit: 10 })
        )
        expect(left).toMatchObject([{ id: both.id, neighbours: [turnOf(2).content] }])
        yield* maintain
        expectErased(directory, secret)
      }
    }).pipe(Effect.provide(engineOf(directory)))
  }
)

describe("a removal of a whole subject, thread or agent", () => {
  const filters: ReadonlyArray<MemoryFilter> = [
    {},
    { agentId: "agent" },
    { subjectId: "s" },
    { threadId: "t" },
    { subjectId: "s", threadId: "t", includeSuperseded: true }
  ]
  for (const filter of filters) {
    it.effect(`forgets its turns, marks and summaries: ${JSON.stringify(filter)}`, () => {
      const directory = temporaryDirectory()
      return Effect.gen(function* () {
        yield* talk()
        yield* asking({ _tag: "RemoveMatching", filter })
        expect(yield* contextOf(scope)).toMatchObject({ turns: [], summary: undefined })
        expect(yield* isMarked(scope)).toBe(false)
        yield* asking(extracting([9], [memoryRecord(9, "ordinary")]))
        yield* maintain
        expectErased(directory, secret, secretMark)
      }).pipe(Effect.provide(engineOf(directory)))
    })
  }

  withEngine("works without a memory, and commits nothing when there is nothing to erase", function* ({ probe }) {
    yield* asking(extracting([1], [], { scope, summary: "about it" }))
    const forget = asking({ _tag: "RemoveMatching", filter: { subjectId: "s" } })
    expect(yield* forget).toBe(0)
    expect(yield* contextOf(scope)).toMatchObject({ turns: [], summary: undefined })
    const commits = probe.count("commit")
    expect(yield* forget).toBe(0)
    expect(probe.count("commit")).toBe(commits)
  })

  fresh.effect("keeps conversations when its filter selects some of the memories", function* () {
    yield* asking(extracting([1], [], { scope }))
    for (const filter of [
      { kind: "factual_memory" },
      { tags: ["x"] },
      { eventFrom: 0 },
      { anyOf: [{}] },
      { subjectId: "x" }
    ])
      yield* asking({ _tag: "RemoveMatching", filter })
    expect((yield* contextOf(scope)).turns).toHaveLength(1)
  })
})

describe("turns and summaries", () => {
  fresh.effect("older than the bound are removed, with every summary that may repeat them", function* () {
    yield* TestClock.adjust(100)
    yield* asking(extracting([1], [], { scope }))
    yield* asking(extracting([3], [], { scope: { subjectId: "quiet" }, turns: [], summary: "old" }))
    yield* TestClock.adjust(100)
    yield* asking(extracting([2], [], { scope, summary: "new, of old and new" }))
    yield* asking(extracting([4], [], { scope: { subjectId: "late" }, summary: "new" }))
    expect(yield* asking({ _tag: "RemoveCreatedBefore", beforeMillis: 200 })).toBe(0)
    expect(yield* contextOf(scope)).toMatchObject({ turns: [turnOf(2)], summary: undefined })
    expect(yield* contextOf({ subjectId: "quiet" })).toMatchObject({ turns: [], summary: undefined })
    expect(yield* contextOf({ subjectId: "late" })).toMatchObject({ turns: [turnOf(4)], summary: "new" })
  })

  withEngine("past their expiry leave the file with the next housekeeping", function* ({ directory }) {
    yield* talk({ expiresAt: 30_000 })
    yield* TestClock.adjust(Limits.expirySweepMillis)
    yield* maintain
    expectErased(directory, secret)
  })

  withEngine("past their expiry also leave a file that was closed meanwhile", function* ({ directory }) {
    yield* talk({ expiresAt: Limits.namespaceIdleMillis * 2 })
    yield* TestClock.adjust(Limits.namespaceIdleMillis + 2 * Limits.expirySweepMillis)
    yield* untilLater(
      NamespaceHost.use((host) => host.status),
      ({ open }) => open === 0
    )
    expect(filesWith(directory, secret)).not.toEqual([])
    yield* TestClock.adjust(Limits.namespaceIdleMillis + Limits.expirySweepMillis)
    yield* maintain
    expectErased(directory, secret)
  })

  withEngine("that newer ones pushed out leave no trace", function* ({ directory }) {
    yield* talk()
    const numbers = Array.from({ length: Limits.conversationContextMax }, (_, at) => at + 100)
    yield* asking(extracting(numbers, [], { scope, summary: "about something else" }))
    yield* maintain
    expectErased(directory, secret)
  })
})

withEngine("the neighbouring texts of a memory leave the file with it", function* ({ directory }) {
  const record = memoryRecord(1, "a fact", { neighbours: [`before it: ${secret}`] })
  yield* asking({
    _tag: "StoreMemories",
    memories: [newMemory(record), newMemory(memoryRecord(2, "ordinary"))],
    idempotency: undefined
  })
  expect(filesWith(directory, secret)).not.toEqual([])
  yield* asking({ _tag: "RemoveMemories", ids: [id], idempotency: undefined })
  yield* maintain
  expectErased(directory, secret)
})

describe("the copy of a file before a migration", () => {
  it.effect("is deleted before the first erasure, and not earlier", function* () {
    const directory = temporaryDirectory()
    const copy = join(directory, "namespaces", `${key.tag}.db.before-migration.v1`)
    yield* talk().pipe(Effect.provide(engineOf(directory)))
    copyFileSync(join(directory, "namespaces", `${key.tag}.db`), copy)
    yield* Effect.gen(function* () {
      yield* asking(extracting([7]))
      expect(existsSync(copy)).toBe(true)
      yield* asking({ _tag: "RemoveMemories", ids: [id], idempotency: undefined })
      expect(existsSync(copy)).toBe(false)
      yield* maintain
      expectErased(directory, secret)
    }).pipe(Effect.provide(engineOf(directory)))
  })

  const copiedAfter = (erasure: Effect.Effect<unknown, unknown, NamespaceHost>, expiresAt?: number) => {
    const directory = temporaryDirectory()
    const copy = join(directory, "namespaces", `${key.tag}.db.before-migration.v1`)
    return Effect.gen(function* () {
      // A conversation that gave no memory: its turn and its summary only.
      const spoken = extracting([1], [], { scope, turns: [secretTurn], summary: `about ${secret}`, expiresAt })
      yield* asking(spoken).pipe(Effect.provide(engineOf(directory)))
      copyFileSync(join(directory, "namespaces", `${key.tag}.db`), copy)
      yield* Effect.gen(function* () {
        yield* asking(extracting([7]))
        expect(existsSync(copy)).toBe(true)
        yield* erasure
        yield* maintain
        expect(existsSync(copy)).toBe(false)
      }).pipe(Effect.provide(engineOf(directory)))
    })
  }
  it.effect("is deleted when a conversation without memories is forgotten", () =>
    copiedAfter(asking({ _tag: "RemoveMatching", filter: { subjectId: "s" } }))
  )
  it.effect("is deleted when turns expire", () => copiedAfter(TestClock.adjust(Limits.expirySweepMillis), 30_000))
})
