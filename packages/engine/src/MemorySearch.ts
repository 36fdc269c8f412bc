/**
 * A search over any number of namespaces (retrieval.md): filter, count terms, score, merge, fuse
 * once, cut.
 *
 * Invariant: ranking and scores are a function of the visible memories and the query alone, never of
 * how they are spread over agents, nor of memories the filter hides. Hence two rounds: the statistics
 * of all namespaces are summed before any of them scores.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import { NamespaceHost, type ReadError } from "./NamespaceHost.ts"
import {
  type ListedMemory,
  type ListPosition,
  type NamespacePlan,
  type NamespaceReader,
  type PlacedCandidate,
  type QueryVectors
} from "./NamespaceReader.ts"
import { sumStatistics, weighQuery, type WeightedQuery } from "./recall/Bm25.ts"
import { fuse, newerFirst, type FusionQuery, type Ranked } from "./recall/Fusion.ts"
import { queryTerms } from "./recall/Tokenizer.ts"
import { timed } from "./SearchMetrics.ts"
import type { MemoryVector, NamespaceKey } from "./store/NamespaceStore.ts"

export interface MemoryQuery {
  readonly text: string
  /** The text's vector for each model that stored vectors may have; empty: words alone. */
  readonly vectors: QueryVectors
  readonly filter: MemoryFilter
  readonly limit: number
  readonly minRelevance: number
  /** How many of the best by words, and by meaning, are looked at; default `Limits.recallCandidatesMax`. */
  readonly candidates?: number | undefined
  /** What a grant lets the caller see of a namespace; undefined: all of it, it is the caller's own. */
  readonly scopeOf?: ((namespace: NamespaceKey) => ReadonlyArray<MemoryFilter> | undefined) | undefined
}

export interface MemoryHit {
  readonly memory: MemoryVersion
  readonly ranked: Ranked<PlacedCandidate>
}

/** What a search found, and how the vectors of each namespace were searched; none where words alone count. */
export interface ExplainedHits {
  readonly hits: ReadonlyArray<MemoryHit>
  readonly plans: ReadonlyArray<NamespacePlan>
}

export interface MemoryPage {
  readonly memories: ReadonlyArray<MemoryVersion>
  readonly total: number
  /** Where the next page begins; undefined on the last one. */
  readonly next: ListPosition | undefined
}

/** Records read and parsed, or vectors copied, before other fibers get a turn: some 5 ms. */
const recordsPerTurn = 500

export class MemorySearch extends Context.Service<
  MemorySearch,
  {
    /** Best first. An unreadable namespace fails the search only if it is the only one asked for. */
    readonly search: (
      namespaces: ReadonlyArray<NamespaceKey>,
      query: MemoryQuery
    ) => Effect.Effect<ReadonlyArray<MemoryHit>, ReadError>
    /** The same search, and which engines answered it. */
    readonly searchExplained: (
      namespaces: ReadonlyArray<NamespaceKey>,
      query: MemoryQuery
    ) => Effect.Effect<ExplainedHits, ReadError>
    /** Vectors of what was found, by memory id; of those that have none yet there is none. */
    readonly vectorsOf: (
      namespaces: ReadonlyArray<NamespaceKey>,
      hits: ReadonlyArray<MemoryHit>
    ) => Effect.Effect<ReadonlyMap<string, MemoryVector>, ReadError>
    /** How many visible memories match: a strong hit, or all words of the query (interface.md section 9.3). */
    readonly countMatching: (
      namespaces: ReadonlyArray<NamespaceKey>,
      query: MemoryQuery
    ) => Effect.Effect<number, ReadError>
    /** Newest first. */
    readonly list: (
      namespaces: ReadonlyArray<NamespaceKey>,
      filter: MemoryFilter,
      after: ListPosition | undefined,
      limit: number
    ) => Effect.Effect<MemoryPage, ReadError>
  }
