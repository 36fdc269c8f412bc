/**
 * Reads of a namespace, and their answers: plain data, as `Commands.ts` is for changes. The owner of the namespace
 * answers them, in this process today and in another one tomorrow.
 *
 * Invariant: what an answer contains was visible at the owner when it answered. Where several namespaces, or several
 * rounds, have to agree on what has expired, the query brings its time in `atMillis`; else the owner's clock counts.
 */
import type { MemoryRecord, MemoryVersion } from "@muniment/domain/Memory"
import type { FacetName, FacetOrder, MemoryFilter } from "@muniment/domain/Search"
import type { PlacedCandidate } from "./SearchCandidate.ts"
import type { ToldNaming } from "@muniment/language/people/People"
import type { TermStatistics, WeightedQuery } from "../ranking/Bm25.ts"
import type { ScoredQuery } from "../ranking/Evidence.ts"
import type { FoundCosines } from "../ranking/Fusion.ts"
import type { NameWords } from "@muniment/language/question/QuestionTraits"
import type { MemoryVector } from "../store/Commit.ts"
import type {
  ConversationContext,
  ConversationScope,
  MessagePlace,
  PendingCount,
  ScopedReading,
  StoredMessages
} from "../store/Conversations.ts"
import type { EventPage } from "../store/NamespaceStore.ts"
import type { Passage } from "@muniment/language/text/Passages"
import type { Plan } from "../vectors/planner/Planner.ts"
import type { Engine } from "../vectors/VectorIndex.ts"

export type NamespaceQuery = ImageQuery | RecordQuery | Events

/** Answered from the image in memory, at once. */
export type ImageQuery =
  | Names
  | Terms
  | Candidates
  | Cosines
  | CountMatching
  | ListPlaces
  | Facet
  | VectorsOf
  | Around
  | Counts
  | Indexes

/** Answered from the file. */
export type RecordQuery =
  | StrictCandidates
  | ExactCosinesAt
  | VersionsAt
  | Find
  | History
  | LatestOf
  | Inserted
  | WithoutVector
  | CountWithoutVector
  | Conversation
  | Processed
  | Stored
  | Said
  | ExtractedFrom
  | LaterVersions
  | PendingReadings
  | Pending
  | IsCommitted

/** The answer of each query. */
export interface Answers {
  readonly Names: FoundNames
  readonly Terms: FoundTerms
  readonly Candidates: NamespaceCandidates
  readonly StrictCandidates: NamespaceCandidates
  readonly ExactCosinesAt: ReadonlyMap<number, number>
  readonly Cosines: FoundCosines
  readonly CountMatching: number
  readonly ListPlaces: { readonly places: ReadonlyArray<ListedMemory>; readonly total: number }
  readonly Facet: FoundValues
  readonly VectorsOf: ReadonlyMap<string, MemoryVector>
  readonly Around: ReadonlyArray<PlacesAround>
  readonly Counts: NamespaceCounts
  readonly Indexes: ReadonlyArray<IndexState>
  readonly VersionsAt: ReadonlyArray<MemoryVersion>
  readonly Find: MemoryVersion | undefined
  readonly History: FoundHistory
  readonly LatestOf: MemoryVersion | undefined
  readonly Inserted: InsertedVersions
  readonly WithoutVector: ReadonlyArray<RecordWithoutVector>
  readonly CountWithoutVector: number
  readonly Conversation: ConversationContext
  readonly Processed: ReadonlySet<string>
  readonly Stored: StoredMessages
  readonly Said: ReadonlyArray<string | undefined>
  readonly ExtractedFrom: ReadonlyArray<MemoryVersion>
  readonly LaterVersions: ReadonlyArray<readonly [superseded: MemoryVersion, latest: MemoryVersion]>
  readonly PendingReadings: ReadonlyArray<ScopedReading>
  readonly Pending: PendingCount
  readonly IsCommitted: boolean
  readonly Events: EventPage
}

export type AnswerOf<Q extends NamespaceQuery> = Answers[Q["_tag"]]

/** Names and relations in the visible memories; none where they are of several subjects. */
export interface Names {
  readonly _tag: "Names"
  readonly filter: MemoryFilter
}

export interface FoundNames {
  /** Subjects of the visible memories, two at most; undefined: of those without one. */
  readonly subjects: ReadonlyArray<string | undefined>
  readonly namings: ReadonlyArray<ToldNaming>
  /** Names, or the role, of those who speak as users. */
  readonly speaking: ReadonlyArray<string>
}

/** First round of a search: document counts of its terms over the visible memories, and which speakers it may name. */
export interface Terms {
  readonly _tag: "Terms"
  readonly terms: ReadonlyArray<string>
  readonly names: NameWords
  readonly filter: MemoryFilter
  readonly atMillis: number
}

export interface FoundTerms {
  readonly statistics: TermStatistics
  /** Names, or roles of those without; in no order. */
  readonly speakers: ReadonlyArray<string>
}

