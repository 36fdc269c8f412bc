/**
 * Messages of a request (contract: Conversations): the keys under which each counts as stored and as read in its thread.
 *
 * The key of a message is its id. Without one it is derived from the text, its writer and time, and the number of
 * earlier messages with the same, whatever the request's time zone; `MessageMemories.ts` tells what is said again from what is sent again. Without an
 * id, reading for other kinds is another reading.
 */
import {
  type Conversation,
  type GivenMessage,
  type LeftOutMessage,
  type MessageContent,
  type MessageRole,
  messageRoles,
  saidTexts,
  type TurnItem
} from "@muniment/domain/Conversation"
import type { JsonObject, MemoryVersion } from "@muniment/domain/Memory"
import { speakersTime } from "@muniment/language/calendar/SpokenDates"
import type { PendingMessage } from "@muniment/engine/store/Conversations"
import type { Turn } from "@muniment/insight/extraction/Extractor"
import { canonicalJson, sha256Hex } from "@muniment/trust/CanonicalJson"
import { momentText } from "@muniment/domain/GivenTimes"
import { isJsonObject } from "@muniment/domain/Json"
import { Limits } from "@muniment/domain/Limits"

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

/**
 * The messages of a request as plain texts (contract: Conversations), whatever API they come from: a role, a text, a
 * time. Calls and results of tools become messages of role `tool`; what is no text is named in brackets and counted.
 */
interface PlainMessage {
  readonly id: string | undefined
  /** Which of the messages that one of the request became: its tool calls follow its text. */
  readonly part: number
  readonly role: MessageRole
  readonly name?: string | undefined
  readonly content: string
  readonly sentAt?: string | undefined
}

export interface PlainConversation {
  readonly messages: ReadonlyArray<PlainMessage>
  readonly leftOut: ReadonlyArray<LeftOutMessage>
  /** Parts without text. */
  readonly skippedParts: number
}

export const plainConversation = (conversation: Conversation): PlainConversation => {
  const given = typeof conversation === "string" ? [conversation] : conversation
  const messages: Array<PlainMessage> = []
  const leftOut: Array<LeftOutMessage> = []
  let skippedParts = 0
  for (const [index, each] of given.entries()) {
    const message = messageOf(each)
    const { isToolFirst, said, skipped, tools } = contentOf(message)
    skippedParts += skipped
    const role = messageRoles[message.role]
    const own = said.trim() !== "" || tools.length === 0 ? [{ role, text: said }] : []
    const ofTools = tools.map((text) => ({ role: "tool" as const, text }))
    const texts = isToolFirst ? [...ofTools, ...own] : [...own, ...ofTools]
    const sentAt = message.sentAt ?? message.createdAt ?? message.created_at ?? message.timestamp
    for (const [part, { role: writer, text }] of texts.entries()) {
      messages.push({
        id: message.id,
        part,
        role: writer,
        ...(message.name !== undefined && writer === role && { name: message.name }),
        content: text,
        ...(sentAt !== undefined && { sentAt: momentText(sentAt) })
      })
    }
    if (texts.every(({ text }) => text.trim() === "")) leftOut.push(whyLeftOut(index, message.id, skipped))
  }
  return { messages, leftOut, skippedParts }
}

const messageOf = (given: string | GivenMessage | TurnItem): GivenMessage => {
  if (typeof given === "string") return { role: "user", content: given }
  return given.role === undefined ? { role: "tool", content: [given as JsonObject] } : (given as GivenMessage)
}

const whyLeftOut = (index: number, id: string | undefined, skipped: number): LeftOutMessage => ({
  index,
  ...(id !== undefined && { id }),
  ...(skipped > 0
    ? { reason: "no_text", message: "the message has no text: images, files and the like are not kept" }
    : { reason: "empty", message: "the message is empty" })
})

interface SaidContent {
  /** The text of the message itself. */
  readonly said: string
  /** Calls and results of tools, each as text. */
  readonly tools: ReadonlyArray<string>
  /** The message begins with what a tool gave. */
  readonly isToolFirst: boolean
  readonly skipped: number
}

