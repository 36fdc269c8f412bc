/**
 * Conversations (contract: Conversations): their messages are stored first, durably and found by words at once; then
 * memories are extracted from those that are unread.
 *
 * Invariants: a conversation whose messages are stored is never refused because it cannot be read now: it is pending,
 * kept in the commit of its messages, and read by a later request or in the background; a reading that fails costs
 * nothing; a conversation with nothing new costs nothing; of two concurrent requests with the same messages one
 * reads, the other waits and finds them read.
 */
import { Clock, Context, Effect, Layer, Option, Queue } from "effect"
import type { ChargeFailure, PricedCall } from "@muniment/domain/api/Middleware"
import { dayOf } from "@muniment/domain/CalendarDay"
import { InvalidRequest, type NotFound, type RateLimited, Unavailable } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { CreatedMemories, CreateMemories, MemoryVersion, Remember } from "@muniment/domain/Memory"
import { NamespaceHost, type ReadError } from "@muniment/engine/host/NamespaceHost"
import type { PendingReading, ScopedReading } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { KnownKinds } from "../memories/KnownKinds.ts"
import { expiryOf } from "../memories/MemoryPreparation.ts"
import { keyedMessages, type KeyedMessage } from "./ConversationMessages.ts"
import { isKept, type KeptMessages, makeMessageMemories, type MessageMemories } from "./MessageMemories.ts"
import { SameMessages } from "./SameMessages.ts"
import { makeThreadReading, type ThreadReading } from "./ThreadReading.ts"

/** A request with a conversation. */
export type ConversationRequest = CreateMemories & Required<Pick<CreateMemories, "conversation">>

export class ConversationExtraction extends Context.Service<
  ConversationExtraction,
  {
    readonly remember: (
      call: PricedCall,
      request: ConversationRequest
    ) => Effect.Effect<CreatedMemories, InvalidRequest | NotFound | RateLimited | ChargeFailure>
    /** Reads what is pending in a namespace, and says how much stays pending. */
    readonly resume: (key: NamespaceKey) => Effect.Effect<number, ReadError>
    /** Waits until a conversation could not be read. */
    readonly untilPending: Effect.Effect<NamespaceKey>
  }
>()("muniment/server/ConversationExtraction") {
  static readonly layer = (options: ConversationOptions = {}) =>
    Layer.effect(
      this,
      Effect.suspend(() => make(options))
    )
}

export interface ConversationOptions {
  /** For one conversation; default `Limits.extractionDeadlineMillis`. */
  readonly deadlineMillis?: number | undefined
  /** Unless the request or the account says otherwise; default `messages`. */
  readonly remember?: Remember | undefined
}

/** Conversations of a namespace that are read in one round. */
const resumedMax = 100
/** Rounds in which a conversation fails before it waits for a request or the next start. */
const roundsMax = 8

const make = Effect.fnUntraced(function* ({ deadlineMillis, remember = "messages" }: ConversationOptions) {
  const pending = yield* Queue.unbounded<NamespaceKey>()
  const parts: Parts = {
    host: yield* NamespaceHost,
    directory: yield* NamespaceDirectory,
    kinds: yield* KnownKinds,
    keep: yield* makeMessageMemories,
    read: yield* makeThreadReading(deadlineMillis ?? Limits.extractionDeadlineMillis),
    sameMessages: new SameMessages(),
    remember,
    pending,
    underWay: new Set(),
    failures: new Map()
  }
  return ConversationExtraction.of({
    remember: (call, request) => rememberInTurn(parts, call, request),
    resume: (key) => resume(parts, key),
    untilPending: Queue.take(pending)
  })
})

