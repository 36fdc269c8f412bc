/**
 * Messages as memories (contract: Conversations): each is stored once in its conversation, word for word, with what
 * their extraction needs, in one commit. System messages and empty ones are not stored.
 */
import { Clock, Effect } from "effect"
import {
  conversationMessageKind,
  type CreateMemories,
  type JsonObject,
  type MemoryRecord,
  waitsFor
} from "@muniment/domain/Memory"
import { NamespaceHost } from "@muniment/engine/host/NamespaceHost"
import type { PendingReading } from "@muniment/engine/store/Conversations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { contentHash } from "@muniment/trust/CanonicalJson"
import { MemoryIds } from "../memories/MemoryIds.ts"
import { expiryOf } from "../memories/MemoryPreparation.ts"
import { TextEmbedding } from "../memories/TextEmbedding.ts"
import type { KeyedMessage } from "./ConversationMessages.ts"

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
