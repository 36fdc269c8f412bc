/**
 * A JSON Schema as the language models of all providers take it for the arguments of a tool: OpenAI, Anthropic and Gemini
 * refuse a whole list of tools for one keyword or name that they do not know. What is published has the keywords `type`
 * (one), `description`, `properties`, `required`, `items` (one schema), `anyOf`, `enum` (texts), `pattern` and `format`
 * (`date-time`); names of letters, digits and `_.-`, up to 64. References are written out.
 *
 * Invariants: it leaves out rules and adds none, but that a value of any form is a text, a number, a truth value, an
 * object, null or a list of these. What was given by published names is restored to the schema's own, without the nulls
 * that models fill in for what they leave out: those of optional properties that cannot be null.
 */
import type { Schema } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { isJsonObject } from "@muniment/domain/Json"
import type { JsonObject } from "@muniment/domain/Memory"

type Json = Schema.Json

export interface PublishedSchema {
  readonly schema: JsonObject
  /** A value by published names -> by the schema's own; other values as they are. */
  readonly restore: (value: Json) => Json
}

/** `saysRules`: descriptions tell the rules that have no keyword here. */
export const publishedSchema = (schema: JsonObject, options: { readonly saysRules: boolean }): PublishedSchema =>
  new Publisher(schema, options.saysRules).publish(schema, [])

const unchanged = (value: Json): Json => value
const typeNames = ["object", "array", "string", "number", "integer", "boolean", "null"] as const
type TypeName = (typeof typeNames)[number]

const scalars: ReadonlyArray<JsonObject> = [{ type: "string" }, { type: "number" }, { type: "boolean" }]
const anything: JsonObject = {
  anyOf: [
    ...scalars,
    { type: "object" },
    { type: "null" },
    { type: "array", items: { anyOf: [...scalars, { type: "object" }] } }
  ]
}

class Publisher {
  readonly #root: JsonObject
  readonly #saysRules: boolean
  /** Written-out references can be many more than their text. */
  #nodesLeft: number = Limits.toolSchemaNodesMax

  constructor(root: JsonObject, saysRules: boolean) {
    this.#root = root
    this.#saysRules = saysRules
  }

