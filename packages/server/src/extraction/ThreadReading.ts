/**
 * One reading of a conversation: finds its unread messages, lets the extractor read them outside of the actor, and
 * commits what it found with the marks of the messages. If another reading was first, it looks again.
 *
 * Invariants: a message counts as read exactly when its memories are stored; a reading that fails stores and marks
 * nothing.
 */
import { Data, Effect } from "effect"
import type { IdempotencyToken } from "@muniment/domain/api/Middleware"
import { type InvalidRequest, type PayloadTooLarge, type RateLimited, Unavailable } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { ConversationContext } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { Extractor } from "@muniment/insight/extraction/Extractor"
import type { ModelFailureReason } from "@muniment/models/llm/ModelFailure"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { TokenNamespace } from "../credits/TokenCosts.ts"
import { memoryEntry } from "../memories/MemoryViews.ts"
import type { ContextTurn, ExtractionScope } from "./CandidateJudge.ts"
import { type CandidateStore, makeCandidateStore } from "./CandidateStore.ts"
import { isOfTool, type KeyedMessage, turnOf } from "./ConversationMessages.ts"
import { extractInTime, refused } from "./extractInTime.ts"
import { knownName } from "./SlotKeys.ts"

export interface Reading<E> {
  readonly account: string
  readonly request: ExtractionScope["request"]
  readonly messages: ReadonlyArray<KeyedMessage>
  readonly schemas: ReadonlyMap<string, MemorySchema>
  readonly conversationDate: string
  /** Committed with the memories. */
  readonly token: IdempotencyToken | undefined
  /** Id of the pending reading that the commit ends. */
  readonly reads: string | undefined
  /**
   * Runs once, before the extraction, with the messages that nobody has read. Says how long the extraction may wait
   * until others are read, milliseconds; undefined: as long as the extractor allows.
   */
  readonly begin: (unread: ReadonlyArray<KeyedMessage>) => Effect.Effect<number | undefined, E>
  /** Nobody waits for it, so it lets others go first. */
  readonly isBackground?: boolean
}

/** The messages could not be read now. Nothing is stored or marked by this reading. */
export class ReadingFailed extends Data.TaggedError("ReadingFailed")<{
  /** What a caller is told who wanted nothing but the reading. */
  readonly refusal: Effect.Effect<never, InvalidRequest | PayloadTooLarge | RateLimited | Unavailable>
  /** Too many are read at this time; nothing is wrong with these messages. */
  readonly isBusy: boolean
  /** What did not cover the tokens: the account's credits, or a budget of the day. */
  readonly exhausted?: "credits" | "budget" | undefined
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
export const makeThreadReading = Effect.fnUntraced(function* (deadlineMillis: number) {
  const parts: Parts = {
    host: yield* NamespaceHost,
    directory: yield* NamespaceDirectory,
    extractor: yield* Extractor,
    store: yield* makeCandidateStore,
    deadlineMillis
  }
  return <E>(reading: Reading<E>) => read(parts, reading)
})

interface Parts {
  readonly host: NamespaceHost["Service"]
  readonly directory: NamespaceDirectory["Service"]
  readonly extractor: Extractor["Service"]
  readonly store: CandidateStore
  readonly deadlineMillis: number
}

const read = Effect.fn("ThreadReading.read")(function* <E>(parts: Parts, reading: Reading<E>) {
  const { directory, host, store } = parts
  const { account, messages, request, token } = reading
  let turnMillisMax: number | undefined
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const existing = directory.find(account, request.agentId)
    const thread = yield* threadOf(parts, existing, request, messages)
    const unread = messages.filter(({ readKey }) => !thread.processed.has(readKey))
    const fresh = request.force === true ? messages : unread
    // After a crash a repeated request finds its messages processed, and its result under its token.
    const isRepeat =
      token !== undefined &&
      existing !== undefined &&
      (yield* host.answer(existing, { _tag: "IsCommitted", idempotencyKey: token.key }))
    if (fresh.length === 0 && !isRepeat) return undefined
    if (attempt === 0) turnMillisMax = yield* reading.begin(isRepeat ? [] : unread)
    const before = isRepeat ? undefined : thread.before
    const context = contextOf(before, messages, fresh)
    const extraction = isRepeat ? nothing : yield* extracted(parts, reading, fresh, { before, context, turnMillisMax })
    // Last: a failed extraction creates no namespace.
    const namespace = yield* directory.ensure(account, request.agentId)
    const scope: ExtractionScope = { ...reading, namespace, before, context, messages: isRepeat ? [] : fresh }
    const stored = yield* store(scope, extraction).pipe(
      Effect.catchTag("Unavailable", (busy) => Effect.fail(busy.code === "overloaded" ? failedBy(busy) : busy)),
      Effect.catchTag("PayloadTooLarge", (full) =>
        Effect.fail(new ReadingFailed({ refusal: Effect.fail(full), isBusy: false }))
      )
    )
    if (stored === undefined) continue
    const { rejected, reply } = stored
    const [created, updated] = [reply.created.map(memoryEntry), reply.updated.map(memoryEntry)]
    return { created, updated, rejected, read: fresh.length }
  }
  return yield* failedBy(overtaken())
})

