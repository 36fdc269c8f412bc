/**
 * From candidates to the commit that stores them with the marks of their messages: judged, compared with
 * what is known, embedded, stored. Nothing that was found goes without a word: what is not stored is in
 * `rejected`.
 */
import { Clock, Effect } from "effect"
import type { IdempotencyToken } from "@muniment/domain/api/Middleware"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryRecord, RejectedCandidate } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import type { ConversationCommit, CreateReply, ReadContext } from "@muniment/engine/Commands"
import { MemorySearch } from "@muniment/engine/MemorySearch"
import { NamespaceHost } from "@muniment/engine/NamespaceHost"
import { denseText } from "@muniment/engine/recall/MemoryText"
import { speaksFor } from "@muniment/engine/speaksFor"
import type { ConversationContext } from "@muniment/engine/store/Conversations"
import type { MemoryVector, NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { Extraction } from "@muniment/insight/extraction/Extractor"
import { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { KnownKinds } from "../memories/KnownKinds.ts"
import { MemoryIds } from "../memories/MemoryIds.ts"
import { expiryOf } from "../memories/MemoryPreparation.ts"
import { QueryEmbedding } from "../memories/QueryEmbedding.ts"
import { extractedRecords, judgeCandidates, rejection, type ExtractionScope } from "./CandidateJudge.ts"
import { meaningOf } from "./SameMeaning.ts"

/** Memories that a new one is compared with. */
const comparedMax = 5

export const makeCandidateStore = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const searcher = yield* MemorySearch
  const kinds = yield* KnownKinds
  const embedding = yield* QueryEmbedding
  const validator = yield* SchemaValidator
  const ids = new MemoryIds()

  /** The live memory that says what `record` says, if it is among the closest. */
  const sayingTheSame = Effect.fnUntraced(function* (
    key: NamespaceKey,
    record: MemoryRecord,
    vector: MemoryVector | undefined
  ) {
    const hits = yield* searcher.search([key], {
      text: denseText(record),
      vectors: new Map(vector === undefined ? [] : [[vector.model, vector.values]]),
      filter: { subjectId: record.subjectId, hasNoSubject: record.subjectId === undefined, kind: record.kind },
      limit: comparedMax,
      minRelevance: 0
    })
    const meaning = meaningOf(record.data)
    return hits.find(
      ({ memory }) =>
        meaningOf(memory.data) === meaning && speaksFor(memory.expiresAt, record.expiresAt, record.createdAt)
    )?.memory
  })

  /** Stores what the candidates of `scope` come to; undefined: somebody processed the messages meanwhile. */
  return Effect.fn("CandidateStore.store")(function* (
    account: string,
    scope: ExtractionScope,
    schemas: ReadonlyMap<string, MemorySchema>,
    extraction: Extraction,
    token: IdempotencyToken | undefined
  ) {
    const { messages, namespace } = scope
    const judged = yield* judgeCandidates(account, extraction.candidates, messages, schemas).pipe(
      Effect.provideService(SchemaValidator, validator)
    )
    const rejected: Array<RejectedCandidate> = [
      ...extraction.dropped.map((dropped) => rejection(dropped, messages, dropped.reason, dropped.message)),
      ...judged.rejected
    ]
    const records = yield* extractedRecords(judged.accepted, scope, kinds, ids)
    const vectors = yield* embedding.passages(records)
    const fresh: Array<{ readonly record: MemoryRecord; readonly vector: MemoryVector | undefined }> = []
    const sourcesOf = new Map(records.map(({ id }, at) => [id, judged.accepted[at]!.candidate]))
    const rejectKnown = (
      record: MemoryRecord | undefined,
      existing: string,
      reason: "duplicate" | "near_duplicate"
    ) => {
      // Of an answer that is given again, only the ids are kept.
      const candidate = record === undefined ? { sources: [] } : sourcesOf.get(record.id)!
      rejected.push(rejection(candidate, messages, reason, "a stored memory says the same", existing))
    }
    for (const [at, record] of records.entries()) {
      const vector = vectors[at]
      // With a key the newest version counts, whatever its wording.
      const same = record.uniqueKey === undefined ? yield* sayingTheSame(namespace, record, vector) : undefined
      if (same === undefined) fresh.push({ record, vector })
      else rejectKnown(record, same.id, same.contentHash === record.contentHash ? "duplicate" : "near_duplicate")
    }
    const reply: CreateReply = yield* host.ask(namespace, {
      _tag: "CreateMemories",
      memories: fresh.map((memory) => ({ ...memory, isReplacement: false, setsExpiry: false })),
      skipsDuplicates: true,
      conversation: yield* processedBy(scope, extraction.summary),
      idempotency: token
    })
    if (reply.isStale) return undefined
    for (const { id, index } of reply.duplicates) rejectKnown(fresh[index]?.record, id, "duplicate")
    return { reply, rejected }
  })
})

const processedBy = Effect.fnUntraced(function* (
  { before, messages, request }: ExtractionScope,
  summary: string | undefined
): Effect.fn.Return<ConversationCommit> {
  const expiresAt = expiryOf({}, request, yield* Clock.currentTimeMillis)
  return {
    scope: { subjectId: request.subjectId, threadId: request.threadId },
    processed: messages.map(({ key }) => key),
    isForced: request.force === true,
    turns: messages.map(({ content, key, role }) => ({
      key,
      role,
      content: content.slice(0, Limits.contextMessageLengthMax)
    })),
    summary,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(before !== undefined && isToldBefore(before) && { context: readContextOf(before) })
  }
})

/** Nothing was told of an empty thread, so nothing of it can be erased or end. */
const isToldBefore = ({ summary, turns }: ConversationContext): boolean => summary !== undefined || turns.length > 0

const readContextOf = ({ readAt, summaryExpiresAt, turns }: ConversationContext): ReadContext => {
  const ends = [summaryExpiresAt, ...turns.map(({ expiresAt }) => expiresAt)].filter((time) => time !== undefined)
  return { readAt, expiresAt: ends.length === 0 ? undefined : Math.min(...ends) }
}
