/**
 * Parts of a message of a conversation (kind `conversation_message`) that search reads: its text, its speaker, and
 * traits of the text that the ranking uses. Without Unicode tables where ASCII will do, since each message is read once
 * at every write.
 */
import { Limits } from "@muniment/domain/Limits"
import { conversationMessageKind } from "@muniment/domain/Memory"
import { kindsIn } from "./AnswerKinds.ts"

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
  /** It tells no name (`people/Namings`). Messages that earlier releases stored lack this bit, whatever they tell. */
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
  const sentences = text.split(sentenceEnd).filter((sentence) => hasWord.test(sentence))
  const statements = sentences.filter((sentence) => !question.test(sentence))
  return (
    (statements.some((sentence) => ofSpeaker.test(sentence)) ? messageTraits.states : 0) |
    (sentences.length > 0 && statements.length === 0 ? messageTraits.onlyAsks : 0) |
    (isByUser ? messageTraits.isByUser : 0) |
    (text.length <= Limits.neighbourMessageLengthMax ? messageTraits.isShort : 0) |
    messageTraits.isSorted |
    kindsIn(text)
  )
}

const sentenceEnd = /(?<=[.!?…]["')\]]*)\s+|(?<=[。！？])|\n+/u
const question = /[?？]["')\]!.]*\s*$/u
const hasWord = /[\p{L}\p{N}]/u
/** "im" and "ive" as people type "I'm" and "I've". */
const ofSpeaker = /(?<![\p{L}\p{N}])(?:i|im|ive|my|me|we|our)(?![\p{L}\p{N}])/iu
