/**
 * Queries of namespaces and their answers as bytes between nodes (`SchemaBinary`): a release may add optional fields,
 * which older ones pass over, so that nodes of two releases serve side by side.
 */
import { Schema } from "effect"
import { SchemaBinary } from "effect/encoding"
import { FacetName, FacetOrder } from "@muniment/domain/Search"
import type { AnswerOf, Answers, NamespaceCandidates, NamespaceQuery } from "@muniment/engine/namespace/NamespaceQuery"
import {
  Doubles,
  Filter,
  Mark,
  MaybeNumber,
  MaybeText,
  notShared,
  PassageCut,
  Place,
  placeFields,
  readingFields,
  Record,
  Scope,
  Scored,
  Text,
  Texts,
  turnFields,
  Vector,
  Vectors,
  Version,
  Weighted
} from "./Values.ts"

type Tag = NamespaceQuery["_tag"]
type QueryOf<T extends Tag> = Extract<NamespaceQuery, { readonly _tag: T }>

const searched = { query: Weighted, vectors: Vectors, filter: Filter, atMillis: Schema.Number }
const ofMessages = { scope: Scope, keys: Texts }
const count = Schema.Number
const versions = Schema.Array(Version)

const queries = {
  Terms: Schema.TaggedStruct("Terms", {
    terms: Texts,
    names: Schema.Struct({ words: Schema.ReadonlySet(Text), capitals: Schema.ReadonlySet(Text) }),
    filter: Filter,
    atMillis: Schema.Number
  }),
  Candidates: Schema.TaggedStruct("Candidates", { ...searched, candidatesMax: Schema.optional(count) }),
  StrictCandidates: Schema.TaggedStruct("StrictCandidates", {
    ...searched,
    candidatesMax: Schema.optional(count),
    certain: count
  }),
  ExactCosinesAt: Schema.TaggedStruct("ExactCosinesAt", { places: Schema.Array(Place), vectors: Vectors }),
  Cosines: Schema.TaggedStruct("Cosines", { ...searched, fusion: Scored }),
  CountMatching: Schema.TaggedStruct("CountMatching", { ...searched, fusion: Scored }),
  ListPlaces: Schema.TaggedStruct("ListPlaces", {
    filter: Filter,
    after: Schema.UndefinedOr(Schema.Struct({ id: Text, createdAt: Schema.Number })),
    limit: count,
    isOldestFirst: Schema.optional(Schema.Boolean)
  }),
  Facet: Schema.TaggedStruct("Facet", {
    facet: FacetName,
    filter: Filter,
    contains: Schema.optional(Text),
    after: Schema.optional(Text),
    order: FacetOrder,
    limit: count
  }),
  VectorsOf: Schema.TaggedStruct("VectorsOf", { places: Schema.Array(Place) }),
  Around: Schema.TaggedStruct("Around", { places: Schema.Array(Place), eachSide: count, filter: Filter }),
  Counts: Schema.TaggedStruct("Counts", {}),
  Indexes: Schema.TaggedStruct("Indexes", {}),
  VersionsAt: Schema.TaggedStruct("VersionsAt", { places: Schema.Array(Place), asOf: Schema.optional(Schema.Number) }),
  Find: Schema.TaggedStruct("Find", { id: Text }),
  History: Schema.TaggedStruct("History", { id: Text, limit: count }),
  LatestOf: Schema.TaggedStruct("LatestOf", { uniqueKey: Text }),
  Inserted: Schema.TaggedStruct("Inserted", { afterSeq: Schema.Number, limit: count }),
  WithoutVector: Schema.TaggedStruct("WithoutVector", { model: Text, afterSlot: Schema.Number, limit: count }),
  CountWithoutVector: Schema.TaggedStruct("CountWithoutVector", { model: Text }),
  Conversation: Schema.TaggedStruct("Conversation", { scope: Scope }),
  Processed: Schema.TaggedStruct("Processed", ofMessages),
  Stored: Schema.TaggedStruct("Stored", ofMessages),
  Said: Schema.TaggedStruct("Said", { messages: Schema.Array(Schema.Struct({ scope: Scope, key: Text })) }),
  ExtractedFrom: Schema.TaggedStruct("ExtractedFrom", {
    ...ofMessages,
    limit: count,
    asOf: Schema.optional(Schema.Number)
  }),
  LaterVersions: Schema.TaggedStruct("LaterVersions", { ...ofMessages, filter: Filter }),
  PendingReadings: Schema.TaggedStruct("PendingReadings", { limit: count, after: Schema.optional(Schema.Number) }),
  Pending: Schema.TaggedStruct("Pending", {}),
  IsCommitted: Schema.TaggedStruct("IsCommitted", { idempotencyKey: Text }),
  Events: Schema.TaggedStruct("Events", { after: Schema.Number, limit: count }),
  Names: Schema.TaggedStruct("Names", { filter: Filter })
} satisfies { readonly [T in Tag]: Schema.Codec<QueryOf<T>, unknown> }

