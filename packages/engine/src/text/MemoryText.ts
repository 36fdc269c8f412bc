/**
 * The searchable text of a memory: five columns of tokens for the lexical index, and one text for the embedding
 * model. Values of `data` are read depth-first without their keys; a number or `true` adds its key, since it has no
 * words of its own; `false` and `null` add nothing.
 *
 * The subject column says what the memory is about: `subject`, `name`, `title` and `participants` at the top of its
 * data, then its mentions. `main` leaves those values out, because the subject column has a higher weight. Of a
 * message of a conversation, `main` is its text and the subject column its speaker.
 */
import { dateWords } from "@muniment/language/calendar/CalendarWords"
import { type Passage, passagesOf } from "@muniment/language/text/Passages"
import { type Analyzer, byLanguage, tokenize } from "@muniment/language/text/Tokenizer"
import { Limits } from "@muniment/domain/Limits"
import { conversationMessageKind } from "@muniment/domain/Memory"
import { messageSigns } from "@muniment/language/question/QuestionTraits"
import { type Naming, namingsInFact, namingsInMessage } from "@muniment/language/people/People"

export const COLUMNS = ["main", "subject", "neighbours", "when", "tags"] as const
export type Column = (typeof COLUMNS)[number]

/** Tokens by column, ready to be indexed. */
export type MemoryColumns = Readonly<Record<Column, ReadonlyArray<string>>>

/** Unit that is ranked: a memory, or a passage of a long message. */
export interface MemoryUnit {
  readonly columns: MemoryColumns
  /** Passage of a message with several passages. */
  readonly passage: Passage | undefined
  /** Bits of `messageTraits` of the passage; 0 without one. */
  readonly traits: number
}

export interface SearchableMemory {
  readonly kind: string
  readonly data: unknown
  readonly tags: ReadonlyArray<string>
  readonly mentions?: ReadonlyArray<{ readonly name: string }> | undefined
  /** Event time, ISO 8601. */
  readonly when?: string | undefined
  /** Texts of the turns around an extracted memory, nearest first. */
  readonly neighbours?: ReadonlyArray<string> | undefined
}

export const FLATTENED_LENGTH_MAX = 65_536
export const FLATTENED_DEPTH_MAX = 16
export const NEIGHBOUR_TOKENS_MAX = 512
export const DENSE_TEXT_LENGTH_MAX = 2_000

const SUBJECT_KEYS: ReadonlySet<string> = new Set(["subject", "name", "title", "participants"])

export const memoryColumns = (memory: SearchableMemory, analyzer: Analyzer = byLanguage): MemoryColumns => {
  const { language, tokens: main } = analyzer.main(mainText(memory))
  return {
    main,
    subject: analyzer.other(subjectText(memory), language),
    neighbours: analyzer.other((memory.neighbours ?? []).join(" "), language, NEIGHBOUR_TOKENS_MAX),
    when: tokenize(memory.when === undefined ? "" : dateWords(memory.when)),
    tags: analyzer.other(memory.tags.join(" "), language)
  }
}

/**
 * The units that a memory is searched by, each with its words: one for most memories, one for each passage of a long
 * message. `given`: the passages as they were cut before.
 */
export const memoryUnits = (
  memory: SearchableMemory,
  given?: ReadonlyArray<Passage>,
  analyzer: Analyzer = byLanguage
): readonly [MemoryUnit, ...ReadonlyArray<MemoryUnit>] => {
  const columns = memoryColumns(memory, analyzer)
  const message = messageOf(memory)
  const passages = message === undefined ? [] : (given ?? passagesOf(message.text))
  if (message === undefined || passages.length < 2) return [{ columns, passage: undefined, traits: 0 }]
  const [first, ...others] = passages.map((passage): MemoryUnit => {
    const text = message.text.slice(passage.start, passage.end)
    return {
      columns: { ...columns, main: analyzer.main(text).tokens },
      passage,
      traits: traitsOf(text, message.isByUser)
    }
  })
  return [first!, ...others]
}

