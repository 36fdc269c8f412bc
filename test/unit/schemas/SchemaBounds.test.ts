/** The gate in front of user schemas: what passes, what is refused, and that each reason names its place. */
import { builtinKinds } from "@muniment/schemas/BuiltinKinds"
import { checkSchema } from "@muniment/schemas/SchemaValidator"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { cpuMillis } from "../../support/CpuTime.ts"

const check = (schema: unknown) => checkSchema(typeof schema === "string" ? schema : JSON.stringify(schema))

const accepted = (schema: unknown) => Result.getOrThrow(check(schema))

const reasonOf = (schema: unknown): string => {
  const result = check(schema)
  expect(Result.isFailure(result), "the schema was accepted").toBe(true)
  return Result.isFailure(result) ? result.failure.reason : ""
}

const withProperty = (property: unknown, rest: object = {}) => ({
  type: "object",
  properties: { a: property },
  ...rest
})

describe("a schema that passes", () => {
  it("may be of 2020-12, of draft-07, or say nothing", () => {
    expect(accepted({ type: "object" }).dialect).toBe("2020-12")
    const draft = { $schema: "http://json-schema.org/draft-07/schema#", type: "object", definitions: { t: {} } }
    expect(accepted(draft).dialect).toBe("draft-07")
    const modern = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object", $defs: { t: {} } }
    expect(accepted(modern).dialect).toBe("2020-12")
  })

  it("tells its declared properties in order and the first that holds a time", () => {
    const parsed = accepted({
      type: "object",
      properties: {
        title: { type: "string" },
        due: {
          anyOf: [
            { type: "string", format: "date" },
            { type: "string", format: "date-time" }
          ]
        },
        done: { type: "string", format: "date" }
      }
    })
    expect(parsed.declaredProperties).toEqual(["title", "due", "done"])
    expect(parsed.temporalProperty).toBe("due")
    expect(accepted({ type: "object", properties: { a: { type: "string" } } }).temporalProperty).toBeUndefined()
  })

  it("may share definitions, use 490 properties, or properties named like keywords", () => {
    accepted(withProperty({ $ref: "#/$defs/t" }, { $defs: { t: { type: "string" }, u: { $ref: "#/$defs/t" } } }))
    accepted({ type: "object", properties: Object.fromEntries(Array.from({ length: 490 }, (_, i) => [`p${i}`, {}])) })
    accepted({ type: "object", properties: { id: {}, $ref: {}, $anchor: {}, pattern: { type: "string" } } })
    accepted(withProperty({ enum: Array.from({ length: 1_000 }, (_, i) => `country-${i}`) }))
  })

  it("may use ordinary patterns", () => {
    const patterns = [
      "^[A-Z]{2}\\d{4}$",
      "^.{1,1000}$",
      "^[\\p{L}\\p{M}' -]{1,100}$",
      "^\\-?(?:a|b)+$",
      "^(?<year>\\d{4})"
    ]
    for (const pattern of patterns) accepted(withProperty({ type: "string", pattern }))
  })

  it("is what every built-in kind has", () => {
    expect(builtinKinds.map(({ name }) => name)).toEqual([
      "preference_memory",
      "factual_memory",
      "temporal_event",
      "instruction_memory",
      "conversation_message"
    ])
    expect(builtinKinds.map(({ schema }) => accepted(schema).temporalProperty)).toEqual([
      undefined,
      undefined,
      "eventDate",
      "since",
      "sentAt"
    ])
  })
})

