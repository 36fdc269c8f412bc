/**
 * Search over any number of namespaces: filter, count terms, score, merge, fuse once, cut; then read the records.
 *
 * Invariant: ranking and scores depend on the query and the visible memories alone, not on how memories are spread
 * over agents, nor on memories that the filter hides. Hence two rounds: the term statistics of all namespaces are
 * summed before any namespace scores.
 */
import { Clock, Context, Effect, Layer, Metric } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import { spentOn } from "@muniment/domain/StageTimes"
import { traced } from "@muniment/domain/traced"
import { NamespaceHost, type ReadError } from "../host/NamespaceHost.ts"
import { facetOrders } from "../namespace/facetValues.ts"
import type {
  Candidates,
  Facet,
  FacetValue,
  ListPlaces,
  ListPosition,
  NamespacePlan,
  QueryVectors,
  StrictCandidates
} from "../namespace/NamespaceQuery.ts"
import type { PlacedCandidate } from "../namespace/SearchCandidate.ts"
import { nobody, type People, peopleOf } from "@muniment/language/people/People"
import type { AskedQuestion } from "@muniment/language/question/AskedQuestion"
import { sumStatistics, weighQuery, type WeightedQuery } from "../ranking/Bm25.ts"
import type { ScoredQuery } from "../ranking/Evidence.ts"
import type { Move } from "../ranking/Explanation.ts"
import { LATER_FIRST_HITS } from "../ranking/Currentness.ts"
import {
  fuse,
  fusionOf,
  newerFirst,
  olderFirst,
  type Page,
  type Ranked,
  type Scored,
  shortlist,
  withCosines
} from "../ranking/Fusion.ts"
import { namedSpeaker, questionTraits, type QuestionTraits, roleTerm } from "@muniment/language/question/QuestionTraits"
import { correctedFirst, oncePerMessage, presentFirst } from "./presentFirst.ts"
import { askAll, recordsPerTurn, scoredAgain, vectorsAt, versionsAt } from "./readNamespaces.ts"
import type { MemoryVector } from "../store/Commit.ts"
import type { NamespaceKey } from "../store/NamespaceStore.ts"

export interface MemoryQuery {
  readonly text: string
  /** People of the subject whom the question is about, if `text` is in the form of `askedQuestion`. */
  readonly asked?: Pick<AskedQuestion, "about" | "sames"> | undefined
  /** Vector of the text for each model that stored vectors may have; empty for a search by words alone. */
  readonly vectors: QueryVectors
  /** Whether the models of `vectors` know the language of the text; default: they do. */
  readonly isMeaningful?: boolean | undefined
  readonly filter: MemoryFilter
  readonly limit: number
  readonly minRelevance: number
  /** The caller's clock, for times that the text names: milliseconds (default: now) and IANA zone (UTC). */
  readonly askedAtMillis?: number | undefined
  readonly timeZone?: string | undefined
  /** Whether the later of two statements about one matter goes first. */
  readonly newerFirst?: boolean | undefined
  /** Whether what was extracted from messages among the hits takes no place of other hits. */
  readonly oncePerMessage?: boolean | undefined
  /** Whether messages name the memory that corrects them, and stand behind it. */
  readonly namesCorrections?: boolean | undefined
  /** Candidates by words, and by meaning, of each namespace; default `Limits.searchCandidatesMax`. */
  readonly candidates?: number | undefined
  /** Whether cosines are those of float32 vectors, and no vector among the `limit` best by meaning is missed. */
  readonly isStrict?: boolean | undefined
  /** Puts the best `hits` in another order, before what a newer state moves. */
  readonly reordered?: Reordering | undefined
  /** The part of a namespace that a grant shows; undefined for the caller's own namespace: all of it. */
  readonly scopeOf?: ((namespace: NamespaceKey) => ReadonlyArray<MemoryFilter> | undefined) | undefined
}

export interface Reordering {
  /** How many it looks at. */
  readonly hits: number
  readonly by: (hits: ReadonlyArray<MemoryHit>) => Effect.Effect<ReadonlyArray<MemoryHit>>
}

export interface MemoryHit {
  readonly memory: MemoryVersion
  readonly ranked: Ranked<PlacedCandidate>
  /** Why it does not stand where its score puts it. */
  readonly move?: Move | undefined
  /** Memory taken from a message that a caller has corrected since. */
  readonly correctedBy?: string | undefined
}

export interface SearchResult {
  /** Best first. */
  readonly hits: ReadonlyArray<MemoryHit>
  /** How the vectors of each namespace were searched; empty for a search by words alone. */
  readonly plans: ReadonlyArray<NamespacePlan>
}

export interface MemoryPage {
  /** Newest first. */
  readonly memories: ReadonlyArray<MemoryVersion>
  readonly total: number
  /** Start of the next page; undefined on the last one. */
  readonly next: ListPosition | undefined
}

