/**
 * Searches do not depend on how memories are spread over agents, and concurrent writers leave one latest version of a
 * unique key: the real search and host over real files.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import type { MemoryFilter } from "@muniment/domain/Search"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { MemoryVector } from "@muniment/engine/store/Commit"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { allOf, creating, engineOf, memoryRecord, namespaceKey, newMemory } from "../support/EngineFixtures.ts"
import { temporaryDirectory } from "../component/sqlite/TemporaryDirectory.ts"
import { repetitions } from "../support/Repetitions.ts"

const words = ["tea", "milk", "lisbon", "ann", "bob", "running", "sea", "monday", "東京"]
const model = "e5-small-v2-q8"
const dims = 16

/** Unit Float32Array[dims]: the sum of one direction per word, so that texts with common words are near. */
const vectorOf = (text: string): Float32Array => {
  const values = new Float32Array(dims).fill(0.01)
  for (const word of text.split(" ")) {
    const bytes = Buffer.from(sha256Hex(word), "hex")
    for (let at = 0; at < dims; at++) values[at]! += bytes[at]! / 128 - 1
  }
  const length = Math.hypot(...values)
  return values.map((value) => value / length)
}

const text = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 6 }).map((chosen) => chosen.join(" "))
const maybe = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: undefined })

const memoryArbitrary = fc.record({
  text,
  kind: fc.constantFrom("fact", "plan"),
  subjectId: maybe(fc.constantFrom("s", "t")),
  threadId: maybe(fc.constantFrom("x")),
  tags: fc.uniqueArray(fc.constantFrom("a", "b"), { maxLength: 2 }),
  when: maybe(fc.constantFrom("2026-01-01T00:00:00.000Z", "2026-06-01T00:00:00.000Z")),
  createdAt: fc.nat(2),
  isEmbedded: fc.boolean(),
  isExpired: fc.boolean(),
  home: fc.nat(99)
})
type Made = typeof memoryArbitrary extends fc.Arbitrary<infer A> ? A : never

const filterArbitrary: fc.Arbitrary<MemoryFilter> = fc.record({
  kind: maybe(fc.constantFrom("fact", "none")),
  subjectId: maybe(fc.constantFrom("s", "t")),
  threadId: maybe(fc.constantFrom("x")),
  tags: maybe(fc.uniqueArray(fc.constantFrom("a", "b", "z"), { minLength: 1, maxLength: 2 })),
  eventFrom: maybe(fc.constant(Date.parse("2026-03-01"))),
  eventTo: maybe(fc.constant(Date.parse("2026-03-01"))),
  includeSuperseded: fc.boolean()
})

const queryArbitrary = fc.record({
  text,
  filter: filterArbitrary,
  limit: fc.integer({ min: 1, max: 20 }),
  minRelevance: fc.constantFrom(0, 0.2),
  hasVector: fc.boolean()
})
type Asked = typeof queryArbitrary extends fc.Arbitrary<infer A> ? A : never

/** The same ids in every namespace: they break ties of equal relevance and age. */
const store = Effect.fnUntraced(function* (made: ReadonlyArray<Made>, agents: number) {
  const host = yield* NamespaceHost
  const keys = Array.from({ length: agents }, (_, agent) => namespaceKey(`agent-${agent}`))
  for (const [agent, key] of keys.entries()) {
    const here = [...made.entries()].filter(([, { home }]) => home % agents === agent)
    if (here.length === 0) continue
    const memories = here.map(([number, { text, isEmbedded, isExpired, home: _home, ...fields }]) => {
      const vector: MemoryVector | undefined = isEmbedded ? { model, values: vectorOf(text) } : undefined
      const record = memoryRecord(number, text, {
        ...fields,
        agentId: key.agentId,
        // Some have expired: hidden memories must not count in the statistics.
        expiresAt: isExpired && number % 4 === 0 ? -1 : undefined
      })
      return newMemory(record, vector)
    })
    yield* host.ask(key, creating(memories))
  }
  return keys
})

