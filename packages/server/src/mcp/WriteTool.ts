/**
 * The tool that writes memories of one kind (contract: MCP): the properties of its schema are arguments beside those
 * of every write; a property with the name of one of those is reached through `data`. The data is validated by
 * the whole schema of the kind; the listed input schema may leave out rules, never add some.
 */
import { isJsonObject } from "@muniment/domain/isJsonObject"
import { Effect, type Schema } from "effect"
import { CreateMemories, type JsonObject } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { Prices } from "@muniment/domain/Prices"
import type { MemoryService } from "../memories/MemoryService.ts"
import { shownCreated } from "./CreateTool.ts"
import { inputSchemaOf } from "./InputSchemas.ts"
import { lookAlike } from "../http/KnownNames.ts"
import type { MemoryTool } from "./MemoryTool.ts"
import { createdOutput } from "./OutputSchemas.ts"
import { decodeArguments, demandAgent, invalidArgument, unknownArgument } from "./ToolArguments.ts"

const requestNames = ["agentId", "subjectId", "threadId", "tags", "ttl", "expiresAt"] as const

/** A kind that has tags of its own had them before memories could be given some: there the argument is its own. */
const requestNamesOf = (declared: ReadonlyArray<readonly [string, Schema.Json]>): ReadonlyArray<string> =>
  requestNames.filter((name) => name !== "tags" || !declared.some(([own]) => own === "tags"))

const reservedNamesOf = (kind: MemorySchema): ReadonlySet<string> =>
  new Set([...requestNamesOf(declaredProperties(JSON.parse(kind.schema))), "data"])

export const writeTool = (name: string, kind: MemorySchema, memories: MemoryService["Service"]): MemoryTool => ({
  name,
  title: `Write ${kind.name}`,
  description: describe(kind),
  // With `uniqueOn` a new version hides the older one, which is kept.
  hints: { isReadOnly: false, isDestructive: false, isIdempotent: false },
  get inputSchema() {
    return writeInputSchema(kind)
  },
  outputSchema: createdOutput,
  operation: "create",
  price: Prices.createMemories,
  run: Effect.fnUntraced(function* (call, { arguments: given }) {
    yield* demandAgent(given)
    const names = requestNamesOf(declaredProperties(JSON.parse(kind.schema)))
    const request = Object.fromEntries(names.flatMap((key) => (Object.hasOwn(given, key) ? [[key, given[key]!]] : [])))
    yield* refuseLookAlikes(given, kind)
    const memory = { kind: kind.name, data: yield* dataOf(given, kind) }
    const body = yield* decodeArguments(CreateMemories, { ...request, onDuplicate: "return", memories: [memory] })
    return { ...(yield* memories.create(call, body)) }
  }),
  shown: shownCreated
})

/** `subject_id` would become a property of the memory, which then belongs to no subject. */
const refuseLookAlikes = Effect.fnUntraced(function* (given: JsonObject, kind: MemorySchema) {
  const declared = new Set(declaredProperties(JSON.parse(kind.schema)).map(([name]) => name))
  const reservedNames = reservedNamesOf(kind)
  for (const name of Object.keys(given)) {
    const meant = reservedNames.has(name) || declared.has(name) ? undefined : lookAlike(name, reservedNames)
    if (meant !== undefined) return yield* unknownArgument(`/${name}`, `unknown name; did you mean "${meant}"?`)
  }
})

/** Agents give null for what they leave out; where the schema knows null, it is a value. */
const dataOf = Effect.fnUntraced(function* (given: JsonObject, kind: MemorySchema) {
  const schema: JsonObject = JSON.parse(kind.schema)
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  const declared = new Map(declaredProperties(schema))
  const reservedNames = reservedNamesOf(kind)
  const isLeftOut = (name: string, value: Schema.Json): boolean =>
    value === null && declared.has(name) && !required.includes(name) && !takesNull(declared.get(name))
  const flat = Object.entries(given).filter(([name, value]) => !reservedNames.has(name) && !isLeftOut(name, value))
  const { data = {} } = given
  if (!isJsonObject(data)) return yield* invalidArgument("/data", "/data: expected an object")
  return Object.fromEntries([...flat, ...Object.entries(data)])
})

/** Combinators are taken to know what they do. */
const takesNull = (property: Schema.Json | undefined): boolean => {
  if (!isJsonObject(property)) return true
  const { enum: values, type } = property
  if (Array.isArray(values)) return values.includes(null)
  return type === undefined || type === "null" || (Array.isArray(type) && type.includes("null"))
}

const describe = ({ description, name, uniqueOn = [] }: MemorySchema): string => {
  const fields = uniqueOn.filter((field) => field !== "kind")
  const rule =
    uniqueOn.length === 0
      ? ""
      : ` A memory with the same ${fields.length === 0 ? "kind" : fields.join(", ")} is superseded, not doubled.`
  return `Remember one "${name}": ${description}. Call it as soon as you learn something of that kind which will matter in later conversations; one call for each.${rule}`
}

const declaredProperties = ({ properties }: JsonObject) => (isJsonObject(properties) ? Object.entries(properties) : [])

/** Keywords at the root of a schema that keep their meaning here and are accepted by model providers. */
const keptKeywords = ["$schema", "$defs", "definitions", "additionalProperties", "patternProperties"] as const

export const writeInputSchema = (kind: MemorySchema): JsonObject => {
  const schema: JsonObject = JSON.parse(kind.schema)
  const reservedNames = reservedNamesOf(kind)
  const declared = declaredProperties(schema)
  const required = Array.isArray(schema["required"])
    ? schema["required"].filter((name) => typeof name === "string")
    : []
  const isReserved = (name: string): boolean => reservedNames.has(name)
  const clashing = declared.filter(([name]) => isReserved(name))
  const clashingRequired = required.filter(isReserved)
  return {
    ...Object.fromEntries(keptKeywords.flatMap((key) => (schema[key] === undefined ? [] : [[key, schema[key]]]))),
    type: "object",
    properties: {
      ...Object.fromEntries(declared.filter(([name]) => !isReserved(name))),
      ...Object.fromEntries(Object.entries(requestProperties).filter(([name]) => reservedNames.has(name))),
      ...(clashing.length > 0 && {
        data: {
          type: "object",
          description: "Properties of the memory whose names are taken by other arguments.",
          properties: Object.fromEntries(clashing),
          required: clashingRequired
        }
      })
    },
    required: [
      ...required.filter((name) => !isReserved(name)),
      "agentId",
      ...(clashingRequired.length > 0 ? ["data"] : [])
    ]
  }
}

/** Arguments of every write, as POST /memories takes them. */
const requestProperties: JsonObject = (() => {
  const { properties } = inputSchemaOf(CreateMemories)
  const all = isJsonObject(properties) ? properties : {}
  return Object.fromEntries(requestNames.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])))
})()
