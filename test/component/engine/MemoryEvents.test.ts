/**
 * Events of an agent's memories: each change once and in order, resumable, kept within bounds, the same after the file
 * was made again from the log, and never with a name that is erased.
 */
import { describe, expect } from "vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { type EventPage, NamespaceStore, subjectDigest } from "@muniment/engine/store/NamespaceStore"
import { Database } from "@muniment/sqlite/Database"
import {
  axisVector,
  creating,
  engineOf,
  exactOnly,
  memoryRecord,
  namespaceKey,
  newMemory,
  replacementOf
} from "../../support/EngineFixtures.ts"
import { logFirst } from "../../support/SharedLog.ts"
import { removeSums } from "../../support/earlierFiles.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"

const key = namespaceKey()
const logged = (directory: string) =>
  MemorySearch.layer.pipe(
    Layer.provideMerge(NamespaceHost.layer({ dataDirectory: directory, index: exactOnly })),
    Layer.provide(logFirst(directory)),
    Layer.fresh
  )

const eventsAfter = (after: number, limit = 100) =>
  NamespaceHost.use((host) => host.answer(key, { _tag: "Events", after, limit }))
const told = ({ events }: EventPage) =>
  events.map(({ id, supersededBy, type }) =>
    [type, Number(id.slice(4)), ...(supersededBy === undefined ? [] : [Number(supersededBy.slice(4))])].join(" ")
  )
const idOf = (number: number) => memoryRecord(number, "").id

/** One of each: creation, supersession, replacement, patch, removal, expiry. */
const everyChange = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const home = { subjectId: "ann", uniqueKey: "home" }
  const asked = [memoryRecord(1, "Rome", home), memoryRecord(2, "Oslo", { threadId: "t" })]
  yield* host.ask(key, creating(asked.map((record) => newMemory(record, axisVector(1)))))
  yield* host.ask(key, creating([newMemory(memoryRecord(3, "Bonn", home)), newMemory(memoryRecord(4, "Kyiv", home))]))
  yield* host.ask(key, creating([replacementOf(memoryRecord(2, "Turku", { threadId: "t" }))]))
  const patch = { tags: ["city"] }
  yield* host.ask(key, { _tag: "PatchMemories", ids: [idOf(1)], patch, atMillis: 9, idempotency: undefined })
  yield* host.ask(key, { _tag: "RemoveMemories", ids: [idOf(4)], idempotency: undefined })
  yield* host.ask(key, creating([newMemory(memoryRecord(5, "Lima", { ...home, expiresAt: 9_000 }))]))
  yield* TestClock.adjust(9_000)
  yield* host.ask(key, { _tag: "Sweep" })
})
const everyEvent = [
  "created 1",
  "created 2",
  "created 3",
  "superseded 1 3",
  "created 4",
  "superseded 3 4",
  "updated 2",
  "updated 1",
  "deleted 4",
  "created 5",
  "superseded 3 5",
  "deleted 5"
]

for (const [name, engine] of [
  ["in the file", engineOf],
  ["behind the log", logged]
] as const) {
  describe(`events of an agent ${name}`, () => {
    const fresh = itWith(() => engine(temporaryDirectory()))

    fresh.effect("tell each change once, in order, and from any number on", function* () {
      yield* everyChange
      const all = yield* eventsAfter(-1)
      expect(told(all)).toEqual(everyEvent)
      expect(all.events.map(({ at }) => at)).toEqual(
        all.events.map(({ type, id }) => (type === "deleted" && id === idOf(5) ? 9_000 : 0))
      )
      for (const [at, { number }] of all.events.entries()) {
        const rest = yield* eventsAfter(number)
        expect(told(rest)).toEqual(everyEvent.slice(at + 1))
      }
      const page = yield* eventsAfter(-1, 5)
      expect(told(page)).toEqual(everyEvent.slice(0, 5))
      expect(told(yield* eventsAfter(page.through))).toEqual(everyEvent.slice(5))
      expect(yield* eventsAfter(all.through)).toMatchObject({ events: [], through: all.through, floor: 0 })
    })

    it.effect("come from the file of a closed agent, which stays closed and is made for none", () => {
      const directory = temporaryDirectory()
      return Effect.gen(function* () {
        const host = yield* NamespaceHost
        yield* everyChange
        const [whole, some] = [yield* eventsAfter(-1), yield* eventsAfter(5, 3)]
        yield* host.close(key)
        expect(yield* eventsAfter(-1)).toEqual(whole)
        expect(yield* eventsAfter(5, 3)).toEqual(some)
        const unwritten = namespaceKey("unwritten")
        const none = yield* host.answer(unwritten, { _tag: "Events", after: -1, limit: 1 })
        expect(none).toEqual({ events: [], through: 1, floor: 0, born: 0 })
        expect(yield* host.files([unwritten.tag])).toEqual([])
        expect((yield* host.status).open).toBe(0)
      }).pipe(Effect.provide(engine(directory)))
    })

    fresh.effect("of an agent that is open do not keep it open", function* () {
      const host = yield* NamespaceHost
      yield* everyChange
      yield* TestClock.adjust(Limits.namespaceIdleMillis)
      yield* eventsAfter(-1)
      yield* TestClock.adjust(1)
      yield* host.maintain
      expect((yield* host.status).open).toBe(0)
    })

    it.effect("name the subject and the thread of what is there, and neither of what is gone", () => {
      const directory = temporaryDirectory()
      return Effect.gen(function* () {
        yield* everyChange
        const { events } = yield* eventsAfter(-1)
        expect(events[0]).toMatchObject({ subjectId: "ann", threadId: undefined, kind: "factual_memory" })
        expect(events[1]).toMatchObject({ subjectId: undefined, threadId: "t", subject: undefined })
        const ofRemoved = events.filter(({ id }) => id === idOf(4))
        expect(ofRemoved).toHaveLength(2)
        for (const event of ofRemoved)
          expect(event).toMatchObject({ subjectId: undefined, subject: subjectDigest("ann") })
        yield* NamespaceHost.use((host) =>
          host.removeAll(key, { _tag: "RemoveMatching", filter: { subjectId: "ann" } })
        )
        const later = yield* eventsAfter(-1)
        expect(later.events.every(({ subjectId }) => subjectId === undefined)).toBe(true)
        yield* NamespaceHost.use((host) => host.maintain)
        expect(readFileSync(join(directory, "namespaces", `${key.tag}.db`)).includes("ann")).toBe(false)
      }).pipe(Effect.provide(engine(directory)))
    })

    it.effect("are kept for a while, and the floor says what is gone", function* () {
      const directory = temporaryDirectory()
      const old = yield* Effect.andThen(everyChange, eventsAfter(-1)).pipe(Effect.provide(engine(directory)))
      // Nothing runs meanwhile: every minute of a host that does would be carried out.
      yield* TestClock.adjust(Limits.eventsKeptMillis)
      yield* Effect.gen(function* () {
        const host = yield* NamespaceHost
        yield* host.ask(key, creating([newMemory(memoryRecord(7, "Quito"))]))
        yield* TestClock.adjust(1_000)
        yield* host.maintain
        const left = yield* eventsAfter(-1)
        expect(told(left)).toEqual(["created 7"])
        expect(left).toMatchObject({ floor: old.events.at(-1)!.number, born: old.born })
      }).pipe(Effect.provide(engine(directory)))
    })
  })
}

