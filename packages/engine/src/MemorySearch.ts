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
  newestFirst,
  type ListedMemory,
  type ListPosition,
  type NamespaceReader,
  type PlacedCandidate,
  type QueryVectors
} from "./NamespaceReader.ts"
import { sumStatistics, weighQuery } from "./recall/Bm25.ts"
import { fuse, type Ranked } from "./recall/Fusion.ts"
import { queryTerms } from "./recall/Tokenizer.ts"
import type { NamespaceKey } from "./store/NamespaceStore.ts"

export interface MemoryQuery {
  readonly text: string
  /** The text's vector for each model that stored vectors may have; empty: words alone. */
  readonly vectors: QueryVectors
  readonly filter: MemoryFilter
  readonly limit: number
  readonly minRelevance: number
}

export interface MemoryHit {
  readonly memory: MemoryVersion
  readonly ranked: Ranked<PlacedCandidate>
}

export interface MemoryPage {
  readonly memories: ReadonlyArray<MemoryVersion>
  readonly total: number
  /** Where the next page begins; undefined on the last one. */
  readonly next: ListPosition | undefined
}

export class MemorySearch extends Context.Service<
  MemorySearch,
  {
    /** Best first. An unreadable namespace fails the search only if it is the only one asked for. */
    readonly search: (
      namespaces: ReadonlyArray<NamespaceKey>,
      query: MemoryQuery
    ) => Effect.Effect<ReadonlyArray<MemoryHit>, ReadError>
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

      /** Looks at all namespaces, some at a time. */
      const lookAtAll = <A>(
        namespaces: ReadonlyArray<NamespaceKey>,
        look: (reader: NamespaceReader, nowMillis: number) => A
      ): Effect.Effect<ReadonlyArray<A>, ReadError> => {
        if (namespaces.length === 1) return Effect.map(host.read(namespaces[0]!, look), (answer) => [answer])
        return Effect.map(
          Effect.forEach(namespaces, (key) => Effect.result(host.read(key, look)), {
            concurrency: Limits.namespaceFanOutMax
          }),
          (results) => results.flatMap((result) => (result._tag === "Success" ? [result.success] : []))
        )
      }

      const versionsAt = <P extends { readonly id: string; readonly slot: number; readonly namespace: string }>(
        namespaces: ReadonlyArray<NamespaceKey>,
        places: ReadonlyArray<P>
      ) =>
        Effect.gen(function* () {
          const found = new Map<string, MemoryVersion>()
          for (const key of namespaces) {
            const here = places.filter((place) => place.namespace === key.tag)
            if (here.length === 0) continue
            for (const version of yield* host.readRecords(key, (reader) => reader.versions(here)))
              found.set(version.id, version)
          }
          return found
        })

      const search = Effect.fn("MemorySearch.search")(function* (
        namespaces: ReadonlyArray<NamespaceKey>,
        query: MemoryQuery
      ) {
        const { filter, vectors } = query
        const nowMillis = yield* Clock.currentTimeMillis
        const terms = queryTerms(query.text)
        const statistics = yield* lookAtAll(namespaces, (reader) => reader.statistics(terms, filter, nowMillis))
        const weighted = weighQuery(terms, sumStatistics(statistics))
        const candidates = yield* lookAtAll(namespaces, (reader) =>
          reader.candidates(weighted, vectors, filter, nowMillis)
        )
        const ranking = fuse(
          candidates.flat(),
          { scoreBound: weighted.scoreBound, termCount: terms.length, modelId: [...vectors.keys()][0] },
          query.limit
        ).filter(({ relevance }) => relevance >= query.minRelevance)
        const memories = yield* versionsAt(
          namespaces,
          ranking.map(({ candidate }) => candidate)
        )
        return ranking.flatMap((ranked): ReadonlyArray<MemoryHit> => {
          const memory = memories.get(ranked.candidate.id)
          return memory === undefined ? [] : [{ memory, ranked }]
        })
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
        const places: ReadonlyArray<ListedMemory> = parts.flatMap((part) => part.places).sort(newestFirst)
        const page = places.slice(0, limit)
        const versions = yield* versionsAt(namespaces, page)
        return {
          memories: page.flatMap(({ id }) => versions.get(id) ?? []),
          total: parts.reduce((sum, part) => sum + part.total, 0),
          next: places.length > limit ? page[limit - 1] : undefined
        }
      })

      return { search, list }
    })
  )
}
