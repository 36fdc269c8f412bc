/**
 * Messages of a request as extraction sees them (interface.md section 5.3): roles after aliases, and the
 * key under which each counts as processed in its thread.
 *
 * A message with an id is known by it. One without is known by what it says, by how often the same was
 * said before it in the request, and by the kinds that are looked for: a conversation that is sent
 * again, or that has grown, has its old messages skipped; the same words said once more are new.
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
    // An id that stands twice in one request names one message: the first.
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

/** Turns on each side of a message that are searched with its memories (retrieval.md: two). */
const neighboursPerSide = 2

/** Texts around the messages that a memory was taken from, nearest first: their own, then one before, one after, and so on. */
export const neighbourTexts = (turns: ReadonlyArray<Turn>, sources: ReadonlyArray<number>): ReadonlyArray<string> => {
  const first = Math.min(...sources)
  const last = Math.max(...sources)
  const places = new Set(sources.toSorted((left, right) => left - right))
  for (let distance = 1; distance <= neighboursPerSide; distance++) places.add(first - distance).add(last + distance)
  return Array.from(places).flatMap((place) => turns[place]?.content || [])
}