  /** `refs`: references that lead here. */
  publish(given: Json | undefined, refs: ReadonlyArray<string>, depth = 0): PublishedSchema {
    if (!isJsonObject(given)) return { schema: anything, restore: unchanged }
    const above = [...refs]
    const node = this.#merged(given, above)
    const at = { refs: above, depth: depth + 1 }
    const types = typesOf(node)
    // A reference to itself has no end; the value is checked by the whole schema all the same.
    if (this.#nodesLeft-- <= 0 || depth >= Limits.toolSchemaDepthMax || isCircular(above)) {
      const isObject = types.length === 1 && types[0] === "object"
      return { schema: isObject ? { type: "object" } : anything, restore: unchanged }
    }
    const alternatives = types.length === 0 ? alternativesOf(node) : []
    if (alternatives.length > 0) {
      const published = alternatives.map((one) => this.publish(one, above, depth))
      return this.#described(node, choice(published))
    }
    const published = types.map((type) => this.#typed(type, node, at))
    return this.#described(node, published.length === 0 ? { schema: anything, restore: unchanged } : choice(published))
  }

  /** With what its references and `allOf` say; `refs` grows by these references. */
  #merged(node: JsonObject, refs: Array<string>): JsonObject {
    const { $ref, allOf, ...own } = node
    const parts: Array<Json | undefined> = Array.isArray(allOf) ? [...allOf] : []
    if (typeof $ref === "string") {
      const isKnown = refs.includes($ref)
      refs.push($ref)
      if (!isKnown) parts.push(this.#resolved($ref))
      else return { ...shallow(this.#resolved($ref)), ...own }
    }
    return parts.reduce<JsonObject>(
      (whole, part) => (isJsonObject(part) ? both(whole, this.#merged(part, refs)) : whole),
      own
    )
  }

  #resolved(ref: string): Json | undefined {
    if (ref === "#") return this.#root
    if (!ref.startsWith("#/")) return undefined
    let value: Json | undefined = this.#root
    for (const part of ref.slice(2).split("/")) {
      const name = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~")
      if (isJsonObject(value) && Object.hasOwn(value, name)) value = value[name]
      else if (Array.isArray(value)) value = (value as ReadonlyArray<Json>)[Number(name)]
      else return undefined
    }
    return value
  }

  #typed(type: TypeName, node: JsonObject, at: Place): PublishedSchema {
    switch (type) {
      case "object":
        return this.#object(node, at)
      case "array":
        return this.#array(node, at)
      case "string":
        return { schema: { type, ...textRules(node) }, restore: unchanged }
      default:
        return { schema: { type }, restore: unchanged }
    }
  }

  #object(node: JsonObject, { depth, refs }: Place): PublishedSchema {
    const parts = [...alternativesOf(node).filter(isJsonObject).toReversed(), node]
    const declared: JsonObject = Object.assign({}, ...parts.map(({ properties }) => properties).filter(isJsonObject))
    const names = publishedNames(Object.keys(declared))
    const inner = new Map(Object.entries(declared).map(([name, value]) => [name, this.publish(value, refs, depth)]))
    const properties = Array.from(names, ([name, published]) => {
      const { schema } = inner.get(name)!
      return [published, published === name ? schema : withText(schema, `Property ${JSON.stringify(name)}.`)] as const
    })
    const required = listed(node["required"]).flatMap((name) => names.get(String(name)) ?? [])
    const owners = new Map(Array.from(names, ([name, published]) => [published, name]))
    const needed = new Set(listed(node["required"]))
    const isLeftOut = (name: string, value: Json): boolean =>
      value === null && !needed.has(name) && inner.has(name) && !admitsNull(inner.get(name)!.schema)
    return {
      schema: {
        type: "object",
        ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
        ...(required.length > 0 && { required: [...new Set(required)] })
      },
      restore: (value) =>
        isJsonObject(value)
          ? Object.fromEntries(
              Object.entries(value).flatMap(([given, member]) => {
                const name = owners.get(given) ?? given
                return isLeftOut(name, member) ? [] : [[name, (inner.get(name)?.restore ?? unchanged)(member)]]
              })
            )
          : value
    }
  }

  #array({ items, prefixItems, additionalItems }: JsonObject, { depth, refs }: Place): PublishedSchema {
    const places = listed(prefixItems ?? items).map((item) => this.publish(item, refs, depth))
    const rest = Array.isArray(items) ? additionalItems : items
    const others = rest === false && places.length > 0 ? [] : [this.publish(rest, refs, depth)]
    return {
      schema: { type: "array", items: choice([...places, ...others]).schema },
      restore: (value) =>
        Array.isArray(value)
          ? (value as ReadonlyArray<Json>).map((item, at) => ((places[at] ?? others[0])?.restore ?? unchanged)(item))
          : value
    }
  }

  #described(node: JsonObject, { restore, schema }: PublishedSchema): PublishedSchema {
    const { description, title } = node
    const texts = [description, title].filter((text) => typeof text === "string").slice(0, 1)
    const rules = this.#saysRules ? rulesOf(node) : []
    const text = [...texts, ...(rules.length > 0 ? [`(${rules.join(", ")})`] : [])].join(" ")
    return { restore, schema: text === "" ? schema : withText(schema, text) }
  }
}

interface Place {
  readonly refs: ReadonlyArray<string>
  /** Schemas around it. */
  readonly depth: number
}

/** Whether a published schema, without references, admits null. */
const admitsNull = ({ anyOf, type }: JsonObject): boolean =>
  type === "null" || listed(anyOf).some((one) => isJsonObject(one) && admitsNull(one))

/** Any of them. */
const choice = (published: ReadonlyArray<PublishedSchema>): PublishedSchema => {
  const schemas = distinct(
    published.flatMap(({ schema }) => {
      const { anyOf, ...rest } = schema
      return Array.isArray(anyOf) && Object.keys(rest).length === 0 ? (anyOf as ReadonlyArray<JsonObject>) : [schema]
    })
  )
  return {
    schema: schemas.length === 1 ? schemas[0]! : { anyOf: schemas },
    restore: (value) => published.reduce((restored, one) => one.restore(restored), value)
  }
}

const isCircular = (refs: ReadonlyArray<string>): boolean => new Set(refs).size < refs.length

/** Description of a node without what it refers to. */
const shallow = (node: Json | undefined): JsonObject => {
  if (!isJsonObject(node)) return {}
  const { $ref: _ref, allOf: _all, ...own } = node
  return own
}

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    // Then it names nothing.
    return part
  }
}

/** Joins two schemas: the first one's keywords win, but all properties and all that is required stay. */
const both = (one: JsonObject, other: JsonObject): JsonObject => {
  const properties = [other, one].map((node) => node["properties"]).filter(isJsonObject)
  const required = [...listed(one["required"]), ...listed(other["required"])]
  return {
    ...other,
    ...one,
    ...(properties.length > 0 && { properties: Object.assign({}, ...properties) as JsonObject }),
    ...(required.length > 0 && { required })
  }
}

const listed = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])

const alternativesOf = ({ anyOf, oneOf }: JsonObject): ReadonlyArray<Json> => [...listed(anyOf), ...listed(oneOf)]