/** Second round: the best by words and the best by meaning, each with both scores. */
export interface Candidates {
  readonly _tag: "Candidates"
  readonly query: WeightedQuery
  readonly vectors: QueryVectors
  readonly filter: MemoryFilter
  readonly atMillis: number
  /** Default `Limits.searchCandidatesMax`. */
  readonly candidatesMax?: number | undefined
}

/**
 * `Candidates` whose cosines are those of the float32 vectors in the file, and among which the `certain` best by meaning
 * are: each plan says whether that is certified.
 */
export interface StrictCandidates extends Omit<Candidates, "_tag"> {
  readonly _tag: "StrictCandidates"
  readonly certain: number
}

/** Cosines of the float32 vectors in the file, by slot of the passage or memory; leaves out what has gone. */
export interface ExactCosinesAt {
  readonly _tag: "ExactCosinesAt"
  readonly places: ReadonlyArray<MemoryPlace>
  readonly vectors: QueryVectors
}

/** Figures of all visible memories that relevance needs, for `CountMatching`. */
export interface Cosines {
  readonly _tag: "Cosines"
  readonly query: WeightedQuery
  readonly fusion: ScoredQuery
  readonly vectors: QueryVectors
  readonly filter: MemoryFilter
  readonly atMillis: number
}

/** Number of visible memories that match, candidates or not; for attestations. */
export interface CountMatching extends Omit<Cosines, "_tag"> {
  readonly _tag: "CountMatching"
}

/** The first `limit` places after `after`, newest first, and the number of memories that match the filter. */
export interface ListPlaces {
  readonly _tag: "ListPlaces"
  readonly filter: MemoryFilter
  readonly after: ListPosition | undefined
  readonly limit: number
  readonly isOldestFirst?: boolean | undefined
}

/** The first `limit` values of one facet among the memories that match the filter. */
export interface Facet {
  readonly _tag: "Facet"
  readonly facet: FacetName
  readonly filter: MemoryFilter
  /** Only values with this text in them, in any case. */
  readonly contains?: string | undefined
  /** Only values behind this one, by name. */
  readonly after?: string | undefined
  readonly order: FacetOrder
  readonly limit: number
}

export interface FoundValues {
  readonly values: ReadonlyArray<FacetValue>
  /** How many there are. */
  readonly distinct: number
}

/** A value, how many memories have it, and when the newest of these was stored. */
export interface FacetValue {
  readonly value: string
  readonly memories: number
  readonly newestAt: number
}

/** Vectors at places found before, by id; leaves out memories that have gone or have no vector. */
export interface VectorsOf {
  readonly _tag: "VectorsOf"
  readonly places: ReadonlyArray<MemoryPlace>
}

/** The messages around some in their conversations; says nothing of those that the filter hides or that are gone. */
export interface Around {
  readonly _tag: "Around"
  readonly places: ReadonlyArray<MemoryPlace>
  /** The nearest visible ones before each, and after it. */
  readonly eachSide: number
  readonly filter: MemoryFilter
}

export interface PlacesAround {
  /** Id of the message that they are around. */
  readonly id: string
  /** In the order of the conversation. */
  readonly before: ReadonlyArray<MemoryPlace>
  readonly after: ReadonlyArray<MemoryPlace>
}

export interface Counts {
  readonly _tag: "Counts"
}

/** The state of each vector index, one per embedding model. */
export interface Indexes {
  readonly _tag: "Indexes"
}

export interface IndexState {
  readonly model: string
  readonly vectors: number
  /** Vectors that no list or graph holds yet; searches scan them. */
  readonly backlog: number
  /** Engine for a search without a filter, for ten hits, and why. */
  readonly engine: Engine
  readonly reason: string
  /** Share of the nearest vectors that the engine is set to find; undefined: it has no such setting. */
  readonly recall: number | undefined
}

export interface NamespaceCounts {
  /** Live memories, and the latest versions among them. */
  readonly live: number
  readonly latest: number
  /** With what has expired and waits for a sweep. */
  readonly rows: number
  readonly expired: number
  /** Milliseconds: when to sweep; undefined: never, as things are. */
  readonly nextExpiry: number | undefined
  /** Models that some vector has. */
  readonly models: ReadonlyArray<string>
  /** Vectors that no list or graph holds yet; searches scan them. */
  readonly indexBacklog: number
}

/** Records at places found before; leaves out memories that have expired, moved or gone since. */
export interface VersionsAt {
  readonly _tag: "VersionsAt"
  readonly places: ReadonlyArray<MemoryPlace>
  /** Their places in version chains are those of this time, milliseconds; default: now. */
  readonly asOf?: number | undefined
}

export interface Find {
  readonly _tag: "Find"
  readonly id: string
}

