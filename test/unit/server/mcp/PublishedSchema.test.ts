/** Odd schemas of kinds, as all language models take them; what is given by published names is stored by the kind's. */
import { Ajv2020 } from "ajv/dist/2020.js"
import type { Schema } from "effect"
import { expect, it } from "vitest"
import type { JsonObject } from "@muniment/domain/Memory"
import { builtinKinds } from "@muniment/schemas/BuiltinKinds"
import { publishedKind } from "@muniment/server/mcp/MemoryTool"
import { toolFaults } from "../../../support/StrictToolSchemas.ts"

const publish = (schema: object) =>
  publishedKind({ name: "k", description: "d", schema: JSON.stringify({ type: "object", ...schema }) })
const text = { type: "string" }

/** Name -> schema, and data by its own names that it accepts. */
const odd: Readonly<Record<string, readonly [object, JsonObject]>> = {
  "a blank in a name": [{ properties: { "a b": text }, required: ["a b"] }, { "a b": "x" }],
  "an umlaut": [{ properties: { ümlaut: text } }, { ümlaut: "x" }],
  "a dollar": [{ properties: { $id: text, $ref: text, $schema: { type: "number" } } }, { $id: "x", $ref: "y" }],
  "names in Chinese, Cyrillic and Arabic": [
    { properties: { 名前: text, имя: text, اسم: text }, required: ["имя"] },
    { 名前: "1", имя: "2", اسم: "3" }
  ],
  "an emoji, and nothing": [{ properties: { "🏠": text, "": { type: "integer" } } }, { "🏠": "x", "": 2 }],
  "names that become one": [
    { properties: { "a b": text, "a/b": text, a_b: text, a_b_2: text, "a:b": text }, required: ["a/b", "a_b"] },
    { "a b": "1", "a/b": "2", a_b: "3", a_b_2: "4", "a:b": "5" }
  ],
  "a name of 65 characters, and one of 300": [
    { properties: { [`${"n".repeat(65)}`]: text, [`${"n".repeat(300)}`]: text } },
    { ["n".repeat(65)]: "1", ["n".repeat(300)]: "2" }
  ],
  "a name that becomes one of every write": [
    { properties: { "agentId ": text, "ttl!": text, "data:": text }, required: ["data:"] },
    { "agentId ": "x", "ttl!": "y", "data:": "z" }
  ],
  "names of every write": [
    {
      properties: { ttl: { type: "number" }, data: { type: "object", properties: { "x y": text } } },
      required: ["ttl"]
    },
    { ttl: 3, data: { "x y": "z" } }
  ],
  "odd names inside": [
    {
      properties: { address: { type: "object", properties: { "post code": text, Straße: text }, required: ["Straße"] } }
    },
    { address: { "post code": "1", Straße: "2", more: true } }
  ],
  "odd names in a list": [
    { properties: { rows: { type: "array", items: { type: "object", properties: { "the key": text } } } } },
    { rows: [{ "the key": "a" }, { "the key": "b", other: 1 }] }
  ],
  "a reference": [
    { properties: { a: { $ref: "#/$defs/m" } }, $defs: { m: { type: "object", properties: { "x y": text } } } },
    { a: { "x y": "z" } }
  ],
  "an escaped reference": [
    { properties: { a: { $ref: "#/$defs/m%20n~1o" } }, $defs: { "m n/o": { type: "integer" } } },
    { a: 3 }
  ],
  "a reference of draft-07": [
    { properties: { a: { $ref: "#/definitions/m" } }, definitions: { m: { type: "number" } } },
    { a: 1.5 }
  ],
  "a reference to an anchor": [
    { properties: { a: { $ref: "#here" } }, $defs: { m: { $anchor: "here", type: "number" } } },
    { a: 1 }
  ],
  "a tree": [
    { properties: { child: { $ref: "#" }, "a name": text } },
    { child: { child: { "a name": "z" } }, "a name": "x" }
  ],
  "two that refer to each other": [
    {
      properties: { a: { $ref: "#/$defs/a" } },
      $defs: {
        a: { type: "object", properties: { b: { $ref: "#/$defs/b" } } },
        b: { type: "array", items: { $ref: "#/$defs/a" } }
      }
    },
    { a: { b: [{ b: [] }] } }
  ],
  "references that double": [
    {
      properties: { a: { $ref: "#/$defs/d0" } },
      $defs: Object.fromEntries(
        Array.from({ length: 20 }, (_, at) => {
          const next = { $ref: `#/$defs/d${at + 1}` }
          return [`d${at}`, at === 19 ? text : { type: "object", properties: { l: next, r: next } }]
        })
      )
    },
    { a: { l: {} } }
  ],
  "a list of types": [{ properties: { a: { type: ["string", "null"], maxLength: 9 } } }, { a: null }],
  "all types": [
    { properties: { a: { type: ["object", "array", "string", "number", "boolean", "null"] } } },
    { a: [1, "x"] }
  ],
  "no type": [{ properties: { a: {}, b: { description: "Anything." }, c: true } }, { a: [1], b: null, c: { x: 1 } }],
  "no properties": [{}, { whatever: 1 }],
  "a tuple": [
    { properties: { a: { type: "array", prefixItems: [text, { type: "object", properties: { "x y": text } }] } } },
    { a: ["z", { "x y": "w" }, 4] }
  ],
  "a tuple of draft-07": [
    {
      $schema: "http://json-schema.org/draft-07/schema#",
      properties: { a: { type: "array", items: [text, { type: "number" }], additionalItems: false } }
    },
    { a: ["z", 1] }
  ],
  "a list of anything": [
    { properties: { a: { type: "array" }, b: { type: "array", items: true } } },
    { a: [1], b: ["x"] }
  ],
  "values of several types": [
    { properties: { a: { enum: ["x", 1, null, true] }, b: { enum: [1, 2] } } },
    { a: "x", b: 2 }
  ],
  "an empty value": [{ properties: { a: { enum: ["", "x"] } } }, { a: "" }],
  "one value": [
    { properties: { a: { const: "x" }, b: { const: 7 }, c: { const: { d: 1 } } } },
    { a: "x", b: 7, c: { d: 1 } }
  ],
  "a choice": [
    {
      properties: {
        a: { oneOf: [{ type: "object", properties: { "x y": text }, required: ["x y"] }, { type: "number" }] }
      }
    },
    { a: { "x y": "z" } }
  ],
  "a choice of one": [{ properties: { a: { anyOf: [{ type: "integer" }] } } }, { a: 3 }],
  "a choice within an object": [
    {
      properties: {
        a: {
          type: "object",
          properties: { kind: text },
          oneOf: [{ properties: { "x y": text } }, { required: ["kind"] }]
        }
      }
    },
    { a: { kind: "k", "x y": "z" } }
  ],
  parts: [
    {
      properties: { a: { allOf: [{ $ref: "#/$defs/n" }, { properties: { "c d": text } }] } },
      $defs: { n: { type: "object", properties: { b: text } } }
    },
    { a: { b: "1", "c d": "2" } }
  ],
  "rules over several properties": [
    {
      properties: { a: { type: "number" }, b: text },
      if: { required: ["a"] },
      then: { required: ["b"] },
      not: { required: ["c"] },
      dependentRequired: { a: ["b"] },
      dependentSchemas: { a: {} },
      patternProperties: { "^x-": text },
      propertyNames: { maxLength: 9 },
      unevaluatedProperties: true,
      minProperties: 0
    },
    { a: 1, b: "x" }
  ],
  "rules for values": [
    {
      properties: {
        a: { type: "number", exclusiveMinimum: 0, multipleOf: 0.5, default: 1 },
        b: { type: "string", minLength: 1, maxLength: 5, format: "email", examples: ["x"] },
        c: { type: "array", items: text, minItems: 1, uniqueItems: true, contains: text },
        d: { type: "string", pattern: "^\\p{L}+(?=x)", contentEncoding: "base64" },
        e: { type: "string", pattern: "^[a-z]+\\d$" }
      }
    },
    { a: 1, b: "a@b.c", c: ["x"], d: "äx", e: "a1" }
  ],
  "a property named like a member of every object": [
    { properties: { constructor: text, toString: {} }, required: ["constructor"] },
    { constructor: "x" }
  ],
  "a map": [{ properties: { a: { type: "object", additionalProperties: { type: "number" } } } }, { a: { "x y": 1 } }],
  "required, not declared": [
    { properties: { a: text }, required: ["a", "b", "a"] },
    { a: "x", b: 1 }
  ]
}

