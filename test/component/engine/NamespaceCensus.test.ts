/**
 * Census of a namespace and removals of the daily job (contract: Plans and the daily job): what counts at a moment, what a
 * census may touch, and that removed memories leave all parts of the image at once.
 */
import { describe, expect } from "vitest"
import { cpSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Limits } from "@muniment/domain/Limits"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { type NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { StoreFull } from "@muniment/engine/store/StoreError"
import {
  allOf,
  axisVector,
  creating,
  engineOf,
  extracting,
  memoryRecord,
  namespaceKey,
  newMemory,
  StoreProbe
} from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"
import { withEngine } from "./withEngine.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const key = namespaceKey()

/** Record `number` is created at that millisecond. */
const created = (number: number, fields: Parameters<typeof memoryRecord>[2] = {}) =>
  newMemory(memoryRecord(number, `fact ${number}`, { createdAt: number, ...fields }), axisVector(number))

const store = (memories: ReturnType<typeof created>[], to: NamespaceKey = key) =>
  NamespaceHost.use((host) =>
    Effect.gen(function* () {
      const most = Limits.memoriesPerRequestMax
      for (let at = 0; at < memories.length; at += most) {
        yield* host.ask(to, creating(memories.slice(at, at + most)))
      }
    })
  )
const census = (atMillis: number, createdBefore: number, of: NamespaceKey = key) =>
  NamespaceHost.use((host) => host.census(of, { atMillis, createdBefore }))

describe("a census", () => {
  fresh.effect("counts the rows of a moment: no later ones, none past their expiry, every version", function* () {
    yield* store([
      created(1, { uniqueKey: "k" }),
      created(2, { uniqueKey: "k" }),
      created(3, { expiresAt: 50 }),
      created(4, { expiresAt: 51 }),
      created(50),
      created(51)
    ])
    expect(yield* census(50, 2)).toMatchObject({ live: 4, liveBefore: 1, expired: 1 })
    expect(yield* census(51, 1)).toMatchObject({ live: 4, liveBefore: 0, expired: 2 })
    expect(yield* census(0, 0)).toMatchObject({ live: 0, liveBefore: 0, expired: 0 })
    const without = { createdBefore: 2, expiredBy: 50 }
    const rest = NamespaceHost.use((host) => host.census(key, { atMillis: 51, createdBefore: 5, without }))
    expect(yield* rest).toMatchObject({ live: 3, liveBefore: 1, expired: 1 })
  })

  fresh.effect(
    "counts what has not expired, later creations too, until the next expiry, of some subjects alone",
    function* () {
      yield* store([
        created(1, { subjectId: "s" }),
        created(2, { subjectId: "s", expiresAt: 50 }),
        created(3, { subjectId: "t", expiresAt: 60 }),
        created(99, {})
      ])
      const host = yield* NamespaceHost
      const counted = (atMillis: number, ...subjects: ReadonlyArray<string>) =>
        Effect.map(
          host.census(key, { atMillis, createdBefore: 0, ...(subjects.length > 0 && { subjects }) }),
          ({ nextExpiry, unexpired }) => [unexpired, nextExpiry]
        )
      expect(yield* counted(49)).toEqual([4, 50])
      expect(yield* counted(50)).toEqual([3, 60])
      expect(yield* counted(60)).toEqual([2, Infinity])
      expect(yield* counted(49, "s")).toEqual([2, 50])
      expect(yield* counted(50, "s", "t")).toEqual([2, 60])
      expect(yield* counted(49, "nobody")).toEqual([0, Infinity])
    }
  )

  fresh.effect("counts turns and summaries from before the bound", function* () {
    const host = yield* NamespaceHost
    yield* TestClock.adjust(10)
    yield* host.ask(key, extracting([1, 2], [], { summary: "of then" }))
    yield* TestClock.adjust(10)
    yield* host.ask(key, extracting([3], [], { scope: { subjectId: "s" } }))
    const turnsBefore = (bound: number) => Effect.map(census(100, bound), (counted) => counted.turnsBefore)
    expect([yield* turnsBefore(10), yield* turnsBefore(11), yield* turnsBefore(21)]).toEqual([0, 3, 4])
    yield* host.ask(key, { _tag: "RemoveCreatedBefore", beforeMillis: 11 })
    expect([yield* turnsBefore(11), yield* turnsBefore(21)]).toEqual([0, 1])
  })

  withEngine("of a namespace that was never written is empty, and makes no file", function* ({ directory }) {
    expect(yield* census(1, 1)).toMatchObject({ live: 0, liveBefore: 0, expired: 0 })
    expect(readdirSync(join(directory, "namespaces"))).toEqual([])
  })

  withEngine("of a file whose first migration was interrupted is empty", function* ({ directory }) {
    writeFileSync(join(directory, "namespaces", `${key.tag}.db`), "")
    expect(yield* census(1, 1)).toMatchObject({ live: 0, liveBefore: 0, expired: 0 })
  })

  it.effect("opens nothing and leaves the files as they were", function* () {
    const directory = temporaryDirectory()
    const files = join(directory, "namespaces")
    const probe = new StoreProbe()
    yield* Effect.provide(store([created(1), created(2)]), engineOf(directory))
    const before = readdirSync(files)
    const bytes = readFileSync(join(files, `${key.tag}.db`))
    const counted = Effect.gen(function* () {
      const seen = yield* census(10, 2)
      expect((yield* NamespaceHost.use((host) => host.status)).open).toBe(0)
      return seen
    })
    expect(yield* Effect.provide(counted, engineOf(directory, { probe }))).toMatchObject({ live: 2, liveBefore: 1 })
    expect(probe.count("open")).toBe(0)
    expect(readdirSync(files)).toEqual(before)
    expect(readFileSync(join(files, `${key.tag}.db`))).toEqual(bytes)
  })

  it.effect("counts what a crash left in the log", function* () {
    const directory = temporaryDirectory()
    const crashed = temporaryDirectory()
    const run = Effect.gen(function* () {
      yield* store([created(1), created(2)])
      cpSync(join(directory, "namespaces"), join(crashed, "namespaces"), { recursive: true })
    })
    yield* Effect.provide(run, engineOf(directory))
    expect(readdirSync(join(crashed, "namespaces"))).toContain(`${key.tag}.db-wal`)
    expect((yield* Effect.provide(census(10, 0), engineOf(crashed))).live).toBe(2)
  })

  fresh.effect("sees the commits of an open namespace, which goes on writing meanwhile", function* () {
    const host = yield* NamespaceHost
    yield* store([created(1)])
    const counts = yield* Effect.all(
      [...Array(20).keys()].map((at) => Effect.andThen(host.ask(key, creating([created(at + 2)])), census(100, 0))),
      { concurrency: 4 }
    )
    for (const [at, { live }] of counts.entries()) expect(live).toBeGreaterThanOrEqual(at + 1)
    yield* host.maintain
    expect((yield* census(100, 0)).live).toBe(21)
    expect((yield* allOf(key)).size).toBe(21)
  })

  it.effect("of a damaged file is refused and sets the file aside; others are counted", function* () {
    const directory = temporaryDirectory()
    const other = namespaceKey("other")
    yield* Effect.provide(Effect.andThen(store([created(1)]), store([created(1)], other)), engineOf(directory))
    truncateSync(join(directory, "namespaces", `${key.tag}.db`), 5_000)
    yield* Effect.gen(function* () {
      expect(yield* Effect.flip(census(10, 0))).toMatchObject({ code: "namespace_unavailable" })
      expect((yield* census(10, 0, other)).live).toBe(1)
      expect((yield* NamespaceHost.use((host) => host.status)).quarantined).toHaveLength(1)
      expect(yield* Effect.flip(census(10, 0))).toMatchObject({ code: "namespace_unavailable" })
    }).pipe(Effect.provide(engineOf(directory)))
  })

  withEngine("of a file that holds the memories of another agent is refused", function* () {
    yield* store([created(1)])
    const stranger = { ...key, agentId: "stranger" }
    expect(yield* Effect.flip(census(10, 0, stranger))).toMatchObject({ code: "namespace_unavailable" })
  })

  withEngine("takes the ballast's room on a full disk", function* ({ probe }) {
    const host = yield* NamespaceHost
    yield* store([created(1)])
    probe.failNext("census", new StoreFull({ cause: "test" }))
    expect((yield* census(10, 0)).live).toBe(1)
    expect((yield* host.status).ballastBytes).toBe(0)
  })
})

describe("removal by age", () => {
  fresh.effect("takes every version and every expired row of that age, in portions, and nothing younger", function* () {
    const host = yield* NamespaceHost
    const most = Limits.removalsPerCommitMax
    const old = Array.from({ length: most * 2 + 20 }, (_, at) =>
      created(at, { createdAt: 999, uniqueKey: `k${at % 7}`, ...(at % 50 === 0 && { expiresAt: 5 }) })
    )
    yield* store([...old, created(5_000, { createdAt: 1_000 })])
    yield* TestClock.adjust(10)
    const portion = host.ask(key, { _tag: "RemoveCreatedBefore", beforeMillis: 1_000 })
    expect(yield* portion).toBe(most)
    expect(yield* host.removeAll(key, { _tag: "RemoveCreatedBefore", beforeMillis: 1_000 })).toBe(most + 20)
    expect(yield* portion).toBe(0)
    expect([...(yield* allOf(key)).values()].map(({ data }) => data)).toEqual([{ fact: "fact 5000" }])
  })

  withEngine(
    "is visible at once to searches, counts, census and vectors, and erased from the file",
    function* ({ directory }) {
      const host = yield* NamespaceHost
      const search = yield* MemorySearch
      yield* store([
        created(1, { data: { fact: "zanzibarquux one" }, uniqueKey: "k" }),
        created(2, { data: { fact: "zanzibarquux two" }, uniqueKey: "k" }),
        created(3, { data: { fact: "zanzibarquux three" } })
      ])
      yield* host.removeAll(key, { _tag: "RemoveCreatedBefore", beforeMillis: 3 })
      const vectors = new Map([["test-model", axisVector(1).values]])
      const { hits: found } = yield* search.search([key], {
        text: "zanzibarquux one two",
        vectors,
        filter: {},
        limit: 10,
        minRelevance: 0
      })
      expect(found.map(({ memory }) => memory.data)).toEqual([{ fact: "zanzibarquux three" }])
      expect(yield* host.answer(key, { _tag: "Counts" })).toMatchObject({ live: 1, latest: 1, rows: 1 })
      expect((yield* census(10, 10)).live).toBe(1)
      expect(yield* host.answer(key, { _tag: "CountWithoutVector", model: "test-model" })).toBe(0)
      yield* host.maintain
      const bytes = readFileSync(join(directory, "namespaces", `${key.tag}.db`))
      expect(["quux three", "quux one", "quux two"].map((text) => bytes.includes(text))).toEqual([true, false, false])
    }
  )
})

fresh.effect("a sweep up to a moment keeps what expired after that moment for a later sweep", function* () {
  const host = yield* NamespaceHost
  yield* store([created(1, { expiresAt: 40 }), created(2, { expiresAt: 50 }), created(3, { expiresAt: 51 })])
  yield* TestClock.adjust(100)
  expect(yield* host.removeAll(key, { _tag: "Sweep", expiredBy: 50 })).toBe(2)
  expect(yield* census(50, 0)).toMatchObject({ live: 1, liveBefore: 0, expired: 0 })
  expect(yield* host.removeAll(key, { _tag: "Sweep" })).toBe(1)
})
