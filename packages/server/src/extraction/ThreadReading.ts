/**
 * One reading of a conversation: finds its unread messages, lets the extractor read them outside of the actor, and
 * commits what it found with the marks of the messages. If another reading was first, it looks again. Where a model reads,
 * what rules find is stored before, under marks of its own.
 *
 * Invariants: a message counts as read exactly when its memories are stored; a reading that fails stores and marks
 * nothing but what rules found.
 */
import { Clock, Data, Effect } from "effect"
import type { IdempotencyToken } from "@muniment/domain/api/Middleware"
import { type InvalidRequest, type PayloadTooLarge, type RateLimited, Unavailable } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import { backingSources, type ExtractionProblem, type MemoryVersion } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { ShownMemory } from "@muniment/engine/namespace/Commands"
import type { ConversationContext } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { type Extraction, type ExtractionRequest, Extractor } from "@muniment/insight/extraction/Extractor"
import type { ModelFailure, ModelFailureReason } from "@muniment/models/llm/ModelFailure"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { sha256Hex } from "@muniment/trust/CanonicalJson"
import { TokenNamespace } from "../credits/ChargedCalls.ts"
import { expiryOf } from "../memories/MemoryPreparation.ts"
import { memoryEntry } from "../memories/MemoryViews.ts"
import type { ContextTurn, ExtractionScope } from "./CandidateJudge.ts"
import { type CandidateStore, makeCandidateStore } from "./CandidateStore.ts"
import { isOfTool, type KeyedMessage, turnOf } from "./ConversationMessages.ts"
import { extractInTime, refused, readBoth } from "./extractInTime.ts"
import { type KnownMemories, makeKnownMemories } from "./KnownMemories.ts"

interface Reading<E> {
  readonly account: string
  readonly request: ExtractionScope["request"]
  readonly messages: ReadonlyArray<KeyedMessage>
  readonly schemas: ReadonlyMap<string, MemorySchema>
  readonly conversationDate: string
  /** Committed with the memories. */
  readonly token: IdempotencyToken | undefined
  /** Id of the pending reading that the commit ends. */
  readonly reads: string | undefined
  /** Runs once, before the extraction, with the messages that nobody has read. */
  readonly begin: (unread: ReadonlyArray<KeyedMessage>) => Effect.Effect<Begun, E>
  /** A reading that no caller waits for lets others go first. */
  readonly isBackground?: boolean
  /** Rules have read the messages, and the thread has gone on: what was said after this time, milliseconds, stands. */
  readonly saidMillis?: number | undefined
}

interface Begun {
  /** How long the extraction may wait until others are read, milliseconds; undefined: as long as the extractor allows. */
  readonly waitMillis: number | undefined
  /** Keys of messages that are stored and will be read in any case: then what rules find is stored at once. */
  readonly stored: ReadonlyArray<string>
}

/** The messages could not be read now. Nothing is stored or marked by this reading. */
export class ReadingFailed extends Data.TaggedError("ReadingFailed")<{
  /** Failure for a caller who wanted nothing but the reading. */
  readonly refusal: Effect.Effect<never, InvalidRequest | PayloadTooLarge | RateLimited | Unavailable>
  /** Too many are read at this time; nothing is wrong with these messages. */
  readonly isBusy: boolean
  /** Purse that did not cover the tokens: the account's credits, or a budget of the day. */
  readonly exhausted?: "credits" | "budget" | undefined
  /** Problem of a model. */
  readonly problem?: ExtractionProblem | undefined
  /** Finds of the rules, where they have read the messages before. */
  readonly byRules?: ReadMemories | undefined
}> {}

/** A thread as it was before this reading. */
interface Thread {
  /** Undefined for an agent without memories. */
  readonly before: ConversationContext | undefined
  readonly processed: ReadonlySet<string>
}

/** Attempts of a reading whose messages others keep reading. */
const attemptsMax = 8

export type ThreadReading = Effect.Success<ReturnType<typeof makeThreadReading>>

/** A reading's result; undefined: every message was read before. */
export const makeThreadReading = Effect.fnUntraced(function* (deadlineMillis: number, instructions?: string) {
  const parts: Parts = {
    host: yield* NamespaceHost,
    directory: yield* NamespaceDirectory,
    extractor: yield* Extractor,
    store: yield* makeCandidateStore,
    known: yield* makeKnownMemories,
    accounts: yield* Accounts,
    deadlineMillis,
    instructions
  }
  return <E>(reading: Reading<E>) => read(parts, reading)
})

