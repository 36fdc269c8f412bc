/**
 * Reads of one namespace. They look at the image in memory and never enter the mailbox, so a search
 * does not queue behind writes; every read first lets expired memories vanish. Synchronous methods
 * may throw what the store throws: the host sorts it.
 */
import { Effect } from "effect"
import type { MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import { Limits } from "@muniment/domain/Limits"
import { versionIn } from "./CommandPlanner.ts"
import type { Bitmap } from "./index/Bitmap.ts"
import type { Plan } from "./index/Planner.ts"
import type { NamespaceState } from "./NamespaceState.ts"
import type { TermStatistics, WeightedQuery } from "./recall/Bm25.ts"
import { isMatching, newerFirst, rank, type Candidate, type FusionQuery } from "./recall/Fusion.ts"
import type { LexicalHit, LexicalScores } from "./recall/LexicalIndex.ts"
import type { ConversationContext, ConversationScope } from "./store/Conversations.ts"
import type { MemoryRow, MemoryVector, OpenNamespace, StoreError } from "./store/NamespaceStore.ts"

/** A candidate and where its record lies. */
export interface PlacedCandidate extends Candidate {
  readonly slot: number
  /** Model of the vector behind `cosine`. */
  readonly modelId: string | undefined
  /** Tag of the namespace that owns it. */
  readonly namespace: string
}

/** Reads its row late: of hundreds of candidates few come so far that anybody asks who they are. */
class FoundMemory implements PlacedCandidate {
  readonly lexicalScore: number
  readonly matchedTerms: number
  readonly cosine: number | undefined
  readonly modelId: string | undefined
  readonly slot: number
  readonly namespace: string
  readonly row: MemoryRow

  constructor(
    slot: number,
    row: MemoryRow,
    { matchedTerms, score }: LexicalHit,
    cosine: number | undefined,
    modelId: string | undefined,
    namespace: string
  ) {
    this.lexicalScore = score
    this.matchedTerms = matchedTerms
    this.cosine = cosine
    this.modelId = modelId
    this.slot = slot
    this.namespace = namespace
    this.row = row
  }

  get id(): string {
    return this.row.id
  }

  get createdAt(): number {
    return this.row.createdAt
  }
}

/** How the vectors of one model were searched in one namespace: which engine, and why. */
export interface NamespacePlan extends Plan {
  /** Tag of the namespace. */
  readonly namespace: string
  readonly model: string
}

/** Position in a listing: newest first, then id descending. */
export interface ListPosition {
  readonly createdAt: number
  readonly id: string
}

export interface ListedMemory extends ListPosition {
  readonly slot: number
  readonly namespace: string
}

/** Where a memory lies; the id tells whether it still does. */
export interface MemoryPlace {
  readonly id: string
  readonly slot: number
}

/** Vector of the query by embedding model; empty when there is none. */
export type QueryVectors = ReadonlyMap<string, Float32Array>

export class NamespaceReader {
  readonly #store: OpenNamespace
  readonly #state: NamespaceState
  readonly #learnDue: () => void

  /** `learnDue` is called when a search has left an index something to learn from. */
  constructor(store: OpenNamespace, state: NamespaceState, learnDue: () => void) {
    this.#store = store
    this.#state = state
    this.#learnDue = learnDue
  }

  /** Live memories, latest versions and rows; what waits for the sweep, and when it next has to look. */
  counts(nowMillis: number) {
    const table = this.#at(nowMillis)
    const times = [table.nextExpiry, this.#store.conversations.nextExpiry].filter((time) => time !== undefined)
    return {
      live: table.liveCount,
      latest: table.latestCount,
      rows: table.rowCount,
      expired: table.expired.size,
      nextExpiry: times.length === 0 ? undefined : Math.min(...times)
    }
  }

  /** Whether a command with this idempotency key was committed, within their retention. */
  isCommitted(idempotencyKey: string): Effect.Effect<boolean, StoreError> {
    return Effect.map(this.#store.storedResult(idempotencyKey), (stored) => stored !== undefined)
  }

  /** First phase of a search: what the visible documents know of each term. */
  statistics(terms: ReadonlyArray<string>, filter: MemoryFilter, nowMillis: number): TermStatistics {
    return this.#state.lexical.statistics(terms, this.#at(nowMillis).allowed(filter))
  }

  /** Second phase: the best by words and the best by meaning, each with both scores. */
  candidates(...search: Parameters<NamespaceReader["candidatesExplained"]>): ReadonlyArray<PlacedCandidate> {
    return this.candidatesExplained(...search).candidates
  }

  /** The candidates, and how those by meaning were looked for. */
  candidatesExplained(
    query: WeightedQuery,
    vectors: QueryVectors,
    filter: MemoryFilter,
    nowMillis: number,
    candidatesMax: number = Limits.recallCandidatesMax
  ): { readonly candidates: ReadonlyArray<PlacedCandidate>; readonly plans: ReadonlyArray<NamespacePlan> } {
    const table = this.#at(nowMillis)
    const allowed = table.allowed(filter)
    const scores = this.#state.lexical.score(query, allowed)
    const candidates: Array<PlacedCandidate> = []
    const found = new Set<number>()
    const plans: Array<NamespacePlan> = []
    for (const [model, vector] of vectors) {
      const searched = this.#state.index(model)?.searchExplained(vector, candidatesMax, allowed)
      if (searched === undefined) continue
      const { hits, plan } = searched
      for (const slot of hits.slots) found.add(slot)
      candidates.push(...this.#candidates(hits.slots, hits.scores, scores, vectors))
      plans.push({ namespace: this.#store.key.tag, model, ...plan })
    }
    const others = scores.top(candidatesMax, table.newestFirst).filter((slot) => !found.has(slot))
    candidates.push(...this.#candidates(others, this.#cosines(others, vectors), scores, vectors))
    if (this.indexBacklog > 0) this.#learnDue()
    return { candidates, plans }
  }

  /** Copies of the vectors at places read before, by id; what has gone since or has none is left out. */
  vectorsOf(places: ReadonlyArray<MemoryPlace>, nowMillis: number): ReadonlyMap<string, MemoryVector> {
    const table = this.#at(nowMillis)
    const vectors = new Map<string, MemoryVector>()
    for (const { id, slot } of places) {
      const model = this.#state.modelOf(slot)
      if (model === undefined || table.row(slot)?.id !== id || !table.isLive(slot)) continue
      const values = this.#state.index(model)?.vectorOf(slot)
      if (values !== undefined) vectors.set(id, { model, values })
    }
    return vectors
  }

  /** What went before in a conversation, as far as it is kept. */
  conversation(scope: ConversationScope, nowMillis: number): Effect.Effect<ConversationContext, StoreError> {
    return this.#store.conversations.context(scope, nowMillis)
  }

  /** Those of the keys whose messages were processed in the scope. */
  processed(scope: ConversationScope, keys: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>, StoreError> {
    return this.#store.conversations.processed(scope, keys)
  }

  /** All visible memories that match, not only the best: what an attestation counts. */
  countMatching(
    query: WeightedQuery,
    fusion: FusionQuery,
    vectors: QueryVectors,
    filter: MemoryFilter,
    nowMillis: number
  ): number {
    const allowed = this.#at(nowMillis).allowed(filter)
    const scores = this.#state.lexical.score(query, allowed)
    const slots: Array<number> = []
    allowed.forEach((slot) => slots.push(slot))
    return this.#candidates(slots, this.#cosines(slots, vectors), scores, vectors).filter((candidate) =>
      isMatching(rank(candidate, fusion))
    ).length
  }

  /** The first `limit` places after `after`, and how many memories the filter lets through in all. */
  list(filter: MemoryFilter, after: ListPosition | undefined, limit: number, nowMillis: number) {
    const table = this.#at(nowMillis)
    const allowed = table.allowed(filter)
    const namespace = this.#store.key.tag
    const places = firstAfter(allowed, after, limit, newerFirst, (slot): ListedMemory => {
      const { id, createdAt } = table.row(slot)!
      return { id, createdAt, slot, namespace }
    })
    return { places, total: allowed.count() }
  }

  find(id: string, nowMillis: number): Effect.Effect<MemoryVersion | undefined, StoreError> {
    return Effect.flatMap(this.#store.slotOf(id), (slot) => {
      if (slot === undefined || !this.#at(nowMillis).isLive(slot)) return Effect.succeed(undefined)
      return Effect.map(this.versions([{ id, slot }]), ([version]) => version)
    })
  }

  /** Records at places read before. One that has expired, gone or changed hands since is left out. */
  versions(places: ReadonlyArray<MemoryPlace>): Effect.Effect<ReadonlyArray<MemoryVersion>, StoreError> {
    return Effect.map(this.#store.records(places.map(({ slot }) => slot)), (found) => {
      const idAt = new Map(places.map(({ id, slot }) => [slot, id]))
      const { table } = this.#state
      const current = found.filter(
        ({ slot, record }) => record.id === idAt.get(slot) && table.row(slot)?.id === record.id && table.isLive(slot)
      )
      return current.map(versionIn(this.#state))
    })
  }

  /** Live records, superseded versions included, in order of insertion after `afterSeq`; for exports. */
  inserted(afterSeq: number, limit: number, nowMillis: number) {
    const table = this.#at(nowMillis)
    const bySeq = (left: { readonly createdSeq: number }, right: { readonly createdSeq: number }) =>
      left.createdSeq - right.createdSeq
    const places = firstAfter(
      table.allowed({ includeSuperseded: true }),
      { createdSeq: afterSeq },
      limit,
      bySeq,
      (slot) => table.row(slot)!
    )
    return Effect.map(this.versions(places), (versions) => ({
      versions,
      lastSeq: places[places.length - 1]?.createdSeq
    }))
  }

  /** Memories that wait for a vector of `model`, from `afterSlot`, with what is embedded of them. */
  withoutVector(model: string, afterSlot: number, limit: number) {
    return Effect.flatMap(this.#store.slotsWithoutVector(model, afterSlot, limit), (slots) =>
      this.#store.records(slots)
    )
  }

  countWithoutVector(model: string): Effect.Effect<number, StoreError> {
    return this.#store.countWithoutVector(model)
  }

  get models(): ReadonlyArray<string> {
    return this.#state.models
  }

  /** Vectors that wait for their graph; until then a scan finds them. */
  get indexBacklog(): number {
    return this.#state.models.reduce((sum, model) => sum + (this.#state.index(model)?.backlog ?? 0), 0)
  }

  /** `cosines` by place in `slots`. */
  #candidates(
    slots: ArrayLike<number>,
    cosines: ArrayLike<number>,
    scores: LexicalScores,
    vectors: QueryVectors
  ): ReadonlyArray<PlacedCandidate> {
    const { key } = this.#store
    const { table } = this.#state
    const candidates = new Array<PlacedCandidate>(slots.length)
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at]!
      const model = this.#state.modelOf(slot)
      const isComparable = model !== undefined && vectors.has(model)
      candidates[at] = new FoundMemory(
        slot,
        table.row(slot)!,
        scores.of(slot),
        isComparable ? cosines[at] : undefined,
        isComparable ? model : undefined,
        key.tag
      )
    }
    return candidates
  }

  /** By place in `slots`; not a number where there is no vector to compare. */
  #cosines(slots: ReadonlyArray<number>, vectors: QueryVectors): Float32Array {
    const cosines = new Float32Array(slots.length).fill(Number.NaN)
    for (const [model, vector] of vectors) {
      const scores = this.#state.index(model)?.scoresOf(slots, vector)
      // A slot has its vector in one index alone.
      scores?.forEach((score, at) => {
        if (!Number.isNaN(score)) cosines[at] = score
      })
    }
    return cosines
  }

  #at(nowMillis: number) {
    this.#state.table.advance(nowMillis)
    return this.#state.table
  }
}

/** The first `limit` places of a bitmap that come after `after`, in the order of `compare`. */
const firstAfter = <P extends A, A>(
  bitmap: Bitmap,
  after: A | undefined,
  limit: number,
  compare: (left: A, right: A) => number,
  placeOf: (slot: number) => P
): ReadonlyArray<P> => {
  const places: Array<P> = []
  bitmap.forEach((slot) => {
    const place = placeOf(slot)
    if (after !== undefined && compare(after, place) >= 0) return
    if (places.length === limit && compare(places[limit - 1]!, place) <= 0) return
    places.splice(insertionPoint(places, place, compare), 0, place)
    if (places.length > limit) places.pop()
  })
  return places
}

const insertionPoint = <A>(places: ReadonlyArray<A>, place: A, compare: (left: A, right: A) => number): number => {
  let low = 0
  let high = places.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compare(places[middle]!, place) < 0) low = middle + 1
    else high = middle
  }
  return low
}
