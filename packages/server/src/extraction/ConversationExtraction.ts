/**
 * From a conversation to stored memories (interface.md section 5.3): skip what was processed, let the
 * extractor read the rest, judge what it proposes, store in one commit together with the marks of the
 * messages, so that a message counts as processed exactly when its memories are there.
 *
 * Invariants: a failure of the extractor stores nothing, marks nothing and costs nothing; a conversation
 * with nothing new costs nothing; of two requests with the same messages at once one reads and stores, the
 * other waits and finds them processed.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { CurrentCharge, type ChargeFailure, type IdempotencyToken } from "@muniment/domain/api/Middleware"
import { dayOf } from "@muniment/domain/CalendarDay"
import { InvalidRequest, type NotFound, type RateLimited, Unavailable } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { CreatedMemories, CreateMemories } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { NamespaceHost } from "@muniment/engine/NamespaceHost"
import type { ConversationContext } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { Extractor } from "@muniment/insight/extraction/Extractor"
import { NamespaceDirectory } from "@muniment/ledger/NamespaceDirectory"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { KnownKinds } from "../memories/KnownKinds.ts"
import { memoryEntry } from "../memories/MemoryViews.ts"
import { OwnNamespaces } from "../memories/OwnNamespaces.ts"
import type { ContextTurn, ExtractionScope } from "./CandidateJudge.ts"
import { makeCandidateStore } from "./CandidateStore.ts"
import { keyedMessages, type KeyedMessage } from "./ConversationMessages.ts"
import { readInTime } from "./ConversationReading.ts"
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

const make = Effect.fnUntraced(function* ({ deadlineMillis = Limits.extractionDeadlineMillis }: ExtractionOptions) {
  const host = yield* NamespaceHost
  const own = new OwnNamespaces(yield* NamespaceDirectory)
  const kinds = yield* KnownKinds
  const extractor = yield* Extractor
  const store = yield* makeCandidateStore
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
        : yield* readInTime(extractor, deadlineMillis, {
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

const today = Effect.map(Clock.currentTimeMillis, dayOf)
