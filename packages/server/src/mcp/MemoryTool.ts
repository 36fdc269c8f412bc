/** A tool: its description for agents, its price, and its action. */
import { Effect, Schema, type SchemaAST } from "effect"
import type { PricedCall } from "@muniment/domain/api/Middleware"
import { InvalidRequest } from "@muniment/domain/Errors"
import type { JsonObject } from "@muniment/domain/Memory"
import type { MicroCredits } from "@muniment/domain/Money"
import { checkNames, knownNames, unknownNames } from "../http/KnownNames.ts"
import { invalidFields } from "../http/Validation.ts"
import { withoutNulls } from "../http/withoutNulls.ts"
import { type ScopeDefaults, withoutDefaulted } from "./InputSchemas.ts"
import type { ToolFailure } from "./ToolResult.ts"

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
