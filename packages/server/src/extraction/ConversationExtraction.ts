/**
 * Conversations (contract: Conversations): their messages are stored first, durably and found by words at once; then
 * memories are extracted from those that are unread.
 *
 * Invariants: a conversation whose messages are stored is never refused because it cannot be read now: it is pending,
 * kept in the commit of its messages, and read by a later request or in the background (`PendingReadings`); a request
 * waits for a busy reader only a moment, and not long for one that starts or is late, unless it asks to wait; a reading that fails costs nothing, unless credits or
 * a budget are used up, in which case it comes later without a further charge, through restarts; a conversation with
 * nothing new costs nothing; of two concurrent requests with the same messages one reads, the other waits and finds them
 * read.
 */
import { Clock, Context, Deferred, Effect, Layer } from "effect"
import type { ChargeFailure, PricedCall } from "@muniment/domain/api/Middleware"
import {
  type InvalidRequest,
  type NotFound,
  type PayloadTooLarge,
  type RateLimited,
  Unavailable
} from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import {
  type CreatedMemories,
  type CreateMemories,
  type ExtractionProblem,
  type Remember,
  waitsFor
} from "@muniment/domain/Memory"
import { NamespaceHost, type ReadError } from "@muniment/engine/host/NamespaceHost"
import type { PendingReading } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { todayIn } from "@muniment/language/calendar/SpokenDates"
import { Extractor } from "@muniment/insight/extraction/Extractor"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { leftToken } from "../credits/OpenCharges.ts"
import { requirePlace } from "../identity/KeyScopes.ts"
import { KnownKinds, candidateKinds } from "../memories/KnownKinds.ts"
import { expiryOf } from "../memories/MemoryPreparation.ts"
import { memoryEntry } from "../memories/MemoryViews.ts"
import {
  type KeyedMessage,
  keyedMessages,
  type PlainConversation,
  plainConversation,
  type RequestMessage
} from "./ConversationMessages.ts"
import {
  type KeptMessages,
  type MessageMemories,
  SameMessages,
  isKept,
  makeMessageMemories,
  messagesOf
} from "./MessageMemories.ts"
import type { LlmSettings } from "./LanguageModelSettings.ts"
import {
  type PendingReadings,
  type PendingState,
  type RequestReadings,
  makePendingReadings,
  makeRequestReadings,
  readingKey
} from "./PendingReadings.ts"
import { makeReadingTrial, type ReadingTrial } from "./ReadingTrial.ts"
import { makeRereading, type Rereading } from "./Rereading.ts"
import { makeThreadReading, ReadingFailed, type ThreadReading } from "./ThreadReading.ts"

/** A request with a conversation. */
type ConversationRequest = CreateMemories & Required<Pick<CreateMemories, "conversation">>

export class ConversationExtraction extends Context.Service<
  ConversationExtraction,
  {
    readonly remember: (
      call: PricedCall,
      request: ConversationRequest
    ) => Effect.Effect<CreatedMemories, InvalidRequest | NotFound | PayloadTooLarge | RateLimited | ChargeFailure>
    /** Reads a conversation and stores nothing. */
    readonly tryReading: ReadingTrial
    /** Reads a portion of what is due in a namespace, and says what stays pending. */
    readonly resume: (key: NamespaceKey) => Effect.Effect<PendingState, ReadError>
    /** Estimates a new reading of stored conversations; queues it for the background unless it is a dry run. */
    readonly reread: Rereading
    /** Waits until a request has left a reading behind. */
    readonly untilPending: Effect.Effect<ReadonlyArray<NamespaceKey>>
  }
>()("muniment/server/ConversationExtraction") {
  static readonly layer = (options: ConversationOptions = {}) =>
    Layer.effect(
      this,
      Effect.suspend(() => make(options))
    )
}

interface ConversationOptions {
  /** For one conversation; default `Limits.extractionDeadlineMillis`. */
  readonly deadlineMillis?: number | undefined
  /** How long a request waits for rules that read nothing else; default `Limits.extractionPatienceMillis`. */
  readonly patienceMillis?: number | undefined
  /** Unless the request or the account says otherwise; default `messages`. */
  readonly remember?: Remember | undefined
  /** The language model; undefined: none is configured. What its `instructions` say every reading is told. */
  readonly llm?: LlmSettings | undefined
}

