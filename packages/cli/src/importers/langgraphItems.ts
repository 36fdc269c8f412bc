/**
 * Items of LangGraph's store, as its SDKs answer them and as its PostgreSQL table holds them: a fact for each, with the
 * namespace as subject (labels joined by dots, as the store of this service has it) and the item's key beside it.
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

const known = ["namespace", "prefix", "key", "value", "created_at", "updated_at", "score"]

const namespaceOf = (item: Fields): ReadonlyArray<string> => {
  const namespace = item["namespace"] ?? item["prefix"]
  const labels = typeof namespace === "string" ? namespace.split(".") : listOf(namespace)
  return labels.filter((label) => typeof label === "string")
}

export const isLanggraph = (element: Fields): boolean =>
  namespaceOf(element).length > 0 && typeof element["key"] === "string" && isGiven(element["value"])

export const langgraphItems = (owner: ImportOwner, item: Fields): ReadonlyArray<ForeignItem> => {
  const namespace = namespaceOf(item)
  const key = textOf(item["key"])
  if (namespace.length === 0 || key === undefined) return [unknownItem("no item of LangGraph's store")]
  const place = namespace.join(".")
  return factItems(owner, {
    id: `${place}\0${key}`,
    subject: place,
    fact: valueText(item["value"]),
    at: fieldOf(item, "updated_at", "created_at"),
    tags: namespace,
    subjectId: place,
    more: { key },
    metadata: unreadFields(item, known)
  })
}

const textNames = new Set(["content", "text", "memory", "data", "fact"])

/** A value that is one text, also as LangMem wraps it (`{kind, content: {content}}`), is that text; else its fields by line. */
const valueText = (given: unknown): string => {
  const value = typeof given === "string" ? parsed(given) : given
  if (typeof value !== "object" || value === null) return String(value ?? "")
  const fields = fieldsOf(value)
  const names = Object.keys(fields).filter((name) => name !== "kind" && isGiven(fields[name]))
  const [only] = names
  if (names.length === 1 && textNames.has(only!)) return valueText(fields[only!])
  if (Array.isArray(value)) return value.map(valueText).join("\n")
  return names
    .map((name) => `${name}: ${typeof fields[name] === "object" ? JSON.stringify(fields[name]) : String(fields[name])}`)
    .join("\n")
}

/** The table's column may come as text. */
const parsed = (text: string): unknown => {
  if (!/^\s*[{[]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
