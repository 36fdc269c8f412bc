/**
 * The messages of a request as plain texts (contract: Conversations), whatever API they come from: a role, a text, a
 * time. Calls and results of tools become messages of role `tool`; what is no text is named in brackets and counted.
 */
import {
  type Conversation,
  type GivenMessage,
  messageRoles,
  saidTexts,
  type TurnItem
} from "@muniment/domain/Conversation"
import type { LeftOutMessage, MessageContent, MessageRole } from "@muniment/domain/Conversation"
import { momentText } from "@muniment/domain/GivenTimes"
import { isJsonObject } from "@muniment/domain/Json"
import { Limits } from "@muniment/domain/Limits"
import type { JsonObject } from "@muniment/domain/Memory"

export interface PlainMessage {
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
