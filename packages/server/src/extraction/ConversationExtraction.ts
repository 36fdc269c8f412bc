/**
 * From a conversation to stored memories (interface.md section 5.3): skip what was processed, let the
 * extractor read the rest, judge what it proposes, store in one commit together with the marks of the
 * messages, so that a message counts as processed exactly when its memories are there.
 *
 * Invariants: a failure of the extractor stores nothing, marks nothing and costs nothing; a conversation
 * with nothing new costs nothing; of two requests with the same messages at once one reads and stores, the
 * other waits and finds them processed.
 */
import { Clock, Context, Effect, Layer, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { CurrentCharge, type ChargeFailure, type IdempotencyToken } from "@muniment/domain/api/Middleware"
import { InvalidRequest, type NotFound, RateLimited, Unavailable } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { CreatedMemories, CreateMemories, MemoryRecord, RejectedCandidate } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import type { ConversationCommit, CreateReply, ReadContext } from "@muniment/engine/Commands"
import { MemorySearch } from "@muniment/engine/MemorySearch"
import { NamespaceHost } from "@muniment/engine/NamespaceHost"
import { denseText } from "@muniment/engine/recall/MemoryText"
import { speaksFor } from "@muniment/engine/speaksFor"
import type { ConversationContext } from "@muniment/engine/store/Conversations"
import type { MemoryVector, NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { type ExtractionRequest, Extractor } from "@muniment/insight/extraction/Extractor"
import { NamespaceDirectory } from "@muniment/ledger/NamespaceDirectory"
import type { ModelFailure } from "@muniment/models/llm/StructuredModel"
import { SchemaValidator } from "@muniment/schemas/SchemaValidator"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { answerHeaders } from "../http/RateLimits.ts"
import { KnownKinds } from "../memories/KnownKinds.ts"
import { MemoryIds } from "../memories/MemoryIds.ts"
import { expiryOf } from "../memories/MemoryPreparation.ts"
import { memoryEntry } from "../memories/MemoryViews.ts"
import { OwnNamespaces } from "../memories/OwnNamespaces.ts"
import { QueryEmbedding } from "../memories/QueryEmbedding.ts"
import {
  type ContextTurn,
  extractedRecords,
  judgeCandidates,
  rejection,
  type ExtractionScope
} from "./CandidateJudge.ts"
import { keyedMessages, type KeyedMessage } from "./ConversationMessages.ts"
import { meaningOf } from "./SameMeaning.ts"
import { SameMessages } from "./SameMessages.ts"

/** A request with a conversation. */
export type ConversationRequest = CreateMemories & Required<Pick<CreateMemories, "conversation">>

export class ConversationExtraction extends Context.Service<
  ConversationExtraction,
  {
    readonly extract: (
      account: string,
      request: ConversationRequest,
      token: IdempotencyToken | undefined
    ) => Effect.Effect<CreatedMemories, InvalidRequest | NotFound | RateLimited | ChargeFailure>
  }
>()("muniment/server/ConversationExtraction") {
  static readonly layer = (options: ExtractionOptions = {}) =>
    Layer.effect(
      this,
      Effect.suspend(() => make(options))
    )
}

export interface ExtractionOptions {
  /** For reading one conversation; default `Limits.extractionDeadlineMillis`. */
  readonly deadlineMillis?: number | undefined
}

/** What is known of the thread before this request. */
interface Thread {
  /** Undefined for an agent without memories. */
  readonly before: ConversationContext | undefined
  readonly processed: ReadonlySet<string>
}

/** Requests with the same messages at once look again this often; then each has lost to another one. */
const attemptsMax = 8

/** Memories that a new one is compared with. */
const comparedMax = 5

const make = Effect.fnUntraced(function* ({ deadlineMillis = Limits.extractionDeadlineMillis }: ExtractionOptions) {
  const host = yield* NamespaceHost
  const searcher = yield* MemorySearch
  const own = new OwnNamespaces(yield* NamespaceDirectory)
  const kinds = yield* KnownKinds
  const embedding = yield* QueryEmbedding
  const validator = yield* SchemaValidator
  const extractor = yield* Extractor
  const ids = new MemoryIds()
  const sameMessages = new SameMessages()

  const threadOf = Effect.fnUntraced(function* (
    key: NamespaceKey | undefined,
    { subjectId, threadId }: CreateMemories,
    messages: ReadonlyArray<KeyedMessage>
  ) {
    if (key === undefined) return { before: undefined, processed: new Set() } satisfies Thread
    const scope = { subjectId, threadId }
    const keys = messages.map((message) => message.key)
    const processed = yield* host.readRecords(key, (reader) => reader.processed(scope, keys))
    const before = yield* host.readRecords(key, (reader, nowMillis) => reader.conversation(scope, nowMillis))
    return { before, processed } satisfies Thread
  })

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
  const store = Effect.fnUntraced(function* (
    account: string,
    scope: ExtractionScope,
    schemas: ReadonlyMap<string, MemorySchema>,
    extraction: Effect.Success<ReturnType<typeof extractor.extract>>,
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
    const isKnown = (record: MemoryRecord | undefined, existing: string, reason: "duplicate" | "near_duplicate") => {
      // Of an answer that is given again, only the ids are kept.
      const candidate = record === undefined ? { sources: [] } : sourcesOf.get(record.id)!
      rejected.push(rejection(candidate, messages, reason, "a stored memory says the same", existing))
    }
    for (const [at, record] of records.entries()) {
      const vector = vectors[at]
      // With a key the newest version counts, whatever its wording.
      const same = record.uniqueKey === undefined ? yield* sayingTheSame(namespace, record, vector) : undefined
      if (same === undefined) fresh.push({ record, vector })
      else isKnown(record, same.id, same.contentHash === record.contentHash ? "duplicate" : "near_duplicate")
    }
    const reply: CreateReply = yield* host.ask(namespace, {
      _tag: "CreateMemories",
      memories: fresh.map((memory) => ({ ...memory, isReplacement: false, setsExpiry: false })),
      skipsDuplicates: true,
      conversation: yield* processedBy(scope, extraction.summary),
      idempotency: token
    })
    if (reply.isStale) return undefined
    for (const { id, index } of reply.duplicates) isKnown(fresh[index]?.record, id, "duplicate")
    return { reply, rejected }
  })

  const extract = Effect.fn("ConversationExtraction.extract")(function* (
    account: string,
    request: ConversationRequest,
    token: IdempotencyToken | undefined
  ) {
    const schemas = yield* candidateKinds(account, request, kinds)
    const messages = keyedMessages(request.conversation, request.schemas)
    const { agentId, subjectId, threadId } = request
    const asked = [account, agentId, subjectId ?? null, threadId ?? null, ...messages.map(({ key }) => key)]
    const act = extractFrom(account, request, messages, schemas, token)
    return yield* sameMessages.inTurn(sha256Hex(JSON.stringify(asked)), act, overtaken)
  })

  const extractFrom = Effect.fnUntraced(function* (
    account: string,
    request: ConversationRequest,
    messages: ReadonlyArray<KeyedMessage>,
    schemas: ReadonlyMap<string, MemorySchema>,
    token: IdempotencyToken | undefined
  ) {
    let isCharged = false
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const existing = own.of(account, request.agentId)
      const thread = yield* threadOf(existing, request, messages)
      const fresh = request.force === true ? messages : messages.filter(({ key }) => !thread.processed.has(key))
      const skippedMessages = request.conversation.length - fresh.length
      // After a crash the same request finds its messages processed, and its answer under its key.
      const isRepeat =
        token !== undefined &&
        existing !== undefined &&
        (yield* host.readRecords(existing, (reader) => reader.isCommitted(token.key)))
      if (fresh.length === 0 && !isRepeat) {
        if (isCharged) yield* (yield* CurrentCharge)({ isWaived: true })
        return { created: [], updated: [], rejected: [], skippedMessages }
      }
      if (!isCharged) yield* (yield* CurrentCharge)({ changes: [request.agentId] })
      isCharged = true
      const before = isRepeat ? undefined : thread.before
      const context = contextOf(before, messages, fresh)
      const extraction = isRepeat
        ? nothing
        : yield* read(extractor, deadlineMillis, {
            account,
            kinds: [...schemas.values()],
            messages: fresh,
            context,
            summary: before?.summary,
            conversationDate: request.conversationDate ?? (yield* today)
          })
      // Last, so that a model that fails leaves no agent behind.
      const namespace = yield* own.ensure(account, request.agentId)
      const scope: ExtractionScope = { request, namespace, before, context, messages: isRepeat ? [] : fresh }
      const stored = yield* store(account, scope, schemas, extraction, token)
      if (stored === undefined) continue
      const { rejected, reply } = stored
      return {
        created: reply.created.map(memoryEntry),
        updated: reply.updated.map(memoryEntry),
        rejected,
        skippedMessages
      }
    }
    return yield* overtaken
  })

  return { extract }
})

const overtaken = Effect.fail(
  new Unavailable({
    code: "overloaded",
    error: "other requests kept processing messages of this thread; nothing was stored, try again"
  })
)

const nothing = { candidates: [], dropped: [], summary: undefined } as const

const candidateKinds = Effect.fnUntraced(function* (
  account: string,
  { schemas: names }: ConversationRequest,
  kinds: KnownKinds["Service"]
) {
  if (names === undefined) return new Map((yield* kinds.all(account)).map((schema) => [schema.name, schema]))
  const found = yield* kinds.lookup(account, names)
  const details = names.flatMap((name, at) =>
    found.has(name) ? [] : [{ path: `/schemas/${at}`, message: `"${name}" is neither registered nor built in` }]
  )
  if (details.length > 0) {
    return yield* new InvalidRequest({ code: "unknown_schema", error: "`schemas` names an unknown schema", details })
  }
  return found
})

/** What came before: the thread's turns, then what this request repeats of it, the newest kept. */
const contextOf = (
  before: ConversationContext | undefined,
  messages: ReadonlyArray<KeyedMessage>,
  fresh: ReadonlyArray<KeyedMessage>
): ReadonlyArray<ContextTurn> => {
  const read = new Set(fresh.map(({ key }) => key))
  const turns = (before?.turns ?? []).filter(({ key }) => !read.has(key))
  const skip = new Set([...read, ...turns.map(({ key }) => key)])
  return [...turns, ...messages.filter(({ key }) => !skip.has(key))].slice(-Limits.conversationContextMax)
}

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

/** The extractor's answer in time, or the failure that the caller is told. */
const read = (extractor: Extractor["Service"], deadlineMillis: number, request: ExtractionRequest) =>
  extractor.extract(request).pipe(
    Effect.catchTag("ModelFailure", refused),
    Effect.timeoutOrElse({
      duration: deadlineMillis,
      orElse: () => Effect.fail(unavailable("it took too long; send fewer messages at once"))
    })
  )

const refused = Effect.fnUntraced(function* ({ message, reason, retryAfterSeconds }: ModelFailure) {
  if (retryAfterSeconds !== undefined) yield* comeBackAfter(retryAfterSeconds)
  if (reason === "too_long") return yield* new InvalidRequest({ code: "invalid_request", error: message })
  if (reason === "budget_exhausted") return yield* new RateLimited({ code: "model_budget_exhausted", error: message })
  return yield* unavailable(message)
})

/** Tells the HTTP caller, if there is one. */
const comeBackAfter = Effect.fnUntraced(function* (seconds: number) {
  const request = yield* Effect.serviceOption(HttpServerRequest.HttpServerRequest)
  if (Option.isNone(request)) return
  yield* answerHeaders({ "retry-after": String(seconds) }).pipe(
    Effect.provideService(HttpServerRequest.HttpServerRequest, request.value)
  )
})

const unavailable = (why: string) =>
  new Unavailable({
    code: "extraction_unavailable",
    error: `the conversation could not be read: ${why}; nothing was stored, marked or charged`
  })

const today = Effect.map(Clock.currentTimeMillis, (millis) =>
  new Date(millis).toISOString().slice(0, "2026-01-01".length)
)
