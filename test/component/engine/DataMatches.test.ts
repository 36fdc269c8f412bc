/** A filter by data over the engine: what it reads of an agent that was just opened. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { creating, engineOf, memoryRecord, namespaceKey, newMemory, StoreProbe } from "../../support/EngineFixtures.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"

const key = namespaceKey()
const memories = 1_000
const shelves = 97
const factAt = (at: number) =>
  newMemory(memoryRecord(at, "", { data: { subject: `shelf ${at % shelves}`, fact: `Item ${at} is here.` } }))

it.effect("the first filter of an agent reads the memories with the value, and few others", () => {
  const directory = temporaryDirectory()
  const probe = new StoreProbe()
  return Effect.gen(function* () {
    yield* Effect.gen(function* () {
      const host = yield* NamespaceHost
      yield* host.ask(key, creating(Array.from({ length: memories }, (_, at) => factAt(at))))
    }).pipe(Effect.provide(engineOf(directory)))
    yield* Effect.gen(function* () {
      const search = yield* MemorySearch
      const found = yield* search.list([key], { data: { subject: "shelf 5" } }, { after: undefined, limit: 5 })
      expect(found.total).toBe(Math.ceil((memories - 5) / shelves))
      expect(found.memories.map(({ data }) => data["subject"])).toEqual(Array.from({ length: 5 }, () => "shelf 5"))
      // Those with the value, and those of the page.
      expect(probe.count("records")).toBe(2)
    }).pipe(Effect.provide(engineOf(directory, { probe })))
  })
})
