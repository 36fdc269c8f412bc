/**
 * The tool that writes memories of one kind (contract: MCP): the properties of its schema are arguments beside those
 * of every write; a property with the name of one of those is reached through `data`. The data is validated by
 * the whole schema of the kind; the listed input schema may leave out rules, never add some.
 */
import { isJsonObject } from "@muniment/domain/isJsonObject"
import { Effect } from "effect"
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

const requestNames = ["agentId", "subjectId", "threadId", "ttl", "expiresAt"] as const
const reservedNames: ReadonlySet<string> = new Set([...requestNames, "data"])

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
    const request = Object.fromEntries(
      requestNames.flatMap((key) => (Object.hasOwn(given, key) ? [[key, given[key]!]] : []))
    )
    yield* refuseLookAlikes(given, kind)
    const memory = { kind: kind.name, data: yield* dataOf(given) }
    const body = yield* decodeArguments(CreateMemories, { ...request, onDuplicate: "return", memories: [memory] })
    return { ...(yield* memories.create(call, body)) }
  }),
  shown: shownCreated
})

/** `subject_id` would become a property of the memory, which then belongs to no subject. */
const refuseLookAlikes = Effect.fnUntraced(function* (given: JsonObject, kind: MemorySchema) {
  const declared = new Set(declaredProperties(JSON.parse(kind.schema)).map(([name]) => name))
  for (const name of Object.keys(given)) {
    const meant = reservedNames.has(name) || declared.has(name) ? undefined : lookAlike(name, reservedNames)
    if (meant !== undefined) return yield* unknownArgument(`/${name}`, `unknown name; did you mean "${meant}"?`)
  }
})

const dataOf = Effect.fnUntraced(function* (given: JsonObject) {
  const flat = Object.entries(given).filter(([name]) => !reservedNames.has(name))
  const { data = {} } = given
  if (!isJsonObject(data)) return yield* invalidArgument("/data", "/data: expected an object")
  return Object.fromEntries([...flat, ...Object.entries(data)])
})

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

export const writeInputSchema = ({ schema: text }: MemorySchema): JsonObject => {
  const schema: JsonObject = JSON.parse(text)
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
      ...requestProperties,
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