interface Parts {
  readonly host: NamespaceHost["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly extractor: Extractor["Service"]
  readonly store: CandidateStore
  readonly known: KnownMemories
  readonly accounts: Accounts["Service"]
  readonly deadlineMillis: number
  /** Instructions of the installation. */
  readonly instructions: string | undefined
}

const read = Effect.fn("ThreadReading.read")(function* <E>(parts: Parts, reading: Reading<E>) {
  const { directory } = parts
  const { account, messages, request, token } = reading
  let begun: Begun = { waitMillis: undefined, stored: [] }
  const found: Array<StoredReading> = []
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const existing = directory.find(account, request.agentId)
    const thread = yield* threadOf(parts, existing, request, messages)
    const unread = messages.filter(({ readKey }) => !thread.processed.has(readKey))
    const wanted = request.force === true ? messages : unread
    // After a crash a repeated request finds its messages processed, and its result under its token.
    const isRepeat = yield* isCommitted(parts, existing, token)
    if (wanted.length === 0 && !isRepeat) return undefined
    if (attempt === 0) {
      begun = yield* reading.begin(isRepeat ? [] : unread)
      if (yield* isCommitted(parts, existing, token && atOnceToken(token)))
        found.push((yield* committed(parts, reading, nothing, { ...noMessages, isAtOnce: true }))!)
    }
    if (isRepeat) {
      found.push((yield* committed(parts, reading, nothing, noMessages))!)
      return { ...joined(found, new Set()), read: 0 }
    }
    const areStored = begun.stored.length > 0
    const there = areStored ? yield* whatIsThere(parts, reading, begun.stored) : undefined
    // Erased before or while they are read; what is forgotten with its thread may be sent anew.
    const gone = new Set(begun.stored.filter((key) => there?.ids.get(key) === undefined))
    const erased = wanted.filter(({ key }) => gone.has(key) && there?.ids.has(key) === true)
    const fresh = wanted.filter(({ key }) => !gone.has(key))
    const left = messages.filter(({ key }) => !gone.has(key))
    if (fresh.length === 0) {
      if (erased.length > 0) yield* committed(parts, reading, nothing, { ...noMessages, erased })
      return { ...joined(found, gone), read: wanted.length }
    }
    const isAgain = reading.saidMillis !== undefined
    const kept = thread.before ?? there?.context
    const before = isAgain ? withoutTurns(kept) : kept
    const { extractor } = parts
    const extractAtOnce = areStored && !isAgain ? extractor.extractAtOnce : undefined
    const turnMillisMax = begun.waitMillis
    const unseen = fresh.filter(({ readKey }) => !thread.processed.has(atOnceMark(extractor.name, readKey)))
    if (extractAtOnce !== undefined && unseen.length > 0) {
      const around = { before, context: contextOf(before, left, unseen), messages: unseen, turnMillisMax }
      const early = yield* extracted(parts, reading, around, extractAtOnce)
      const result = early && (yield* committed(parts, reading, early, { ...around, isAtOnce: true }))
      if (result !== undefined) found.push(result)
      else if (early !== undefined) continue
    }
    const shown = new Map<string, ShownMemory>()
    const around = { before, context: contextOf(before, left, fresh), messages: fresh, turnMillisMax, shown, erased }
    const extraction = yield* extracted(parts, reading, around, (asked) =>
      areStored ? extractor.extract(asked) : readBoth(extractor, asked)
    ).pipe(
      Effect.catchTag("ReadingFailed", (failed) => {
        const { exhausted, isBusy, problem, refusal } = failed
        if (extractAtOnce === undefined || problem === undefined) return failed
        return new ReadingFailed({ refusal, isBusy, exhausted, problem, byRules: joined(found, gone) })
      })
    )
    const result = yield* committed(parts, reading, extraction, around)
    if (result === undefined) continue
    found.push(result)
    return { ...joined(found, gone), read: wanted.length, problem: extraction.problem && problemOf(extraction.problem) }
  }
  return yield* failedBy(overtaken())
})

const isCommitted = ({ host }: Parts, key: NamespaceKey | undefined, token: IdempotencyToken | undefined) =>
  token === undefined || key === undefined
    ? Effect.succeed(false)
    : host.answer(key, { _tag: "IsCommitted", idempotencyKey: token.key })

