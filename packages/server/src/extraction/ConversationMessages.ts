/**
 * Messages of a request as extraction sees them (contract: Conversations): aliases of roles resolved, and the key
 * under which each counts as processed in its thread.
 *
 * The key of a message is its id. Without one it is derived from the text, the number of earlier messages
 * with the same text, and the kinds asked for: in a conversation that is sent again, or that has
 * grown, old messages are skipped; the same text said once more is new.
 */
import type { ConversationMessage } from "@muniment/domain/Memory"
import type { Turn } from "@muniment/insight/extraction/Extractor"
import { canonicalJson, sha256Hex } from "@muniment/trust/CanonicalJson"

export interface KeyedMessage extends Turn {
  readonly key: string
  readonly id: string | undefined
}

export const keyedMessages = (
  conversation: ReadonlyArray<typeof ConversationMessage.Type>,
  kinds: ReadonlyArray<string> | undefined
): ReadonlyArray<KeyedMessage> => {
  const distinct = kinds === undefined ? null : [...new Set(kinds)].toSorted()
  const said = new Map<string, number>()
  const keys = new Set<string>()
  return conversation.flatMap(({ content, id, role: given }) => {
    const role = roleAliases[given]
    const words = canonicalJson({ role, content })
    const occurrence = (said.get(words) ?? 0) + 1
    said.set(words, occurrence)
    const known = id === undefined ? { role, content, occurrence, kinds: distinct } : { id }
    const key = sha256Hex(canonicalJson(known))
    // Of two messages with one id the first counts.
    if (keys.has(key)) return []
    keys.add(key)
    return [{ role, content, id, key }]
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
