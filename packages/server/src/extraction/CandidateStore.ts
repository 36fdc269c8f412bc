/**
 * Storage of candidates with the marks of their messages in one commit: checks, embeds, compares with stored
 * memories, stores. Every candidate that is not stored is in `rejected`, with its reason.
 */
import { Clock, Effect } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { type MemoryRecord, type RejectedCandidate, waitsFor, type JsonObject } from "@muniment/domain/Memory"
import { canonicalJson, sha256Hex } from "@muniment/trust/CanonicalJson"
import type { ConversationCommit, ReadContext } from "@muniment/engine/namespace/Commands"
import { MemorySearch } from "@muniment/engine/search/MemorySearch"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import { denseText } from "@muniment/engine/text/MemoryText"
import { coversLife } from "@muniment/engine/namespace/Draft"
import type { ConversationContext } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import type { MemoryVector } from "@muniment/engine/store/Commit"
import type { Extraction, Candidate, Slot } from "@muniment/insight/extraction/Extractor"
import { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { isFactKind } from "@muniment/schemas/BuiltinKinds"
import { KnownKinds } from "../memories/KnownKinds.ts"
import { MemoryIds, contentKey, expiryOf } from "../memories/MemoryPreparation.ts"
import { TextEmbedding } from "../memories/TextEmbedding.ts"
import {
  extractedRecords,
  judgeCandidates,
  rejection,
  type ExtractionScope,
  type ValidCandidate,
  type VersionPlace,
  meaningOf
} from "./CandidateJudge.ts"
import { isOfTool, turnOf, type KeyedMessage } from "./ConversationMessages.ts"
import { saidLater } from "./KnownMemories.ts"

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

/** Namespace and subject of a slot. */
interface SlotScope {
  readonly namespace: NamespaceKey
  readonly subjectId: string | undefined
}

const user = "user"

const keyOf = ({ subjectId }: Pick<SlotScope, "subjectId">, person: string, attribute: string): string =>
  sha256Hex(canonicalJson({ subject: subjectId ?? null, slot: attribute, person: person.toLowerCase() }))

/** The user's name, as the scope's latest memory tells it. */
const knownName = Effect.fn("CandidateStore.knownName")(function* (host: NamespaceHost["Service"], scope: SlotScope) {
  const key = keyOf(scope, user, "name")
  const latest = yield* host.answer(scope.namespace, { _tag: "LatestOf", uniqueKey: key })
  return latest === undefined ? undefined : nameIn(latest.data)
})

/**
 * Unique keys of extracted memories of built-in kinds: one for each subject, person and attribute, so that `I moved to
 * Porto` supersedes the home of the person who said so.
 *
 * The speaker is the request's subject. Without one, an agent has one user until somebody with another name speaks:
 * that person's attributes have keys of their own. Messages that name their speaker decide by that name, which is the
 * user's if the user told it.
 *
 * The place of each candidate, in their order: that of what it replaces, else of its slot, else of its own content, so
 * that a later one can take its place.
 */
const versionPlaces = Effect.fn("CandidateStore.versionPlaces")(function* (
  host: NamespaceHost["Service"],
  scope: SlotScope,
  accepted: ReadonlyArray<ValidCandidate>,
  messages: ReadonlyArray<KeyedMessage>
) {
  const candidates = accepted.map(({ candidate }) => candidate)
  const slots = yield* slotKeys(host, scope, candidates, messages)
  const places = new Map<Candidate, VersionPlace>()
  const taken = new Set<string | Candidate>()
  for (const [at, { candidate, data }] of accepted.entries()) {
    const { kind, supersedes } = candidate
    const replaced =
      typeof supersedes === "string"
        ? yield* host.answer(scope.namespace, { _tag: "Find", id: supersedes })
        : supersedes && places.get(supersedes)
    // The second of two that replace the same memory would end the first.
    const isFirst = supersedes !== undefined && !taken.has(supersedes)
    if (supersedes !== undefined) taken.add(supersedes)
    const key = (isFirst ? replaced?.uniqueKey : undefined) ?? slots[at]
    places.set(candidate, {
      uniqueKey: isFactKind(kind) ? (key ?? (yield* ownKey(host, scope, kind, data))) : undefined,
      carries: replaced && supersedes,
      endsAt: replaced && ("endsAt" in replaced ? replaced.endsAt : replaced.expiresAt)
    })
  }
  return candidates.map((candidate) => places.get(candidate)!)
})

/** Under the key of its content there may be a newer version, or what a caller has corrected: neither is superseded by it. */
const ownKey = Effect.fnUntraced(function* (
  host: NamespaceHost["Service"],
  { namespace, subjectId }: SlotScope,
  kind: string,
  data: JsonObject
) {
  const key = contentKey(subjectId, kind, data)
  const latest = yield* host.answer(namespace, { _tag: "LatestOf", uniqueKey: key })
  return latest === undefined || contentKey(subjectId, latest.kind, latest.data) === key
    ? key
    : sha256Hex(`${key} beside ${latest.id}`)
})

const nameIn = (data: JsonObject): string | undefined => / name is (.+)$/.exec(String(data["fact"]))?.[1]

/** The key of each candidate with a slot, in their order. */
const slotKeys = Effect.fn("CandidateStore.keys")(function* (
  host: NamespaceHost["Service"],
  scope: SlotScope,
  candidates: ReadonlyArray<Candidate>,
  messages: ReadonlyArray<KeyedMessage>
) {
  let name = candidates.some(({ slot }) => slot !== undefined) ? yield* knownName(host, scope) : undefined
  return candidates.map(({ slot, sources }) => {
    if (slot === undefined) return undefined
    const said = messages[sources[0] ?? -1]?.name
    const isUser = said === undefined ? isKnownUser(slot, name, scope) : said.toLowerCase() === name?.toLowerCase()
    if (isUser && slot.person === undefined && slot.attribute === "name") name = slot.speaker
    const speaker = isUser ? user : (said ?? slot.speaker ?? user)
    return keyOf(scope, slot.person === undefined ? speaker : `${speaker} ${slot.person}`, slot.attribute)
  })
})

const isKnownUser = ({ formerName, speaker }: Slot, known: string | undefined, { subjectId }: SlotScope): boolean =>
  subjectId !== undefined ||
  speaker === undefined ||
  known === undefined ||
  [speaker, formerName].some((name) => name?.toLowerCase() === known.toLowerCase())
