/** Searches with strict recall: near-duplicates in the order of their float32 vectors, over agents and fresh writes. */
import { Limits } from "@muniment/domain/Limits"
import { describe, expect } from "vitest"
import { Effect } from "effect"
import { innerProduct } from "@muniment/engine/namespace/exactCosines"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { creating, engineOf, memoryRecord, namespaceKey, newMemory } from "../../support/EngineFixtures.ts"
import { nearDuplicates } from "../../../bench/index/distributions.ts"
import { queriesOf, rowOf } from "../../../bench/index/VectorSet.ts"
import { temporaryDirectory } from "../sqlite/TemporaryDirectory.ts"
import { it, itWith } from "../../support/it.ts"

const fresh = itWith(() => engineOf(temporaryDirectory()))

const model = "test-model"
const count = 200
const set = nearDuplicates(count, 8, 3)
const keys = [namespaceKey("one"), namespaceKey("two")]
const idOf = (at: number): string => memoryRecord(at, "").id
const memory = (at: number) =>
  newMemory(memoryRecord(at, `note ${at}`, { agentId: keys[at % 2]!.agentId }), { model, values: rowOf(set, at) })

const stored = NamespaceHost.use((host) =>
  Effect.forEach(keys, (key, parity) => {
    const mine = Array.from({ length: count / 2 }, (_, at) => memory(2 * at + parity))
    return host.ask(key, creating(mine))
  })
)
const found = (vector: Float32Array, { isStrict = true, limit = 10 } = {}) =>
  MemorySearch.use((search) =>
    search.search(keys, { text: "", vectors: new Map([[model, vector]]), filter: {}, limit, minRelevance: 0, isStrict })
  )
const truth = (query: Float32Array, among: ReadonlyArray<number>): ReadonlyArray<string> =>
  among
    .toSorted((a, b) => innerProduct(query, rowOf(set, b)) - innerProduct(query, rowOf(set, a)))
    .map(idOf)
    .slice(0, 10)
const all = Array.from({ length: count }, (_, at) => at)

describe("a search with strict recall", () => {
  fresh.effect("has the order of float32 vectors over all agents, certified", function* () {
    yield* stored
    for (const query of queriesOf(set)) {
      const { hits, plans } = yield* found(query)
      expect(plans.map(({ isCertified }) => isCertified)).toEqual([true, true])
      expect(hits.map(({ memory: { id } }) => id)).toEqual(truth(query, all))
      const best = hits[0]!.ranked.candidate
      expect(best.cosine).toBe(innerProduct(query, rowOf(set, Number(best.id.slice("mem_".length)))))
    }
  })

  fresh.effect("finds what was just written, and not what was removed", function* () {
    const host = yield* NamespaceHost
    yield* stored
    const [query] = queriesOf(set)
    const [best] = truth(query!, all)
    const at = all.find((one) => idOf(one) === best)!
    yield* host.ask(keys[at % 2]!, { _tag: "RemoveMemories", ids: [best!], idempotency: undefined })
    const others = all.filter((one) => one !== at)
    expect((yield* found(query!)).hits.map(({ memory: { id } }) => id)).toEqual(truth(query!, others))
    yield* host.ask(keys[at % 2]!, creating([memory(at)]))
    expect((yield* found(query!)).hits[0]?.memory.id).toBe(best)
  })
})

describe("a default search among near-duplicates", () => {
  fresh.effect("tells the best apart by their float32 vectors, over all agents", function* () {
    yield* stored
    for (const query of queriesOf(set)) {
      const { hits } = yield* found(query, { isStrict: false })
      expect(hits.map(({ memory: { id } }) => id)).toEqual(truth(query, all))
      const best = hits[0]!.ranked.candidate
      expect(best.cosine).toBe(innerProduct(query, rowOf(set, Number(best.id.slice("mem_".length)))))
    }
  })

  fresh.effect("reads no vectors where 8-bit scores tell the best apart", function* () {
    // One of each cluster, and a vector of the first: the next nearest is far from it.
    const host = yield* NamespaceHost
    const distant = all.filter((at) => at % 50 < 3)
    yield* host.ask(keys[0]!, creating(distant.filter((at) => at % 2 === 0).map(memory)))
    const [query] = [rowOf(set, 1)]
    const { hits } = yield* found(query, { isStrict: false })
    const best = hits[0]!.ranked.candidate
    const exact = innerProduct(query, rowOf(set, Number(best.id.slice("mem_".length))))
    expect(best.cosine).not.toBe(exact)
    expect(best.cosine).toBeCloseTo(exact, 3)
  })
})

describe("of more memories with one and the same vector than a search ranks", () => {
  const [vector] = queriesOf(set)
  const equals = Limits.searchCandidatesMax + 20
  const newest = Array.from({ length: 10 }, (_, back) => idOf(equals - 1 - back))

  it.effect.each([true, false])("the newest come first (strict recall: %s)", (isStrict) =>
    Effect.gen(function* () {
      const host = yield* NamespaceHost
      const memories = Array.from({ length: equals }, (_, at) =>
        newMemory(memoryRecord(at, `note ${at}`, { agentId: keys[0]!.agentId }), { model, values: vector! })
      )
      yield* host.ask(keys[0]!, creating(memories))
      const { hits } = yield* found(vector!, { isStrict })
      expect(hits.map(({ memory: { id } }) => id)).toEqual(newest)
    }).pipe(Effect.provide(engineOf(temporaryDirectory())))
  )
})