interface Shown {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Shown>>
  readonly items?: Shown
  readonly anyOf?: ReadonlyArray<Shown>
}

/** The same data by the published names, as a model finds them in the descriptions. */
const byShownNames = (value: Schema.Json, shown: Shown): Schema.Json => {
  if (Array.isArray(value)) return value.map((item) => byShownNames(item, typed("array", shown)?.items ?? {}))
  if (typeof value !== "object" || value === null) return value
  const properties = Object.entries(typed("object", shown)?.properties ?? {})
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const made = properties.find(([, { description = "" }]) =>
        description.includes(`Property ${JSON.stringify(name)}.`)
      )
      const [given, inner] = made ?? [name, properties.find(([one]) => one === name)?.[1] ?? {}]
      return [given, byShownNames(member, inner)]
    })
  )
}

const typed = (type: string, shown: Shown): Shown | undefined =>
  shown.type === type ? shown : shown.anyOf?.find((one) => one.type === type)

it.each(Object.entries(odd))(
  "%s: all models take the schema, and the data comes back by its own names",
  (_, [schema, data]) => {
    const { restore, schema: shown } = publish(schema)
    expect(toolFaults({ name: "write_k", inputSchema: shown })).toEqual([])
    // By the kind's own names, which an agent may know.
    expect(restore(data)).toEqual(data)
    const given = byShownNames(data, shown) as JsonObject
    expect(restore(given)).toEqual(data)
    // The rules that are shown refuse nothing that the kind accepts.
    const { agentId: _agent, ...args } = { ...given, agentId: "a" }
    const validate = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true }).compile({
      ...shown,
      required: (shown["required"] as ReadonlyArray<string>).filter((name) => !["agentId", "data"].includes(name)),
      properties: Object.fromEntries(
        Object.entries(shown["properties"] as JsonObject).filter(
          ([name]) => !["ttl", "data", "expiresAt"].includes(name)
        )
      )
    })
    expect([validate(args), validate.errors]).toEqual([true, null])
  }
)