/** Under which a request that is repeated finds what rules read for it. */
const atOnceToken = ({ fingerprint, key }: IdempotencyToken): IdempotencyToken => ({
  key: `at once:${key}`,
  fingerprint
})

/** Marks a message as read by rules, whose reader, a model, is still to come. */
export const atOnceMark = (model: string, readKey: string): string => sha256Hex(`at once ${model} ${readKey}`)

/** Marks a message that counts as read, and that the model could not read. */
export const leftOutMark = (model: string, readKey: string): string => sha256Hex(`left out ${model} ${readKey}`)

/** They came after messages that are read again. */
const withoutTurns = (before: ConversationContext | undefined): ConversationContext | undefined =>
  before && { ...before, turns: [] }

type ReadMemories = ReturnType<typeof joined>

type StoredReading = NonNullable<Effect.Success<ReturnType<CandidateStore>>>

/** Joins two readings: memories that the second superseded, or that were erased, are no news of the first. */
const joined = (readings: ReadonlyArray<StoredReading>, gone: ReadonlySet<string>) => {
  const changed = readings.flatMap(({ reply }) => [...reply.created, ...reply.updated])
  const replaced = new Set(changed.map(({ supersedes }) => supersedes))
  const erased = gone.union(new Set(readings.flatMap(({ withheld }) => [...withheld])))
  const isErased = ({ sources }: MemoryVersion) =>
    erased.size > 0 && backingSources(sources).every(({ key }) => erased.has(key))
  const isNews = (version: MemoryVersion) => !replaced.has(version.id) && !isErased(version)
  const entries = (some: ReadonlyArray<MemoryVersion>) => some.filter(isNews).map(memoryEntry)
  return {
    created: entries(readings.flatMap(({ reply }) => reply.created)),
    updated: entries(readings.flatMap(({ reply }) => reply.updated)),
    rejected: readings.flatMap(({ rejected }) => rejected)
  }
}

/** Undefined: another request was first. */
const committed = Effect.fnUntraced(function* <E>(
  { directory, extractor, store }: Parts,
  reading: Reading<E>,
  extraction: Extraction,
  around: Pick<ExtractionScope, "before" | "context" | "messages"> & {
    readonly isAtOnce?: boolean
    readonly shown?: ReadonlyMap<string, ShownMemory>
    /** Count as read. */
    readonly erased?: ReadonlyArray<KeyedMessage>
  }
) {
  const { account, request, token } = reading
  // Last: a failed extraction creates no namespace.
  const namespace = yield* directory.ensure(account, request.agentId)
  const scope: ExtractionScope = {
    ...reading,
    ...around,
    ...(around.isAtOnce === true && { token: token && atOnceToken(token), reads: undefined }),
    namespace,
    shown: [...(around.shown?.values() ?? [])],
    marks: [
      ...[...around.messages, ...(around.erased ?? [])].map(({ readKey }) =>
        around.isAtOnce === true ? atOnceMark(extractor.name, readKey) : readKey
      ),
      ...(extraction.leftOut ?? []).map((at) => leftOutMark(extractor.name, around.messages[at]!.readKey))
    ],
    isAtOnce: around.isAtOnce === true
  }
  return yield* store(scope, extraction).pipe(
    Effect.catchTag("Unavailable", (busy) => Effect.fail(busy.code === "overloaded" ? failedBy(busy) : busy)),
    Effect.catchTag("PayloadTooLarge", (full) =>
      Effect.fail(new ReadingFailed({ refusal: Effect.fail(full), isBusy: false }))
    )
  )
})

const failedBy = (refusal: Unavailable) => new ReadingFailed({ refusal: Effect.fail(refusal), isBusy: true })

const overtaken = () =>
  new Unavailable({
    code: "overloaded",
    error: "other requests kept processing messages of this thread; nothing was stored, try again"
  })

