/**
 * Extraction of memories from a conversation (contract: Conversations): skips processed messages, lets the extractor
 * read the rest, checks its candidates, and stores memories and marks of their messages in one commit.
 *
 * Invariants: a message counts as processed exactly when its memories are stored; a failed extraction stores,
 * marks and costs nothing; a conversation with nothing new costs nothing; of two concurrent requests
 * with the same messages one extracts, the other waits and finds them processed.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { ChargeFailure, PricedCall } from "@muniment/domain/api/Middleware"
import { dayOf } from "@muniment/domain/CalendarDay"
import { InvalidRequest, type NotFound, type RateLimited, Unavailable } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { CreatedMemories, CreateMemories } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { ConversationContext } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { Extractor } from "@muniment/insight/extraction/Extractor"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { KnownKinds } from "../memories/KnownKinds.ts"
import { memoryEntry } from "../memories/MemoryViews.ts"
import type { ContextTurn, ExtractionScope } from "./CandidateJudge.ts"
import { type CandidateStore, makeCandidateStore } from "./CandidateStore.ts"
import { keyedMessages, type KeyedMessage } from "./ConversationMessages.ts"
import { extractInTime } from "./extractInTime.ts"
import { SameMessages } from "./SameMessages.ts"
import { knownName } from "./SlotKeys.ts"

/** A request with a conversation. */
export type ConversationRequest = CreateMemories & Required<Pick<CreateMemories, "conversation">>

export class ConversationExtraction extends Context.Service<
  ConversationExtraction,
  {
    readonly extract: (
      call: PricedCall,
      request: ConversationRequest
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
  /** For one conversation; default `Limits.extractionDeadlineMillis`. */
  readonly deadlineMillis?: number | undefined
}

/** A thread as it was before this request. */
interface Thread {
  /** Undefined for an agent without memories. */
  readonly before: ConversationContext | undefined
  readonly processed: ReadonlySet<string>
}

/** Attempts of a request whose messages other requests keep processing. */
const attemptsMax = 8

const make = Effect.fnUntraced(function* ({ deadlineMillis = Limits.extractionDeadlineMillis }: ExtractionOptions) {
  const parts: Parts = {
    host: yield* NamespaceHost,
    directory: yield* NamespaceDirectory,
    kinds: yield* KnownKinds,
    extractor: yield* Extractor,
    store: yield* makeCandidateStore,
    sameMessages: new SameMessages(),
    deadlineMillis
  }
  return { extract: (call: PricedCall, request: ConversationRequest) => extract(parts, call, request) }
})

interface Parts {
  readonly host: NamespaceHost["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly kinds: KnownKinds["Service"]
  readonly extractor: Extractor["Service"]
  readonly store: CandidateStore
  readonly sameMessages: SameMessages
  readonly deadlineMillis: number
}

const extract = Effect.fn("ConversationExtraction.extract")(function* (
  parts: Parts,
  call: PricedCall,
  request: ConversationRequest
) {
  const { account } = call.caller
  const schemas = yield* candidateKinds(account.id, request, parts.kinds)
  const messages = keyedMessages(request.conversation, request.schemas)
  const { agentId, subjectId, threadId } = request
  const asked = [account.id, agentId, subjectId ?? null, threadId ?? null, ...messages.map(({ key }) => key)]
  const act = extractFrom(parts, call, request, messages, schemas)
  return yield* parts.sameMessages.inTurn(sha256Hex(JSON.stringify(asked)), act, overtaken)
})

const extractFrom = Effect.fnUntraced(function* (
  parts: Parts,
  call: PricedCall,
  request: ConversationRequest,
  messages: ReadonlyArray<KeyedMessage>,
  schemas: ReadonlyMap<string, MemorySchema>
) {
  const { deadlineMillis, directory, extractor, host, store } = parts
  const { token } = call
  const account = call.caller.account.id
  let isCharged = false
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const existing = directory.find(account, request.agentId)
    const thread = yield* threadOf(parts, existing, request, messages)
    const fresh = request.force === true ? messages : messages.filter(({ key }) => !thread.processed.has(key))
    const skippedMessages = request.conversation.length - fresh.length
    // After a crash a repeated request finds its messages processed, and its result under its token.
    const isRepeat =
      token !== undefined &&
      existing !== undefined &&
      (yield* host.readRecords(existing, (reader) => reader.isCommitted(token.key)))
    if (fresh.length === 0 && !isRepeat) {
      yield* call.release
      return { created: [], updated: [], rejected: [], skippedMessages }
    }
    if (!isCharged) yield* call.reserve({ changes: [request.agentId] })
    isCharged = true
    const before = isRepeat ? undefined : thread.before
    const context = contextOf(before, messages, fresh)
    const extraction = isRepeat
      ? nothing
      : yield* extractInTime(extractor, deadlineMillis, {
          account,
          kinds: [...schemas.values()],
          messages: fresh,
          context,
          summary: before?.summary,
          speakerName: yield* speakerOf(parts, existing, request),
          conversationDate: request.conversationDate ?? (yield* today)
        })
    // Last: a failed extraction creates no namespace.
    const namespace = yield* directory.ensure(account, request.agentId)
    const scope: ExtractionScope = { request, namespace, before, context, messages: isRepeat ? [] : fresh }
    const stored = yield* store(call, scope, schemas, extraction)
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

const threadOf = Effect.fnUntraced(function* (
  { host }: Parts,
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

/** A subject is one person: the name that they told in another thread is theirs here. */
const speakerOf = ({ host }: Parts, namespace: NamespaceKey | undefined, { subjectId }: ConversationRequest) =>
  namespace === undefined || subjectId === undefined
    ? Effect.succeed(undefined)
    : knownName(host, { namespace, subjectId })

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
  if (names === undefined) return new Map((yield* kinds.extractable(account)).map((schema) => [schema.name, schema]))
  const found = yield* kinds.lookup(account, names)
  const details = names.flatMap((name, at) =>
    found.has(name) ? [] : [{ path: `/schemas/${at}`, message: `"${name}" is neither registered nor built in` }]
  )
  if (details.length > 0) {
    return yield* new InvalidRequest({ code: "unknown_schema", error: "`schemas` names an unknown schema", details })
  }
  return found
})

/** Turns before the fresh messages: those of the thread, then processed ones of this request; the newest are kept. */
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
