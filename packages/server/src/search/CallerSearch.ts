/**
 * Search as a caller sees it (contract: Search): in their own memories, in those shared with them, or in both; as
 * memories, as an answer made of them, or as a map of their topics. For REST and MCP.
 *
 * Invariants: grants are checked before the price is reserved; the service attests the source of shared
 * memories that it returns, and of no others.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Identity } from "@muniment/domain/Identity"
import type { SourceAttestation } from "@muniment/domain/Attestation"
import type { ChargeFailure, PricedCall } from "@muniment/domain/api/Middleware"
import { InvalidRequest, Unavailable } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { Recall } from "@muniment/domain/Search"
import { backingSources, conversationMessageKind, type MemoryVersion, type SearchHit } from "@muniment/domain/Memory"
import type { IndexExplanation, SearchExplanation, SearchResult } from "@muniment/domain/SearchResult"
import { spentOn } from "@muniment/domain/StageTimes"
import { traced } from "@muniment/domain/traced"
import { answerableOf } from "@muniment/engine/ranking/Evidence"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { type MemoryHit, MemorySearch } from "@muniment/engine/search/MemorySearch"
import type { People } from "@muniment/language/people/People"
import { askedQuestion } from "@muniment/language/question/AskedQuestion"
import type { NamespacePlan } from "@muniment/engine/namespace/NamespaceQuery"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { speakersTime } from "@muniment/language/calendar/SpokenDates"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { AnswerWriter } from "@muniment/insight/answers/AnswerWriter"
import type { AnswerRequest, Evidence } from "@muniment/insight/answers/WrittenAnswer"
import { MemoryMap } from "@muniment/insight/map/MemoryMap"
import { boundMet } from "../boundMet.ts"
import { AttestationService, type SharedSource } from "../attestations/AttestationService.ts"
import { seesAgent, visibleParts } from "../identity/KeyScopes.ts"
import { TokenNamespace } from "../credits/ChargedCalls.ts"
import { searchHit, type Turns } from "../memories/MemoryViews.ts"
import { TextEmbedding } from "../memories/TextEmbedding.ts"
import type { SearchBatch, SearchQuery, SearchReach } from "./SearchQuery.ts"
import { makeReranking, type ToldOrder } from "./rerankedHits.ts"
import { type SaidTimes, makeSaidTimes, turnsAround } from "./SourceMessages.ts"
import { type OpenedGrants, SharedAccess, type SharedNamespace } from "./SharedAccess.ts"

type SearchFailure = InvalidRequest | ChargeFailure

interface BatchResult {
  /** In the order of the queries. */
  readonly results: ReadonlyArray<{ readonly memories: ReadonlyArray<SearchHit> }>
  readonly searchedAt: string
  readonly sourceAttestations?: SourceAttestations
  readonly unusableGrants?: OpenedGrants["unusable"]
}

/** A memory and the tag of its namespace. */
export interface PlacedMemory {
  readonly memory: MemoryVersion
  readonly namespace: string
}

export interface FoundHits {
  /** Best first. */
  readonly hits: ReadonlyArray<MemoryHit>
  /** Turns next to messages among the hits, by id of the message. */
  readonly around: (
    messages: ReadonlyArray<MemoryHit>,
    eachSide: number
  ) => Effect.Effect<ReadonlyMap<string, Turns>, ChargeFailure>
  /** Who is who among the caller's own memories of the subject; undefined: none of these were searched. */
  readonly people?: People | undefined
  /** Grantor of a shared memory, spelled as in the grant. */
  readonly grantorOf: (namespace: string) => string | undefined
  /** Sources and grants that an answer with these memories names. */
  readonly attested: (shown: ReadonlyArray<PlacedMemory>) => Effect.Effect<{
    readonly sourceAttestations?: SourceAttestations
    readonly unusableGrants?: OpenedGrants["unusable"]
  }>
}

/** Source attestations by grantor, spelled as in the grant. */
type SourceAttestations = Readonly<Record<string, SourceAttestation>>

export class CallerSearch extends Context.Service<
  CallerSearch,
  {
    readonly search: (call: PricedCall, query: SearchQuery) => Effect.Effect<SearchResult, SearchFailure>
    /** The hits of a search in mode `llm`, to be shown in another form. */
    readonly hits: (call: PricedCall, query: SearchQuery) => Effect.Effect<FoundHits, SearchFailure>
    readonly searchBatch: (call: PricedCall, batch: SearchBatch) => Effect.Effect<BatchResult, SearchFailure>
  }