const extracted = Effect.fnUntraced(function* <E, A>(
  parts: Parts,
  { account, conversationDate, isBackground, request, saidMillis, schemas }: Reading<E>,
  around: {
    readonly before: ConversationContext | undefined
    readonly context: ReadonlyArray<ContextTurn>
    readonly messages: ReadonlyArray<KeyedMessage>
    readonly turnMillisMax: number | undefined
    /** Is filled with what the extractor is shown. */
    readonly shown?: Map<string, ShownMemory>
  },
  extract: (request: ExtractionRequest) => Effect.Effect<A, ModelFailure>
) {
  const { before, context, messages, shown, turnMillisMax } = around
  const { deadlineMillis, directory, extractor, known } = parts
  const { agentId, subjectId, threadId } = request
  const scope = { subjectId, threadId }
  const expiresAt = expiryOf({}, request, yield* Clock.currentTimeMillis)
  const namespace = directory.find(account, agentId)
  const speakerName = namespace === undefined ? undefined : yield* known.user(namespace, scope)
  const asked: ExtractionRequest = {
    account,
    kinds: [...schemas.values()],
    messages: messages.map(turnOf),
    context,
    summary: before?.summary,
    speakerName,
    conversationDate,
    turnMillisMax,
    instructions: told([parts.instructions, (yield* parts.accounts.byId(account))?.instructions, request.instructions]),
    names: namespace === undefined ? none : known.names(namespace, scope),
    known: (texts) =>
      namespace === undefined
        ? none
        : Effect.tap(known.nearest(namespace, { ...scope, expiresAt, saidMillis }, texts), (memories) =>
            Effect.sync(() => {
              for (const { contentHash, id } of memories) shown?.set(id, { contentHash, id })
            })
          )
  }
  if (isBackground === true) yield* extractor.untilFree(account)
  return yield* extractInTime(extractor, deadlineMillis, asked, extract).pipe(
    Effect.provideService(TokenNamespace, directory.tagOf(account, agentId)),
    Effect.mapError(
      (failure) =>
        new ReadingFailed({
          refusal: refused(failure),
          isBusy: failure.reason === "overloaded",
          exhausted: exhaustedBy[failure.reason],
          problem:
            failure.by === undefined
              ? problemOf(failure, failure.reason === "too_long" ? "" : "; it is asked again")
              : undefined
        })
    )
  )
})

export const told = (instructions: ReadonlyArray<string | undefined>): ReadonlyArray<string> =>
  instructions.filter((one) => one !== undefined)

const none = Effect.succeed([])

const problemOf = ({ message, reason }: ModelFailure, more = ""): ExtractionProblem => ({
  code: `model_${reason}`,
  message: `${message}${more}`
})

const exhaustedBy: { readonly [Reason in ModelFailureReason]?: ReadingFailed["exhausted"] } = {
  unpaid: "credits",
  budget_exhausted: "budget"
}

/** Ids of the stored messages, and the context with the mark of the moment before. */
const whatIsThere = Effect.fnUntraced(function* <E>(
  { directory, host }: Parts,
  { account, request: { agentId, subjectId, threadId } }: Reading<E>,
  keys: ReadonlyArray<string>
) {
  const namespace = yield* directory.ensure(account, agentId)
  const scope = { subjectId, threadId }
  const context = yield* host.answer(namespace, { _tag: "Conversation", scope })
  const ids = yield* host.answer(namespace, { _tag: "Stored", scope, keys })
  return { context, ids }
})

const threadOf = Effect.fnUntraced(function* (
  { extractor, host }: Parts,
  key: NamespaceKey | undefined,
  { subjectId, threadId }: ExtractionScope["request"],
  messages: ReadonlyArray<KeyedMessage>
) {
  if (key === undefined) return { before: undefined, processed: new Set() } satisfies Thread
  const scope = { subjectId, threadId }
  const keys = messages.flatMap(({ readKey }) => [readKey, atOnceMark(extractor.name, readKey)])
  const processed = yield* host.answer(key, { _tag: "Processed", scope, keys })
  const before = yield* host.answer(key, { _tag: "Conversation", scope })
  return { before, processed } satisfies Thread
})

const nothing = { candidates: [], dropped: [], summary: undefined } as const
const noMessages = { before: undefined, context: [], messages: [] }

/** Turns before the fresh messages: those of the thread, then read ones of this request; the newest are kept. */
const contextOf = (
  before: ConversationContext | undefined,
  messages: ReadonlyArray<KeyedMessage>,
  fresh: ReadonlyArray<KeyedMessage>
): ReadonlyArray<ContextTurn> => {
  const unread = new Set(fresh.map(({ key }) => key))
  const turns = (before?.turns ?? []).filter(({ key }) => !unread.has(key))
  const skip = new Set([...unread, ...turns.map(({ key }) => key)])
  const read = messages.filter((message) => !skip.has(message.key) && !isOfTool(message))
  return [...turns, ...read.map(turnOf)].slice(-Limits.conversationContextMax)
}
