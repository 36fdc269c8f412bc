/** Arguments of a tool, decoded by the schemas of REST; failures are those of REST. */
import { Effect, Schema, type SchemaAST } from "effect"
import { InvalidRequest } from "@muniment/domain/Errors"
import type { JsonObject } from "@muniment/domain/Memory"
import { checkNames, knownNames, unknownNames } from "../http/KnownNames.ts"
import { invalidFields } from "../http/Validation.ts"
import { withoutNulls } from "../http/withoutNulls.ts"

/** Group of endpoints whose error codes apply. */
const group = "memories"

/** Names as in a body, or with `strict` as in a query string. */
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
