/** The fields of a kind's data, as its schema has them: what a form asks for, and texts as the values that it takes. */
import { ApiError } from "./api.ts"
import { parsed } from "./json.ts"

export type Data = Readonly<Record<string, unknown>>

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

/** What the inputs of a form begin with, by field; what is no value of its field's type as JSON. */
export const textsOf = (fields: ReadonlyArray<DataField>, data: Data): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fields.map(({ name }) => {
      const value = data[name]
      return [name, typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value)]
    })
  )

/** `data` with the fields of which another text was typed than they began with; an empty one is left out. */
export const dataWith = (
  fields: ReadonlyArray<DataField>,
  data: Data,
  before: Readonly<Record<string, string>>,
  typed: Readonly<Record<string, string>>
): Data => {
  const changed = fields
    .filter(({ name }) => typed[name] !== before[name])
    .map((field) => [field.name, valueOf(field, typed[field.name] ?? "")] as const)
  const all = Object.entries({ ...data, ...Object.fromEntries(changed) })
  return Object.fromEntries(all.filter(([, value]) => value !== undefined))
}

/** Undefined: the text is no JSON object. */
export const parsedObject = (text: string): Data | undefined => {
  const value = text.trim() === "" ? {} : parsed(text)
  return isObject(value) ? value : undefined
}

export const jsonObject = (text: string, what: string): Data => {
  const value = parsedObject(text)
  if (value !== undefined) return value
  throw new ApiError(400, { error: `${what} is no JSON object.`, code: "invalid_json" })
}

/** What a form reads as; empty where it is no JSON object. */
export const valueIn = (read: () => Data): Data => {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof ApiError) return {}
    throw cause
  }
}