/** The live versions of a memory, newest first: at most `limit`. */
export interface History {
  readonly _tag: "History"
  readonly id: string
  readonly limit: number
}

export interface FoundHistory {
  readonly versions: ReadonlyArray<MemoryVersion>
  /** How many there are; 0: the memory is not there. */
  readonly total: number
}

/** The latest live memory of a unique key. */
export interface LatestOf {
  readonly _tag: "LatestOf"
  readonly uniqueKey: string
}

/** Live records in order of insertion after `afterSeq`, superseded versions included; for exports. */
export interface Inserted {
  readonly _tag: "Inserted"
  readonly afterSeq: number
  readonly limit: number
}

export interface InsertedVersions {
  readonly versions: ReadonlyArray<MemoryVersion>
  /** Sequence number of the last record that was looked at; undefined: there is none behind `afterSeq`. */
  readonly lastSeq: number | undefined
}

/** Records that lack a vector of `model`, their own or a passage's, from `afterSlot` on. */
export interface WithoutVector {
  readonly _tag: "WithoutVector"
  readonly model: string
  readonly afterSlot: number
  readonly limit: number
}

export interface RecordWithoutVector {
  readonly slot: number
  readonly record: MemoryRecord
  /** Parts of it that are embedded; undefined: the whole text. */
  readonly passages: ReadonlyArray<Passage> | undefined
}

export interface CountWithoutVector {
  readonly _tag: "CountWithoutVector"
  readonly model: string
}

/** Earlier turns and summary of a conversation that are still kept. */
export interface Conversation {
  readonly _tag: "Conversation"
  readonly scope: ConversationScope
}

/** The keys among `keys` whose messages were processed in the conversation. */
export interface Processed {
  readonly _tag: "Processed"
  readonly scope: ConversationScope
  readonly keys: ReadonlyArray<string>
}

/** The messages among `keys` that were stored as memories: their memory's id, undefined if it is gone. */
export interface Stored {
  readonly _tag: "Stored"
  readonly scope: ConversationScope
  readonly keys: ReadonlyArray<string>
}

/** When messages of conversations were said, ISO 8601, in their order; undefined: it is not stored. */
export interface Said {
  readonly _tag: "Said"
  readonly messages: ReadonlyArray<MessagePlace>
}

/** Latest live memories that were extracted from messages of a conversation, by the keys of these; at most `limit`. */
export interface ExtractedFrom {
  readonly _tag: "ExtractedFrom"
  readonly scope: ConversationScope
  readonly keys: ReadonlyArray<string>
  readonly limit: number
  /** Memories that were there and latest at this time, milliseconds; default: now. */
  readonly asOf?: number | undefined
}

/** Visible memories that were taken from messages of a conversation and superseded, each with its latest version. */
export interface LaterVersions {
  readonly _tag: "LaterVersions"
  readonly scope: ConversationScope
  readonly keys: ReadonlyArray<string>
  readonly filter: MemoryFilter
}

/**
 * Extractions that are to follow a commit of messages, oldest first and then those that read again, beginning behind the
 * place `after`.
 */
export interface PendingReadings {
  readonly _tag: "PendingReadings"
  readonly limit: number
  readonly after?: number | undefined
}

/** How many extractions are to follow. */
export interface Pending {
  readonly _tag: "Pending"
}

/** Whether a command with this idempotency key was committed within `Limits.idempotencyRetentionMillis`. */
export interface IsCommitted {
  readonly _tag: "IsCommitted"
  readonly idempotencyKey: string
}

/** Events of memories behind a number, in order; opens nothing, because the events of all agents of an account are free. */
export interface Events {
  readonly _tag: "Events"
  readonly after: number
  readonly limit: number
}

/** How the vectors of one model were searched in one namespace: which engine, and why. */
export interface NamespacePlan extends Plan {
  /** In a strict search: whether the best by meaning are those of an exact search over float32 vectors. */
  readonly isCertified?: boolean | undefined
  /** Tag of the namespace. */
  readonly namespace: string
  readonly model: string
}

/** Candidates of one namespace, and how those by meaning were found. */
export interface NamespaceCandidates {
  readonly candidates: ReadonlyArray<PlacedCandidate>
  readonly plans: ReadonlyArray<NamespacePlan>
}

/** Where a memory was found. Slots are reused, so the id tells whether the memory is still there. */
export interface MemoryPlace {
  readonly id: string
  readonly slot: number
  /** Slot of the passage that was found, whose vector counts; default: `slot`. */
  readonly unit?: number | undefined
}

/** Position in a listing: newest first, then id descending. */
export interface ListPosition {
  readonly createdAt: number
  readonly id: string
}

export interface ListedMemory extends ListPosition, MemoryPlace {
  /** Tag of the namespace. */
  readonly namespace: string
}

/** Vector of the query for each embedding model; empty for a search by words alone. */
export type QueryVectors = ReadonlyMap<string, Float32Array>
