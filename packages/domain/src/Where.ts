/**
 * Conditions on `data` and `metadata` (contract: Search, `where`): fields with values and comparisons, put together by
 * `and`, `or` and `not`. One JSON object; a field's path begins with `data.` or `metadata.`, so that no name of a field is
 * taken for a word of the language.
 *
 * Invariant: what `Where` lets through `conditionOf` can read; whether a memory matches is decided by `isMatch` alone.
 */
import { Option, Schema } from "effect"
import { isJsonObject } from "./Json.ts"
import { Limits } from "./Limits.ts"
import type { JsonObject } from "./Memory.ts"

export type WhereValue = string | number | boolean | null

const tests = ["eq", "ne", "in", "gt", "gte", "lt", "lte", "exists"] as const
export type FieldTest = (typeof tests)[number]

/** A condition as it is evaluated. */
export type Condition =
  | { readonly _tag: "All" | "Any"; readonly of: ReadonlyArray<Condition> }
  | { readonly _tag: "Not"; readonly of: Condition }
  | FieldCondition

export interface FieldCondition {
  readonly _tag: "Field"
  readonly of: "data" | "metadata"
  /** Names of objects inside each other; at least one. */
  readonly path: ReadonlyArray<string>
  readonly test: FieldTest
  readonly value: Schema.Json
}

const words = ["and", "or", "not"] as const
const fieldPath = /^(data|metadata)((?:\.[^.]+)+)$/

/** Where a condition cannot be read, and why. */
interface WhereFault {
  readonly path: ReadonlyArray<string | number>
  readonly issue: string
}

class Unreadable extends Error {
  readonly fault: WhereFault
  constructor(path: WhereFault["path"], issue: string) {
    super(issue)
    this.fault = { path, issue }
  }
}

/** Reads a condition; counts its tests. */
class WhereReader {
  #tests = 0
  #values = 0

  read(given: Schema.Json | undefined, path: WhereFault["path"], depth: number): Condition {
    if (!isJsonObject(given) || Object.keys(given).length === 0)
      throw new Unreadable(path, "expected an object with `and`, `or`, `not` or fields such as `data.city`")
    if (depth > Limits.whereDepthMax) throw new Unreadable(path, `nests deeper than ${Limits.whereDepthMax}`)
    return all(Object.entries(given).map(([name, value]) => this.#member(name, value, [...path, name], depth)))
  }

  #member(name: string, value: Schema.Json, path: WhereFault["path"], depth: number): Condition {
    if (name === "not") return { _tag: "Not", of: this.read(value, path, depth + 1) }
    if (name !== "and" && name !== "or") return this.#field(name, value, path)
    if (!Array.isArray(value) || value.length === 0)
      throw new Unreadable(path, "expected a list of at least 1 condition")
    const of = value.map((one, at) => this.read(one, [...path, at], depth + 1))
    return name === "and" ? all(of) : { _tag: "Any", of }
  }

  #field(name: string, value: Schema.Json, path: WhereFault["path"]): Condition {
    const [, of, rest] = fieldPath.exec(name) ?? []
    const names = rest?.slice(1).split(".") ?? []
    if ((of !== "data" && of !== "metadata") || names.length > Limits.wherePathMax)
      throw new Unreadable(path, `unknown name; ${meantBy(name)}`)
    if (!isJsonObject(value)) return this.#test({ of, path: names }, "eq", value, path)
    const given = Object.entries(value)
    if (given.length === 0) throw new Unreadable(path, `expected a value, or an object with one of ${tests.join(", ")}`)
    return all(given.map(([test, wanted]) => this.#test({ of, path: names }, test, wanted, [...path, test])))
  }

  #test(
    field: Pick<FieldCondition, "of" | "path">,
    given: string,
    value: Schema.Json,
    path: WhereFault["path"]
  ): Condition {
    const test = tests.find((one) => one === given)
    if (test === undefined) throw new Unreadable(path, `unknown name; a test is one of ${tests.join(", ")}`)
    const expected = wrongFor(test, value)
    if (expected !== undefined) throw new Unreadable(path, `expected ${expected}`)
    this.#values += Array.isArray(value) ? value.length : 1
    if (++this.#tests > Limits.whereTestsMax || this.#values > Limits.whereValuesMax)
      throw new Unreadable(
        [],
        `expected at most ${Limits.whereTestsMax} tests and ${Limits.whereValuesMax} values in all`
      )
    return { _tag: "Field", ...field, test, value }
  }
}

const all = (of: ReadonlyArray<Condition>): Condition => (of.length === 1 ? of[0]! : { _tag: "All", of })

const meantBy = (name: string): string => {
  const word = words.find((one) => one === name.replace(/^\$/, "").toLowerCase())
  return word === undefined
    ? `a field is \`data.\` or \`metadata.\` and up to ${Limits.wherePathMax} names with points between them, such as \`data.city\``
    : `did you mean \`${word}\`?`
}

const isValue = (value: Schema.Json): value is WhereValue => typeof value !== "object" || value === null

/** Value that a test expects; undefined: the given one is right. */
const wrongFor = (test: FieldTest, value: Schema.Json): string | undefined => {
  switch (test) {
    case "eq":
    case "ne":
      return isValue(value) ? undefined : "a text, a number, true, false or null"
    case "in":
      return Array.isArray(value) && value.length > 0 && value.every(isValue)
        ? undefined
        : "a list of at least 1 text, number, true, false or null"
    case "exists":
      return typeof value === "boolean" ? undefined : "true or false"
    default:
      return typeof value === "string" || typeof value === "number" ? undefined : "a text or a number"
  }
}

const readWhere = (given: Schema.Json): Condition | WhereFault => {
  try {
    return new WhereReader().read(given, [], 1)
  } catch (error) {
    if (error instanceof Unreadable) return error.fault
    throw error
  }
}

/** Values of fields at the top of the data, as a condition. */
export const conditionOfData = (data: Readonly<Record<string, WhereValue>>): Condition =>
  all(Object.entries(data).map(([name, value]) => ({ _tag: "Field", of: "data", path: [name], test: "eq", value })))

/** Condition of an object that `Where` has let through. */
export const conditionOf = (where: JsonObject): Condition => {
  const read = readWhere(where)
  if ("issue" in read) throw new Error(`no condition: ${read.issue}`)
  return read
}

const whereText =
  'Conditions on `data` and `metadata`: `{"data.city": "Oslo", "metadata.score": {"gte": 3}}` has both, where a list has each value in it. Tests of a field: `eq`, `ne`, `in`, `gt`, `gte`, `lt`, `lte`, `exists`; put together by `and`, `or` (lists of conditions) and `not` (a condition).'
const examples = [{ "data.city": "Oslo", or: [{ "metadata.score": { gte: 3 } }, { not: { "data.friend": true } }] }]

const rules = Schema.makeFilter(
  (given: JsonObject) => {
    const read = readWhere(given)
    return "issue" in read ? read : undefined
  },
  { expected: "a condition", toJsonSchema: () => ({ minProperties: 1 }) }
)

/** In a body. Any names: what they mean is checked by `rules`, which name the place of a fault. */
export const WhereFilter = Schema.Record(Schema.String, Schema.Json)
  .check(rules)
  .annotate({ description: whereText, examples })

const whereIn = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json)))

