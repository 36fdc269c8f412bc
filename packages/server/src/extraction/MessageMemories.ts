/**
 * Messages as memories (contract: Conversations): each is stored once in its conversation, word for word, with what
 * their extraction needs, in one commit. System messages and empty ones are not stored.
 */
import { Clock, Effect, Semaphore } from "effect"
import {
  conversationMessageKind,
  type CreateMemories,
  type JsonObject,
  type MemoryRecord,
  waitsFor
} from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import {
  type ConversationScope,
  type PendingReading,
  isReadAgain,
  isSameScope
} from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { contentHash } from "@muniment/trust/CanonicalJson"
import { MemoryIds, expiryOf } from "../memories/MemoryPreparation.ts"
import { TextEmbedding } from "../memories/TextEmbedding.ts"
import { type KeyedMessage, type RequestMessage, isOfTool } from "./ConversationMessages.ts"

/** How many messages became memories, and how many were memories before. */
export interface KeptMessages {
  readonly stored: number
  readonly known: number
}

export type MessageMemories = Effect.Success<typeof makeMessageMemories>

export const isKept = ({ content, role }: KeyedMessage): boolean => role !== "system" && content.trim() !== ""

/** Stores the messages that are not stored yet; `awaits`: their extraction, which is to follow. */
export const makeMessageMemories = Effect.gen(function* () {
  const host = yield* NamespaceHost
  const embedding = yield* TextEmbedding
  const ids = new MemoryIds()
  return Effect.fn("MessageMemories.keep")(function* (
    namespace: NamespaceKey,
    request: CreateMemories,
    messages: ReadonlyArray<KeyedMessage>,
    awaits: PendingReading | undefined
  ) {
    const scope = { subjectId: request.subjectId, threadId: request.threadId }
    const kept = messages.filter(isKept)
    const keys = kept.map(({ key }) => key)
    const known = yield* host.answer(namespace, { _tag: "Stored", scope, keys })
    const fresh = kept.filter(({ key }) => !known.has(key))
    if (fresh.length === 0 && awaits === undefined) return { stored: 0, known: kept.length } satisfies KeptMessages
    const nowMillis = yield* Clock.currentTimeMillis
    const records = yield* Effect.forEach(fresh, (message) =>
      Effect.map(ids.next(namespace.tag), (id) => recordOf(id, message, request, nowMillis))
    )
    const wait = waitsFor(request, "vectors") ? "vectors" : "briefly"
    const { created } = yield* embedding.storing(namespace, records, wait, (vectors) =>
      host.ask(namespace, {
        _tag: "StoreMemories",
        memories: records.map((record, at) => ({
          record,
          vector: vectors[at],
          isReplacement: false,
          setsExpiry: false
        })),
        // A message is stored once in any case.
        idempotency: undefined,
        ...(awaits !== undefined && {
          conversation: { scope, processed: [], isForced: true, turns: [], summary: undefined, awaits }
        })
      })
    )
    return { stored: created.length, known: kept.length - created.length } satisfies KeptMessages
  })
})

const recordOf = (
  id: string,
  { content, id: messageId, key, name, role, sentAt }: KeyedMessage,
  request: CreateMemories,
  nowMillis: number
): MemoryRecord => {
  const kind = conversationMessageKind
  const data: JsonObject = {
    role,
    ...(name !== undefined && { name }),
    text: content,
    ...(sentAt !== undefined && { sentAt })
  }
  return {
    id,
    agentId: request.agentId,
    subjectId: request.subjectId,
    threadId: request.threadId,
    kind,
    data,
    tags: [...new Set(request.tags)],
    metadata: request.metadata,
    mentions: [],
    when: new Date(sentAt ?? request.conversationDate ?? nowMillis).toISOString(),
    confidence: 1,
    contentHash: contentHash({ agentId: request.agentId, data, kind }),
    createdAt: nowMillis,
    updatedAt: nowMillis,
    expiresAt: expiryOf({}, request, nowMillis),
    origin: "conversation",
    sources: [{ key, ...(messageId !== undefined && { id: messageId }) }]
  }
}

/** So many known messages in a row were sent again, not said again by chance. */
const runLengthSure = 3
/** Occurrences of a text that are looked up at once. */
const probed = 8

/** Readings of an agent that are to follow and are looked at for the end of a thread. */
const pendingMax = 100

/**
 * Messages without ids that are said again, told from those that are sent again (contract: Conversations). A window that
 * reaches to the end of the thread is known up to there, and what follows is new, whatever its words. Another window is
 * known by runs of three or more known messages. A lone message is never known by its text.
 *
 * The messages of a request, those said again under keys that no message of the thread has.
 */
