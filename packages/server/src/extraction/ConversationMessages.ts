/**
 * Messages of a request (contract: Conversations): the keys under which each counts as stored and as read in its thread.
 *
 * The key of a message is its id. Without one it is derived from the text, its writer and time, and the number of
 * earlier messages with the same, whatever the request's time zone; `MessageMemories.ts` tells what is said again from what is sent again. Without an
 * id, reading for other kinds is another reading.
 */
import type { MessageRole } from "@muniment/domain/Conversation"
import type { MemoryVersion } from "@muniment/domain/Memory"
import { speakersTime } from "@muniment/language/calendar/SpokenDates"
import type { PendingMessage } from "@muniment/engine/store/Conversations"
import type { Turn } from "@muniment/insight/extraction/Extractor"
import { canonicalJson, sha256Hex } from "@muniment/trust/CanonicalJson"
import type { PlainMessage } from "./PlainMessages.ts"

/** Its type keeps a tool's words from being read as a turn: see {@link turnOf}. */
export interface KeyedMessage extends Omit<Turn, "role"> {
  readonly role: MessageRole
  /** Marks the message as stored, and names it as a source. */
  readonly key: string
  /** Marks it as read. */
  readonly readKey: string
  readonly id: string | undefined
}

/** A message of a request, not yet looked up in its thread. */
export interface RequestMessage extends KeyedMessage {
  /** Which of the messages with its words it is, from 1. */
  readonly occurrence: number
  readonly asOccurrence: (occurrence: number) => KeyedMessage
}

export const keyedMessages = (
  conversation: ReadonlyArray<PlainMessage>,
  kinds: ReadonlyArray<string> | undefined,
  timeZone: string | undefined
): ReadonlyArray<RequestMessage> => {
  const distinct = kinds === undefined ? null : [...new Set(kinds)].toSorted()
  const said = new Map<string, number>()
  const keys = new Set<string>()
  return conversation.flatMap(({ id, part, ...words }) => {
    const text = canonicalJson(words)
    const occurrence = (said.get(text) ?? 0) + 1
    said.set(text, occurrence)
    const asOccurrence = (number: number): KeyedMessage => {
      const keyOf = (read: ReadonlyArray<string> | null) =>
        sha256Hex(
          canonicalJson(
            id === undefined ? { ...words, occurrence: number, kinds: read } : part === 0 ? { id } : { id, part }
          )
        )
      const spoken = words.sentAt === undefined ? words : { ...words, sentAt: speakersTime(words.sentAt, timeZone) }
      return { ...spoken, id, key: keyOf(null), readKey: keyOf(distinct) }
    }
    const keyed = asOccurrence(occurrence)
    // The first of two messages with one id counts.
    if (keys.has(keyed.key)) return []
    keys.add(keyed.key)
    return [{ ...keyed, occurrence, asOccurrence }]
  })
}

/** The message as an extractor reads it: of a tool's nothing, which is no word of the user or the assistant. */
export const turnOf = <M extends KeyedMessage>(message: M): Omit<M, "role"> & Turn => {
  const { role } = message
  return role === "tool" ? { ...message, role: "system", name: undefined, content: "" } : { ...message, role }
}

export const isOfTool = ({ role }: KeyedMessage): boolean => role === "tool"

/** Turns on each side of a message whose text is searched with its memories. */
const neighboursPerSide = 2

/** Texts of a memory's sources and of the turns around them, nearest first: own, one before, one after, and so on. */
export const neighbourTexts = (
  turns: ReadonlyArray<Pick<Turn, "content">>,
  sources: ReadonlyArray<number>
): ReadonlyArray<string> => {
  const first = Math.min(...sources)
  const last = Math.max(...sources)
  const places = new Set(sources.toSorted((left, right) => left - right))
  for (let distance = 1; distance <= neighboursPerSide; distance++) places.add(first - distance).add(last + distance)
  return Array.from(places).flatMap((place) => turns[place]?.content || [])
}

/**
 * Messages as a reader finds them in the store.
 *
 * When it was said, milliseconds.
 */
export const saidAt = ({ createdAt, when }: MemoryVersion): number =>
  when === undefined ? createdAt : Date.parse(when)

/** `isAgain`: beside messages of other days, so that each needs a time. */
export const storedMessage = (
  memory: MemoryVersion,
  { key, readKey }: PendingMessage,
  isAgain: boolean
): KeyedMessage => {
  const { data, sources, when } = memory
  const { name, role, text } = data
  const sentAt = data["sentAt"] ?? (isAgain ? when : undefined)
  return {
    role: role === "assistant" || role === "tool" ? role : "user",
    content: String(text),
    ...(typeof name === "string" && { name }),
    ...(typeof sentAt === "string" && { sentAt }),
    id: sources?.[0]?.id,
    key,
    readKey
  }
}