it("nested names come back through objects, lists, choices and references", () => {
  const { restore, schema } = publish({
    properties: {
      "the rows": { type: "array", items: { $ref: "#/$defs/row" } },
      one: { anyOf: [{ type: "null" }, { $ref: "#/$defs/row" }] }
    },
    $defs: {
      row: { type: "object", properties: { "the key": text, größe: { type: "number" } }, required: ["the key"] }
    }
  })
  expect(schema["properties"]).toMatchObject({
    the_rows: { type: "array", items: { properties: { the_key: text, gro_e: { type: "number" } } } }
  })
  const row = { the_key: "a", gro_e: 1 }
  const own = { "the key": "a", größe: 1 }
  expect(restore({ the_rows: [row, row], one: row })).toEqual({ "the rows": [own, own], one: own })
})

it("null for an optional property is left out where it cannot be null, at any depth", () => {
  const { restore } = publish({
    properties: {
      title: { type: "string", description: "never null, though it says so" },
      needed: text,
      perhaps: { type: ["string", "null"] },
      named: { enum: ["a", null] },
      linked: { $ref: "#/$defs/maybe" },
      free: {},
      list: { type: "array", items: { type: "object", properties: { "the note": text, mark: { const: null } } } }
    },
    required: ["needed"],
    $defs: { maybe: { anyOf: [{ type: "number" }, { type: "null" }] } }
  })
  const nulls = { needed: null, perhaps: null, named: null, linked: null, free: null, unknown: null }
  const given = { ...nulls, title: null, list: [{ the_note: null, mark: null }] }
  expect(restore(given)).toEqual({ ...nulls, list: [{ mark: null }] })
})

it("descriptions say what a name stands for, and the rules that have no keyword", () => {
  const { schema } = publish({
    properties: {
      "due on": { type: "string", format: "date", description: "When it is due." },
      rating: { type: "integer", minimum: 1, maximum: 5 },
      size: { enum: [1, 2] }
    }
  })
  expect(schema["properties"]).toMatchObject({
    due_on: { type: "string", description: 'Property "due on". When it is due. (format date)' },
    rating: { type: "integer", description: "(from 1, up to 5)" },
    size: { type: "number", description: "(one of [1,2])" }
  })
})

it.each(builtinKinds.map((kind) => [kind.name, kind] as const))("%s keeps its properties", (_, kind) => {
  const { schema } = publishedKind(kind)
  expect(toolFaults({ name: "write_k", inputSchema: schema })).toEqual([])
  const { properties } = JSON.parse(kind.schema)
  expect(Object.keys(schema["properties"] as JsonObject)).toEqual(expect.arrayContaining(Object.keys(properties)))
})