/** In a URL. */
export const WhereFilterText = Schema.String.check(
  Schema.makeFilter(
    (text: string) => {
      const given = whereIn(text)
      if (Option.isNone(given)) return "expected a JSON object"
      const read = readWhere(given.value)
      return "issue" in read ? `${read.path.length === 0 ? "" : `/${read.path.join("/")}: `}${read.issue}` : undefined
    },
    { expected: "a condition as a JSON object", toJsonSchema: () => ({ format: "where-filter" }) }
  )
).annotate({ description: `JSON. ${whereText}`, examples: [JSON.stringify(examples[0])] })

/** Condition of a text that `WhereFilterText` has let through. */
export const whereOf = (text: string): JsonObject => JSON.parse(text) as JsonObject

/** Whether a memory has what the condition says. */
export const isMatch = (
  condition: Condition,
  memory: { readonly data: JsonObject; readonly metadata?: JsonObject | undefined }
): boolean => {
  switch (condition._tag) {
    case "All":
      return condition.of.every((one) => isMatch(one, memory))
    case "Any":
      return condition.of.some((one) => isMatch(one, memory))
    case "Not":
      return !isMatch(condition.of, memory)
    case "Field":
      return passes(valueAt(memory[condition.of], condition.path), condition)
  }
}

const valueAt = (object: Schema.Json | undefined, path: ReadonlyArray<string>): Schema.Json | undefined => {
  let value = object
  for (const name of path) value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}

/** Whether a value passes, of a list any value in it. */
const passes = (own: Schema.Json | undefined, condition: FieldCondition): boolean => {
  const { test, value: wanted } = condition
  if (test === "exists") return (own !== undefined) === wanted
  if (test === "ne") return !passes(own, { ...condition, test: "eq" })
  if (own === undefined) return false
  return Array.isArray(own) ? own.some((one) => isLike(one, test, wanted)) : isLike(own, test, wanted)
}

const isLike = (own: Schema.Json, test: FieldTest, wanted: Schema.Json): boolean => {
  if (test === "eq") return own === wanted
  if (test === "in") return Array.isArray(wanted) && wanted.includes(own)
  if (typeof own === "number" && typeof wanted === "number") return isInOrder(own - wanted, test)
  if (typeof own !== "string" || typeof wanted !== "string") return false
  return isInOrder(own < wanted ? -1 : own > wanted ? 1 : 0, test)
}

const isInOrder = (difference: number, test: FieldTest): boolean => {
  if (test === "gt") return difference > 0
  if (test === "gte") return difference >= 0
  return test === "lt" ? difference < 0 : difference <= 0
}
