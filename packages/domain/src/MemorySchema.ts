/**
 * Schemas: which kinds of memory exist (contract: Schemas). `schema` is a JSON Schema document as a string; `uniqueOn`
 * names the fields on which a new memory supersedes an older one.
 */
import { Schema } from "effect"
import { atLeastOneOf, exactlyOneOf } from "./BodyRules.ts"
import { Limits } from "./Limits.ts"
import { JsonObject } from "./Memory.ts"

const SchemaName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/u, {
    expected: "a letter, then up to 63 letters, digits, `_`, `.` or `-`"
  })
).annotate({
  description: "Unique name, used as the memory `kind`.",
  examples: ["contact"]
})

const Description = Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.schemaDescriptionLengthMax)).annotate({
  description: "What the schema represents; read by the extraction model.",
  examples: ["A person the user knows, by e-mail address"]
})
const contactSchema =
  '{"type":"object","properties":{"email":{"type":"string"},"name":{"type":"string"}},"required":["email"]}'

const SchemaText = Schema.NonEmptyString.annotate({
  description: "A JSON Schema document (2020-12 or draft-07, type object) serialised as a string.",
  format: "json-schema-text",
  examples: [contactSchema]
})
const UniqueOn = Schema.Array(Schema.NonEmptyString)
  .check(Schema.isMaxLength(Limits.uniqueFieldsMax))
  .annotate({
    description: "Fields that identify the same entity; `kind` alone means one memory per kind.",
    examples: [["email"]]
  })

/** Body of POST /schemas. */
export const RegisterSchema = Schema.Struct({
  name: SchemaName,
  description: Description,
  uniqueOn: Schema.optionalKey(UniqueOn),
  schema: SchemaText
}).annotate({
  examples: [
    {
      name: "contact",
      description: "A person the user knows, by e-mail address",
      uniqueOn: ["email"],
      schema: contactSchema
    }
  ]
})
export type RegisterSchema = typeof RegisterSchema.Type

/** Body of PATCH /schemas/{name}; `uniqueOn: []` or `null` clears it. Unknown fields are refused. */
export const PatchSchema = Schema.Struct({
  description: Schema.optionalKey(Description),
  schema: Schema.optionalKey(SchemaText),
  uniqueOn: Schema.optionalKey(Schema.NullOr(UniqueOn))
})
  .annotate({ examples: [{ description: "A person the user has met", uniqueOn: null }] })
  .check(atLeastOneOf("description", "schema", "uniqueOn"))
export type PatchSchema = typeof PatchSchema.Type

/** Body of POST /schemas/try: data, and a registered or built-in kind or a schema that is not registered. */
export const TrySchema = Schema.Struct({
  kind: Schema.optionalKey(Schema.NonEmptyString.annotate({ description: "Name of a registered or built-in kind." })),
  schema: Schema.optionalKey(SchemaText),
  uniqueOn: Schema.optionalKey(UniqueOn),
  data: JsonObject
})
  .annotate({ examples: [{ schema: contactSchema, uniqueOn: ["email"], data: { email: "ann@example.com" } }] })
  .check(exactlyOneOf("kind", "schema"))
export type TrySchema = typeof TrySchema.Type

/** Fate of the data if it were stored. */
export const TriedData = Schema.Struct({
  valid: Schema.Boolean,
  problems: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })),
  data: Schema.optionalKey(JsonObject.annotate({ description: "As it would be stored, with the schema's defaults." }))
})
export type TriedData = typeof TriedData.Type

/** A schema as the service returns it. Times in milliseconds; absent on built-in kinds. */
export const MemorySchema = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  uniqueOn: Schema.optionalKey(Schema.Array(Schema.String)),
  schema: Schema.String,
  createdAt: Schema.optionalKey(Schema.Int),
  updatedAt: Schema.optionalKey(Schema.Int),
  builtin: Schema.optionalKey(Schema.Boolean)
})
export type MemorySchema = typeof MemorySchema.Type