const make = Effect.fnUntraced(function* ({
  deadlineMillis,
  llm,
  patienceMillis = Limits.extractionPatienceMillis,
  remember = "messages"
}: ConversationOptions) {
  const millisMax = deadlineMillis ?? Limits.extractionDeadlineMillis
  const instructions = llm?.instructions
  const read = yield* makeThreadReading(millisMax, instructions)
  const readings = yield* makeRequestReadings
  const { failed, isUnderWay, resume } = yield* makePendingReadings(read, readings)
  const extractor = yield* Extractor
  const parts: Parts = {
    host: yield* NamespaceHost,
    directory: yield* NamespaceDirectory,
    kinds: yield* KnownKinds,
    keep: yield* makeMessageMemories,
    read,
    readings,
    failed,
    waitMillis: (account) =>
      Effect.map(extractor.underWay(account), (count) => {
        if (count === undefined) return Limits.extractionDeadlineMillis
        return count > 0 || isUnderWay() ? Limits.extractionWaitMillis : patienceMillis
      }),
    sameMessages: new SameMessages(),
    remember
  }
  return ConversationExtraction.of({
    remember: (call, request) => rememberInTurn(parts, call, request),
    tryReading: yield* makeReadingTrial(millisMax, instructions),
    resume,
    reread: yield* makeRereading(readings, llm),
    untilPending: readings.untilLeft
  })
})

