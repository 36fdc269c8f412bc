/**
 * The tool that writes memories of one kind (interface.md section 15): the properties of its schema stand
 * as arguments beside those of every write. A property that has the name of one of those is reached through
 * `data`. The data is validated by the kind's own schema, as every memory is; what an agent is shown may say
 * less than that schema, never more.
 */
import { Effect } from "effect"
import { CurrentIdempotency } from "@muniment/domain/api/Middleware"
import { CreateMemories, type JsonObject } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { Prices } from "@muniment/domain/Prices"
import type { MemoryCreation } from "../memories/MemoryCreation.ts"
import { createdAnswer } from "./CreateTool.ts"
import { inputSchemaOf } from "./InputSchemas.ts"
import { isJsonObject } from "./JsonRpc.ts"
import type { MemoryTool, ToolCall } from "./MemoryTool.ts"
import { decodeArguments, demandAgent, invalidArgument } from "./ToolArguments.ts"

const requestNames = ["agentId", "subjectId", "threadId", "ttl", "expiresAt"] as const
const reservedNames: ReadonlySet<string> = new Set([...requestNames, "data"])

export const writeTool = (name: string, kind: MemorySchema, creation: MemoryCreation["Service"]): MemoryTool => ({
  name,
  title: `Write ${kind.name}`,
  description: describe(kind),
  // With `uniqueOn` a new version hides the older one, which is kept.
  hints: { isReadOnly: false, isDestructive: false, isIdempotent: false },
  get inputSchema() {
    return writeInputSchema(kind)
  },
  operation: "create",
  price: Prices.createMemories,
  run: Effect.fnUntraced(function* ({ arguments: given, caller }: ToolCall) {
    yield* demandAgent(given)
    const request = Object.fromEntries(
      requestNames.flatMap((key) => (Object.hasOwn(given, key) ? [[key, given[key]!]] : []))
    )
    const memory = { kind: kind.name, data: yield* dataOf(given) }
    const body = yield* decodeArguments(CreateMemories, { ...request, memories: [memory] })
    return createdAnswer(yield* creation.create(caller.account.id, body, yield* CurrentIdempotency))
  })
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

/** Keywords at the root of a kind's schema that keep their meaning, and that model providers take. */
const keptKeywords = ["$schema", "$defs", "definitions", "additionalProperties", "patternProperties"] as const

export const writeInputSchema = ({ schema: text }: MemorySchema): JsonObject => {
  const schema: JsonObject = JSON.parse(text)
  const declared = isJsonObject(schema["properties"]) ? Object.entries(schema["properties"]) : []
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
