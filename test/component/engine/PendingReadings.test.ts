/** Extractions that are to follow a commit of messages: kept with it, ended by the commit that carries them out. */
import { describe, expect } from "vitest"
import { Effect } from "effect"
import type { ConversationCommit } from "@muniment/engine/namespace/Commands"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { PendingReading } from "@muniment/engine/store/Conversations"
import {
  engineOf,
  extracting,
  memoryRecord,
  messageRecord,
  namespaceKey,
  turnOf
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const key = namespaceKey()

const readingOf = (number: number, fields: Partial<PendingReading> = {}): PendingReading => ({
  id: `reading ${number}`,
  messages: [{ key: turnOf(number).key, readKey: turnOf(number).key }],
  kinds: undefined,
  conversationDate: "2026-01-02",
  expiresAt: undefined,
  ...fields
})

/** Stores message `number` and awaits its extraction. */
const storing = (number: number, reading = readingOf(number), conversation: Partial<ConversationCommit> = {}) => {
  const scope = conversation.scope ?? {}
  const message = messageRecord(number, `text ${number}`, scope)
  return ask(extracting([], [message], { isForced: true, awaits: reading, ...conversation }))
}
const ask = (command: Parameters<NamespaceHost["Service"]["ask"]>[1]) =>
  NamespaceHost.use((host) => host.ask(key, command))
const pending = NamespaceHost.use((host) => host.answer(key, { _tag: "PendingReadings", limit: 10 }))

describe("an extraction that is to follow", () => {
  it.effect("is there when the file is opened again, oldest first, and once", function* () {
    const directory = temporaryDirectory()
    const named = readingOf(2, { kinds: ["home"], expiresAt: 4e12 })
    const instructed = [undefined, ["home"]].map((kinds, at) =>
      readingOf(3 + at, { kinds, instructions: "Only diets." })
    )
    yield* Effect.gen(function* () {
      yield* storing(1)
      yield* storing(2, named, { scope: { subjectId: "s", threadId: "t" } })
      for (const [at, reading] of instructed.entries()) yield* storing(3 + at, reading)
      yield* storing(1)
    }).pipe(Effect.provide(engineOf(directory)))
    expect(yield* Effect.provide(pending, engineOf(directory))).toEqual([
      { ...readingOf(1), scope: {}, place: 1 },
      { ...named, scope: { subjectId: "s", threadId: "t" }, place: 2 },
      ...instructed.map((reading, at) => ({ ...reading, scope: {}, place: 3 + at }))
    ])
  })

  fresh.effect("ends with the commit that reads it, and with its conversation", function* () {
    yield* storing(1)
    yield* storing(2)
    yield* storing(3, readingOf(3), { scope: { threadId: "t" } })
    yield* ask(extracting([1], [memoryRecord(9, "read")], { reads: "reading 1" }))
    expect((yield* pending).map(({ id }) => id)).toEqual(["reading 2", "reading 3"])
    yield* ask({ _tag: "RemoveMatching", filter: { threadId: "t" } })
    expect((yield* pending).map(({ id }) => id)).toEqual(["reading 2"])
  })

  fresh.effect("is counted, with the time of the first message that waits, and read behind a place", function* () {
    const count = NamespaceHost.use((host) => host.answer(key, { _tag: "Pending" }))
    yield* ask(extracting([], [memoryRecord(9, "a file")]))
    expect(yield* count).toEqual({ count: 0, sinceMillis: undefined })
    yield* storing(1)
    yield* storing(2)
    const { createdAt } = messageRecord(1, "text 1")
    expect(yield* count).toEqual({ count: 2, sinceMillis: createdAt })
    const [first] = yield* pending
    const later = NamespaceHost.use((host) =>
      host.answer(key, { _tag: "PendingReadings", limit: 10, after: first?.place })
    )
    expect((yield* later).map(({ id }) => id)).toEqual(["reading 2"])
  })

  fresh.effect("of messages that are read again comes last, and has no age", function* () {
    const again = [1, 2].map((number) => readingOf(number, { id: `again ${number}` }))
    for (const [at, reading] of again.entries()) yield* storing(at + 1, reading)
    const count = NamespaceHost.use((host) => host.answer(key, { _tag: "Pending" }))
    expect(yield* count).toEqual({ count: 2, sinceMillis: undefined })
    yield* storing(3)
    const all = yield* pending
    expect(all.map(({ id }) => id)).toEqual(["reading 3", "again 1", "again 2"])
    const later = NamespaceHost.use((host) =>
      host.answer(key, { _tag: "PendingReadings", limit: 10, after: all[1]!.place })
    )
    expect((yield* later).map(({ id }) => id)).toEqual(["again 2"])
    yield* ask(extracting([1], [memoryRecord(9, "read")], { reads: "again 1" }))
    expect((yield* pending).map(({ id }) => id)).toEqual(["reading 3", "again 2"])
  })

  fresh.effect("stays when the commit is stale, because others read the message first", function* () {
    yield* storing(1)
    yield* ask(extracting([1]))
    yield* ask(extracting([1], [memoryRecord(9, "again")], { reads: "reading 1" }))
    expect(yield* pending).toHaveLength(1)
  })
})