>()("muniment/engine/MemorySearch") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const host = yield* NamespaceHost

      /** Looks at all namespaces, some at a time. What cannot be read is left out unless nothing can. */
      const lookAtAll = Effect.fnUntraced(function* <A>(
        namespaces: ReadonlyArray<NamespaceKey>,
        look: (reader: NamespaceReader, nowMillis: number, key: NamespaceKey) => A
      ) {
        const lookAt = (key: NamespaceKey) => host.read(key, (reader, nowMillis) => look(reader, nowMillis, key))
        if (namespaces.length === 1) return [yield* lookAt(namespaces[0]!)]
        const results = yield* Effect.forEach(namespaces, (key) => Effect.result(lookAt(key)), {
          concurrency: Limits.namespaceFanOutMax
        })
        const failures = results.flatMap((result) => (result._tag === "Failure" ? [result.failure] : []))
        if (failures.length > 0) {
          if (failures.length === namespaces.length) return yield* failures[0]!
          yield* Effect.logWarning("namespaces were left out of a search", { count: failures.length })
        }
        return results.flatMap((result) => (result._tag === "Success" ? [result.success] : []))
      })

      const versionsAt = <P extends { readonly id: string; readonly slot: number; readonly namespace: string }>(
        namespaces: ReadonlyArray<NamespaceKey>,
        places: ReadonlyArray<P>
      ) =>
        Effect.gen(function* () {
          const found = new Map<string, MemoryVersion>()
          for (const key of namespaces) {
            const here = places.filter((place) => place.namespace === key.tag)
            if (here.length === 0) continue
            for (let from = 0; from < here.length; from += recordsPerTurn) {
              const some = here.slice(from, from + recordsPerTurn)
              if (from > 0) yield* Effect.yieldNow
              for (const version of yield* host.readRecords(key, (reader) => reader.versions(some)))
                found.set(version.id, version)
            }
          }
          return found
        })

      /** First round: the query's terms, weighed by what all visible memories know of them. */
      const weigh = (
        namespaces: ReadonlyArray<NamespaceKey>,
        query: MemoryQuery,
        nowMillis: number
      ): Effect.Effect<WeightedQuery, ReadError> => {
        const terms = queryTerms(query.text)
        return Effect.map(
          lookAtAll(namespaces, (reader, _now, key) => reader.statistics(terms, filterFor(query, key), nowMillis)),
          (statistics) => weighQuery(terms, sumStatistics(statistics))
        )
      }

      const searchExplained = Effect.fn("MemorySearch.search")(function* (
        namespaces: ReadonlyArray<NamespaceKey>,
        query: MemoryQuery
      ) {
        const nowMillis = yield* Clock.currentTimeMillis
        const weighted = yield* timed("statistics", weigh(namespaces, query, nowMillis))
        const looked = yield* timed(
          "candidates",
          lookAtAll(namespaces, (reader, _now, key) =>
            reader.candidatesExplained(weighted, query.vectors, filterFor(query, key), nowMillis, query.candidates)
          )
        )
        const plans = looked.flatMap((part) => part.plans)
        yield* Effect.logDebug("vectors were searched", { plans })
        const fusion = fusionOf(weighted, query)
        const ranking = yield* timed(
          "fusion",
          Effect.sync(() =>
            fuse(
              looked.flatMap((part) => part.candidates),
              fusion,
              query.limit,
              // One namespace has cut its lists itself.
              looked.length === 1 ? Infinity : query.candidates
            ).filter(({ relevance }) => relevance >= query.minRelevance)
          )
        )
        const places = ranking.map(({ candidate }) => candidate)
        const memories = yield* timed("records", versionsAt(namespaces, places))
        const hits = ranking.flatMap((ranked): ReadonlyArray<MemoryHit> => {
          const memory = memories.get(ranked.candidate.id)
          return memory === undefined ? [] : [{ memory, ranked }]
        })
        return { hits, plans }
      })

      const search = (namespaces: ReadonlyArray<NamespaceKey>, query: MemoryQuery) =>
        Effect.map(searchExplained(namespaces, query), ({ hits }) => hits)

      const vectorsOf = Effect.fn("MemorySearch.vectorsOf")(function* (
        namespaces: ReadonlyArray<NamespaceKey>,
        hits: ReadonlyArray<MemoryHit>
      ) {
        const found = new Map<string, MemoryVector>()
        for (const [tag, here] of Map.groupBy(hits, ({ ranked }) => ranked.candidate.namespace)) {
          const key = namespaces.find((namespace) => namespace.tag === tag)
          if (key === undefined) continue
          const places = here.map(({ ranked }) => ranked.candidate)
          for (let from = 0; from < places.length; from += recordsPerTurn) {
            const some = places.slice(from, from + recordsPerTurn)
            if (from > 0) yield* Effect.yieldNow
            const vectors = yield* host.read(key, (reader, nowMillis) => reader.vectorsOf(some, nowMillis))
            for (const [id, vector] of vectors) found.set(id, vector)
          }
        }
        return found
      })

      const countMatching = Effect.fn("MemorySearch.countMatching")(function* (
        namespaces: ReadonlyArray<NamespaceKey>,
        query: MemoryQuery
      ) {
        const nowMillis = yield* Clock.currentTimeMillis
        const weighted = yield* weigh(namespaces, query, nowMillis)
        const counts = yield* lookAtAll(namespaces, (reader, _now, key) =>
          reader.countMatching(weighted, fusionOf(weighted, query), query.vectors, filterFor(query, key), nowMillis)
        )
        return counts.reduce((sum, count) => sum + count, 0)
      })

      const list = Effect.fn("MemorySearch.list")(function* (
        namespaces: ReadonlyArray<NamespaceKey>,
        filter: MemoryFilter,
        after: ListPosition | undefined,
        limit: number
      ) {
        // One more than the page tells whether there is a next one.
        const parts = yield* lookAtAll(namespaces, (reader, nowMillis) =>
          reader.list(filter, after, limit + 1, nowMillis)
        )
        const places: ReadonlyArray<ListedMemory> = parts.flatMap((part) => part.places).sort(newerFirst)
        const page = places.slice(0, limit)
        const versions = yield* versionsAt(namespaces, page)
        return {
          memories: page.flatMap(({ id }) => versions.get(id) ?? []),
          total: parts.reduce((sum, part) => sum + part.total, 0),
          next: places.length > limit ? page[limit - 1] : undefined
        }
      })

      return { search, searchExplained, vectorsOf, countMatching, list }
    })
  )
}

/** What of a namespace the search may see: the query's filter, within what a grant allows. */
const filterFor = ({ filter, scopeOf }: MemoryQuery, key: NamespaceKey): MemoryFilter => {
  const scope = scopeOf?.(key)
  return scope === undefined ? filter : { ...filter, anyOf: scope }
}

const fusionOf = (weighted: WeightedQuery, { vectors }: MemoryQuery): FusionQuery => ({
  scoreBound: weighted.scoreBound,
  termCount: weighted.terms.length,
  modelId: [...vectors.keys()][0]
})
