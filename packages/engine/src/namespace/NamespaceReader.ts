/**
 * Reads of one namespace, as `NamespaceQuery.ts` describes them. They use the image in memory and bypass the mailbox,
 * so a search never waits for writes. Every read first hides what has expired. Synchronous methods throw `StoreError`s;
 * the host catches them.
 */
import { Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord, MemoryVersion } from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import { valuesOf } from "./facetValues.ts"
import { firstAfter } from "./firstAfter.ts"
import type {
  Facet,
  FoundValues,
  ListPlaces,
  ListedMemory,
  MemoryPlace,
  NamespaceCandidates,
  QueryVectors,
  NamespacePlan,
  Answers,
  Around,
  Candidates,
  Cosines,
  CountMatching,
  FoundHistory,
  FoundNames,
  FoundTerms,
  IndexState,
  InsertedVersions,
  Names,
  NamespaceCounts,
  NamespaceQuery,
  PlacesAround,
  Said,
  RecordWithoutVector,
  ExactCosinesAt,
  StrictCandidates,
  Terms
} from "./NamespaceQuery.ts"
import { knownRecords, type NamespaceState } from "./NamespaceState.ts"
import { SearchCandidate, type FoundPassage } from "./SearchCandidate.ts"
import { exactCosines } from "./exactCosines.ts"
import type { Bitmap } from "../bitmap/Bitmap.ts"
import type { MemoryTable } from "./table/MemoryTable.ts"
import { cosinesOf, isMatching, newerFirst, olderFirst, rank, type FoundCosines } from "../ranking/Fusion.ts"
import { mayName } from "@muniment/language/question/QuestionTraits"
import type { LexicalScores } from "../ranking/LexicalIndex.ts"
import type { MemoryVector } from "../store/Commit.ts"
import { recallTarget } from "../vectors/lists/ProbeTuning.ts"
import { cutsOf } from "@muniment/language/text/Passages"
import type { MemoryRow } from "../store/MemoryRow.ts"
import { type ConversationScope } from "../store/Conversations.ts"
import { DataMatches, readsData } from "./DataMatches.ts"
import type { TableFilter } from "./table/MemoryTable.ts"
import type { OpenNamespace } from "../store/NamespaceStore.ts"
import type { StoreError } from "../store/StoreError.ts"

/** Hits of the search that `IndexState` plans. */
const resultsPlanned = 10

/** The subjects that a filter names; undefined: it names none, or not all. */
const subjectsNamed = ({ anyOf, hasNoSubject, subjectId }: Names["filter"]) => {
  if (subjectId !== undefined || hasNoSubject === true) return [subjectId]
  return anyOf?.every((part) => part.subjectId !== undefined) === true
    ? new Set(anyOf.map((part) => part.subjectId))
    : undefined
}

export class NamespaceReader {
  readonly store: OpenNamespace
  readonly #state: NamespaceState
  readonly #learnDue: () => void
  readonly #dataMatches: DataMatches

  /** Calls `learnDue` when a search has left an index something to learn from. */
  constructor(store: OpenNamespace, state: NamespaceState, learnDue: () => void) {
    this.store = store
    this.#state = state
    this.#learnDue = learnDue
    this.#dataMatches = new DataMatches(store, state)
  }

