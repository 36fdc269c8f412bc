/**
 * Messages of a request (contract: Conversations): aliases of roles resolved, and the keys under which each counts as
 * stored and as read in its thread.
 *
 * The key of a message is its id. Without one it is derived from the text, its writer and time, and the number of
 * earlier messages with the same: in a conversation that is sent again, or that has grown, old messages are known; the
 * same text said once more is new. Without an id, reading for other kinds is another reading.
 */
import type { ConversationMessage } from "@muniment/domain/Memory"
import type { Turn } from "@muniment/insight/extraction/Extractor"
import { canonicalJson, sha256Hex } from "@muniment/trust/CanonicalJson"

export interface KeyedMessage extends Turn {
  /** Marks the message as stored, and names it as a source. */
  readonly key: string
  /** Marks it as read. */
  readonly readKey: string
  readonly id: string | undefined
}

export const keyedMessages = (
  conversation: ReadonlyArray<typeof ConversationMessage.Type>,
  kinds: ReadonlyArray<string> | undefined
): ReadonlyArray<KeyedMessage> => {
  const distinct = kinds === undefined ? null : [...new Set(kinds)].toSorted()
  const said = new Map<string, number>()
  const keys = new Set<string>()
  return conversation.flatMap(({ id, role: given, ...message }) => {
    const words = { ...message, role: roleAliases[given] }
    const text = canonicalJson(words)
    const occurrence = (said.get(text) ?? 0) + 1
    said.set(text, occurrence)
    const keyOf = (read: ReadonlyArray<string> | null) =>
      sha256Hex(canonicalJson(id === undefined ? { ...words, occurrence, kinds: read } : { id }))
    const key = keyOf(null)
    // Of two messages with one id the first counts.
    if (keys.has(key)) return []
    keys.add(key)
    return [{ ...words, id, key, readKey: keyOf(distinct) }]
  })
}

const roleAliases = {
  user: "user",
  human: "user",
  assistant: "assistant",
  ai: "assistant",
  system: "system"
} as const satisfies Record<(typeof ConversationMessage.Type)["role"], Turn["role"]>

/** Turns on each side of a message whose text is searched with its memories. */
const neighboursPerSide = 2

/** Texts of a memory's sources and of the turns around them, nearest first: own, one before, one after, and so on. */
export const neighbourTexts = (turns: ReadonlyArray<Turn>, sources: ReadonlyArray<number>): ReadonlyArray<string> => {
  const first = Math.min(...sources)
  const last = Math.max(...sources)
  const places = new Set(sources.toSorted((left, right) => left - right))
  for (let distance = 1; distance <= neighboursPerSide; distance++) places.add(first - distance).add(last + distance)
  return Array.from(places).flatMap((place) => turns[place]?.content || [])
}