const candidate = Schema.Struct({
  id: Text,
  createdAt: Schema.Number,
  slot: Schema.Number,
  unit: Schema.Number,
  namespace: Text,
  lexicalScore: Schema.Number,
  matchedTerms: count,
  cosine: MaybeNumber,
  aroundCosine: Schema.optional(Schema.Number),
  modelId: MaybeText,
  passage: Schema.UndefinedOr(PassageCut),
  message: Schema.optional(Schema.Struct({ position: MaybeNumber, speaker: Text, traits: Schema.Number })),
  eventAt: Schema.optional(Schema.Number),
  about: Schema.optional(Text)
})

const plan = Schema.Struct({
  namespace: Text,
  model: Text,
  engine: Schema.Literals(["exact", "quantized", "hnsw"]),
  reason: Text,
  ef: Schema.Number,
  probes: Schema.Number,
  fallsBackToScan: Schema.Boolean,
  estimatedMicros: Schema.Number,
  isCertified: Schema.optional(Schema.Boolean)
})

const foundCandidates = Schema.Struct({ candidates: Schema.Array(candidate), plans: Schema.Array(plan) })

const answers: { readonly [T in Tag]: Schema.Codec<Answers[T], unknown> } = {
  Terms: Schema.Struct({
    statistics: Schema.Struct({ documents: count, totalLength: count, documentFrequencies: Schema.Array(count) }),
    speakers: Texts
  }),
  Candidates: foundCandidates,
  StrictCandidates: foundCandidates,
  ExactCosinesAt: Schema.ReadonlyMap(count, Schema.Number),
  Cosines: Schema.Struct({ best: Doubles, hasWords: Schema.Boolean }),
  CountMatching: count,
  ListPlaces: Schema.Struct({
    places: Schema.Array(Schema.Struct({ ...placeFields, createdAt: Schema.Number, namespace: Text })),
    total: count
  }),
  Facet: Schema.Struct({
    values: Schema.Array(Schema.Struct({ value: Text, memories: count, newestAt: Schema.Number })),
    distinct: count
  }),
  VectorsOf: Schema.ReadonlyMap(Text, Vector),
  Around: Schema.Array(Schema.Struct({ id: Text, before: Schema.Array(Place), after: Schema.Array(Place) })),
  Counts: Schema.Struct({
    live: count,
    latest: count,
    rows: count,
    expired: count,
    nextExpiry: MaybeNumber,
    models: Texts,
    indexBacklog: count
  }),
  Indexes: Schema.Array(
    Schema.Struct({
      model: Text,
      vectors: count,
      backlog: count,
      engine: Schema.Literals(["exact", "quantized", "hnsw"]),
      reason: Text,
      recall: MaybeNumber
    })
  ),
  VersionsAt: versions,
  Find: Schema.UndefinedOr(Version),
  History: Schema.Struct({ versions, total: count }),
  LatestOf: Schema.UndefinedOr(Version),
  Inserted: Schema.Struct({ versions, lastSeq: MaybeNumber }),
  WithoutVector: Schema.Array(
    Schema.Struct({ slot: Schema.Number, record: Record, passages: Schema.UndefinedOr(Schema.Array(PassageCut)) })
  ),
  CountWithoutVector: count,
  Conversation: Schema.Struct({
    turns: Schema.Array(Schema.Struct({ ...turnFields, expiresAt: MaybeNumber })),
    summary: MaybeText,
    summaryExpiresAt: MaybeNumber,
    readAt: Mark
  }),
  Processed: Schema.ReadonlySet(Text),
  Stored: Schema.ReadonlyMap(Text, MaybeText),
  Said: Schema.Array(MaybeText),
  ExtractedFrom: versions,
  LaterVersions: Schema.Array(Schema.Tuple([Version, Version])),
  PendingReadings: Schema.Array(Schema.Struct({ ...readingFields, scope: Scope, place: Schema.Number })),
  Pending: Schema.Struct({ count, sinceMillis: MaybeNumber }),
  IsCommitted: Schema.Boolean,
  Events: Schema.Struct({
    events: Schema.Array(
      Schema.Struct({
        number: Schema.Number,
        type: Schema.Literals(["created", "updated", "superseded", "deleted"]),
        id: Text,
        kind: Text,
        subject: MaybeNumber,
        subjectId: MaybeText,
        threadId: MaybeText,
        supersededBy: MaybeText,
        at: Schema.Number
      })
    ),
    through: Schema.Number,
    floor: Schema.Number,
    born: Schema.Number
  }),
  Names: Schema.Struct({
    subjects: Schema.Array(MaybeText),
    namings: Schema.Array(
      Schema.Struct({
        name: Text,
        relation: Schema.optional(Text),
        of: Schema.optional(Text),
        isAlias: Schema.optional(Schema.Boolean),
        at: Schema.Number,
        seq: Schema.Number
      })
    ),
    speaking: Texts
  })
}

