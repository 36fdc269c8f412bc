/**
 * Agent files of Letta (`.af`), of both versions: memory blocks are facts, the messages of the agents are messages. Until
 * 2026 agents spoke by calling the tool `send_message`, and what stood beside it was thought; users' messages were
 * wrapped in JSON.
 */
import {
  type Fields,
  type ForeignItem,
  type ImportOwner,
  factItems,
  fieldsOf,
  isGiven,
  listOf,
  messageItems,
  textOf,
  unknownItem
} from "./ForeignItems.ts"
import { plainItems } from "./messageRecords.ts"
import { noteTexts } from "./noteTexts.ts"

const isBlock = (element: Fields): boolean => typeof element["value"] === "string" && isGiven(element["label"])

export const isLetta = (element: Fields): boolean =>
  isBlock(element) ||
  isGiven(element["core_memory"]) ||
  isGiven(element["in_context_message_ids"]) ||
  isGiven(element["agent_type"])

/** Arrays at the root whose objects are read one by one; that of the first version keeps its agent whole. */
export const isLettaList = (key: string): boolean =>
  ["agents", "blocks", "groups", "files", "sources", "tools", "mcp_servers", "skills"].includes(key)

const leftOut: Readonly<Record<string, string>> = {
  tools: "a tool",
  groups: "a group of agents",
  sources: "a folder of files",
  files: "a file",
  mcp_servers: "an MCP server",
  skills: "a skill"
}

export const lettaItems = (owner: ImportOwner, element: Fields, key: string): ReadonlyArray<ForeignItem> => {
  const reason = leftOut[key]
  if (reason !== undefined) return [{ skipped: reason }]
  if (isBlock(element)) return blockItems(owner, element)
  const blocks = listOf(element["core_memory"]).map(fieldsOf)
  const messages = listOf(element["messages"]).map(fieldsOf)
  const isAgent = isLetta(element) || messages.length > 0
  if (!isAgent) return [unknownItem("no agent file of Letta")]
  const threadId = textOf(element["id"], element["name"]) ?? "letta"
  const items = [
    ...blocks.flatMap((block) => blockItems(owner, { ...block, of: threadId })),
    ...messages.flatMap((message, at) => itemsOf(owner, message, threadId, at))
  ]
  return items.length > 0 ? items : [{ skipped: "an agent without messages" }]
}

/** Ids depend on the text: a block that was changed adds what is new in it. */
const blockItems = (owner: ImportOwner, block: Fields): ReadonlyArray<ForeignItem> => {
  const label = String(block["label"])
  const texts = noteTexts(textOf(block["value"]) ?? "")
  if (texts.length === 0) return [{ skipped: "a memory block without text" }]
  const id = textOf(block["id"], block["of"]) ?? "block"
  return texts.flatMap((fact) =>
    factItems(owner, { id: `${id}\0${label}\0${fact}`, subject: label, fact, at: block["created_at"] })
  )
}

const itemsOf = (owner: ImportOwner, message: Fields, threadId: string, at: number): ReadonlyArray<ForeignItem> => {
  const id = textOf(message["id"]) ?? `${at}`
  const place = { id, at: message["created_at"], threadId }
  const role = message["role"]
  if (role === "system") return [{ skipped: "a system message of the agent" }]
  const calls = listOf(message["tool_calls"]).map((call) => fieldsOf(fieldsOf(call)["function"]))
  const sent = calls.filter(({ name }) => name === "send_message").map((call) => parsed(call["arguments"])["message"])
  if (sent.length > 0) return messageItems(owner, { ...place, role: "assistant", text: sent.join("\n") })
  const text = textOf(message["content"], fieldsOf(listOf(message["content"])[0])["text"])
  const wrapped = role === "user" || role === "tool" ? parsed(text) : {}
  if (role === "user" && typeof wrapped["type"] === "string") {
    if (wrapped["type"] !== "user_message") return [{ skipped: "an event of the agent's loop" }]
    return messageItems(owner, { ...place, role, text: wrapped["message"], name: wrapped["name"] })
  }
  // The result of `send_message`.
  if (role === "tool" && "status" in wrapped && !isGiven(wrapped["message"]))
    return [{ skipped: "a tool's result without text" }]
  return plainItems(owner, { ...message, id: undefined, created_at: undefined }, place)
}

const parsed = (text: unknown): Fields => {
  if (typeof text !== "string" || !text.trimStart().startsWith("{")) return {}
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    // A user may write a brace.
    return {}
  }
}
