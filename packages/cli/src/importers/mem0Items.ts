/**
 * Memories as mem0 has them: of its platform and its library, in either spelling, as rows of the vector store below it
 * (`payload`), as OpenMemory exports them, and as the plugin for coding agents writes them (Markdown).
 */
import {
  type Fields,
  type ForeignItem,
  type ImportOwner,
  factItems,
  fieldOf,
  fieldsOf,
  isGiven,
  listOf,
  textOf,
  unknownItem,
  unreadFields
} from "./ForeignItems.ts"

/** Read, or of no use to a reader: vectors, hashes, scores, who owns the account at mem0. */
const known = [
  "id memory text content data payload user_id agent_id run_id created_at updated_at expiration_date categories",
  "hash score score_details vector embedding organization owner immutable org_id project_id type state deleted_at",
  "archived_at structured_attributes text_lemmatized attributed_to internal_metadata"
].flatMap((names) => names.split(" "))

export const isMem0 = (element: Fields): boolean =>
  isGiven(element["id"]) && textIn(element) !== undefined && !("role" in element) && !("uuid" in element)

const textIn = (element: Fields): string | undefined => {
  const payload = fieldsOf(element["payload"])
  return textOf(element["memory"], payload["data"], payload["memory"], element["content"], element["text"])
}

export const mem0Items = (owner: ImportOwner, element: Fields): ReadonlyArray<ForeignItem> => {
  const memory = { ...element, ...fieldsOf(element["payload"]) }
  const id = textOf(element["id"], typeof element["id"] === "number" ? String(element["id"]) : undefined)
  const isEmpty = ["memory", "data", "text", "content"].some((name) => memory[name] === "")
  if (id === undefined || (textIn(element) === undefined && !isEmpty)) return [unknownItem("no memory of mem0")]
  if (memory["state"] === "deleted") return [{ skipped: "a memory that was deleted" }]
  const user = textOf(fieldOf(memory, "user_id"))
  return factItems(owner, {
    id,
    subject: user ?? textOf(fieldOf(memory, "agent_id")) ?? "user",
    fact: textIn(element),
    at: fieldOf(memory, "created_at"),
    tags: listOf(memory["categories"]).map((one) => textOf(one, fieldsOf(one)["name"])),
    agentId: fieldOf(memory, "agent_id"),
    subjectId: user,
    threadId: fieldOf(memory, "run_id"),
    expiresAt: endOf(fieldOf(memory, "expiration_date")),
    metadata: { ...unreadFields(memory, [...known, "metadata"]), ...fieldsOf(memory["metadata"]) },
    unkept: owner.agentId !== undefined && isGiven(fieldOf(memory, "agent_id")) ? ["agent_id"] : []
  })
}

/** A memory is valid on the day on which it expires. */
const endOf = (date: unknown): unknown =>
  typeof date === "string" && /^\d{4}-\d\d-\d\d$/.test(date) ? `${date}T23:59:59.999Z` : date

/** Blocks of the plugin's export: fields between two lines of dashes, then the text. */
export const mem0Blocks = (text: string): ReadonlyArray<Fields> => {
  const [, ...parts] = text.replaceAll(/\r\n?/g, "\n").split(/^---[ \t]*$/m)
  return parts.flatMap((part, at) => {
    if (at % 2 === 1) return []
    const fields = Object.fromEntries(
      Array.from(part.matchAll(/^([A-Za-z_]\w*)[ \t]*:[ \t]*(.*)$/gm), ([, name, value]) => [name!, value!.trim()])
    )
    const categories = textOf(fields["categories"])?.split(",")
    const { categories: _, type, ...rest } = fields
    const kind = textOf(type) === undefined ? {} : { memory_type: type }
    return [{ ...rest, ...kind, categories, memory: (parts[at + 1] ?? "").trim() }]
  })
}

export const isMem0Blocks = (text: string): boolean => /^\s*---[ \t]*\r?\nid:[ \t]*\S+[ \t]*\r?\ncreated_at:/.test(text)