const Query = Schema.Union(Object.values(queries))
const queryCodec = SchemaBinary.toCodec(Query)

export const encodeQuery = (query: NamespaceQuery): Uint8Array => Schema.encodeSync(queryCodec)(query).slice()

/** Throws for bytes that are none of a query. */
export const decodeQuery = (bytes: Uint8Array): NamespaceQuery => Schema.decodeSync(queryCodec)(notShared(bytes))

export const encodeAnswer = <Q extends NamespaceQuery>(query: Q, answer: AnswerOf<Q>): Uint8Array =>
  Schema.encodeUnknownSync(SchemaBinary.toCodec(answers[query._tag]))(
    query._tag === "Candidates" || query._tag === "StrictCandidates" ? plain(answer as NamespaceCandidates) : answer
  ).slice()

/** Candidates read their fields late, by getters of their class; schemas see own fields only. */
const plain = ({ candidates, plans }: NamespaceCandidates): NamespaceCandidates => ({
  plans,
  candidates: candidates.map((one) => ({
    id: one.id,
    createdAt: one.createdAt,
    slot: one.slot,
    unit: one.unit,
    namespace: one.namespace,
    lexicalScore: one.lexicalScore,
    matchedTerms: one.matchedTerms,
    cosine: one.cosine,
    aroundCosine: one.aroundCosine,
    modelId: one.modelId,
    passage: one.passage,
    message: one.message,
    eventAt: one.eventAt,
    about: one.about
  }))
})

export const decodeAnswer = <Q extends NamespaceQuery>(query: Q, bytes: Uint8Array): AnswerOf<Q> =>
  Schema.decodeUnknownSync(SchemaBinary.toCodec(answers[query._tag]))(notShared(bytes)) as AnswerOf<Q>