/** Inputs of the embedding model, one for each unit. `given`: the passages as they were cut before. */
export const denseTexts = (memory: SearchableMemory, given?: ReadonlyArray<Passage>): ReadonlyArray<string> => {
  const message = messageOf(memory)
  if (message === undefined) return [denseText(memory)]
  return (given ?? passagesOf(message.text)).map(({ end, start }) =>
    messageText(message, message.text.slice(start, end))
  )
}

/**
 * Input of the embedding model: `subject: values (kind)`, of a message `speaker: text`. With the kind in front, e5 lost
 * six points of recall@10.
 */
export const denseText = (memory: SearchableMemory): string => {
  const message = messageOf(memory)
  if (message !== undefined) return messageText(message, message.text)
  const subject = subjectText(memory)
  const main = mainText(memory)
  const about = subject === "" || main === "" ? subject + main : `${subject}: ${main}`
  return `${about.slice(0, DENSE_TEXT_LENGTH_MAX)} (${keyWords(memory.kind)})`
}

const messageText = ({ speaker }: Message, text: string): string =>
  `${speaker}: ${text.trim()}`.slice(0, DENSE_TEXT_LENGTH_MAX)

/** Number of tokens in all columns: the document length of BM25. */
export const columnsLength = (columns: MemoryColumns): number =>
  COLUMNS.reduce((length, column) => length + columns[column].length, 0)

/** The text of a message, or what other data says beside its subject. */
export const mainText = (memory: Pick<SearchableMemory, "data" | "kind">): string =>
  messageOf(memory)?.text ?? flatten(dataEntries(memory.data).filter(([key]) => !SUBJECT_KEYS.has(key)))

const subjectText = (memory: SearchableMemory): string => {
  const message = messageOf(memory)
  if (message !== undefined) return message.speaker
  const named = flatten(dataEntries(memory.data).filter(([key]) => SUBJECT_KEYS.has(key)))
  if (memory.mentions === undefined || memory.mentions.length === 0) return named
  const known = ` ${named.toLowerCase()} `
  // A mention that repeats the subject would count its words twice.
  const mentioned = memory.mentions
    .map(({ name }) => name.trim())
    .filter((name) => !known.includes(` ${name.toLowerCase()} `))
  return [named, ...new Set(mentioned)].filter((part) => part !== "").join(" ")
}

const dataEntries = (data: unknown): ReadonlyArray<readonly [string, unknown]> =>
  typeof data === "object" && data !== null && !Array.isArray(data) ? Object.entries(data) : [["", data]]

const flatten = (entries: ReadonlyArray<readonly [string, unknown]>): string => {
  const parts: Array<string> = []
  let length = 0
  const visit = (node: unknown, key: string, depth: number): void => {
    if (length >= FLATTENED_LENGTH_MAX || depth > FLATTENED_DEPTH_MAX) return
    const text = scalarText(node, key)
    if (text !== undefined) {
      parts.push(text)
      length += text.length + 1
    } else if (Array.isArray(node)) {
      for (const item of node) visit(item, key, depth + 1)
    } else if (typeof node === "object" && node !== null) {
      for (const [name, item] of Object.entries(node)) visit(item, name, depth + 1)
    }
  }
  for (const [name, item] of entries) visit(item, name, 1)
  return parts.join(" ").slice(0, FLATTENED_LENGTH_MAX)
}

const scalarText = (node: unknown, key: string): string | undefined => {
  if (typeof node === "string") return ISO_DATE.test(node) ? dateWords(node) : node.trim() || undefined
  if (typeof node === "number") return `${keyWords(key)} ${node}`.trim()
  return node === true ? keyWords(key) || undefined : undefined
}

/** `shoeSize` and `shoe_size` read as `shoe size`. */
const keyWords = (key: string): string =>
  key
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/[_.-]+/g, " ")
    .trim()

const ISO_DATE = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]{5,15}(?:Z|[+-]\d{2}:?\d{2})?)?$/

/**
 * Parts of a message of a conversation (kind `conversation_message`) that search reads: its text, its speaker, traits of the
 * text that the ranking uses, and whom it names.
 */
interface Message {
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