const failedBy = (refusal: Unavailable) => new ReadingFailed({ refusal: Effect.fail(refusal), isBusy: true })

const overtaken = () =>
  new Unavailable({
    code: "overloaded",
    error: "other requests kept processing messages of this thread; nothing was stored, try again"
  })

const extracted = Effect.fnUntraced(function* <E>(
  parts: Parts,
  { account, conversationDate, isBackground, request, schemas }: Reading<E>,
  messages: ReadonlyArray<KeyedMessage>,
  around: {
    readonly before: ConversationContext | undefined
    readonly context: ReadonlyArray<ContextTurn>
    readonly turnMillisMax: number | undefined
  }
) {
  const { before, context, turnMillisMax } = around
  const { deadlineMillis, directory, extractor } = parts
  const speakerName = yield* speakerOf(parts, directory.find(account, request.agentId), request)
  const kinds = [...schemas.values()]
  const summary = before?.summary
  const asked = {
    account,
    kinds,
    messages: messages.map(turnOf),
    context,
    summary,
    speakerName,
    conversationDate,
    turnMillisMax
  }
  if (isBackground === true) yield* extractor.untilFree(account)
  return yield* extractInTime(extractor, deadlineMillis, asked).pipe(
    Effect.provideService(TokenNamespace, directory.tagOf(account, request.agentId)),
    Effect.mapError(
      (failure) =>
        new ReadingFailed({
          refusal: refused(failure),
          isBusy: failure.reason === "overloaded",
          exhausted: exhaustedBy[failure.reason]
        })
    )
  )
})

const exhaustedBy: { readonly [Reason in ModelFailureReason]?: ReadingFailed["exhausted"] } = {
  unpaid: "credits",
  budget_exhausted: "budget"
}

const threadOf = Effect.fnUntraced(function* (
  { host }: Parts,
  key: NamespaceKey | undefined,
  { subjectId, threadId }: ExtractionScope["request"],
  messages: ReadonlyArray<KeyedMessage>
) {
  if (key === undefined) return { before: undefined, processed: new Set() } satisfies Thread
  const scope = { subjectId, threadId }
  const keys = messages.map(({ readKey }) => readKey)
  const processed = yield* host.answer(key, { _tag: "Processed", scope, keys })
  const before = yield* host.answer(key, { _tag: "Conversation", scope })
  return { before, processed } satisfies Thread
})

/** A subject is one person: the name that they told in another thread is theirs here. */
const speakerOf = ({ host }: Parts, namespace: NamespaceKey | undefined, { subjectId }: ExtractionScope["request"]) =>
  namespace === undefined || subjectId === undefined
    ? Effect.succeed(undefined)
    : knownName(host, { namespace, subjectId })

const nothing = { candidates: [], dropped: [], summary: undefined } as const

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