export const messagesOf = Effect.fn("MessagesSaidAgain.messages")(function* (
  host: NamespaceHost["Service"],
  namespace: NamespaceKey,
  scope: ConversationScope,
  messages: ReadonlyArray<RequestMessage>
) {
  const knownOf = Effect.fnUntraced(function* (asked: ReadonlyArray<KeyedMessage>) {
    const keys = asked.flatMap(({ key, readKey }) => [key, readKey])
    const read = yield* host.answer(namespace, { _tag: "Processed", scope, keys })
    const stored = yield* host.answer(namespace, { _tag: "Stored", scope, keys })
    return asked.filter(({ key, readKey }) => read.has(key) || read.has(readKey) || stored.has(key))
  })
  const known = new Set<KeyedMessage>(yield* knownOf(messages))
  if (!messages.some((message) => message.id === undefined && known.has(message))) return messages
  const { turns } = yield* host.answer(namespace, { _tag: "Conversation", scope })
  const pending = yield* host.answer(namespace, { _tag: "PendingReadings", limit: pendingMax })
  const unread = pending
    .filter((reading) => isSameScope(reading.scope, scope) && !isReadAgain(reading))
    .flatMap((reading) => reading.messages)
  const thread = [...new Set([...turns, ...unread].map(({ key }) => key))]
  const occurrences = yield* Effect.forEach(messages, (message) =>
    known.has(message) ? occurrencesOf(message, knownOf) : Effect.succeed(new Set<string>())
  )
  const isSent = sentAgain(messages, occurrences, thread)
  const taken = new Set(messages.map(({ key }) => key))
  return messages.map((message, at) => {
    if (message.id !== undefined || isSent(at) || !known.has(message)) return message
    let occurrence = (occurrences[at]?.size ?? 0) + 1
    while (taken.has(message.asOccurrence(occurrence).key)) occurrence++
    const fresh = message.asOccurrence(occurrence)
    taken.add(fresh.key)
    return fresh
  })
})

/** The keys of all messages of the thread with the words of this one. */
const occurrencesOf = Effect.fnUntraced(function* <E>(
  message: RequestMessage,
  knownOf: (asked: ReadonlyArray<KeyedMessage>) => Effect.Effect<ReadonlyArray<KeyedMessage>, E>
) {
  const keys = new Set<string>()
  if (message.id !== undefined) return keys.add(message.key)
  for (let from = 1; keys.size === from - 1; from += probed) {
    const asked = Array.from({ length: probed }, (_, at) => message.asOccurrence(from + at))
    for (const { key } of yield* knownOf(asked)) keys.add(key)
  }
  return keys
})

/**
 * Which messages are sent again, by their place. `occurrences`: the keys that each may have in the thread; `thread`: the
 * keys of its last messages, oldest first.
 */
const sentAgain = (
  messages: ReadonlyArray<KeyedMessage>,
  occurrences: ReadonlyArray<ReadonlySet<string>>,
  thread: ReadonlyArray<string>
): ((at: number) => boolean) => {
  // Messages of tools are no turns of the thread.
  const places = messages.flatMap((message, at) => (isOfTool(message) ? [] : [at]))
  const told = places.map((at) => occurrences[at]!)
  for (let end = told.length; end > 0; end--) {
    const length = Math.min(end, thread.length)
    const isEnd = thread.slice(-length).every((key, at) => told[end - length + at]?.has(key))
    // The whole of a thread with more behind it: the conversation has grown.
    const isGrown = length === thread.length && end < told.length
    if (length > 0 && isEnd && (length > 1 || isGrown)) return (at) => at <= places[end - 1]!
  }
  const runs = runsOf(occurrences.map(({ size }) => size > 0)).filter(({ length }) => length >= runLengthSure)
  return (at) => runs.some(({ length, start }) => start <= at && at < start + length)
}

const runsOf = (known: ReadonlyArray<boolean>): ReadonlyArray<{ readonly start: number; readonly length: number }> => {
  const runs: Array<{ start: number; length: number }> = []
  for (const [at, isKnown] of known.entries()) {
    const last = runs.at(-1)
    if (!isKnown) continue
    if (last !== undefined && last.start + last.length === at) last.length++
    else runs.push({ start: at, length: 1 })
  }
  return runs
}

/**
 * Serialises concurrent requests with the same messages: the second one finds them processed and asks no model.
 * Otherwise every copy of a request would cost a call of the model, and only one would be charged.
 *
 * Bounded: more than `waitingMax` waiting copies are refused; a key without requests is removed.
 *
 * Copies of one request that may wait for the first.
 */
const waitingMax = 64

export class SameMessages {
  readonly #turns = new Map<string, { readonly turn: Semaphore.Semaphore; users: number }>()

  /** Runs `act` after those with the same key; `refused` when too many wait. */
  inTurn<A, E, R, E2>(
    key: string,
    act: Effect.Effect<A, E, R>,
    refused: Effect.Effect<never, E2>
  ): Effect.Effect<A, E | E2, R> {
    return Effect.suspend((): Effect.Effect<A, E | E2, R> => {
      const known = this.#turns.get(key) ?? { turn: Semaphore.makeUnsafe(1), users: 0 }
      if (known.users > waitingMax) return refused
      known.users++
      this.#turns.set(key, known)
      return Effect.ensuring(
        known.turn.withPermit(act),
        Effect.sync(() => {
          if (--known.users === 0) this.#turns.delete(key)
        })
      )
    })
  }
}