  /** The query without the filter by data, but with the slots that it lets through. */
  resolved<Q extends NamespaceQuery>(query: Q): Effect.Effect<Q, StoreError> {
    if (!("filter" in query) || !readsData(query.filter)) return Effect.succeed(query)
    const { data: _data, where: _where, ...others } = query.filter
    return Effect.map(this.#dataMatches.of(query.filter), (within) => ({
      ...query,
      filter: { ...others, within } satisfies TableFilter
    }))
  }

  names({ filter }: Names, nowMillis: number): FoundNames {
    const table = this.#at(nowMillis)
    const allowed = table.searchable(filter)
    const subjects = table.subjectsIn(allowed, subjectsNamed(filter))
    if (subjects.length !== 1) return { subjects, namings: [], speaking: [] }
    const namings = this.#state.namings.of(subjects[0], (slot) => allowed.has(slot))
    return { subjects, namings, speaking: table.hasMessages ? table.usersIn(allowed) : [] }
  }

  terms({ atMillis, filter, names, terms }: Terms): FoundTerms {
    const table = this.#at(atMillis)
    const allowed = table.searchable(filter)
    return {
      statistics: this.#state.lexical.statistics(terms, allowed, this.#sharing(filter)),
      speakers: table.hasMessages ? table.speakersIn(allowed, (speaker) => mayName(names, speaker)) : []
    }
  }

  candidates({
    atMillis,
    candidatesMax = Limits.searchCandidatesMax,
    filter,
    query,
    vectors: queryVectors
  }: Candidates): NamespaceCandidates {
    const table = this.#at(atMillis)
    const allowed = table.searchable(filter)
    const scores = this.#state.lexical.score(query, allowed, this.#sharing(filter))
    const candidates: Array<SearchCandidate> = []
    const found = new Set<number>()
    const plans: Array<NamespacePlan> = []
    for (const [model, vector] of queryVectors) {
      const searched = this.#state.vectors.index(model)?.searchExplained(vector, candidatesMax, allowed)
      if (searched === undefined) continue
      const { hits, plan } = searched
      for (const slot of hits.slots) found.add(slot)
      candidates.push(...this.#candidates(hits.slots, hits.scores, scores, queryVectors))
      plans.push({ namespace: this.store.key.tag, model, ...plan })
    }
    const others = scores.top(candidatesMax, table.newerFirst).filter((slot) => !found.has(slot))
    candidates.push(...this.#candidates(others, this.#cosines(others, queryVectors), scores, queryVectors))
    this.#addAround(candidates, allowed, queryVectors)
    if (this.#indexBacklog > 0) this.#learnDue()
    return { candidates, plans }
  }

  /** Reads the vectors of what it ranks from the file. */
  strictCandidates(asked: StrictCandidates): Effect.Effect<NamespaceCandidates, StoreError> {
    return Effect.suspend(() => {
      const { atMillis, candidatesMax = Limits.searchCandidatesMax, certain, filter, query, vectors } = asked
      const table = this.#at(atMillis)
      const allowed = table.searchable(filter)
      const scores = this.#state.lexical.score(query, allowed, this.#sharing(filter))
      const plans: Array<NamespacePlan> = []
      const slots = new Set(scores.top(candidatesMax, table.newerFirst))
      for (const [model, vector] of vectors) {
        const sizes = { certain, kept: candidatesMax }
        const found = this.#state.vectors.index(model)?.searchStrict(vector, sizes, allowed)
        if (found === undefined) continue
        for (const slot of found.slots) slots.add(slot)
        plans.push({ namespace: this.store.key.tag, model, ...found.plan })
      }
      if (this.#indexBacklog > 0) this.#learnDue()
      const places = [...slots].map((slot) => ({ slot, row: table.rowAt(slot)!, lexical: scores.of(slot) }))
      return Effect.map(
        this.store.whole((file) => file.vectors([...slots])),
        (stored) => {
          const cosines = exactCosines(stored, vectors)
          const current = places.filter(({ row, slot }) => table.rowAt(slot)?.id === row.id)
          const candidates = current.map(({ lexical, row, slot }) => {
            const { cosine, model } = cosines.get(slot) ?? {}
            const passage = passageAt(table, slot)
            return new SearchCandidate(slot, row, passage, lexical, cosine, model, this.store.key.tag)
          })
          this.#addAround(candidates, allowed, vectors)
          return { candidates, plans }
        }
      )
    })
  }

  exactCosinesAt({ places, vectors }: ExactCosinesAt): Effect.Effect<ReadonlyMap<number, number>, StoreError> {
    return Effect.suspend(() => {
      const { table } = this.#state
      const current = places.flatMap(({ id, slot, unit = slot }) => (table.rowAt(unit)?.id === id ? [unit] : []))
      return Effect.map(
        this.store.whole((file) => file.vectors(current)),
        (stored) => {
          const cosines = exactCosines(stored, vectors)
          return new Map([...cosines].map(([unit, { cosine }]) => [unit, cosine]))
        }
      )
    })
  }

  cosines(asked: Cosines): FoundCosines {
    return cosinesOf(this.#visible(asked), asked.fusion)
  }

  countMatching(asked: CountMatching): number {
    const matching = this.#visible(asked).filter((candidate) => isMatching(rank(candidate, asked.fusion)))
    return new Set(matching.map(({ id }) => id)).size
  }

  /** All visible memories as candidates. */
  #visible({ atMillis, filter, query, vectors }: Omit<Cosines, "_tag">) {
    const allowed = this.#at(atMillis).searchable(filter)
    const scores = this.#state.lexical.score(query, allowed, this.#sharing(filter))
    const slots: Array<number> = []
    allowed.forEach((slot) => slots.push(slot))
    const candidates = this.#candidates(slots, this.#cosines(slots, vectors), scores, vectors)
    this.#addAround(candidates, allowed, vectors)
    return candidates
  }

  list({ after, filter, isOldestFirst, limit }: ListPlaces, nowMillis: number) {
    const table = this.#at(nowMillis)
    const allowed = table.allowed(filter)
    const order = isOldestFirst === true ? olderFirst : newerFirst
    const places = firstAfter(allowed, after, limit, order, (slot) => this.#placeOf(table, slot))
    return { places, total: allowed.count() }
  }

  facet(query: Facet, nowMillis: number): FoundValues {
    const table = this.#at(nowMillis)
    return valuesOf(table, table.allowed(query.filter), query, this.store.key.agentId)
  }

  find(id: string, nowMillis: number): Effect.Effect<MemoryVersion | undefined, StoreError> {
    return Effect.flatMap(this.store.slotOf(id), (slot) => {
      if (slot === undefined || !this.#at(nowMillis).isLive(slot)) return Effect.succeed(undefined)
      return Effect.map(this.versions([{ id, slot }]), ([version]) => version)
    })
  }

  history(id: string, limit: number, nowMillis: number): Effect.Effect<FoundHistory, StoreError> {
    return Effect.flatMap(this.store.slotOf(id), (slot) => {
      const table = this.#at(nowMillis)
      const slots = slot === undefined || !table.isLive(slot) ? [] : table.versionsOf(slot)
      const places = slots.slice(0, limit).map((one) => ({ id: table.row(one)!.id, slot: one }))
      return Effect.map(this.versions(places), (versions) => ({ versions, total: slots.length }))
    })
  }

  latestOf(uniqueKey: string, nowMillis: number): Effect.Effect<MemoryVersion | undefined, StoreError> {
    const table = this.#at(nowMillis)
    const row = table.row(table.latestOf(uniqueKey) ?? -1)
    return row === undefined ? Effect.succeed(undefined) : this.find(row.id, nowMillis)
  }

  /** With their places in version chains now, or at a time. */
  versions(places: ReadonlyArray<MemoryPlace>, asOf?: number): Effect.Effect<ReadonlyArray<MemoryVersion>, StoreError> {
    return Effect.suspend(() => {
      const { table } = this.#state
      const known = new Map<number, MemoryRecord>()
      const unknown: Array<number> = []
      for (const { slot } of places) {
        const row = table.row(slot)
        const record = row === undefined ? undefined : knownRecords.of(row)
        if (record === undefined) unknown.push(slot)
        else known.set(slot, record)
      }
      const read = unknown.length === 0 ? Effect.succeed([]) : this.store.records(unknown)
      return Effect.map(read, (found) => {
        for (const { record, slot } of found) {
          known.set(slot, record)
          const row = table.row(slot)
          if (row?.id === record.id) knownRecords.add(row, record)
        }
        return places.flatMap(({ id, slot }) => {
          const record = known.get(slot)
          const isCurrent = record?.id === id && table.row(slot)?.id === id && table.isLive(slot)
          return record === undefined || !isCurrent ? [] : [this.#state.version({ slot, record }, asOf)]
        })
      })
    })
  }

  /** Copies. */
  vectorsOf(places: ReadonlyArray<MemoryPlace>, nowMillis: number): ReadonlyMap<string, MemoryVector> {
    const table = this.#at(nowMillis)
    const vectors = new Map<string, MemoryVector>()
    for (const { id, slot, unit = slot } of places) {
      const model = this.#state.vectors.modelOf(unit)
      if (model === undefined || table.rowAt(unit)?.id !== id || !table.isLive(slot)) continue
      const values = this.#state.vectors.index(model)?.vectorOf(unit)
      if (values !== undefined) vectors.set(id, { model, values })
    }
    return vectors
  }

  around({ eachSide, filter, places }: Around, nowMillis: number): ReadonlyArray<PlacesAround> {
    const table = this.#at(nowMillis)
    const allowed = table.allowed(filter)
    const placeAt = (slot: number): MemoryPlace => ({ id: table.row(slot)!.id, slot })
    return places.flatMap(({ id, slot }) => {
      if (table.row(slot)?.id !== id || !allowed.has(slot)) return []
      const { after, before } = table.turnsAround(slot, eachSide, (one) => allowed.has(one))
      return [{ id, before: before.map(placeAt), after: after.map(placeAt) }]
    })
  }

  inserted(afterSeq: number, limit: number, nowMillis: number): Effect.Effect<InsertedVersions, StoreError> {
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

  withoutVector(
    model: string,
    afterSlot: number,
    limit: number
  ): Effect.Effect<ReadonlyArray<RecordWithoutVector>, StoreError> {
    const { table, vectors } = this.#state
    const isWanted = ({ slot }: MemoryRow) =>
      slot > afterSlot &&
      (vectors.modelOf(slot) !== model ||
        table.passagesOf(slot).some((passage) => vectors.modelOf(passage.slot) !== model))
    return Effect.map(this.store.records(table.slotsWhere(isWanted, limit)), (found) =>
      found.map(({ record, slot }) => ({ slot, record, passages: cutsOf(table.passagesOf(slot)) }))
    )
  }

  said(messages: Said["messages"], nowMillis: number): Effect.Effect<ReadonlyArray<string | undefined>, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const slots = yield* this.store.conversations.slots(messages)
      const table = this.#at(nowMillis)
      const places = slots.flatMap((slot) => {
        const row = slot === undefined || !table.isLive(slot) ? undefined : table.row(slot)
        return row === undefined ? [] : [{ id: row.id, slot: row.slot }]
      })
      const found = new Map((yield* this.versions(places)).map(({ id, when }) => [id, when]))
      return slots.map((slot) => found.get(table.row(slot ?? -1)?.id ?? ""))
    })
  }

  extractedFrom(
    scope: ConversationScope,
    keys: ReadonlyArray<string>,
    limit: number,
    nowMillis: number,
    asOf?: number
  ): Effect.Effect<ReadonlyArray<MemoryVersion>, StoreError> {
    return Effect.flatMap(this.store.slotsTakenFrom(scope, keys), (slots) => {
      const table = this.#at(nowMillis)
      const isThere = (slot: number) => (asOf === undefined ? table.isLive(slot) : table.wasSame(slot, asOf))
      const places = slots.flatMap((slot) => {
        const row = isThere(slot) ? table.row(slot) : undefined
        return row === undefined ? [] : [{ id: row.id, slot }]
      })
      return Effect.map(this.versions(places, asOf), (versions) =>
        versions.filter(({ isLatest }) => isLatest).slice(0, limit)
      )
    })
  }

  laterVersions(
    scope: ConversationScope,
    keys: ReadonlyArray<string>,
    filter: MemoryFilter,
    nowMillis: number
  ): Effect.Effect<Answers["LaterVersions"], StoreError> {
    return Effect.flatMap(this.store.slotsTakenFrom(scope, keys), (slots) => {
      const table = this.#at(nowMillis)
      const allowed = table.allowed({ ...filter, includeSuperseded: true })
      const { asOf } = filter
      const latestOf = (slot: number): number | undefined => table.latestOf(table.row(slot)?.uniqueKey ?? "", asOf)
      const pairs = slots.flatMap((slot) => {
        const latest = latestOf(slot)
        return latest === undefined || latest === slot || !allowed.has(slot) || !allowed.has(latest)
          ? []
          : [[this.#placeOf(table, slot), this.#placeOf(table, latest)] as const]
      })
      return Effect.map(this.versions(pairs.flat(), asOf), (versions) => {
        const byId = new Map(versions.map((version) => [version.id, version]))
        return pairs.flatMap(([older, latest]) => {
          const one = byId.get(older.id)
          const other = byId.get(latest.id)
          return one === undefined || other === undefined ? [] : [[one, other] as const]
        })
      })
    })
  }

  isCommitted(idempotencyKey: string): Effect.Effect<boolean, StoreError> {
    return Effect.map(this.store.storedResult(idempotencyKey), (stored) => stored !== undefined)
  }

  counts(nowMillis: number): NamespaceCounts {
    const table = this.#at(nowMillis)
    const times = [table.nextExpiry, this.store.conversations.nextExpiry].filter((time) => time !== undefined)
    return {
      live: table.liveCount,
      latest: table.latestCount,
      rows: table.rowCount,
      expired: table.expired.size,
      nextExpiry: times.length === 0 ? undefined : Math.min(...times),
      models: this.#state.vectors.models,
      indexBacklog: this.#indexBacklog
    }
  }

  indexes(): ReadonlyArray<IndexState> {
    const { vectors } = this.#state
    return vectors.models.flatMap((model) => {
      const index = vectors.index(model)
      if (index === undefined) return []
      const { engine, reason } = index.plan(resultsPlanned, undefined)
      const recall = engine === "exact" ? 1 : engine === "quantized" ? recallTarget : undefined
      return [{ model, vectors: index.size, backlog: index.backlog, engine, reason, recall }]
    })
  }

  get #indexBacklog(): number {
    const { vectors } = this.#state
    return vectors.models.reduce((sum, model) => sum + (vectors.index(model)?.backlog ?? 0), 0)
  }

  /** `cosines` in the order of `slots`. */
  #candidates(
    slots: ArrayLike<number>,
    cosines: ArrayLike<number>,
    scores: LexicalScores,
    queryVectors: QueryVectors
  ): ReadonlyArray<SearchCandidate> {
    const { key } = this.store
    const { table, vectors } = this.#state
    const candidates = new Array<SearchCandidate>(slots.length)
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at]!
      const model = vectors.modelOf(slot)
      const isComparable = model !== undefined && queryVectors.has(model)
      candidates[at] = new SearchCandidate(
        slot,
        table.rowAt(slot)!,
        passageAt(table, slot),
        scores.of(slot),
        isComparable ? cosines[at] : undefined,
        isComparable ? model : undefined,
        key.tag
      )
    }
    return candidates
  }

  /** Notes the greatest cosines of the visible messages around each; vectors of another model say nothing. */
  #addAround(candidates: ReadonlyArray<SearchCandidate>, allowed: Bitmap, queryVectors: QueryVectors): void {
    const { table, vectors } = this.#state
    if (queryVectors.size === 0 || !table.hasMessages) return
    const near: Array<number> = []
    const ends = new Uint32Array(candidates.length)
    for (const [at, { modelId, row }] of candidates.entries()) {
      if (modelId !== undefined) table.pushUnitsAround(row, near)
      ends[at] = near.length
    }
    const cosines = this.#cosines(near, queryVectors)
    const isMixed = vectors.models.length > 1
    let at = 0
    for (const [number, candidate] of candidates.entries()) {
      let most = -1
      for (const end = ends[number]!; at < end; at++) {
        const isOther = isMixed && vectors.modelOf(near[at]!) !== candidate.modelId
        if (cosines[at]! > most && !isOther && allowed.has(near[at]!)) most = cosines[at]!
      }
      if (most > -1) candidate.aroundCosine = most
    }
  }

  /** In the order of `slots`; NaN where no vector is comparable. */
  #cosines(slots: ReadonlyArray<number>, queryVectors: QueryVectors): Float32Array {
    const cosines = new Float32Array(slots.length).fill(Number.NaN)
    for (const [model, vector] of queryVectors) {
      const scores = this.#state.vectors.index(model)?.scoresOf(slots, vector)
      // Only one index holds the vector of a slot.
      scores?.forEach((score, at) => {
        if (!Number.isNaN(score)) cosines[at] = score
      })
    }
    return cosines
  }

  #placeOf(table: MemoryTable, slot: number): ListedMemory {
    const { createdAt, id } = table.row(slot)!
    return { id, createdAt, slot, namespace: this.store.key.tag }
  }

  /** Which messages give their words to those around them: at a time in the past those that were there. */
  #sharing({ asOf }: MemoryFilter): ((slot: number) => boolean) | undefined {
    return asOf === undefined ? undefined : (slot) => this.#state.table.wasSame(slot, asOf)
  }

  #at(nowMillis: number) {
    this.#state.table.advance(nowMillis)
    return this.#state.table
  }
}

/** The passage at a slot; undefined where a whole memory is searched. */
const passageAt = (table: MemoryTable, slot: number): FoundPassage | undefined => {
  const found = table.passage(slot)
  if (found !== undefined) return found
  const [first] = cutsOf(table.passagesOf(slot)) ?? []
  return first && { ...first, traits: table.row(slot)?.message?.traits ?? 0 }
}
