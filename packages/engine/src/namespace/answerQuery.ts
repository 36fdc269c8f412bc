/** Answers the queries of `NamespaceQuery.ts` by a namespace's reader. */
import { Effect } from "effect"
import { readsData } from "./DataMatches.ts"
import type { Answers, ImageQuery, NamespaceQuery, RecordQuery } from "./NamespaceQuery.ts"
import type { NamespaceReader } from "./NamespaceReader.ts"
import { type StoreError, toStoreError } from "../store/StoreError.ts"

const imageTags: ReadonlySet<NamespaceQuery["_tag"]> = new Set([
  "Names",
  "Terms",
  "Candidates",
  "Cosines",
  "CountMatching",
  "ListPlaces",
  "Facet",
  "VectorsOf",
  "Around",
  "Counts",
  "Indexes"
] satisfies ReadonlyArray<ImageQuery["_tag"]>)

export const isImageQuery = (query: NamespaceQuery): query is ImageQuery => imageTags.has(query._tag)

/** Whether its filter needs data, which is in the file. */
export const filtersByData = (query: NamespaceQuery): boolean => "filter" in query && readsData(query.filter)

/** Throws `StoreError`s. */
export const answerFromImage = (
  reader: NamespaceReader,
  query: ImageQuery,
  nowMillis: number
): Answers[ImageQuery["_tag"]] => {
  switch (query._tag) {
    case "Names":
      return reader.names(query, nowMillis)
    case "Terms":
      return reader.terms(query)
    case "Candidates":
      return reader.candidates(query)
    case "Cosines":
      return reader.cosines(query)
    case "CountMatching":
      return reader.countMatching(query)
    case "ListPlaces":
      return reader.list(query, nowMillis)
    case "Facet":
      return reader.facet(query, nowMillis)
    case "VectorsOf":
      return reader.vectorsOf(query.places, nowMillis)
    case "Around":
      return reader.around(query, nowMillis)
    case "Counts":
      return reader.counts(nowMillis)
    case "Indexes":
      return reader.indexes()
  }
}

export const answerFromFile = (
  reader: NamespaceReader,
  query: RecordQuery,
  nowMillis: number
): Effect.Effect<Answers[RecordQuery["_tag"]], StoreError> => {
  switch (query._tag) {
    case "StrictCandidates":
      return reader.strictCandidates(query)
    case "ExactCosinesAt":
      return reader.exactCosinesAt(query)
    case "VersionsAt":
      return reader.versions(query.places, query.asOf)
    case "Find":
      return reader.find(query.id, nowMillis)
    case "History":
      return reader.history(query.id, query.limit, nowMillis)
    case "LatestOf":
      return reader.latestOf(query.uniqueKey, nowMillis)
    case "Inserted":
      return reader.inserted(query.afterSeq, query.limit, nowMillis)
    case "WithoutVector":
      return reader.withoutVector(query.model, query.afterSlot, query.limit)
    case "CountWithoutVector":
      return reader.store.whole((file) => file.countWithoutVector(query.model))
    case "Conversation":
      return reader.store.conversations.context(query.scope, nowMillis)
    case "Processed":
      return reader.store.conversations.processed(query.scope, query.keys)
    case "Stored":
      return reader.store.conversations.stored(query.scope, query.keys)
    case "Said":
      return reader.said(query.messages, nowMillis)
    case "ExtractedFrom":
      return reader.extractedFrom(query.scope, query.keys, query.limit, nowMillis, query.asOf)
    case "LaterVersions":
      return reader.laterVersions(query.scope, query.keys, query.filter, nowMillis)
    case "PendingReadings":
      return reader.store.conversations.pendingReadings(query.limit, query.after)
    case "Pending":
      return reader.store.conversations.pendingCount
    case "IsCommitted":
      return reader.isCommitted(query.idempotencyKey)
  }
}

/** A query whose filter by data is resolved, by image or file. */
export const answerResolved = (
  reader: NamespaceReader,
  query: ImageQuery | RecordQuery,
  nowMillis: number
): Effect.Effect<Answers[NamespaceQuery["_tag"]], StoreError> =>
  isImageQuery(query)
    ? Effect.try({ try: () => answerFromImage(reader, query, nowMillis), catch: toStoreError })
    : answerFromFile(reader, query, nowMillis)
