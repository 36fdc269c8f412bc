/**
 * A text as the value of a field: numbers, dates, e-mail addresses, members of an enum, lists. What does
 * not fit the field's type is no value; nothing is rounded, guessed or completed.
 */
import type { Schema } from "effect"
import { isJsonObject } from "@muniment/domain/isJsonObject"

/** The JSON Schema of one field, as far as it is looked at. */
export type FieldSchema = Readonly<Record<string, unknown>>

export const fieldValue = (told: string | ReadonlyArray<string>, schema: FieldSchema): Schema.Json | undefined => {
  const types = typesOf(schema)
  if (Array.isArray(schema["enum"])) return enumMember(typeof told === "string" ? told : told.join(" "), schema["enum"])
  if (types.includes("array")) return listValue(told, schema)
  const text = (typeof told === "string" ? told : told.join(", ")).replace(/[\s,;:!?.]+$/, "").trim()
  if (text === "") return undefined
  if (types.includes("number") || types.includes("integer")) return numberValue(text, types.includes("integer"))
  if (types.length > 0 && !types.includes("string")) return undefined
  return stringValue(text, schema)
}

/** `type` as a list; the alternatives of `anyOf` count as well. */
const typesOf = (schema: FieldSchema): ReadonlyArray<string> => {
  const own = schema["type"]
  const alternatives = [schema["anyOf"], schema["oneOf"]].find((list) => Array.isArray(list))
  const nested = Array.isArray(alternatives) ? alternatives.filter(isJsonObject).flatMap(typesOf) : []
  const direct = Array.isArray(own)
    ? own.filter((type): type is string => typeof type === "string")
    : typeof own === "string"
      ? [own]
      : []
  return [...direct, ...nested]
}

/** The member that stands in the text as a whole word. */
const enumMember = (text: string, members: ReadonlyArray<unknown>): string | undefined => {
  const words = ` ${text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ")} `
  return members
    .filter((member): member is string => typeof member === "string")
    .toSorted((one, other) => other.length - one.length)
    .find((member) =>
      words.includes(
        ` ${member
          .toLowerCase()
          .replace(/[^\p{L}\p{N}]+/gu, " ")
          .trim()} `
      )
    )
}

const listValue = (told: string | ReadonlyArray<string>, schema: FieldSchema): Schema.Json | undefined => {
  const items = typeof told === "string" ? told.split(/,? and |, /) : told
  const itemSchema = isJsonObject(schema["items"]) ? schema["items"] : {}
  const values = items.flatMap((item) => {
    const value = fieldValue(item, itemSchema)
    return value === undefined ? [] : [value]
  })
  return values.length === 0 ? undefined : values
}

const numberValue = (text: string, isInteger: boolean): number | undefined => {
  const digits = /^\D{0,3}?(-?\d+(?:\.\d+)?)(?: ?(?:years?(?: old)?|kg|cm|mg|k)?)?$/.exec(text.replaceAll(",", ""))?.[1]
  const value = digits === undefined ? Number.NaN : Number(digits)
  return Number.isFinite(value) && (!isInteger || Number.isInteger(value)) ? value : undefined
}

const stringValue = (text: string, schema: FieldSchema): string | undefined => {
  const { format, maxLength, minLength } = schema
  if (typeof maxLength === "number" && text.length > maxLength) return undefined
  if (typeof minLength === "number" && text.length < minLength) return undefined
  if (format === "email") return /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/.test(text) ? text : undefined
  if (format === "date") return /^\d{4}-\d\d-\d\d/.exec(text)?.[0]
  if (format === "date-time") return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? text : undefined
  if (format === "uri" || format === "url") return /^https?:\/\/\S+$/.test(text) ? text : undefined
  return format === "time" && !/^\d\d:\d\d/.test(text) ? undefined : text
}
