/** The fields of a kind's data, as its schema has them: what a form asks for, and texts as the values that it takes. */
import { ApiError } from "./api.ts"
import { parsed } from "./json.ts"

export interface DataField {
  readonly name: string
  readonly type: "text" | "number" | "boolean" | "choice" | "json"
  readonly choices: ReadonlyArray<string>
  readonly isRequired: boolean
  readonly hint: string
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Empty where the schema names none: its data is given as JSON. */
export const fieldsOf = (schema: string): ReadonlyArray<DataField> => {
  const document = parsed(schema)
  if (!isObject(document) || !isObject(document["properties"])) return []
  const required = Array.isArray(document["required"]) ? document["required"] : []
  return Object.entries(document["properties"])
    .map(([name, rule]) => fieldOf(name, isObject(rule) ? rule : {}, required.includes(name)))
    .toSorted((one, other) => Number(other.isRequired) - Number(one.isRequired))
}

const examples: Readonly<Record<string, string>> = { date: "2027-03-01", "date-time": "2027-03-01T09:00:00Z" }

const fieldOf = (name: string, rule: Readonly<Record<string, unknown>>, isRequired: boolean): DataField => {
  const choices = (Array.isArray(rule["enum"]) ? rule["enum"] : []).filter((value) => typeof value === "string")
  const { description, format, type } = rule
  const hint = typeof description === "string" ? description : (examples[String(format)] ?? "")
  return { name, choices, isRequired, hint, type: choices.length > 0 ? "choice" : typeOf(type) }
}

const typeOf = (type: unknown): DataField["type"] => {
  if (type === "number" || type === "integer") return "number"
  if (type === "boolean") return "boolean"
  if (type === "string") return "text"
  return "json"
}

/** Undefined: nothing was given. What is no value of the type stays a text, which the service refuses in its words. */
export const valueOf = ({ type }: Pick<DataField, "type">, text: string): unknown => {
  if (text.trim() === "") return undefined
  if (type === "number") return Number.isFinite(Number(text)) ? Number(text) : text
  if (type === "boolean") return text.trim() === "true" ? true : text.trim() === "false" ? false : text
  if (type === "json") return parsed(text) ?? text
  return text
}

export const jsonObject = (text: string, what: string): Readonly<Record<string, unknown>> => {
  const value = text.trim() === "" ? {} : parsed(text)
  if (isObject(value)) return value
  throw new ApiError(400, { error: `${what} is no JSON object.`, code: "invalid_json" })
}