const isTypeName = (value: unknown): value is TypeName => typeNames.some((name) => name === value)

/** Keywords that say something about values of one type alone. */
const telling: ReadonlyArray<readonly [TypeName, ReadonlyArray<string>]> = [
  ["object", ["properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties"]],
  ["array", ["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"]],
  ["string", ["pattern", "minLength", "maxLength", "format"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]]
]

/** Types as the schema names them, else as its values or its other keywords tell; none: any. */
const typesOf = (node: JsonObject): ReadonlyArray<TypeName> => {
  const said = [node["type"] ?? []].flat().filter(isTypeName)
  if (said.length > 0) return [...new Set(said)]
  const values = valuesOf(node)
  if (values.length > 0) return [...new Set(values.map(typeOf))]
  if (alternativesOf(node).length > 0) return []
  return telling.flatMap(([type, keywords]) => (keywords.some((keyword) => keyword in node) ? [type] : [])).slice(0, 1)
}

const typeOf = (value: Json): TypeName =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "array"
      : (typeof value as "string" | "number" | "boolean" | "object")

const valuesOf = (node: JsonObject): ReadonlyArray<Json> =>
  node["const"] === undefined ? listed(node["enum"]) : [node["const"]]

/** Values of other types, and an empty one, have no place in a list of values. */
const textsOf = (node: JsonObject): ReadonlyArray<string> => {
  const texts = valuesOf(node).filter((value) => typeof value === "string")
  return texts.includes("") || texts.length > Limits.toolSchemaValuesMax ? [] : [...new Set(texts)]
}

const textRules = (node: JsonObject): JsonObject => {
  const { format, pattern } = node
  const texts = textsOf(node)
  if (texts.length > 0) return { enum: texts }
  if (format === "date-time") return { format }
  return typeof pattern === "string" && isPlain(pattern) ? { pattern } : {}
}

/** Without groups that look around or have names, references back and classes, which not all engines know. */
const isPlain = (pattern: string): boolean => !/\(\?|\\[^dswDSW.\-/+*?()[\]{}|^$\\]/.test(pattern)

const wordings: ReadonlyArray<readonly [string, (value: string) => string]> = [
  ["minLength", (value) => (value === "1" ? "not empty" : `at least ${value} characters`)],
  ["maxLength", (value) => `at most ${value} characters`],
  ["minimum", (value) => `from ${value}`],
  ["exclusiveMinimum", (value) => `above ${value}`],
  ["maximum", (value) => `up to ${value}`],
  ["exclusiveMaximum", (value) => `below ${value}`],
  ["multipleOf", (value) => `a multiple of ${value}`],
  ["minItems", (value) => `at least ${value} items`],
  ["maxItems", (value) => `at most ${value} items`],
  ["format", (value) => `format ${value}`],
  ["default", (value) => `default ${value}`]
]

const rulesOf = (node: JsonObject): ReadonlyArray<string> => {
  const values = valuesOf(node)
  const isListed = textsOf(node).length === values.length
  return [
    ...(isListed || values.length > Limits.toolSchemaValuesMax ? [] : [`one of ${JSON.stringify(values)}`]),
    ...wordings.flatMap(([keyword, say]) => {
      const value = node[keyword]
      const isSaid = typeof value === "string" || typeof value === "number" || typeof value === "boolean"
      return isSaid && value !== "date-time" ? [say(String(value))] : []
    })
  ]
}

const withText = (schema: JsonObject, text: string): JsonObject => {
  const { description } = schema
  return { ...schema, description: typeof description === "string" ? `${text} ${description}` : text }
}

const distinct = (schemas: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> => [
  ...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()
]

const namePattern = /^[\w.-]{1,64}$/
/** Room for a number behind it. */
const madeNameLengthMax = 60

/** Own name -> published name; those that can stay do. */
const publishedNames = (names: ReadonlyArray<string>): ReadonlyMap<string, string> => {
  const taken = new Set(names.filter((name) => namePattern.test(name)))
  return new Map(
    names.map((name) => {
      if (taken.has(name)) return [name, name]
      const letters = name.normalize("NFD").replaceAll(/\p{M}/gu, "")
      const plain = letters.replaceAll(/[^\w.-]+/g, "_").replaceAll(/^_|_$/g, "")
      const base = plain.slice(0, madeNameLengthMax) || "property"
      let made = base
      for (let count = 2; taken.has(made) || reservedNames.has(made); count++) made = `${base}_${count}`
      taken.add(made)
      return [name, made]
    })
  )
}

/** Arguments of every write: no property is published under their names. */
export const requestNames = ["agentId", "subjectId", "threadId", "tags", "ttl", "expiresAt"] as const
const reservedNames: ReadonlySet<string> = new Set([...requestNames, "data"])
