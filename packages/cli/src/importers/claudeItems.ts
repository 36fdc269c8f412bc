/**
 * The export of Claude: conversations with what was attached to their messages, what Claude has noted of the user and
 * of each project (`memories.json`), and the instructions of projects. Where a message was edited, the newest branch.
 */
import {
  type Fields,
  type ForeignItem,
  type ImportOwner,
  factItems,
  fieldsOf,
  instructionItems,
  isGiven,
  listOf,
  messageItems,
  millisOf,
  partsText,
  textOf,
  unknownItem
} from "./ForeignItems.ts"
import { noteLengthMax, noteTexts, pieces } from "./noteTexts.ts"

export const isClaude = (element: Fields): boolean =>
  Array.isArray(element["chat_messages"]) || isMemories(element) || isProject(element)

const isMemories = (element: Fields): boolean => "conversations_memory" in element || "project_memories" in element

const isProject = (element: Fields): boolean => "prompt_template" in element && isGiven(element["uuid"])

export const claudeItems = (owner: ImportOwner, element: Fields): ReadonlyArray<ForeignItem> => {
  if (isMemories(element)) return memoriesOf(owner, element)
  if (isProject(element)) return projectItems(owner, element)
  const threadId = textOf(element["uuid"])
  if (threadId === undefined || !Array.isArray(element["chat_messages"]))
    return [unknownItem("no conversation of Claude")]
  const messages = element["chat_messages"].map(fieldsOf)
  const branch = newestBranch(messages, element["current_leaf_message_uuid"])
  return [
    ...messages.filter((one) => branch.has(one)).flatMap((one) => messagesOf(owner, one, threadId)),
    ...messages.filter((one) => !branch.has(one)).map(() => ({ skipped: "a message of an abandoned branch" }))
  ]
}

/** The newest branch; all messages where an older export has no parents. */
const newestBranch = (messages: ReadonlyArray<Fields>, leaf: unknown): ReadonlySet<Fields> => {
  const byId = new Map(messages.map((one) => [one["uuid"], one]))
  const parents = new Set(messages.map((one) => one["parent_message_uuid"]))
  if (!messages.some((one) => byId.has(one["parent_message_uuid"]))) return new Set(messages)
  const timeOf = (one: Fields): number => millisOf(one["created_at"]) ?? 0
  const leaves = messages.filter((one) => !parents.has(one["uuid"]))
  const branch = new Set<Fields>()
  const last = byId.get(leaf) ?? leaves.toSorted((one, other) => timeOf(one) - timeOf(other)).at(-1)
  for (let at: Fields | undefined = last; at !== undefined && !branch.has(at); at = byId.get(at["parent_message_uuid"]))
    branch.add(at)
  return branch
}

const messagesOf = (owner: ImportOwner, message: Fields, threadId: string): ReadonlyArray<ForeignItem> => {
  const id = String(message["uuid"])
  const shared = { role: message["sender"], at: message["created_at"], threadId }
  const attached = listOf(message["attachments"])
    .map(fieldsOf)
    .filter((one) => textOf(one["extracted_content"]) !== undefined)
  const text = textOf(partsText(message["content"]), message["text"])
  const own = text === undefined && attached.length > 0 ? [] : messageItems(owner, { ...shared, id, text })
  return [
    ...own,
    ...attached.flatMap((one, at) =>
      messageItems(owner, {
        ...shared,
        id: `${id}\0attachment\0${at}`,
        text: `${textOf(one["file_name"]) ?? "attachment"}:\n${String(one["extracted_content"])}`
      })
    )
  ]
}

