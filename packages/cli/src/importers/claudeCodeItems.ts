/**
 * Sessions of Claude Code (`~/.claude/projects/<folder>/<session>.jsonl`), an event a line: what the user and the model
 * said. Left out are calls and results of tools, which are the contents of files for the most part, agents that the
 * session started, thoughts, commands of the terminal, and what the program put into the user's messages.
 */
import { type Fields, fieldsOf, isGiven, listOf, textOf } from "./ForeignFields.ts"
import { type ForeignItem, type ImportOwner, messageItems, unknownItem } from "./ForeignItems.ts"

export const isClaudeCode = (element: Fields): boolean =>
  isGiven(element["sessionId"]) && isGiven(element["type"]) && (isGiven(element["uuid"]) || !isGiven(element["id"]))

const inserted = /<(system-reminder|command-(?:name|message|args)|local-command-\w+|bash-\w+)>[^]*?<\/\1>/g

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