const contentOf = (message: GivenMessage): SaidContent => {
  const { audio, content, function_call: called, parts = [], refusal, role, tool_calls = [] } = message
  const isOfTool = messageRoles[role] === "tool"
  const spoken = [refusal, audio?.["transcript"]].filter((text) => typeof text === "string")
  const all = [...(isOfTool ? resultParts(content) : partsOf(content)), ...parts, ...spoken]
  const said: Array<string> = []
  const tools: Array<string> = []
  let [skipped, isText] = [0, false]
  for (const part of all) {
    const tool = typeof part === "string" ? undefined : toolText(part)
    const texts = saidTexts([part])
    if (tool !== undefined) tools.push(bounded(tool))
    else if (texts.length > 0) said.push(...texts)
    else if (typeof part !== "string" && !isThought(part)) {
      said.push(`[${kindOfPart(part)}]`)
      skipped++
      continue
    }
    isText ||= texts.some((text) => text.trim() !== "")
  }
  const calls = called === undefined ? tool_calls : [...tool_calls, called]
  tools.push(...calls.map((call) => bounded(callText(call))))
  const text = isText ? said.join("\n") : ""
  const [first] = all
  const isToolFirst = isJsonObject(first) && toolText(first) !== undefined
  return { said: isOfTool ? bounded(text) : text, tools, isToolFirst, skipped }
}

type Part = string | JsonObject

const partsOf = (content: MessageContent | null | undefined): ReadonlyArray<Part> => {
  if (content === null || content === undefined) return []
  return Array.isArray(content) ? content : [content as Part]
}

/** A tool's result may be any object. */
const resultParts = (content: GivenMessage["content"]): ReadonlyArray<Part> =>
  isJsonObject(content) && saidTexts(content).length === 0 ? [JSON.stringify(content)] : partsOf(content)

const isThought = ({ thought, type }: JsonObject): boolean =>
  thought === true || (typeof type === "string" && /^(?:redacted_)?(?:thinking|reasoning)/.test(type))

/** A call or a result of a tool, as Anthropic (`tool_use`), the AI SDK (`tool-call`), OpenAI and Gemini have them. */
const toolText = (part: JsonObject): string | undefined => {
  const { functionCall, functionResponse, function_call: called, function_response: answered } = part
  const call = functionCall ?? called
  if (isJsonObject(call)) return callText(call)
  const answer = functionResponse ?? answered
  if (isJsonObject(answer)) return valueText(answer["response"] ?? answer)
  const type = typeof part["type"] === "string" ? part["type"].replaceAll("-", "_") : ""
  if (/(?:^|_)(?:tool_use|call)$/.test(type)) return callText(part)
  if (!/_(?:result|output)$/.test(type)) return undefined
  return valueText(part["content"] ?? part["output"] ?? part["result"] ?? "")
}

/** `get_weather({"city":"Oslo"})` */
const callText = (call: JsonObject): string => {
  const named = isJsonObject(call["function"]) ? call["function"] : call
  const name = named["name"] ?? named["toolName"] ?? named["type"] ?? "tool"
  const given = named["arguments"] ?? named["input"] ?? named["args"] ?? named["action"] ?? ""
  return `${valueText(name)}(${valueText(given)})`
}

const valueText = (value: JsonObject[string]): string => {
  if (typeof value === "string") return value
  if (Array.isArray(value)) {
    const parts = value.filter((part): part is Part => typeof part === "string" || isJsonObject(part))
    const texts = saidTexts(parts)
    if (texts.length > 0) return texts.join("\n")
  }
  if (isJsonObject(value) && value["value"] !== undefined) return valueText(value["value"])
  return JSON.stringify(value)
}

/** A tool may answer at any length. */
const bounded = (text: string): string =>
  text.length <= Limits.messageLengthMax ? text : [...text].slice(0, Limits.messageLengthMax).join("")

/** `image` of `image_url`, `input_image`, `inline_data` of an image; else the type. */
const kindOfPart = (part: JsonObject): string => {
  const media = [part["inlineData"], part["inline_data"], part["fileData"], part["file_data"]].find(isJsonObject)
  const type = valueText(media?.["mimeType"] ?? media?.["mime_type"] ?? part["type"] ?? "part").toLowerCase()
  return ["image", "audio", "video", "file", "document"].find((kind) => type.includes(kind)) ?? "part"
}