/** Which page of a listing. */
export interface ListedPage extends Pick<ListPlaces, "after" | "limit" | "isOldestFirst"> {
  /** As many first ones are left out. */
  readonly skip?: number | undefined
}

export type FacetQuery = Omit<Facet, "_tag">

export interface FacetPage {
  readonly values: ReadonlyArray<FacetValue>
  /** How many values there are; at least that many where it is not exact. */
  readonly total: number
  /** False: an agent has more than `Limits.facetValuesMax` values, and only its first ones were summed. */
  readonly isExact: boolean
}

/** All methods leave out namespaces that cannot be read, and fail only if none can. */
export class MemorySearch extends Context.Service<
  MemorySearch,
  {
    readonly search: (
      namespaces: ReadonlyArray<NamespaceKey>,
      query: MemoryQuery
    ) => Effect.Effect<SearchResult, ReadError>
    /** Number of visible memories that match: a strong hit, or all words of the query (contract: Attestations). */
    readonly countMatching: (
      namespaces: ReadonlyArray<NamespaceKey>,
      query: MemoryQuery
    ) => Effect.Effect<number, ReadError>
    readonly list: (
      namespaces: ReadonlyArray<NamespaceKey>,
      filter: MemoryFilter,
      page: ListedPage
    ) => Effect.Effect<MemoryPage, ReadError>
    /** Who is who among the memories of one subject: of the filter, or the only one that there is. */
    readonly people: (
      namespaces: ReadonlyArray<NamespaceKey>,
      query: Pick<MemoryQuery, "filter" | "scopeOf">
    ) => Effect.Effect<People, ReadError>
    readonly facet: (namespaces: ReadonlyArray<NamespaceKey>, query: FacetQuery) => Effect.Effect<FacetPage, ReadError>
    /** Vectors of hits by memory id; leaves out memories that have no vector yet. */
    readonly vectorsOf: (
      namespaces: ReadonlyArray<NamespaceKey>,
      hits: ReadonlyArray<MemoryHit>
    ) => Effect.Effect<ReadonlyMap<string, MemoryVector>, ReadError>
  }
>()("muniment/engine/MemorySearch") {
  static readonly layer = Layer.effect(
    this,
    Effect.map(NamespaceHost, (host) => ({
      search: (namespaces, query) => search(host, namespaces, query),
      countMatching: (namespaces, query) => countMatching(host, namespaces, query),
      list: (namespaces, filter, page) => list(host, namespaces, { filter, ...page }),
      people: (namespaces, query) => people(host, namespaces, query),
      facet: (namespaces, query) => facet(host, namespaces, query),
      vectorsOf: (namespaces, hits) => {
        const places = hits.map(({ ranked }) => ranked.candidate)
        return vectorsAt(host, namespaces, places)
      }
    }))
  )
}

const search = traced("MemorySearch.search")(function* (
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  query: MemoryQuery
) {
  const nowMillis = yield* Clock.currentTimeMillis
  const { fusion, traits, weighted } = yield* timed("statistics", weigh(host, namespaces, query, nowMillis))
  const looked = yield* timed(
    "candidates",
    askAll(host, namespaces, (key): Candidates | StrictCandidates => {
      const asked = {
        query: weighted,
        vectors: query.vectors,
        filter: filterFor(query, key),
        atMillis: nowMillis,
        candidatesMax: query.candidates
      }
      return query.isStrict === true
        ? { _tag: "StrictCandidates", ...asked, certain: query.limit }
        : { _tag: "Candidates", ...asked }
    })
  )
  const found = looked.flatMap((part) => part.candidates)
  // A single namespace has already cut its lists, but for those of a strict search.
  const listed = looked.length === 1 && query.isStrict !== true ? found : shortlist(found, fusion, query.candidates)
  const candidates = query.isStrict === true ? listed : yield* scoredAgain(host, namespaces, listed, query)
  const plans = looked.flatMap((part) => part.plans)
  // A map has thousands of candidates: what is done with them takes a turn of its own.
  const isLarge = query.limit > recordsPerTurn
  if (isLarge) yield* Effect.yieldNow
  yield* Effect.logDebug("vectors were searched", { plans })
  const isReordered = query.newerFirst === true && traits.isPresent
  const present = isReordered ? Math.max(query.limit, LATER_FIRST_HITS) : query.limit
  const wanted = Math.max(present, query.reordered?.hits ?? 0)
  const fused = yield* timed(
    "fusion",
    fuseInTurns(candidates, fusion, {
      limit: query.oncePerMessage === true ? 2 * wanted : wanted,
      minRelevance: query.minRelevance,
      candidatesMax: Infinity
    })
  )
  const page = fused.slice(0, wanted)
  // Only what stands beside messages can repeat them.
  const shown = areMixed(page.map(({ candidate }) => candidate)) ? fused : page
  const places = shown.map(({ candidate }) => candidate)
  const memories = yield* timed("records", versionsAt(host, namespaces, places, query.filter.asOf))
  if (isLarge) yield* Effect.yieldNow
  const read = shown.flatMap((one): ReadonlyArray<MemoryHit> => {
    const memory = memories.get(one.candidate.id)
    return memory === undefined ? [] : [{ memory, ranked: one }]
  })
  const best = oncePerMessage(read, wanted)
  const ranked = (query.reordered === undefined ? best : yield* reorderedBy(query.reordered, best)).slice(0, present)
  const asked = { text: query.text, about: query.asked?.about, filterFor: (key: NamespaceKey) => filterFor(query, key) }
  const ordered = isReordered
    ? (yield* presentFirst(host, namespaces, ranked, asked, read)).slice(0, query.limit)
    : ranked
  const hasMessages = ordered.some(({ ranked: { candidate } }) => candidate.message !== undefined)
  const hits =
    query.namesCorrections === true && hasMessages
      ? yield* correctedFirst(host, namespaces, ordered, asked.filterFor)
      : ordered
  return { hits, plans }
})