>()("muniment/server/CallerSearch") {
  /** Takes how a request is searched that does not say it. */
  static readonly layer = ({ recall }: { readonly recall: Recall }) =>
    Layer.effect(
      this,
      Effect.gen(function* () {
        const parts: Parts = {
          recall,
          host: yield* NamespaceHost,
          access: yield* SharedAccess,
          attestations: yield* AttestationService,
          directory: yield* NamespaceDirectory,
          embedding: yield* TextEmbedding,
          searcher: yield* MemorySearch,
          saidTimes: yield* makeSaidTimes,
          reranking: yield* makeReranking,
          writer: yield* AnswerWriter,
          maps: yield* MemoryMap
        }
        return {
          search: (call, query) => search(parts, call, query),
          hits: (call, query) => hitsOf(parts, call, query),
          searchBatch: (call, batch) => searchBatch(parts, call, batch)
        }
      })
    )
}

interface Parts {
  readonly recall: Recall
  readonly host: NamespaceHost["Service"]
  readonly access: SharedAccess["Service"]
  readonly attestations: AttestationService["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly embedding: TextEmbedding["Service"]
  readonly searcher: MemorySearch["Service"]
  readonly saidTimes: SaidTimes
  readonly reranking: Effect.Success<typeof makeReranking>
  readonly writer: AnswerWriter["Service"]
  readonly maps: MemoryMap["Service"]
}

const search = traced("CallerSearch.search")(function* (parts: Parts, call: PricedCall, query: SearchQuery) {
  const { namespaces: shared, unusable } = yield* reserved(parts, call, query, query.filter.agentId)
  const found = yield* find(parts, call, query, shared)
  const result = yield* resultOf(parts, call, query, found)
  return {
    ...result,
    ...found.reranking,
    ...namedUnusable(unusable),
    ...(query.explain && { explain: found.explain }),
    searchedAt: yield* isoNow
  }
})

const hitsOf = traced("CallerSearch.hits")(function* (parts: Parts, call: PricedCall, query: SearchQuery) {
  const { namespaces: shared, unusable } = yield* reserved(parts, call, query, query.filter.agentId)
  const { around, hits, owners, people } = yield* find(parts, call, query, shared)
  return {
    hits,
    around,
    people,
    grantorOf: (namespace) => owners.get(namespace)?.grantor,
    attested: (placed) =>
      Effect.map(sourcesAttested(parts, placed, owners), (attested) => ({ ...attested, ...namedUnusable(unusable) }))
  } satisfies FoundHits
})

const searchBatch = traced("CallerSearch.searchBatch")(function* (
  parts: Parts,
  call: PricedCall,
  { queries, ...reach }: SearchBatch
) {
  const { namespaces: shared, unusable } = yield* reserved(parts, call, reach, onlyAgent(queries))
  const found = yield* Effect.forEach(queries, (query) => find(parts, call, query, shared), {
    concurrency: "unbounded"
  })
  const pages = yield* Effect.forEach(found, (one, at) => shownHits(one, one.hits, queries[at]!))
  const attested = yield* sourcesAttested(
    parts,
    pages.flatMap(({ placed }) => placed),
    ownersOf(shared)
  )
  const results = pages.map(({ memories }) => ({ memories }))
  return { results, searchedAt: yield* isoNow, ...attested, ...namedUnusable(unusable) }
})

const namedUnusable = (unusable: OpenedGrants["unusable"]) => (unusable.length > 0 ? { unusableGrants: unusable } : {})

/** Memories that grants open to the call, once its price is reserved; `own` does not look at grants. */
const reserved = Effect.fnUntraced(function* (
  parts: Parts,
  call: PricedCall,
  { grants, scope }: SearchReach,
  agent: string | undefined
) {
  const shared = scope === "own" ? noGrants : yield* sharedWith(parts, call.caller, scope, grants)
  yield* call.reserve({ agent })
  return shared
})

const onlyAgent = (queries: ReadonlyArray<SearchQuery>): string | undefined => {
  const agents = new Set(queries.map(({ filter }) => filter.agentId))
  return agents.size === 1 ? [...agents][0] : undefined
}

const sharedWith = Effect.fnUntraced(function* (
  { access }: Parts,
  caller: Identity,
  scope: SearchReach["scope"],
  grants: string | undefined
) {
  const opened = grants === undefined ? noGrants : yield* access.opened(caller, grants)
  if (scope === "shared" && opened.grantCount === 0) {
    return yield* new InvalidRequest({
      code: "grants_required",
      error: "scope `shared` needs grants in the X-Grants header"
    })
  }
  return opened
})

const noGrants: OpenedGrants = { grantCount: 0, namespaces: [], unusable: [] }

/** The hits of one query, best first, and how the vectors of the caller's own agents were searched. */
interface Found {
  readonly hits: ReadonlyArray<MemoryHit>
  readonly owners: Owners
  readonly around: FoundHits["around"]
  readonly people?: People | undefined
  /** Whether `rerank=model` was done. */
  readonly reranking: Omit<ToldOrder, "explain">
  readonly explain: SearchExplanation
}

const find = Effect.fnUntraced(function* (
  parts: Parts,
  { caller }: PricedCall,
  query: SearchQuery,
  shared: ReadonlyArray<SharedNamespace>
): Effect.fn.Return<Found, Unavailable | ChargeFailure> {
  const { embedding, recall, searcher } = parts
  const { filter, text } = query
  const { namespaces, own, scopeOf } = reachOf(parts, caller, query, shared)
  const owners = ownersOf(shared)
  const around: FoundHits["around"] = (messages, eachSide) =>
    turnsAround(parts.host, namespaces, {
      places: messages.map(({ ranked }) => ranked.candidate),
      eachSide,
      visible: (key) => ({ anyOf: scopeOf(key), asOf: filter.asOf })
    })
  const request = (hits: ReadonlyArray<MemoryHit>) => modelRequest(parts, caller, query, hits, owners)
  const order = { text, request: query.rerank === "model" ? request : undefined }
  if (namespaces.length === 0) {
    return { hits: [], owners, around, reranking: parts.reranking(order)?.told() ?? {}, explain: { index: [] } }
  }
  const people = yield* searcher.people(own.length > 0 ? own : namespaces, { filter, scopeOf })
  const asked = askedQuestion(text, people)
  const vectors = yield* embedding.query(asked.text)
  const reordered = query.mode === "map" ? undefined : parts.reranking({ ...order, text: asked.text })
  const found = searcher.search(namespaces, {
    ...query,
    text: asked.text,
    asked,
    oncePerMessage: query.mode === "llm",
    namesCorrections: query.mode !== "map",
    isStrict: query.mode !== "map" && (query.recall ?? recall) === "strict",
    vectors,
    reordered,
    isMeaningful: vectors.size === 0 || embedding.understands(text),
    scopeOf
  })
  // Only what puts hits in another order may use tokens.
  const { hits, plans } = yield* reordered === undefined ? found : forAgent(parts, caller, query, found)
  const { explain: rerank, ...reranking } = reordered?.told() ?? {}
  const explain = { index: indexExplanations(plans, own), ...(rerank !== undefined && { rerank }) }
  return { hits, owners, around, reranking, explain, people: own.length > 0 ? people : undefined }
})

/** The namespaces of a query, and the parts of them that the caller sees. */
const reachOf = (
  { directory }: Parts,
  caller: Identity,
  { filter, scope }: SearchQuery,
  shared: ReadonlyArray<SharedNamespace>
) => {
  const opened = shared.filter(({ key }) => filter.agentId === undefined || key.agentId === filter.agentId)
  // By tag, which every key of a namespace has: one that is not found here would be searched whole.
  const scopes = new Map(opened.map(({ key, scopes: granted }) => [key.tag, granted]))
  const own =
    scope === "shared"
      ? []
      : directory.list(caller.account.id, filter.agentId).filter(({ agentId }) => seesAgent(caller, agentId))
  const ownParts = visibleParts(caller)
  return {
    own,
    namespaces: [...own, ...opened.map(({ key }) => key)],
    scopeOf: ({ tag }: NamespaceKey) => scopes.get(tag) ?? ownParts
  }
}

const resultOf = (parts: Parts, call: PricedCall, query: SearchQuery, found: Found) => {
  switch (query.mode) {
    case "answer":
      return answer(parts, call, query, found)
    case "map":
      return drawMap(parts, found)
    default:
      return shownWithSources(parts, found, found.hits, query)
  }
}

/** An answer made of the hits; of those the cited ones are returned, and without an answer the best ones as `hits`. */
const answer = Effect.fnUntraced(function* (parts: Parts, { caller }: PricedCall, query: SearchQuery, found: Found) {
  const { hits, owners } = found
  const sure = hits.filter(({ correctedBy }) => correctedBy === undefined)
  const request = yield* modelRequest(parts, caller, query, sure, owners)
  const written = yield* forAgent(parts, caller, query, spentOn("answering", parts.writer.write(request)))
  const used = new Set(written.citations)
  const chosen = written.grounded
    ? hits.filter(({ memory }) => used.has(memory.id))
    : hits.slice(0, Limits.answerHitsMax)
  const { memories, ...attested } = yield* shownWithSources(parts, found, chosen, query)
  return { ...written, ...(written.grounded ? { memories } : { memories: [], hits: memories }), ...attested }
})

/** Request to the language model about hits, best first: for an answer, or for their order. */
const modelRequest = Effect.fnUntraced(function* (
  { saidTimes }: Parts,
  { account }: Identity,
  { askedAtMillis, text, timeZone }: SearchQuery,
  hits: ReadonlyArray<MemoryHit>,
  owners: Owners
): Effect.fn.Return<AnswerRequest> {
  const own = hits.filter((hit) => !owners.has(namespaceOf(hit))).map(({ memory }) => memory)
  const times = yield* saidTimes(account.id, own)
  return {
    account: account.id,
    question: text,
    nowMillis: askedAtMillis ?? (yield* Clock.currentTimeMillis),
    timeZone,
    evidence: hits.map((hit) => evidenceOf(hit, timeZone, times.get(hit.memory.id)))
  }
})

/** Names the agent that tokens are used for, where it is one. */
const forAgent = <A, E, R>(
  { directory }: Parts,
  { account }: Identity,
  { filter: { agentId } }: SearchQuery,
  work: Effect.Effect<A, E, R>
) => {
  const namespace = agentId === undefined ? undefined : directory.find(account.id, agentId)
  return Effect.provideService(work, TokenNamespace, namespace?.tag)
}

/** `timeZone`: of what was said at a time without an offset; `saidMillis`: when what was extracted was said. */
const evidenceOf = (hit: MemoryHit, timeZone: string | undefined, saidMillis: number | undefined): Evidence => {
  const { memory, ranked } = hit
  const { createdAt, data, id, kind, position, sources, subjectId, threadId, updatedAt, when } = memory
  const backing = sources && backingSources(sources)
  const sentAt = kind === conversationMessageKind ? data["sentAt"] : undefined
  return {
    id,
    kind,
    data: typeof sentAt === "string" ? { ...data, sentAt: speakersTime(sentAt, timeZone) } : data,
    when,
    // A correction by a caller holds from then on, and no message backs it.
    createdAt: backing?.length === 0 ? updatedAt : (saidMillis ?? createdAt),
    relevance: answerableOf(ranked.evidence),
    passage: ranked.candidate.passage,
    owner: JSON.stringify([namespaceOf(hit), subjectId]),
    sources: backing?.map(({ key }) => key),
    ...(position !== undefined && {
      turn: { conversation: JSON.stringify([namespaceOf(hit), subjectId, threadId]), position }
    })
  }
}

const drawMap = Effect.fnUntraced(function* (parts: Parts, { hits, owners }: Found) {
  const { directory, maps, searcher } = parts
  const namespaces = [...new Set(hits.map(namespaceOf))].flatMap((tag) => directory.byTag(tag) ?? [])
  const vectors = yield* searcher.vectorsOf(namespaces, hits)
  const models = new Set(Array.from(vectors.values(), ({ model }) => model))
  // Vectors of two models, or of some memories only, cannot be compared: then words place them all.
  const isPlaced = vectors.size === hits.length && models.size === 1
  const drawing = maps
    .draw(
      hits.map(({ memory: { contentHash, data, id, kind } }) => ({
        id,
        kind,
        data,
        contentHash,
        vector: isPlaced ? vectors.get(id)?.values : undefined
      }))
    )
    .pipe(Effect.catchTag("MapUnavailable", () => mapUnavailable))
  const drawn = yield* spentOn("drawing", drawing)
  const byId = new Map(hits.map((hit) => [hit.memory.id, hit]))
  const points = drawn.points.map((point) => {
    const hit = byId.get(point.id)!
    const { createdAt, kind, subjectId } = hit.memory
    const isOwn = !owners.has(namespaceOf(hit))
    return { ...point, kind, createdAt, ...(isOwn && subjectId !== undefined && { subjectId }) }
  })
  return { ...drawn, points, ...(yield* sourcesAttested(parts, placedOf(hits), owners)) }
})

/** Owners of shared memories, by tag of the namespace; the caller's own are not in it. */
type Owners = ReadonlyMap<string, SharedNamespace>

const ownersOf = (shared: ReadonlyArray<SharedNamespace>): Owners =>
  new Map(shared.map((namespace) => [namespace.key.tag, namespace]))

const namespaceOf = ({ ranked }: MemoryHit): string => ranked.candidate.namespace

/** Hits as callers see them; `placed` has all memories that this shows, each hit before the turns around it. */
const shownHits = Effect.fnUntraced(function* (
  { around, owners }: Found,
  hits: ReadonlyArray<MemoryHit>,
  { explain, turnsAround: eachSide }: SearchQuery
) {
  const messages = eachSide === 0 ? [] : hits.filter(({ ranked }) => ranked.candidate.message !== undefined)
  const turns = messages.length === 0 ? undefined : yield* around(messages, eachSide)
  const memories: Array<SearchHit> = []
  const placed: Array<PlacedMemory> = []
  for (const hit of hits) {
    const namespace = namespaceOf(hit)
    const beside = turns?.get(hit.memory.id)
    const shown = { rank: memories.length + 1, explain, grantor: owners.get(namespace)?.grantor, turns: beside }
    memories.push(searchHit(hit, shown))
    const { after = [], before = [] } = beside ?? {}
    placed.push(...[hit.memory, ...before, ...after].map((memory) => ({ memory, namespace })))
  }
  return { memories, placed }
})

const shownWithSources = Effect.fnUntraced(function* (
  parts: Parts,
  found: Found,
  hits: ReadonlyArray<MemoryHit>,
  query: SearchQuery
) {
  const { memories, placed } = yield* shownHits(found, hits, query)
  return { memories, ...(yield* sourcesAttested(parts, placed, found.owners)) }
})

const sourcesAttested = Effect.fnUntraced(function* (
  { attestations }: Parts,
  placed: ReadonlyArray<PlacedMemory>,
  owners: Owners
): Effect.fn.Return<{ readonly sourceAttestations?: SourceAttestations }> {
  const sources = owners.size === 0 ? [] : sourcesOf(placed, owners)
  return sources.length === 0 ? {} : { sourceAttestations: yield* attestations.vouchFor(sources) }
})

const placedOf = (hits: ReadonlyArray<MemoryHit>): ReadonlyArray<PlacedMemory> =>
  hits.map((hit) => ({ memory: hit.memory, namespace: namespaceOf(hit) }))

/** The shared memories among these, by grantor, each once and in their order. */
const sourcesOf = (placed: ReadonlyArray<PlacedMemory>, owners: Owners): ReadonlyArray<SharedSource> => {
  const hashes = new Map<string, { readonly account: string; readonly byId: Map<string, string> }>()
  for (const { memory, namespace } of placed) {
    const owner = owners.get(namespace)
    if (owner === undefined) continue
    const { account, grantor } = owner
    let source = hashes.get(grantor)
    if (source === undefined) hashes.set(grantor, (source = { account, byId: new Map() }))
    source.byId.set(memory.id, memory.contentHash)
  }
  return [...hashes].map(([grantor, { account, byId }]) => ({ grantor, account, contentHashes: [...byId.values()] }))
}

/** Costliest first. The plans of shared namespaces are left out: a cost would reveal how much they hold. */
const indexExplanations = (
  plans: ReadonlyArray<NamespacePlan>,
  own: ReadonlyArray<NamespaceKey>
): ReadonlyArray<IndexExplanation> => {
  const agents = new Map<string, string>(own.map(({ agentId, tag }) => [tag, agentId]))
  const explained = plans.flatMap(({ engine, estimatedMicros, isCertified, model, namespace, probes, reason }) => {
    const agentId = agents.get(namespace)
    const lists = engine === "quantized" ? { probedLists: probes } : {}
    const certified = isCertified === undefined ? {} : { isCertified }
    return agentId === undefined ? [] : [{ agentId, model, engine, reason, ...lists, estimatedMicros, ...certified }]
  })
  return explained.sort((a, b) => b.estimatedMicros - a.estimatedMicros).slice(0, Limits.explainedNamespacesMax)
}

const mapUnavailable = Effect.gen(function* () {
  const error = "the map could not be drawn in time; ask for fewer memories, or try again"
  return yield* new Unavailable({ code: "overloaded", error, details: yield* boundMet("map_time", error) })
})

const isoNow = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis).toISOString())
