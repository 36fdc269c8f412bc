/**
 * Storage of candidates with the marks of their messages in one commit: checks, embeds, compares with stored
 * memories, stores. Every candidate that is not stored is in `rejected`, with its reason.
 */
import { Clock, Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { type MemoryRecord, type RejectedCandidate, waitsFor } from "@muniment/domain/Memory"
import type { ConversationCommit, ReadContext } from "@muniment/engine/namespace/Commands"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { denseText } from "@muniment/engine/text/MemoryText"
import { coversLife } from "@muniment/engine/namespace/coversLife"
import type { ConversationContext } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { MemoryVector } from "@muniment/engine/store/Commit"
import type { Extraction } from "@muniment/insight/extraction/Extractor"
import { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { KnownKinds } from "../memories/KnownKinds.ts"
import { MemoryIds } from "../memories/MemoryIds.ts"
import { contentKey, expiryOf } from "../memories/MemoryPreparation.ts"
import { TextEmbedding } from "../memories/TextEmbedding.ts"
import { extractedRecords, judgeCandidates, rejection, type ExtractionScope } from "./CandidateJudge.ts"
import { isOfTool, turnOf } from "./ConversationMessages.ts"
import { saidLater } from "./KnownMemories.ts"
import { meaningOf } from "./SameMeaning.ts"
import { versionPlaces } from "./SlotKeys.ts"

/** Memories that a new one is compared with. */
const comparedMax = 5

/** Stores the memories of an extraction; undefined: another request processed the messages meanwhile. */
export type CandidateStore = Effect.Success<typeof makeCandidateStore>

export const makeCandidateStore = Effect.gen(function* () {
  const parts = yield* makeParts
  return (scope: ExtractionScope, extraction: Extraction) => storeCandidates(parts, scope, extraction)
})

const makeParts = Effect.all({
  host: NamespaceHost,
  searcher: MemorySearch,
  kinds: KnownKinds,
  embedding: TextEmbedding,
  validator: SchemaValidator,
  ids: Effect.sync(() => new MemoryIds())
})

type Parts = Effect.Success<typeof makeParts>

const storeCandidates = Effect.fn("CandidateStore.store")(function* (
  parts: Parts,
  scope: ExtractionScope,
  extraction: Extraction
) {
  const { embedding, ids, kinds, validator } = parts
  const { account, messages, namespace, request, schemas, token } = scope
  const { accepted, rejected } = yield* judgeCandidates(account, extraction.candidates, messages, schemas, validator)
  const dropped = extraction.dropped.map((each) => rejection(each, messages, each.reason, each.message))
  const { subjectId } = request
  const places = yield* versionPlaces(parts.host, { namespace, subjectId }, accepted, messages)
  const withheld = withheldOf(scope, extraction)
  const records = yield* extractedRecords(accepted, scope, kinds, ids, places, withheld)
  const candidates = new Map(records.map(({ id }, at) => [id, accepted[at]!.candidate]))
  const wait = waitsFor(request, "vectors") ? "vectors" : "never"
  return yield* embedding.storing(namespace, records, wait, (vectors) =>
    Effect.gen(function* () {
      const known: Array<RejectedCandidate> = []
      const rejectKnown = (record: MemoryRecord | undefined, existing: string, reason: KnownReason) => {
        // A repeated result keeps only the ids.
        const candidate = record === undefined ? { sources: [] } : candidates.get(record.id)!
        known.push(rejection(candidate, messages, reason, "a stored memory says the same", existing))
      }
      const fresh: Array<{ readonly record: MemoryRecord; readonly vector: MemoryVector | undefined }> = []
      for (const [at, record] of records.entries()) {
        const vector = vectors[at]
        // With `uniqueOn` the newest version counts, whatever its wording; a slot keeps the version that says the same.
        const isVersioned = (accepted[at]!.schema.uniqueOn ?? []).length > 0
        const later = yield* laterVersion(parts, scope, record)
        const same = later ?? (isVersioned ? undefined : yield* sameMeaning(parts, namespace, record, vector))
        if (same === undefined) fresh.push({ record, vector })
        else rejectKnown(record, same.id, same.contentHash === record.contentHash ? "duplicate" : "near_duplicate")
      }
      const reply = yield* parts.host.ask(namespace, {
        _tag: "StoreMemories",
        memories: fresh.map((memory) => ({ ...memory, isReplacement: false, setsExpiry: false })),
        skipsDuplicates: true,
        conversation: yield* conversationCommit(scope, extraction, withheld),
        idempotency: token
      })
      if (reply.isStale) return undefined
      for (const { id, index } of reply.duplicates) rejectKnown(fresh[index]?.record, id, "duplicate")
      return { reply, rejected: [...dropped, ...rejected, ...known], withheld }
    })
  )
})

/** Keys of the messages that their writer asked not to keep. */
const withheldOf = ({ context, messages }: ExtractionScope, { withheld = [] }: Extraction): ReadonlySet<string> =>
  new Set(withheld.flatMap((place) => (place < 0 ? context.at(place)?.key : messages[place]?.key) ?? []))

/** The latest version of what it states, if that was said after the messages that are read again. */
const laterVersion = Effect.fnUntraced(function* (
  { host }: Parts,
  { namespace, saidMillis }: ExtractionScope,
  { data, kind, subjectId, uniqueKey: own }: MemoryRecord
) {
  if (saidMillis === undefined || own === undefined) return undefined
  for (const uniqueKey of new Set([own, contentKey(subjectId, kind, data)])) {
    const latest = yield* host.answer(namespace, { _tag: "LatestOf", uniqueKey })
    if (latest !== undefined && (yield* saidLater(host, namespace, [latest], saidMillis)).size > 0) return latest
  }
  return undefined
})

type KnownReason = "duplicate" | "near_duplicate"

/** The live memory with the meaning of `record`, if it is among the closest. */
const sameMeaning = Effect.fnUntraced(function* (
  { searcher }: Parts,
  key: NamespaceKey,
  record: MemoryRecord,
  vector: MemoryVector | undefined
) {
  const { hits } = yield* searcher.search([key], {
    text: denseText(record),
    vectors: new Map(vector === undefined ? [] : [[vector.model, vector.values]]),
    filter: { subjectId: record.subjectId, hasNoSubject: record.subjectId === undefined, kind: record.kind },
    limit: comparedMax,
    minRelevance: 0
  })
  const meaning = meaningOf(record.data)
  return hits.find(
    ({ memory }) =>
      meaningOf(memory.data) === meaning && coversLife(memory.expiresAt, record.expiresAt, record.createdAt)
  )?.memory
})

const conversationCommit = Effect.fnUntraced(function* (
  { before, isAtOnce, marks, messages, reads, request, saidMillis, shown }: ExtractionScope,
  { candidates, summary }: Extraction,
  withheld: ReadonlySet<string>
): Effect.fn.Return<ConversationCommit> {
  const expiresAt = expiryOf({}, request, yield* Clock.currentTimeMillis)
  const replaced = new Set(candidates.map(({ supersedes }) => supersedes))
  return {
    scope: { subjectId: request.subjectId, threadId: request.threadId },
    processed: marks,
    isForced: request.force === true,
    turns: messages.flatMap((message) => {
      const { content, key, name, role, sentAt } = turnOf(message)
      return isAtOnce || saidMillis !== undefined || isOfTool(message) || withheld.has(key)
        ? []
        : [{ key, role, name, content: content.slice(0, Limits.contextMessageLengthMax), sentAt }]
    }),
    // One that was made before this was known may tell it.
    summary: withheld.size === 0 ? summary : undefined,
    reads,
    shown: shown.map((one) => (replaced.has(one.id) ? { ...one, isReplaced: true } : one)),
    ...(withheld.size > 0 && { withheld: [...withheld] }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(before !== undefined && { context: readContextOf(before) })
  }
})

const readContextOf = ({ readAt, summaryExpiresAt, turns }: ConversationContext): ReadContext => {
  const ends = [summaryExpiresAt, ...turns.map(({ expiresAt }) => expiresAt)].filter((time) => time !== undefined)
  return { readAt, expiresAt: ends.length === 0 ? undefined : Math.min(...ends) }
}