const areMixed = (candidates: ReadonlyArray<PlacedCandidate>): boolean =>
  new Set(candidates.map(({ message }) => message === undefined)).size === 2

const reorderedBy = ({ by, hits }: Reordering, found: ReadonlyArray<MemoryHit>) =>
  Effect.map(by(found.slice(0, hits)), (first) => [...first, ...found.slice(hits)])

/** Candidates ranked in one turn: more than any search but a map has. */
const rankedPerTurn = 500

const fuseInTurns = (candidates: ReadonlyArray<PlacedCandidate>, query: ScoredQuery, page: Page) =>
  candidates.length <= rankedPerTurn
    ? Effect.sync(() => fuse(candidates, query, page))
    : fusePortions(candidates, query, page)

const fusePortions = Effect.fnUntraced(function* (
  candidates: ReadonlyArray<PlacedCandidate>,
  query: ScoredQuery,
  page: Page
) {
  const { listed, pageOf, scoreOf } = fusionOf(candidates, query, page)
  const scored: Array<Scored<PlacedCandidate>> = []
  for (let at = 0; at < listed.length; at += rankedPerTurn) {
    yield* Effect.yieldNow
    scored.push(...listed.slice(at, at + rankedPerTurn).map(scoreOf))
  }
  yield* Effect.yieldNow
  return pageOf(scored)
})

const countMatching = traced("MemorySearch.countMatching")(function* (
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  query: MemoryQuery
) {
  const nowMillis = yield* Clock.currentTimeMillis
  const { fusion, weighted } = yield* weigh(host, namespaces, query, nowMillis)
  const queryFor = (key: NamespaceKey) => ({
    query: weighted,
    vectors: query.vectors,
    filter: filterFor(query, key),
    atMillis: nowMillis
  })
  const found = yield* askAll(host, namespaces, (key) => ({ _tag: "Cosines", ...queryFor(key), fusion }))
  const asked = withCosines(fusion, found)
  const counts = yield* askAll(host, namespaces, (key) => ({ _tag: "CountMatching", ...queryFor(key), fusion: asked }))
  return counts.reduce((sum, count) => sum + count, 0)
})

const list = traced("MemorySearch.list")(function* (
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  { limit, skip = 0, ...asked }: Pick<ListPlaces, "filter"> & ListedPage
) {
  // One more than the page shows whether there is a next one.
  const parts = yield* askAll(host, namespaces, () => ({ _tag: "ListPlaces", ...asked, limit: skip + limit + 1 }))
  const places = parts.flatMap((part) => part.places).sort(asked.isOldestFirst === true ? olderFirst : newerFirst)
  const page = places.slice(skip, skip + limit)
  const versions = yield* versionsAt(host, namespaces, page, asked.filter.asOf)
  return {
    memories: page.flatMap(({ id }) => versions.get(id) ?? []),
    total: parts.reduce((sum, part) => sum + part.total, 0),
    next: places.length > skip + limit ? page[limit - 1] : undefined
  }
})

/** By agent and subject alone: a name that was told in another thread is theirs here. */
const people = (
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  { filter: { asOf, hasNoSubject, subjectId }, scopeOf }: Pick<MemoryQuery, "filter" | "scopeOf">
) => {
  const found = askAll(host, namespaces, (key) => ({
    _tag: "Names",
    filter: { asOf, hasNoSubject, subjectId, anyOf: scopeOf?.(key) }
  }))
  return Effect.map(found, (parts) => {
    if (new Set(parts.flatMap(({ subjects }) => subjects)).size !== 1) return nobody
    const namings = parts.flatMap((part) => part.namings)
    return peopleOf(namings, [...new Set(parts.flatMap(({ speaking }) => speaking))])
  })
}

