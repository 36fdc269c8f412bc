/** The compiler behind the worker: it agrees with plain ajv, and what passes the gate compiles. */
import { builtinKinds } from "@muniment/schemas/BuiltinKinds"
import { compiledLimits, makeCompiledSchemas } from "@muniment/schemas/CompiledSchemas"
import { Ajv } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { repetitions } from "../../support/Repetitions.ts"

const draft07 = "http://json-schema.org/draft-07/schema#"
const names = ["a", "b", "toString", "id"] as const
const patterns = ["^a", "b$", "^[a-c]*$", "[0-9]{2}", "^(ab|c)+$", "\\d"] as const

const scalar = fc.oneof(
  fc.integer({ min: -3, max: 30 }),
  fc.constantFrom("", "a", "ab", "abc", "42", "c"),
  fc.boolean(),
  fc.constant(null),
  fc.double({ min: -3, max: 3, noNaN: true })
)
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...names), tie("value"), { maxKeys: 3 })
  )
})).value

const subschema = fc.letrec<{ any: unknown }>((tie) => {
  const keyword: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.constantFrom("object", "array", "string", "integer", "number", "boolean", "null"),
    properties: fc.dictionary(fc.constantFrom("a", "b", "id"), tie("any"), { maxKeys: 2 }),
    required: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 }),
    additionalProperties: tie("any"),
    patternProperties: fc.dictionary(fc.constantFrom(...patterns), tie("any"), { maxKeys: 2 }),
    propertyNames: fc.record({ pattern: fc.constantFrom(...patterns) }),
    minProperties: fc.integer({ min: 0, max: 2 }),
    items: tie("any"),
    contains: tie("any"),
    uniqueItems: fc.boolean(),
    maxItems: fc.integer({ min: 0, max: 4 }),
    pattern: fc.constantFrom(...patterns),
    minLength: fc.integer({ min: 0, max: 3 }),
    minimum: fc.integer({ min: -3, max: 3 }),
    multipleOf: fc.integer({ min: 1, max: 5 }),
    enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 4, selector: (each) => JSON.stringify(each) }),
    const: value,
    anyOf: fc.array(tie("any"), { minLength: 1, maxLength: 2 }),
    oneOf: fc.array(tie("any"), { minLength: 1, maxLength: 2 }),
    allOf: fc.array(tie("any"), { minLength: 1, maxLength: 2 }),
    not: tie("any"),
    if: tie("any"),
    then: tie("any"),
    $ref: fc.constantFrom("#/definitions/x", "#/definitions/y")
  }
  return {
    any: fc.oneof(
      { depthSize: "small", maxDepth: 3, withCrossShrink: true },
      fc.boolean(),
      fc
        .subarray(Object.keys(keyword), { maxLength: 3 })
        .chain((chosen) => fc.record(Object.fromEntries(chosen.map((name) => [name, keyword[name]!]))))
    )
  }
}).any

const schema = fc.record({
  $schema: fc.constantFrom(draft07, "https://json-schema.org/draft/2020-12/schema"),
  type: fc.constant("object"),
  properties: fc.dictionary(fc.constantFrom("a", "b", "id"), subschema, { minKeys: 1, maxKeys: 3 }),
  allOf: fc.array(subschema, { minLength: 1, maxLength: 2 }),
  definitions: fc.constantFrom(
    { x: { type: "string", minLength: 1 }, y: { $ref: "#/definitions/x" } },
    { x: false, y: { items: { $ref: "#/definitions/x" } } }
  )
})
const data = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 4 })

/** Undefined: plain ajv's own comparison calls a member of the data that is named toString or valueOf. */
const verdictOf = (reference: (value: unknown) => unknown, value: unknown): boolean | undefined => {
  try {
    return reference(value) === true
  } catch (error) {
    expect(String(error)).toMatch(/is not a function/)
    return undefined
  }
}

describe("compiled schemas", () => {
  it("agree with plain ajv on random schemas and data", () => {
    let verdicts = 0
    fc.assert(
      fc.property(schema, fc.array(data, { minLength: 1, maxLength: 5 }), (drawn, batch) => {
        // Through JSON, as over the wire: no negative zero, no prototype-less objects.
        const text = JSON.stringify(drawn)
        const plain = drawn.$schema === draft07 ? Ajv : Ajv2020
        const reference = new plain({
          strict: false,
          logger: false,
          ownProperties: true,
          meta: false,
          validateSchema: false
        }).compile(JSON.parse(text))
        const compiled = makeCompiledSchemas()
        for (const each of batch) {
          const wire = JSON.stringify(each)
          const outcome = compiled.validate(text, JSON.parse(wire))
          expect(JSON.stringify(outcome)).not.toMatch(/schema at|schema:|cannot be compiled/)
          if (/cannot be compared/.test(JSON.stringify(outcome))) continue
          const expected = verdictOf(reference, JSON.parse(wire))
          if (expected === undefined) continue
          expect(outcome.ok, `${text} on ${wire}`).toBe(expected)
          verdicts++
        }
      }),
      { numRuns: repetitions(300) }
    )
    expect(verdicts).toBeGreaterThan(repetitions(300))
  })

  it("share no identifiers: one $id in many schemas means each its own", () => {
    const schemas = makeCompiledSchemas()
    const named = (type: string) =>
      JSON.stringify({
        $id: "https://example.org/s",
        type: "object",
        properties: { a: { $ref: "#/$defs/t" } },
        $defs: { t: { type } }
      })
    for (let round = 0; round < 2; round++) {
      expect(schemas.validate(named("string"), { a: "x" }).ok).toBe(true)
      expect(schemas.validate(named("integer"), { a: "x" }).ok).toBe(false)
    }
  })

  it("call items equal as JSON Schema does, whatever the order of names", () => {
    const schemas = makeCompiledSchemas()
    const unique = (a: ReadonlyArray<unknown>) =>
      schemas.validate(`{"type":"object","properties":{"a":{"uniqueItems":true}}}`, { a }).ok
    expect(
      unique([
        { x: 1, y: [2] },
        { y: [2], x: 1.0 }
      ])
    ).toBe(false)
    expect(unique([0, -0])).toBe(false)
    expect(unique([1, "1", true, "true", null, "null", [], {}, [1], { 1: 1 }])).toBe(true)
    expect(schemas.validate(`{"type":"object","properties":{"a":{"uniqueItems":false}}}`, { a: [1, 1] }).ok).toBe(true)
  })

  it("are forgotten, oldest first, beyond the cache's bounds", () => {
    const schemas = makeCompiledSchemas()
    for (let i = 0; i < compiledLimits.entriesMax + 5; i++) schemas.validate(`{"type":"object","title":"${i}"}`, {})
    expect(schemas.size().entries).toBe(compiledLimits.entriesMax)
    const large = (title: number) =>
      JSON.stringify({
        type: "object",
        title,
        properties: Object.fromEntries(Array.from({ length: 450 }, (_, i) => [`p${i}`, {}]))
      })
    for (let i = 0; i < 20; i++) schemas.validate(large(i).replace(`"title":${i}`, `"title":"${i}"`), {})
    expect(schemas.size().subschemas).toBeLessThanOrEqual(compiledLimits.subschemasMax)
    expect(schemas.validate(builtinKinds[1]!.schema, { subject: "Ada", fact: "She writes." }).ok).toBe(true)
  })
})
