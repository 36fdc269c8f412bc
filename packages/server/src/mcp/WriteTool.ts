/**
 * The tool that writes memories of one kind (contract: MCP): the properties of its schema are arguments beside those
 * of every write; a property with the name of one of those is reached through `data`, and one whose name no model takes
 * by another name (`PublishedSchema.ts`). The data is validated by the whole schema of the kind.
 */
import { isJsonObject } from "@muniment/domain/Json"
import { Effect } from "effect"
import { CreateMemories, type JsonObject } from "@muniment/domain/Memory"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { Prices } from "@muniment/domain/Plans"
import type { MemoryService } from "../memories/MemoryService.ts"
import { inputSchemaOf } from "./InputSchemas.ts"
import { lookAlike } from "../http/KnownNames.ts"
import { type MemoryTool, decodeArguments, demandAgent, invalidArgument, unknownArgument } from "./MemoryTool.ts"
import { publishedSchema, type PublishedSchema, requestNames } from "./PublishedSchema.ts"
import { shortCreated } from "./ToolResult.ts"

/** A kind that has tags of its own had them before memories could be given some: there the argument is its own. */
const requestNamesOf = (schema: JsonObject): ReadonlyArray<string> =>
  requestNames.filter((name) => name !== "tags" || !declaredIn(schema).some(([own]) => own === "tags"))

const declaredIn = ({ properties }: JsonObject) => (isJsonObject(properties) ? Object.entries(properties) : [])

export const writeTool = (name: string, kind: MemorySchema, memories: MemoryService["Service"]): MemoryTool => ({
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
  run: Effect.fnUntraced(function* (call, { arguments: given }) {
    yield* demandAgent(given)
    const { names, restore, schema } = publishedKind(kind)
    const request = Object.fromEntries(names.flatMap((key) => (Object.hasOwn(given, key) ? [[key, given[key]!]] : [])))
    const taken = new Set([...names, "data"])
    yield* refuseLookAlikes(given, schema, taken)
    const memory = { kind: kind.name, data: yield* dataOf(restore(given) as JsonObject, taken) }
    const body = yield* decodeArguments(CreateMemories, { ...request, onDuplicate: "return", memories: [memory] })
    const answer = shortCreated(yield* memories.create(call, body))
    return { memories: [...answer.created, ...answer.updated, ...(answer.existing ?? [])], ...answer }
  })
})

/** `subject_id` would become a property of the memory, which then belongs to no subject. */
const refuseLookAlikes = Effect.fnUntraced(function* (
  given: JsonObject,
  schema: JsonObject,
  taken: ReadonlySet<string>
) {
  const declared = new Set(declaredIn(schema).map(([name]) => name))
  for (const name of Object.keys(given)) {
    const meant = taken.has(name) || declared.has(name) ? undefined : lookAlike(name, taken)
    if (meant !== undefined) return yield* unknownArgument(`/${name}`, `unknown name; did you mean "${meant}"?`)
  }
})

const dataOf = Effect.fnUntraced(function* (given: JsonObject, taken: ReadonlySet<string>) {
  const flat = Object.entries(given).filter(([name]) => !taken.has(name))
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
  return `Remember one "${name}": ${description}. Call it as soon as you learn one that will matter later; one call for each.${rule}`
}

/** The arguments of the kind's tool: its schema beside those of every write, whose names are `names`. */
export const publishedKind = ({
  schema: text
}: MemorySchema): PublishedSchema & { readonly names: ReadonlyArray<string> } => {
  const own: JsonObject = JSON.parse(text)
  const names = requestNamesOf(own)
  const { schema, restore } = publishedSchema(withoutClashes(own, names), { saysRules: true })
  const { properties = {}, required = [] } = schema as { properties?: JsonObject; required?: ReadonlyArray<string> }
  const { data, ...flat } = properties
  const ofWrites = Object.entries(requestProperties).filter(([name]) => names.includes(name))
  return {
    schema: {
      type: "object",
      properties: { ...flat, ...Object.fromEntries(ofWrites), ...(data !== undefined && { data }) },
      required: [
        ...required.filter((name) => name !== "data"),
        "agentId",
        ...required.filter((name) => name === "data")
      ]
    },
    names,
    restore
  }
}

export const writeInputSchema = (kind: MemorySchema): JsonObject => publishedKind(kind).schema

/** Properties whose names are taken stand below `data`. */
const withoutClashes = (schema: JsonObject, names: ReadonlyArray<string>): JsonObject => {
  const declared = declaredIn(schema)
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  const isTaken = (name: unknown): boolean => name === "data" || names.some((one) => one === name)
  const clashing = declared.filter(([name]) => isTaken(name))
  if (clashing.length === 0) return { ...schema, required: required.filter((name) => !isTaken(name)) }
  const clashingRequired = required.filter(isTaken)
  const data = {
    type: "object",
    description: "Properties of the memory whose names are taken by other arguments.",
    properties: Object.fromEntries(clashing),
    required: clashingRequired
  }
  return {
    ...schema,
    properties: { ...Object.fromEntries(declared.filter(([name]) => !isTaken(name))), data },
    required: [...required.filter((name) => !isTaken(name)), ...(clashingRequired.length > 0 ? ["data"] : [])]
  }
}

/** Arguments of every write, as POST /memories takes them. */
const requestProperties: JsonObject = (() => {
  const { properties } = inputSchemaOf(CreateMemories, {})
  const all = isJsonObject(properties) ? properties : {}
  return Object.fromEntries(requestNames.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])))
})()
