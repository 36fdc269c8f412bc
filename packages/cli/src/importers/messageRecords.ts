/**
 * Messages in the shapes of model APIs, read as the service reads those of a request: text parts are text, calls and
 * results of tools are messages of role `tool`.
 */
import { type GivenMessage, messageRoles } from "@muniment/domain/Conversation"
import { plainConversation } from "@muniment/server/extraction/ConversationMessages"
import {
  type Fields,
  type ForeignItem,
  type ImportOwner,
  fieldOf,
  isGiven,
  messageItems,
  textOf,
  unknownItem
} from "./ForeignItems.ts"

interface MessagePlace {
  readonly id: string
  readonly at: unknown
  readonly threadId: string
}

const lists = ["parts", "tool_calls"] as const
const contents = ["content", ...lists, "text", "function_call", "refusal", "audio"]

export const isMessage = (element: Fields): boolean =>
  typeof element["role"] === "string" &&
  Object.hasOwn(messageRoles, element["role"].toLowerCase()) &&
  contents.some((name) => isGiven(element[name]))

/** One message of a chat: `role`, `content`, and if given `id`, `thread_id`, `name`, a time. */
export const messageRowItems = (owner: ImportOwner, one: Fields): ReadonlyArray<ForeignItem> => {
  const threadId = textOf(fieldOf(one, "thread_id", "conversation_id", "session_id")) ?? "messages"
  const at = fieldOf(one, "timestamp", "created_at", "sent_at")
  // Without an id: what was said, by whom and when.
  const id =
    textOf(one["id"], one["uuid"]) ?? JSON.stringify([one["role"], one["name"], at, one["content"] ?? one["text"]])
  return plainItems(owner, one, { id, at, threadId })
}

export const plainItems = (owner: ImportOwner, one: Fields, place: MessagePlace): ReadonlyArray<ForeignItem> => {
  const role = typeof one["role"] === "string" ? one["role"].toLowerCase() : undefined
  if (role === undefined) return [unknownItem("a message without role")]
  if (!Object.hasOwn(messageRoles, role)) return [unknownItem(`the role ${role}`)]
  const given = Object.fromEntries(
    contents.filter((name) => isGiven(one[name])).map((name) => [name, one[name]] as const)
  )
  for (const name of lists) if (!Array.isArray(given[name])) delete given[name]
  const content = given["content"] ?? given["text"]
  const name = typeof one["name"] === "string" ? { name: one["name"] } : {}
  const { leftOut, messages } = plainConversation([{ ...given, content, ...name, role } as GivenMessage])
  if (leftOut.length > 0)
    return [
      { skipped: leftOut[0]!.reason === "no_text" ? "a message of pictures or files alone" : "a message without text" }
    ]
  return messages
    .filter((message) => message.content.trim() !== "")
    .flatMap(({ content: text, name: writer, part, role: said }) => {
      const id = part === 0 ? place.id : `${place.id}\0tool\0${part}`
      return messageItems(owner, { ...place, id, role: said, text, name: writer })
    })
}