const answer = Effect.fnUntraced(function* (keys: ReadonlyArray<NamespaceKey>, asked: Asked) {
  const search = yield* MemorySearch
  const { text, filter, limit, minRelevance, hasVector } = asked
  const vectors = new Map(hasVector ? [[model, vectorOf(text)]] : [])
  const { hits } = yield* search.search(keys, { text, vectors, filter, limit, minRelevance })
  return hits.map(({ memory, ranked }) => ({ id: memory.id, relevance: ranked.relevance, order: ranked.order }))
})

const answers = (made: ReadonlyArray<Made>, asked: ReadonlyArray<Asked>, agents: number) =>
  Effect.gen(function* () {
    const keys = yield* store(made, agents)
    const found = yield* Effect.forEach(asked, (query) => answer(keys, query))
    const listed = yield* MemorySearch.use((search) => search.list(keys, {}, { after: undefined, limit: 100 }))
    return { found, listed: listed.memories.map(({ id }) => id), total: listed.total }
  }).pipe(Effect.provide(engineOf(temporaryDirectory())), Effect.scoped)

it("a search returns the same ids, order and relevance for any spread over agents", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(memoryArbitrary, { minLength: 1, maxLength: 30 }),
      fc.array(queryArbitrary, { minLength: 4, maxLength: 4 }),
      async (made, asked) => {
        const one = await Effect.runPromise(answers(made, asked, 1))
        for (const agents of [2, 5]) {
          expect(await Effect.runPromise(answers(made, asked, agents))).toEqual(one)
        }
      }
    ),
    { numRuns: repetitions(25) }
  ))

it("a search over more memories than a list of candidates holds gives the same answers as well", async () => {
  const made = fc.sample(memoryArbitrary, { numRuns: 400, seed: 7 })
  const asked = fc.sample(queryArbitrary, { numRuns: 30, seed: 8 }).map((query) => ({
    ...query,
    filter: { includeSuperseded: query.filter.includeSuperseded },
    limit: 100
  }))
  const one = await Effect.runPromise(answers(made, asked, 1))
  expect(one.found.filter((hits) => hits.length === 100).length).toBeGreaterThan(10)
  expect(await Effect.runPromise(answers(made, asked, 5))).toEqual(one)
})

describe("concurrent writers of one unique key", () => {
  const key = namespaceKey()

  it("leave exactly one latest version and a complete chain, the same after a restart", () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat(2), { minLength: 2, maxLength: 60 }), async (writers) => {
        const directory = temporaryDirectory()
        const chainOf = Effect.map(allOf(key), (all) => [...all.values()])
        const written = await Effect.runPromise(
          Effect.gen(function* () {
            const host = yield* NamespaceHost
            yield* Effect.forEach(
              writers.entries(),
              ([number, unique]) =>
                host.ask(
                  key,
                  creating([newMemory(memoryRecord(number, `by ${number}`, { uniqueKey: `unique-${unique}` }))])
                ),
              { concurrency: "unbounded" }
            )
            return yield* chainOf
          }).pipe(Effect.provide(engineOf(directory)))
        )
        const byId = new Map(written.map((memory) => [memory.id, memory]))
        for (const versions of Map.groupBy(written, ({ uniqueKey }) => uniqueKey).values()) {
          const latest = versions.filter(({ isLatest }) => isLatest)
          expect(latest).toHaveLength(1)
          // From the latest down: every version once, and links agree in both directions.
          const chain: Array<string> = []
          for (let at = latest[0]; at !== undefined; at = byId.get(at.supersedes ?? "")) {
            expect(at.supersededBy).toBe(chain.at(-1))
            chain.push(at.id)
          }
          expect(chain.toSorted()).toEqual(versions.map(({ id }) => id).toSorted())
        }
        expect(await Effect.runPromise(Effect.provide(chainOf, engineOf(directory)))).toEqual(written)
      }),
      { numRuns: repetitions(30) }
    ))
})