interface Parts {
  readonly host: NamespaceHost["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly kinds: KnownKinds["Service"]
  readonly keep: MessageMemories
  readonly read: ThreadReading
  readonly readings: RequestReadings
  readonly failed: PendingReadings["failed"]
  /** How long a request waits for its reading by rules: a moment while another one is read or a backlog is worked off. */
  readonly waitMillis: (account: string) => Effect.Effect<number>
  readonly sameMessages: SameMessages
  readonly remember: Remember
}

/** A request with what follows from it. */
interface Asked {
  readonly call: PricedCall
  readonly request: ConversationRequest
  readonly plain: PlainConversation
  readonly messages: ReadonlyArray<KeyedMessage>
  readonly schemas: Effect.Success<ReturnType<typeof candidateKinds>>
  readonly conversationDate: string
  readonly atMillis: number
  /** Id of its reading, equal for equal messages read for the same kinds. */
  readonly id: string
  /** The same with account and agent. */
  readonly key: string
}

/** Work of a request before its reading. */
interface Stored {
  readonly kept: KeptMessages
  /** Messages that are stored and await the reading. */
  readonly awaiting: number
  /** How long the request waits for the reading; undefined: until its end, or until the service stops. */
  readonly waitMillis: number | undefined
}

const rememberInTurn = Effect.fn("ConversationExtraction.remember")(function* (
  parts: Parts,
  call: PricedCall,
  request: ConversationRequest
) {
  yield* requirePlace(call.caller, request)
  const account = call.caller.account.id
  const schemas = yield* candidateKinds(account, request, parts.kinds)
  const plain = plainConversation(request.conversation)
  const keyed = keyedMessages(plain.messages, request.schemas, request.timeZone)
  // Nothing to store, to read or to pay for.
  if (keyed.every(({ content }) => content.trim() === "")) {
    return answerOf(plain, "done", { ...nothingFound, read: plain.messages.length }, { stored: 0, known: 0 })
  }
  const atMillis = yield* Clock.currentTimeMillis
  const conversationDate = request.conversationDate ?? todayIn(request.timeZone, atMillis)
  const sent = { call, request, plain, schemas, conversationDate, atMillis, ...readingOf(account, request, keyed) }
  const asked = yield* asSaid(parts, sent, keyed)
  return yield* parts.sameMessages.inTurn(asked.key, rememberNow(parts, asked), tooManyCopies)
})

const readingOf = (
  account: string,
  { agentId, subjectId, threadId }: ConversationRequest,
  messages: ReadonlyArray<KeyedMessage>
): Pick<Asked, "id" | "key" | "messages"> => {
  const readKeys = messages.map(({ readKey }) => readKey)
  const id = sha256Hex(JSON.stringify([subjectId ?? null, threadId ?? null, ...readKeys]))
  return { messages, id, key: readingKey({ account, agentId }, id) }
}

/**
 * Its messages without ids may be said again. Not where the request is a repetition: one that is read at this time or was
 * paid for and left, one whose token is committed, one that asks to read again.
 */
const asSaid = Effect.fnUntraced(function* (parts: Parts, sent: Asked, messages: ReadonlyArray<RequestMessage>) {
  const { directory, host, readings } = parts
  const { call, id, key, request } = sent
  const account = call.caller.account.id
  const namespace = directory.find(account, request.agentId)
  if (namespace === undefined || request.force === true || messages.every((one) => one.id !== undefined)) return sent
  if (readings.isUnderWay(namespace, id)) return sent
  const { subjectId, threadId } = request
  const scope = { subjectId, threadId }
  const keys = messages.map(({ readKey }) => readKey)
  const read = yield* host.answer(namespace, { _tag: "Processed", scope, keys })
  const isPaid = readings.isPaid(key) || (yield* wasPaid(parts, sent))
  if (isPaid && read.size < messages.length) return sent
  const { token } = call
  const isRepeat =
    token !== undefined && (yield* host.answer(namespace, { _tag: "IsCommitted", idempotencyKey: token.key }))
  if (isRepeat) return sent
  const said = yield* messagesOf(host, namespace, scope, messages)
  return { ...sent, ...readingOf(account, request, said) }
})

const rememberNow = Effect.fnUntraced(function* (parts: Parts, asked: Asked) {
  const { directory, readings } = parts
  const { call, conversationDate, id, key, messages, plain, request, schemas } = asked
  if (!(yield* readings.isOver(key, waitsFor(request, "extraction")))) {
    const known = messages.filter(isKept).length
    return answerOf(plain, "pending", { ...nothingFound, read: known }, { stored: 0, known })
  }
  const account = call.caller.account.id
  let stored: Stored = { kept: { stored: 0, known: 0 }, awaiting: 0, waitMillis: undefined }
  let isPaid = false
  const isStored = yield* Deferred.make<Stored>()
  const begin = Effect.fnUntraced(function* (unread: ReadonlyArray<KeyedMessage>) {
    isPaid = readings.isPaid(key) || (yield* wasPaid(parts, asked))
    if (!isPaid) yield* call.reserve({ changes: [request.agentId] })
    stored = yield* storeMessages(parts, asked, unread)
    yield* Deferred.succeed(isStored, stored)
    const keys = stored.awaiting > 0 ? messages.filter(isKept).map((message) => message.key) : []
    return { waitMillis: stored.waitMillis, stored: keys }
  })
  const { token } = call
  const reading = { account, request, messages, schemas, conversationDate, token, reads: id, begin }
  const attempt = parts.read(reading).pipe(
    Effect.catchTag("ReadingFailed", (failed) =>
      failed.exhausted === "credits" && stored.awaiting === 0
        ? Effect.andThen(
            call.topUp,
            parts.read({ ...reading, begin: () => Effect.succeed({ waitMillis: undefined, stored: [] }) })
          )
        : Effect.fail(failed)
    ),
    Effect.catchTag("ReadingFailed", (failed) =>
      stored.awaiting === 0 ? failed.refusal : Effect.as(putOff(parts, asked, failed), failed)
    )
  )
  const patience = Effect.flatMap(Deferred.await(isStored), ({ awaiting, waitMillis }) => {
    if (waitMillis !== undefined) return Effect.sleep(waitMillis)
    return awaiting > 0 && request.force !== true ? readings.untilStop : Effect.never
  })
  // The caller may have left early, with the messages stored.
  const left = Effect.suspend(() => {
    const namespace = directory.find(account, request.agentId)
    return namespace === undefined ? Effect.void : readings.leave(namespace, key, false)
  })
  const outcome = yield* Effect.onInterrupt(readings.run(key, attempt, patience), () => left)
  const failed = outcome instanceof ReadingFailed ? outcome : undefined
  // Whose credits or budget do not cover the tokens pays for the messages all the same: otherwise they would be stored for
  // nothing.
  const isLeft =
    outcome === "left" ||
    failed?.exhausted !== undefined ||
    (failed?.isBusy === true && stored.waitMillis !== undefined)
  if (outcome === undefined || (failed !== undefined && !isLeft)) yield* call.release
  if (outcome === undefined) {
    const { kept } = yield* storeMessages(parts, asked, [])
    return { ...answerOf(plain, "done", nothingFound, kept), existing: yield* extractedBefore(parts, asked) }
  }
  if (outcome !== "left" && !(outcome instanceof ReadingFailed)) {
    readings.end(key)
    return answerOf(plain, "problem" in outcome && outcome.problem ? "partial" : "done", outcome, stored.kept)
  }
  const namespace = yield* directory.ensure(account, request.agentId)
  if (isLeft && !isPaid) yield* keepPaid(parts, asked, namespace)
  yield* readings.leave(namespace, key, isLeft)
  const { byRules, problem } = failed ?? {}
  const found = { ...(byRules ?? nothingFound), read: stored.awaiting }
  return byRules === undefined
    ? answerOf(plain, "pending", found, stored.kept)
    : answerOf(plain, "partial", { ...found, problem }, stored.kept)
})

/** Notes a pending reading before the background looks at it. One that only found the reader busy is due at once. */
const putOff = Effect.fnUntraced(function* (
  { directory, failed }: Parts,
  { call, id, request }: Asked,
  cause: ReadingFailed
) {
  const namespace = directory.find(call.caller.account.id, request.agentId)
  if (namespace !== undefined && !cause.isBusy) yield* failed(namespace, id, cause)
})

/** Mark of a conversation, beside those of its messages, that says that a reading was paid for and left. */
const paidMark = (id: string): string => sha256Hex(`paid ${id}`)

/** Whether a request before the last restart has paid. A new reading of read messages is paid for again. */
const wasPaid = Effect.fnUntraced(function* ({ directory, host }: Parts, { call, id, request }: Asked) {
  const { agentId, force, subjectId, threadId } = request
  const namespace = directory.find(call.caller.account.id, agentId)
  if (namespace === undefined || force === true) return false
  const [scope, keys] = [{ subjectId, threadId }, [paidMark(id)]]
  return (yield* host.answer(namespace, { _tag: "Processed", scope, keys })).size > 0
})

/** In one commit with the token by which a start after a crash knows that the call is to be charged. */
const keepPaid = Effect.fnUntraced(function* ({ host }: Parts, { call, id, request }: Asked, namespace: NamespaceKey) {
  if (call.token === undefined) return
  const { subjectId, threadId } = request
  const scope = { subjectId, threadId }
  yield* host.ask(namespace, {
    _tag: "StoreMemories",
    memories: [],
    idempotency: leftToken(call.token),
    conversation: { scope, processed: [paidMark(id)], isForced: true, turns: [], summary: undefined }
  })
})

/** Stores the messages, if any are kept, and decides how long their reading is waited for. */
const storeMessages = Effect.fnUntraced(function* (parts: Parts, asked: Asked, unread: ReadonlyArray<KeyedMessage>) {
  const { directory, keep, remember } = parts
  const { atMillis, call, conversationDate, id, messages, request } = asked
  const { account } = call.caller
  const isKeeping = (request.remember ?? account.remember ?? remember) === "messages" && messages.some(isKept)
  if (!isKeeping) return { kept: { stored: 0, known: 0 }, awaiting: 0, waitMillis: undefined } satisfies Stored
  const expiresAt = expiryOf({}, request, atMillis)
  const readable = unread.filter(isKept).map(({ key, readKey }) => ({ key, readKey }))
  const { instructions, schemas: kinds } = request
  const awaits: PendingReading = { id, messages: readable, kinds, instructions, conversationDate, expiresAt }
  const namespace = yield* directory.ensure(account.id, request.agentId)
  const kept = yield* keep(namespace, request, messages, readable.length > 0 ? awaits : undefined)
  // The background does not read again what was read before.
  const isAwaited = readable.length === 0 || request.force === true || waitsFor(request, "extraction")
  const spentMillis = (yield* Clock.currentTimeMillis) - atMillis
  const waitMillis = isAwaited ? undefined : yield* parts.waitMillis(account.id)
  return {
    kept,
    awaiting: readable.length,
    waitMillis: waitMillis === undefined ? undefined : Math.max(1, waitMillis - spentMillis)
  } satisfies Stored
})

/** Memories that earlier readings of the messages gave: their answers may have been `pending`, or lost. */
const extractedBefore = Effect.fnUntraced(function* ({ directory, host }: Parts, { call, messages, request }: Asked) {
  const { agentId, subjectId, threadId } = request
  const namespace = directory.find(call.caller.account.id, agentId)
  if (namespace === undefined) return []
  const keys = messages.map(({ key }) => key)
  const found = yield* host.answer(namespace, {
    _tag: "ExtractedFrom",
    scope: { subjectId, threadId },
    keys,
    limit: Limits.candidatesPerConversationMax
  })
  return found.map(memoryEntry)
})

const nothingFound = { created: [], updated: [], rejected: [], read: 0 }

const answerOf = (
  { leftOut, messages: given, skippedParts }: PlainConversation,
  extraction: NonNullable<CreatedMemories["extraction"]>,
  {
    problem,
    read,
    ...found
  }: Pick<CreatedMemories, "created" | "updated" | "rejected"> & {
    /** Messages that count as read by this request. */
    readonly read: number
    readonly problem?: ExtractionProblem | undefined
  },
  messages: KeptMessages
): CreatedMemories => ({
  ...found,
  skippedMessages: given.length - read,
  messages,
  ...(leftOut.length > 0 && { leftOut }),
  ...(skippedParts > 0 && { skippedParts }),
  extraction,
  ...(problem !== undefined && { extractionProblem: problem })
})

const tooManyCopies = Effect.fail(
  new Unavailable({
    code: "overloaded",
    error: "too many copies of this request wait for the first; try again"
  })
)