describe("a schema is refused, with the place and the reason,", () => {
  const doubling = Object.fromEntries(
    Array.from({ length: 24 }, (_, i) => {
      const next = { $ref: `#/$defs/d${i + 1}` }
      return [`d${i}`, { allOf: [next, next] }]
    })
  )
  const nested = (levels: number): object => (levels === 0 ? {} : { not: nested(levels - 1) })
  const choices = (levels: number): object =>
    levels === 0 ? {} : { anyOf: [choices(levels - 1), choices(levels - 1)] }
  const corpus: ReadonlyArray<readonly [what: string, schema: unknown, reason: RegExp]> = [
    ["when it is no JSON", "{", /not JSON/],
    ["when it is no object", "[]", /must be a JSON object/],
    ["when the top is not of type object", {}, /at \/type: must be "object"/],
    ["beyond 64 KiB", { type: "object", description: "x".repeat(65_536) }, /longer than 65536 bytes/],
    [
      "beyond 64 KiB of multi-byte text",
      { type: "object", description: "é".repeat(40_000) },
      /longer than 65536 bytes/
    ],
    ["for a mistyped type", withProperty({ type: "strin" }), /at \/properties\/a\/type: .*"string"/],
    [
      "for an unknown dialect",
      { $schema: "http://json-schema.org/draft-04/schema#", type: "object" },
      /draft\/2020-12.*draft-07/
    ],
    ["for an inner dialect", withProperty({ $schema: "https://json-schema.org/draft/2020-12/schema" }), /top level/],
    [
      "for an inner $id",
      withProperty({ $id: "https://example.org/other" }),
      /at \/properties\/a\/\$id: only allowed at/
    ],
    ["for names twice", `{"type":"object","properties":{"a":{},"\\u0061":{}}}`, /at \/properties\/a: .*twice/],
    ["for __proto__", `{"type":"object","properties":{"__proto__":{}}}`, /__proto__/],
    ["for an escaped __proto__", `{"type":"object","default":{"\\u005f_proto__":{}}}`, /__proto__/],
    ["for half a surrogate pair", `{"type":"object","title":"\\ud800"}`, /surrogate/],
    ["for a remote reference", withProperty({ $ref: "https://example.org/s.json" }), /inside this document/],
    ["for a file reference", withProperty({ $ref: "file:///etc/passwd" }), /inside this document/],
    ["for the meta-schema as reference", withProperty({ $ref: "http://json-schema.org/draft-07/schema#" }), /inside/],
    ["for a reference to nothing", withProperty({ $ref: "#/$defs/none" }), /points to no schema/],
    [
      "for a reference into an example",
      withProperty({ $ref: "#/examples/0" }, { examples: [{}] }),
      /points to no schema/
    ],
    ["for a reference to the whole", withProperty({ $ref: "#" }), /refers to itself/],
    [
      "for a circle",
      withProperty({ $ref: "#/$defs/x" }, { $defs: { x: { $ref: "#/$defs/y" }, y: { items: { $ref: "#/$defs/x" } } } }),
      /refers to itself/
    ],
    ["for a circle nobody uses", { type: "object", $defs: { x: { $ref: "#/$defs/x" } } }, /refers to itself/],
    [
      "for 24 doubling references",
      withProperty({ $ref: "#/$defs/d0" }, { $defs: { ...doubling, d24: {} } }),
      /expand to more than 2000/
    ],
    ["for dynamic references", withProperty({ $dynamicRef: "#x" }), /dynamic/],
    ["for recursive references", withProperty({ $recursiveRef: "#" }), /dynamic/],
    ["for an anchor", withProperty({ $anchor: "x" }), /#\/\$defs\/name/],
    ["17 levels deep", withProperty(nested(17)), /nested deeper than 16/],
    [
      "70 JSON levels deep",
      { type: "object", examples: [JSON.parse("[".repeat(70) + "]".repeat(70))] },
      /nested deeper than 64/
    ],
    [
      "for 72 KB of allOf",
      { type: "object", allOf: Array.from({ length: 4_000 }, () => ({ minLength: 1 })) },
      /longer than|more than/
    ],
    ["for a tree of anyOf", withProperty(choices(9)), /more than 500/],
    [
      "for propertyNames by the thousand",
      { type: "object", allOf: Array.from({ length: 900 }, () => ({ propertyNames: {} })) },
      /more than 500/
    ],
    ["for a huge enum", withProperty({ enum: Array.from({ length: 8_000 }, (_, i) => i) }), /more than 1000 entries/],
    ["for an empty enum", withProperty({ enum: [] }), /at least one/],
    ["for look-ahead", withProperty({ pattern: "(?=a)b" }), /at \/properties\/a\/pattern: .*RE2/],
    [
      "for a back-reference in a pattern property",
      { type: "object", patternProperties: { "(a)\\1": {} } },
      /patternProperties.*RE2/
    ],
    ["for nested counted repetition", withProperty({ pattern: "((a{1,100}){1,100}){1,100}" }), /steps/],
    ["for a long counted repetition", withProperty({ pattern: `(${"a".repeat(490)}){1000}` }), /steps/],
    [
      "for counted repetition inside an unclosed look",
      withProperty({ pattern: "[(]((((x?){40})?){40}){40}" }),
      /steps/
    ],
    ["for quoting in a pattern", withProperty({ pattern: "\\Q(\\E" }), /\\Q/],
    ["for case folding", withProperty({ pattern: "(?i)\\pL" }), /inline flags/],
    ["for Unicode classes by the hundred", withProperty({ pattern: "\\p{L}".repeat(65) }), /Unicode classes/],
    ["for a long pattern", withProperty({ pattern: "a".repeat(513) }), /512 characters/],
    [
      "for 33 patterns",
      { type: "object", allOf: Array.from({ length: 33 }, () => ({ pattern: "a" })) },
      /more than 32 patterns/
    ],
    ["for the draft-04 id", withProperty({ id: "x" }), /"\$id"/],
    ["for asynchronous schemas", { type: "object", $async: true }, /asynchronous/],
    [
      "for a default that inheritance would hide",
      { type: "object", properties: { toString: { default: 1 } } },
      /cannot have a default/
    ],
    ["for nullable without a type", withProperty({ nullable: true }), /nullable/]
  ]
  for (const [what, schema, reason] of corpus) {
    it(what, () => {
      expect(reasonOf(schema)).toMatch(reason)
    })
  }

  it("with a reason that stays short when names are long", () => {
    const path = Array.from({ length: 7 }, () => "n".repeat(500))
    const deep = path.reduceRight<unknown>((inner, name) => ({ properties: { [name]: inner } }), { type: "strin" })
    expect(reasonOf({ type: "object", allOf: [deep] }).length).toBeLessThan(600)
  })

  it("within a fraction of a second at worst, patterns included", () => {
    const costly = ["(?:a?){999}", "[^a-c]".repeat(80), "[" + "\\p{L}\\P{N}".repeat(30) + "]", "\\D\\S\\W".repeat(80)]
    for (const pattern of costly) {
      const schema = { type: "object", allOf: Array.from({ length: 32 }, (_, i) => ({ pattern: `${pattern}${i}` })) }
      expect(
        cpuMillis(() => check(schema)),
        pattern.slice(0, 20)
      ).toBeLessThan(500)
    }
  })
})