/** Values of several agents are summed; each agent gives those of its own that come first. */
const facet = traced("MemorySearch.facet")(function* (
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  { limit, ...asked }: FacetQuery
) {
  const order = facetOrders[asked.order]
  const parts = yield* askAll(host, namespaces, () => ({ _tag: "Facet", ...asked, limit: Limits.facetValuesMax }))
  const sums = new Map<string, FacetValue>()
  for (const one of parts.flatMap((part) => part.values)) {
    const { memories = 0, newestAt = 0 } = sums.get(one.value) ?? {}
    sums.set(one.value, {
      value: one.value,
      memories: memories + one.memories,
      newestAt: Math.max(newestAt, one.newestAt)
    })
  }
  return {
    values: [...sums.values()].sort(order).slice(0, limit),
    total: parts.length === 1 ? parts[0]!.distinct : sums.size,
    isExact: parts.every(({ distinct, values }) => distinct === values.length)
  }
})

/** First round: the query's terms, weighted by the statistics of all visible memories, and whom it names of them. */
const weigh = Effect.fnUntraced(function* (
  host: NamespaceHost["Service"],
  namespaces: ReadonlyArray<NamespaceKey>,
  query: MemoryQuery,
  nowMillis: number
) {
  const at = { nowMillis: query.askedAtMillis ?? nowMillis, timeZone: query.timeZone }
  const traits = questionTraits(query.text, at, query.asked?.sames)
  const { terms } = traits
  const names = { words: traits.words, capitals: traits.capitals }
  const parts = yield* askAll(host, namespaces, (key) => ({
    _tag: "Terms",
    terms,
    names,
    filter: filterFor(query, key),
    atMillis: nowMillis
  }))
  const speaker = namedSpeaker(
    traits,
    parts.flatMap(({ speakers }) => speakers)
  )
  const weighted = weighQuery(terms, sumStatistics(parts.map(({ statistics }) => statistics)), roleTerm(speaker))
  return { weighted, traits, fusion: scoredQuery(weighted, query, traits, speaker) }
})

/** The query's filter within the scope of a grant. */
const filterFor = ({ filter, scopeOf }: MemoryQuery, key: NamespaceKey): MemoryFilter => {
  const scope = scopeOf?.(key)
  return scope === undefined ? filter : { ...filter, anyOf: scope }
}

const scoredQuery = (
  weighted: WeightedQuery,
  { asked, isMeaningful, vectors }: MemoryQuery,
  { goesOnAt, isFirstPerson, isOfAssistant, kind, ranges }: QuestionTraits,
  speaker: string | undefined
): ScoredQuery => ({
  scoreBound: weighted.scoreBound,
  termCount: weighted.terms.length,
  documents: weighted.documents,
  modelId: [...vectors.keys()][0],
  isMeaningful,
  asked: { speaker, isFirstPerson, isOfAssistant, goesOnAt, kind, ranges, about: asked?.about }
})

/**
 * Stages whose durations `/metrics` has, in order: query vector, term counts of all namespaces, candidates by words and
 * meaning, fusion, records of the hits. Wall time: it includes waiting for a namespace to open and for other fibers. Each
 * is a metric of its own, made once, so that an update costs one look-up in the registry.
 */
export const searchStages = ["embedding", "statistics", "candidates", "fusion", "records"] as const
type SearchStage = (typeof searchStages)[number]

/** Seconds, from 10 us to about 5 s: stages in memory are much shorter than a request. */
const boundaries = Metric.exponentialBoundaries({ start: 0.00001, factor: 2, count: 20 })

const stageMetric = (stage: SearchStage) =>
  Metric.histogram("search_stage_seconds", {
    description: "Time of a search by stage; embedding includes the cache of query vectors.",
    boundaries,
    attributes: { stage }
  })

const metrics = {
  embedding: stageMetric("embedding"),
  statistics: stageMetric("statistics"),
  candidates: stageMetric("candidates"),
  fusion: stageMetric("fusion"),
  records: stageMetric("records")
} satisfies Readonly<Record<SearchStage, unknown>>

const nanosPerSecond = 1e9

/** Records the duration of a stage if it succeeds, and with its call however it ends. */
export const timed = <A, E, R>(stage: SearchStage, run: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) => {
    const startedNanos = clock.monotonicTimeNanosUnsafe()
    return Effect.tap(spentOn(stage, run), () =>
      Metric.update(metrics[stage], Number(clock.monotonicTimeNanosUnsafe() - startedNanos) / nanosPerSecond)
    )
  })