describe("the events of a file", () => {
  it.effect("are those of the last changes alone, however many there were", () => {
    const store = logFirst(temporaryDirectory())
    return Effect.scoped(
      Effect.gen(function* () {
        const file = yield* (yield* NamespaceStore).open(key)
        let seq = 0
        for (let at = 0; at < 30; at++) {
          const changes = Array.from({ length: 100 }, (_, one) => {
            const record = memoryRecord(at * 100 + one, "narwhal")
            const columns = { main: [], subject: [], neighbours: [], when: [], tags: [] }
            return { _tag: "Put", slot: at * 100 + one, record, columns, vector: undefined } as const
          })
          seq = yield* file.commit(seq, [{ changes, idempotency: undefined }], 1_000 + at)
        }
        yield* file.whole((all) => all.forgetEvents(0, 250))
        const { events, floor } = yield* file.whole((all) => all.events(-1, 10_000))
        expect(events).toHaveLength(250)
        expect(events[0]!.number).toBe(2 * (3_000 - 249))
        expect(floor).toBe(2 * (3_000 - 250))
        yield* file.whole((all) => all.forgetEvents(0, 250))
        expect((yield* file.whole((all) => all.events(-1, 10_000))).events).toEqual(events)
      })
    ).pipe(Effect.provide(store))
  })

  it.effect("are the same when the file is made again from the log, and a check finds no fault", function* () {
    const directory = temporaryDirectory()
    yield* Effect.gen(function* () {
      const host = yield* NamespaceHost
      // Nothing that erases: the log would lose it, and could not make the file again.
      yield* host.ask(key, creating([newMemory(memoryRecord(1, "Rome", { uniqueKey: "home" }), axisVector(1))]))
      yield* host.ask(key, creating([newMemory(memoryRecord(3, "Bonn", { uniqueKey: "home" }))], "token"))
    }).pipe(Effect.provide(logged(directory)))
    const before = yield* Effect.provide(eventsAfter(-1), logged(directory))
    expect(told(before)).toEqual(["created 1", "created 3", "superseded 1 3"])
    const made = yield* NamespaceStore.use((store) =>
      Effect.all([store.check(key, () => Effect.void), store.remake(key)])
    ).pipe(Effect.provide(logFirst(directory)), Effect.scoped)
    expect(made).toEqual([expect.objectContaining({ faults: [] }), true])
    expect(yield* Effect.provide(eventsAfter(-1), logged(directory))).toEqual(before)
  })

  it.effect("begin with the first change after an earlier release", function* () {
    const directory = temporaryDirectory()
    yield* Effect.provide(everyChange, engineOf(directory))
    const database = new Database({ filename: join(directory, "namespaces", `${key.tag}.db`) })
    removeSums(database)
    database.exec("PRAGMA user_version=9")
    database.close()
    const later = yield* Effect.gen(function* () {
      const migrated = yield* eventsAfter(-1)
      expect(migrated).toMatchObject({ events: [], born: 0 })
      expect(migrated.floor).toBe(migrated.through)
      yield* NamespaceHost.use((host) => host.ask(key, creating([newMemory(memoryRecord(7, "Quito"))])))
      return yield* eventsAfter(migrated.through)
    }).pipe(Effect.provide(engineOf(directory)))
    expect(told(later)).toEqual(["created 7"])
  })
})
