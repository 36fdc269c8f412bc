/**
 * The exports of other products, element by element: which messages and memories each holds. Fields are read as the
 * products write them; what is of no known form is left out with a reason.
 */
import { rowItems } from "./csvItems.ts"
import { factItem, messageItem, type ForeignItem, type ImportOwner } from "./ForeignItems.ts"
import { noteItems } from "./markdownNotes.ts"

export const foreignFormats = ["messages", "chatgpt", "claude", "mem0", "zep", "markdown", "csv"] as const
export type ForeignFormat = (typeof foreignFormats)[number]

type Fields = Readonly<Record<string, unknown>>
type Reader = (owner: ImportOwner, element: Fields, key: string) => ReadonlyArray<ForeignItem>

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {}
const isGiven = (value: unknown): boolean => value !== null && value !== undefined
const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
const textOf = (...values: ReadonlyArray<unknown>): string | undefined =>
  values.find((value): value is string => typeof value === "string" && value !== "")

/** Texts of a message's parts; pictures and calls of tools have none. */
const partsText = (parts: unknown): string =>
  listOf(parts)
    .map((part) => (typeof part === "string" ? part : textOf(fieldsOf(part)["text"])))
    .filter((part) => part !== undefined && part.trim() !== "")
    .join("\n")

/** One message of a chat: `role`, `content`, and if given `id`, `thread_id`, `name`, a time. */
const messages: Reader = (owner, one) => {
  const threadId = textOf(one["thread_id"], one["threadId"], one["conversation_id"], one["session_id"]) ?? "messages"
  const at = one["timestamp"] ?? one["created_at"] ?? one["createdAt"] ?? one["sentAt"]
  const text = typeof one["content"] === "string" ? one["content"] : partsText(one["content"]) || one["text"]
  // Without an id: what was said, by whom and when.
  const id = textOf(one["id"], one["uuid"]) ?? JSON.stringify([one["role"], one["name"], at, text])
  return [messageItem(owner, { id, role: one["role"], text, at, threadId, name: one["name"] })]
}

/** The branch that the conversation ends in; what was regenerated or edited away is left out. */
const chatgpt: Reader = (owner, conversation) => {
  const threadId = textOf(conversation["conversation_id"], conversation["id"])
  if (threadId === undefined) return [{ skipped: "a conversation without id" }]
  const nodes = fieldsOf(conversation["mapping"])
  const branch: Array<Fields> = []
  const seen = new Set<string>()
  for (let at = conversation["current_node"]; typeof at === "string" && at in nodes && !seen.has(at);) {
    seen.add(at)
    const node = fieldsOf(nodes[at])
    branch.unshift(fieldsOf(node["message"]))
    at = node["parent"]
  }
  const away = Object.keys(nodes).filter((id) => !seen.has(id) && isGiven(fieldsOf(nodes[id])["message"]))
  return [
    ...branch
      .filter(({ id }) => id !== undefined)
      .map((message) => {
        const role = fieldsOf(message["author"])["role"]
        const text = partsText(fieldsOf(message["content"])["parts"])
        return messageItem(owner, { id: String(message["id"]), role, text, at: message["create_time"], threadId })
      }),
    ...away.map(() => ({ skipped: "a message of an abandoned branch" }))
  ]
}

const claude: Reader = (owner, conversation) => {
  const threadId = textOf(conversation["uuid"])
  if (threadId === undefined) return [{ skipped: "a conversation without id" }]
  return listOf(conversation["chat_messages"]).map((one) => {
    const message = fieldsOf(one)
    const text = textOf(partsText(message["content"]), message["text"])
    const id = String(message["uuid"])
    return messageItem(owner, { id, role: message["sender"], text, at: message["created_at"], threadId })
  })
}

const mem0: Reader = (owner, memory) => {
  const id = textOf(memory["id"])
  if (id === undefined) return [{ skipped: "a memory without id" }]
  const user = textOf(memory["user_id"], memory["agent_id"])
  return [
    factItem(owner, {
      id,
      subject: user ?? "user",
      fact: memory["memory"] ?? memory["text"],
      at: memory["created_at"],
      tags: listOf(memory["categories"]),
      subjectId: owner.subjectId ?? user,
      threadId: memory["run_id"]
    })
  ]
}

/** Edges are facts, episodes and messages are messages; nodes say nothing that edges do not. */
const zep: Reader = (owner, element, key) => {
  const id = textOf(element["uuid"], element["id"])
  if (id === undefined) return [{ skipped: "an element without uuid" }]
  if (textOf(element["fact"]) !== undefined) {
    if (isGiven(element["invalid_at"]) || isGiven(element["expired_at"]))
      return [{ skipped: "a fact that is no longer valid" }]
    const at = element["valid_at"] ?? element["created_at"]
    const subject = textOf(element["source_node_name"], element["name"]) ?? "graph"
    return [factItem(owner, { id, subject, fact: element["fact"], at })]
  }
  const text = textOf(element["content"], element["episode_body"])
  if (text === undefined)
    return [{ skipped: key === "nodes" ? "a node, whose facts are its edges" : "an element without text" }]
  const role = textOf(element["role_type"], element["role"]) ?? "user"
  const threadId = textOf(element["session_id"], element["thread_id"], element["group_id"]) ?? "zep"
  return [messageItem(owner, { id, role, text, at: element["valid_at"] ?? element["created_at"], threadId })]
}

export const readers: Readonly<Record<ForeignFormat, Reader>> = {
  messages,
  chatgpt,
  claude,
  mem0,
  zep,
  markdown: noteItems,
  csv: rowItems
}
