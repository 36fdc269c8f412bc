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
import { shortCreated, type ToolFailure } from "./ToolResult.ts"
import type { MemoryService } from "../memories/MemoryService.ts"
import { publishedSchema, type PublishedSchema, requestNames } from "./PublishedSchema.ts"

/**
 * JSON Schemas of tool arguments. Those of the fixed tools are generated from the schemas of REST, with words of their
 * own. All are plain object schemas, of what all model providers take.
 */

/** Description of each argument; a whole schema replaces REST's, where that also takes forms that no model writes. */
type Told<Name extends string = string> = Readonly<Partial<Record<Name, string | JsonObject>>>

/** Schema of arguments by REST's names and types, without its descriptions: an agent pays for every token. */
export const inputSchemaOf = <Fields extends Schema.Struct.Fields>(
  schema: Schema.Top & { readonly fields: Fields },
  told: Told<keyof Fields & string>
): JsonObject => {
  const { properties, ...root } = publishedSchema(objectSchemaOf(schema), { saysRules: false }).schema
  return { ...root, properties: toldOf(properties, told) }
}

const toldOf = (properties: Schema.Json | undefined, told: Told): JsonObject =>
  Object.fromEntries(
    Object.entries(isJsonObject(properties) ? properties : {}).map(([name, own]) => {
      const said = told[name]
      if (typeof said === "object") return [name, said]
      const type = withoutTexts(own) as JsonObject
      return [name, said === undefined ? type : { ...type, description: said }]
    })
  )

const withoutTexts = (json: Schema.Json): Schema.Json => {
  if (Array.isArray(json)) return json.map(withoutTexts)
  if (!isJsonObject(json)) return json
  const entries = Object.entries(json).filter(([name, value]) => !isSaying(name) || typeof value !== "string")
  return Object.fromEntries(entries.map(([name, value]) => [name, withoutTexts(value)]))
}

/** A property may have one of these names; its value is no text then. */
const isSaying = (keyword: string): boolean => keyword === "description" || keyword === "pattern"

/** Without examples and without keywords that add no rule. */
const objectSchemaOf = (schema: Schema.Top): JsonObject => {
  const document: Schema.Json = JSON.parse(JSON.stringify(Schema.toJsonSchemaDocument(schema).schema))
  const {
    additionalProperties: _open,
    anyOf: _any,
    oneOf: _one,
    allOf: _all,
    ...root
  } = compact(document) as JsonObject
  return { ...root, type: "object" }
}

export const toldOfScopes = {
  agentId: "Whose memory it is.",
  subjectId: "Whom it is about.",
  threadId: "Of which conversation."
}

export const toldOfWhere =
  'Conditions on data and metadata: {"data.city": "Oslo", "metadata.score": {"gte": 3}}; tests eq, ne, in, gt, gte, lt, lte, exists; and, or (lists), not.'

/** As models write messages; what SDKs make of them is taken too. */
export const conversation: JsonObject = {
  type: "array",
  items: {
    type: "object",
    properties: {
      id: { type: "string" },
      role: { type: "string", enum: ["user", "assistant", "system", "tool"] },
      name: { type: "string" },
      content: { type: "string" },
      sentAt: { type: "string", description: "ISO 8601." }
    },
    required: ["role", "content"]
  }
}

/** An argument that a header gives is optional. */
const withoutDefaulted = (schema: JsonObject, defaults: ScopeDefaults): JsonObject => {
  const defaulted = new Set<unknown>(scopeNames.filter((name) => defaults[name] !== undefined))
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  return { ...schema, required: required.filter((name) => !defaulted.has(name)) }
}

/** Keywords that add no rule to those beside them, as our generator writes them. */
const redundant: ReadonlySet<string> = new Set(["examples", "prefixItems"])

const compact = (json: Schema.Json): Schema.Json => {
  if (Array.isArray(json)) return json.map(compact)
  if (!isJsonObject(json)) return json
  const entries = Object.entries(json).filter(
    ([name, value]) => !redundant.has(name) && !(name === "additionalProperties" && value === true)
  )
  return Object.fromEntries(entries.map(([name, value]) => [name, compact(value)]))
}

export const scopeNames = ["agentId", "subjectId", "threadId"] as const
type ScopeName = (typeof scopeNames)[number]
/**
 * Defaults of a tool's scope (contract: MCP), from the headers `x-agent-id`, `x-subject-id` and `x-thread-id`.
 * Arguments win; `null` as an argument removes a default.
 */
type ScopeDefaults = Readonly<Partial<Record<ScopeName, string>>>

const headerOf: Readonly<Record<ScopeName, string>> = {
  agentId: "x-agent-id",
  subjectId: "x-subject-id",
  threadId: "x-thread-id"
}

export const scopeDefaults = (headers: Readonly<Record<string, string | undefined>>): ScopeDefaults =>
  Object.fromEntries(
    scopeNames.flatMap((name) => {
      const value = headers[headerOf[name]]
      return value === undefined || value === "" ? [] : [[name, value]]
    })
  )

/** The arguments, completed with defaults. */
export const withDefaults = (given: JsonObject, defaults: ScopeDefaults): JsonObject => {
  const lifted = new Set<string>(scopeNames.filter((name) => given[name] === null))
  return Object.fromEntries(Object.entries({ ...defaults, ...given }).filter(([name]) => !lifted.has(name)))
}

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
