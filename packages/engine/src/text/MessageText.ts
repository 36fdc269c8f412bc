/**
 * Parts of a message of a conversation (kind `conversation_message`) that search reads: its text, its speaker, traits of the
 * text that the ranking uses, and whom it names.
 */
import { Limits } from "@muniment/domain/Limits"
import { conversationMessageKind } from "@muniment/domain/Memory"
import { messageSigns } from "@muniment/language/question/MessageSigns"
import { type Naming, namingsInFact, namingsInMessage } from "@muniment/language/people/Namings"

export interface Message {
  /** The part of the text that is searched. */
  readonly text: string
  /** Name of the speaker, or the role. */
  readonly speaker: string
  readonly isByUser: boolean
}

/** Bits of `MessageRow.traits` and of a passage's, beside those of `answerKinds`. */
export const messageTraits = {
  /** A sentence that is no question speaks of its speaker: I, my, me, we, our. */
  states: 1,
  /** Every sentence is a question. */
  onlyAsks: 2,
  /** The message has the role `user`. */
  isByUser: 4,
  /** Short enough to give its words to the messages around it, and to receive theirs. */
  isShort: 8,
  /** It has the bits of `answerKinds`; what earlier releases stored has none. */
  isSorted: 16,
  /** It tells no name (`namingsOf`). Messages that earlier releases stored lack this bit, whatever they tell. */
  namesNobody: 1024
} as const

/** The message in a memory; undefined for memories of other kinds. */
export const messageOf = ({ data, kind }: { readonly kind: string; readonly data: unknown }): Message | undefined => {
  if (kind !== conversationMessageKind || typeof data !== "object" || data === null) return undefined
  const { name, role, text } = data as Readonly<Record<string, unknown>>
  if (typeof text !== "string") return undefined
  const named = typeof name === "string" ? name.trim() : ""
  return {
    text: text.slice(0, Limits.searchedMessageLengthMax),
    speaker: named || String(role),
    isByUser: role === "user"
  }
}

/** The bits of `messageTraits` and `answerKinds` for a message or one passage of it. */
export const traitsOf = (text: string, isByUser: boolean): number => {
  const { isOfSpeaker, kinds, onlyAsks } = messageSigns(text)
  return (
    (isOfSpeaker ? messageTraits.states : 0) |
    (onlyAsks ? messageTraits.onlyAsks : 0) |
    (isByUser ? messageTraits.isByUser : 0) |
    (text.length <= Limits.neighbourMessageLengthMax ? messageTraits.isShort : 0) |
    messageTraits.isSorted |
    kinds
  )
}

/** Names and relations that a memory states. */
export const namingsOf = (memory: { readonly kind: string; readonly data: unknown }): ReadonlyArray<Naming> => {
  const message = messageOf(memory)
  if (message !== undefined) return namingsInMessage(message)
  return memory.kind === conversationMessageKind ? [] : namingsInFact(memory.data)
}
