/**
 * A tool: its description for agents, its price, and its action. `writeTool` makes the one that
 * writes memories of a kind.
 */
import { Effect, Schema, type SchemaAST } from "effect"
import type { PricedCall } from "@muniment/domain/api/Middleware"
import { InvalidRequest } from "@muniment/domain/Errors"
import { CreateMemories, type JsonObject } from "@muniment/domain/Memory"
import type { MicroCredits } from "@muniment/domain/Money"
import { isJsonObject } from "@muniment/domain/Json"
import type { MemorySchema } from "@muniment/domain/MemorySchema"
import { Prices } from "@muniment/domain/Plans"
import { checkNames, knownNames, lookAlike, unknownNames } from "../http/KnownNames.ts"
import { invalidFields, withoutNulls } from "../http/Validation.ts"
import { inputSchemaOf, type ScopeDefaults, withoutDefaulted } from "./InputSchemas.ts"
import { shortCreated, type ToolFailure } from "./ToolResult.ts"
import type { MemoryService } from "../memories/MemoryService.ts"
import { publishedSchema, type PublishedSchema, requestNames } from "./PublishedSchema.ts"

export interface ToolInput {
  /** Arguments as they were given, completed from the headers. */
  readonly arguments: JsonObject
  /** Names of those that were given. */
  readonly chosen: ReadonlyArray<string>
  /** The `X-Grants` header as it came. */
  readonly grants: string | undefined
}

export interface MemoryTool {
  readonly name: string
  readonly title: string
  /** Read by the agent that decides whether to call it. */
  readonly description: string
  readonly hints: { readonly isReadOnly: boolean; readonly isDestructive: boolean; readonly isIdempotent: boolean }
  readonly inputSchema: JsonObject
  /** Name of the same operation of REST in the ledger, and its price. */
  readonly operation: string
  readonly price: MicroCredits
  /** REST's answer without `success`. */
  readonly run: (call: PricedCall, input: ToolInput) => Effect.Effect<JsonObject, ToolFailure>
}

/**
 * Entry of `tools/list`. Without an output schema, which the protocol leaves to the server: they would be half of a list
 * that an agent's host loads with every session, and no model is shown them.
 */
export const toolListing = (
  { description, hints, inputSchema, name, title }: MemoryTool,
  defaults: ScopeDefaults
): JsonObject => ({
  name,
  title,
  description,
  inputSchema: withoutDefaulted(inputSchema, defaults),
  annotations: {
    title,
    readOnlyHint: hints.isReadOnly,
    destructiveHint: hints.isDestructive,
    idempotentHint: hints.isIdempotent,
    openWorldHint: false
  }
})

/** Group of endpoints whose error codes apply. */
const group = "memories"

/**
 * Arguments of a tool, decoded by the schemas of REST; failures are those of REST.
 *
 * Names as in a body, or with `strict` as in a query string.
 */
export const decodeArguments = <S extends Schema.Decoder<unknown>>(
  schema: S,
  given: JsonObject,
  options: SchemaAST.ParseOptions & { readonly names?: "strict" | "lenient" } = {}
): Effect.Effect<S["Type"], InvalidRequest> => {
  const { names = "lenient", ...parsing } = { reportInput: true, ...options }
  const known = knownNames(schema, names)
  const refused = known === undefined ? undefined : unknownNames(checkNames(given, known))
  return refused === undefined
    ? Schema.decodeUnknownEffect(schema)(known === undefined ? given : withoutNulls(given, known), parsing).pipe(
        Effect.mapError((failure) => invalidFields(failure, group))
      )
    : Effect.fail(refused)
}

export const demandAgent = (given: JsonObject): Effect.Effect<void, InvalidRequest> =>
  given["agentId"] === undefined
    ? Effect.fail(
        invalidArgument(
          "/agentId",
          "agentId is missing: give it as an argument, or for all calls in the header x-agent-id"
        )
      )
    : Effect.void

export const invalidArgument = (path: string, error: string): InvalidRequest =>
  new InvalidRequest({ code: "invalid_request", error, details: [{ path, message: error }] })

export const unknownArgument = (path: string, message: string): InvalidRequest =>
  new InvalidRequest({ code: "unknown_parameter", error: `${path}: ${message}`, details: [{ path, message }] })

/**
 * The tool that writes memories of one kind (contract: MCP): the properties of its schema are arguments beside those
 * of every write; a property with the name of one of those is reached through `data`, and one whose name no model takes
 * by another name (`PublishedSchema.ts`). The data is validated by the whole schema of the kind.
 */

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