/** Each piece has an id of its text, so that a later export adds what is new in it. */
const memoriesOf = (owner: ImportOwner, element: Fields): ReadonlyArray<ForeignItem> => {
  const projects = Object.entries(fieldsOf(element["project_memories"]))
  const files = listOf(element["memory_files"]).map(fieldsOf)
  const texts = [
    ["user", element["conversations_memory"]] as const,
    ...projects.map(([id, text]) => [`project ${id}`, text] as const),
    ...files.map((file) => [textOf(file["path"], file["name"]) ?? "memory", file["content"] ?? file["text"]] as const)
  ]
  const items = texts.flatMap(([subject, text]) => noteTexts(textOf(text) ?? "").map((fact) => ({ subject, fact })))
  if (items.length === 0) return [{ skipped: "a memory without text" }]
  return items.flatMap(({ fact, subject }) =>
    factItems(owner, { id: `memories\0${subject}\0${fact}`, subject, fact, at: undefined })
  )
}

const projectItems = (owner: ImportOwner, project: Fields): ReadonlyArray<ForeignItem> => {
  const id = String(project["uuid"])
  const name = textOf(project["name"]) ?? id
  const at = project["created_at"]
  const instructions = textOf(project["prompt_template"])
  const docs = listOf(project["docs"]).map(fieldsOf)
  const items = [
    ...(instructions === undefined
      ? []
      : instructionItems(owner, { id: `${id}\0instructions`, fact: `${name}: ${instructions}`, at })),
    ...docs.flatMap((doc, number) =>
      pieces(textOf(doc["content"]) ?? "", noteLengthMax).flatMap((fact, part) =>
        factItems(owner, {
          id: `${id}\0doc\0${textOf(doc["uuid"]) ?? number}\0${part}`,
          subject: `${name} > ${textOf(doc["filename"], doc["file_name"]) ?? "document"}`,
          fact,
          at: doc["created_at"] ?? at,
          threadId: id
        })
      )
    )
  ]
  return items.length > 0 ? items : [{ skipped: "a project without instructions and documents" }]
}

export const isClaudeCode = (element: Fields): boolean =>
  isGiven(element["sessionId"]) && isGiven(element["type"]) && (isGiven(element["uuid"]) || !isGiven(element["id"]))

const inserted = /<(system-reminder|command-(?:name|message|args)|local-command-\w+|bash-\w+)>[^]*?<\/\1>/g

/**
 * Sessions of Claude Code (`~/.claude/projects/<folder>/<session>.jsonl`), an event a line: what the user and the model
 * said. Left out are calls and results of tools, which are the contents of files for the most part, agents that the
 * session started, thoughts, commands of the terminal, and what the program put into the user's messages.
 */
export const claudeCodeItems = (owner: ImportOwner, event: Fields): ReadonlyArray<ForeignItem> => {
  const type = textOf(event["type"])
  if (type === undefined) return [unknownItem("no event of a session")]
  const id = textOf(event["uuid"])
  const message = fieldsOf(event["message"])
  if ((type !== "user" && type !== "assistant") || id === undefined) return [{ skipped: "an event that is no message" }]
  if (event["isSidechain"] === true) return [{ skipped: "a message of an agent that the session started" }]
  if (event["isMeta"] === true) return [{ skipped: "a message of the program" }]
  if (event["isCompactSummary"] === true) return [{ skipped: "a summary of earlier messages" }]
  if (event["isApiErrorMessage"] === true) return [{ skipped: "an error of the model's API" }]
  const parts = listOf(message["content"]).map(fieldsOf)
  const said = parts.filter((part) => part["type"] === "text").map((part) => String(part["text"]))
  const text = (textOf(message["content"]) ?? said.join("\n")).replaceAll(inserted, "").trim()
  if (text === "") return [{ skipped: whyEmpty(parts) }]
  const threadId = textOf(event["sessionId"]) ?? "claude-code"
  return messageItems(owner, { id, role: type, text, at: event["timestamp"], threadId })
}

const whyEmpty = (parts: ReadonlyArray<Fields>): string =>
  parts.some(({ type }) => type === "tool_use" || type === "tool_result")
    ? "a call or a result of a tool"
    : parts.some(({ type }) => type === "thinking" || type === "redacted_thinking")
      ? "a thought of the model"
      : "a command of the terminal, or a message without text"