interface Parts {
  readonly host: NamespaceHost["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly kinds: KnownKinds["Service"]
  readonly keep: MessageMemories
  readonly read: ThreadReading
  readonly sameMessages: SameMessages
  readonly remember: Remember
  readonly pending: Queue.Queue<NamespaceKey>
  /** Ids of readings that requests carry out now. */
  readonly underWay: Set<string>
  /** Failed rounds by id of the reading. */
  readonly failures: Map<string, number>
}

const rememberInTurn = Effect.fn("ConversationExtraction.remember")(function* (
  parts: Parts,
  call: PricedCall,
  request: ConversationRequest
) {
  const { account } = call.caller
  const schemas = yield* candidateKinds(account.id, request, parts.kinds)
  const messages = keyedMessages(request.conversation, request.schemas)
  const { agentId, subjectId, threadId } = request
  const asked = [account.id, agentId, subjectId ?? null, threadId ?? null, ...messages.map(({ readKey }) => readKey)]
  const act = rememberNow(parts, call, request, messages, schemas)
  return yield* parts.sameMessages.inTurn(sha256Hex(JSON.stringify(asked)), act, tooManyCopies)
})

const rememberNow = Effect.fnUntraced(function* (
  parts: Parts,
  call: PricedCall,
  request: ConversationRequest,
  messages: ReadonlyArray<KeyedMessage>,
  schemas: Effect.Success<ReturnType<typeof candidateKinds>>
) {
  const { directory, keep, underWay } = parts
  const { account } = call.caller
  const isKeeping = (request.remember ?? account.remember ?? parts.remember) === "messages"
  const nowMillis = yield* Clock.currentTimeMillis
  const conversationDate = request.conversationDate ?? dayOf(nowMillis)
  const expiresAt = expiryOf({}, request, nowMillis)
  const id = readingId(request, messages)
  let kept: KeptMessages = { stored: 0, known: 0 }
  let awaited = 0
  const store = Effect.fnUntraced(function* (unread: ReadonlyArray<KeyedMessage>) {
    if (!isKeeping || !messages.some(isKept)) return
    const readable = unread.filter(isKept).map(({ key, readKey }) => ({ key, readKey }))
    const awaits: PendingReading = { id, messages: readable, kinds: request.schemas, conversationDate, expiresAt }
    const namespace = yield* directory.ensure(account.id, request.agentId)
    kept = yield* keep(namespace, request, messages, readable.length > 0 ? awaits : undefined)
    awaited = readable.length
  })
  const begin = (unread: ReadonlyArray<KeyedMessage>) =>
    Effect.andThen(call.reserve({ changes: [request.agentId] }), store(unread))
  underWay.add(id)
  const { token } = call
  const reading = { account: account.id, request, messages, schemas, conversationDate, token, reads: id, begin }
  const outcome = yield* parts.read(reading).pipe(
    Effect.catchTag("ReadingFailed", ({ refusal }) => (awaited > 0 ? Effect.succeed(unreadable) : refusal)),
    Effect.ensuring(Effect.sync(() => underWay.delete(id)))
  )
  if (outcome === undefined) yield* store([])
  if (outcome === undefined || outcome === unreadable) yield* call.release
  if (outcome === unreadable) yield* Queue.offer(parts.pending, yield* directory.ensure(account.id, request.agentId))
  const { read, ...found } = outcome === unreadable ? { ...nothingFound, read: awaited } : (outcome ?? nothingFound)
  return {
    ...found,
    skippedMessages: request.conversation.length - read,
    messages: kept,
    extraction: outcome === unreadable ? ("pending" as const) : ("done" as const)
  }
})

const unreadable = "unreadable" as const
const nothingFound = { created: [], updated: [], rejected: [], read: 0 }

/** Equal for equal messages read for the same kinds. */
const readingId = ({ subjectId, threadId }: ConversationRequest, messages: ReadonlyArray<KeyedMessage>): string =>
  sha256Hex(JSON.stringify([subjectId ?? null, threadId ?? null, ...messages.map(({ readKey }) => readKey)]))

const tooManyCopies = Effect.fail(
  new Unavailable({
    code: "overloaded",
    error: "too many copies of this request wait for the first; try again"
  })
)

const candidateKinds = Effect.fnUntraced(function* (
  account: string,
  { schemas: names }: Pick<ConversationRequest, "schemas">,
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

const resume = Effect.fn("ConversationExtraction.resume")(function* (parts: Parts, key: NamespaceKey) {
  const { failures, host, underWay } = parts
  const readings = yield* host.readRecords(key, (reader) => reader.pendingReadings(resumedMax))
  let left = 0
  for (const reading of readings) {
    const failed = failures.get(reading.id) ?? 0
    if (underWay.has(reading.id) || failed >= roundsMax) continue
    const isRead = yield* resumeOne(parts, key, reading)
    if (isRead) failures.delete(reading.id)
    else {
      failures.set(reading.id, failed + 1)
      left++
    }
  }
  return left
})

/** Whether the reading is over: carried out, or without messages that are still there. */
const resumeOne = Effect.fnUntraced(function* (parts: Parts, key: NamespaceKey, pending: ScopedReading) {
  const { host, kinds } = parts
  const { conversationDate, expiresAt, id, scope } = pending
  const messages = yield* storedMessages(parts, key, pending)
  const all = yield* kinds.extractable(key.account)
  const named = pending.kinds === undefined ? undefined : yield* kinds.lookup(key.account, pending.kinds)
  const outcome = yield* parts
    .read({
      account: key.account,
      request: { agentId: key.agentId, ...defined(scope), ...(expiresAt !== undefined && { expiresAt }) },
      messages,
      schemas: named ?? new Map(all.map((schema) => [schema.name, schema])),
      conversationDate,
      token: undefined,
      reads: id,
      begin: () => Effect.void
    })
    .pipe(
      Effect.tap((read) =>
        read === undefined
          ? host.ask(key, {
              _tag: "StoreMemories",
              memories: [],
              idempotency: undefined,
              conversation: { scope, processed: [], isForced: true, turns: [], summary: undefined, reads: id }
            })
          : Effect.void
      ),
      Effect.option
    )
  return Option.isSome(outcome)
})

/** The messages of a pending reading whose memories are still there. */
const storedMessages = Effect.fnUntraced(function* (
  { host }: Parts,
  namespace: NamespaceKey,
  { messages, scope }: ScopedReading
) {
  const keys = messages.map(({ key }) => key)
  const ids = yield* host.readRecords(namespace, (reader) => reader.storedMessages(scope, keys))
  const found = yield* Effect.forEach(messages, ({ key, readKey }) => {
    const id = ids.get(key)
    return id === undefined
      ? Effect.succeed([])
      : Effect.map(
          host.readRecords(namespace, (reader, nowMillis) => reader.find(id, nowMillis)),
          (memory) => (memory === undefined ? [] : [messageOf(memory, key, readKey)])
        )
  })
  return found.flat()
})

const messageOf = ({ data, sources }: MemoryVersion, key: string, readKey: string): KeyedMessage => {
  const { name, role, sentAt, text } = data
  return {
    role: role === "assistant" ? "assistant" : "user",
    content: String(text),
    ...(typeof name === "string" && { name }),
    ...(typeof sentAt === "string" && { sentAt }),
    id: sources?.[0]?.id,
    key,
    readKey
  }
}

const defined = <A extends object>(fields: A) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    readonly [Key in keyof A]?: Exclude<A[Key], undefined>
  }
