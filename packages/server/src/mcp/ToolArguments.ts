/** Arguments of a tool against the schemas that REST validates by; failures are told as REST tells them. */
import { Effect, Schema, type SchemaAST } from "effect"
import { InvalidRequest } from "@muniment/domain/Errors"
import type { JsonObject } from "@muniment/domain/Memory"
import { invalidFields } from "../http/Validation.ts"

/** The group of endpoints whose codes are meant. */
const group = "memories"

export const decodeArguments = <S extends Schema.Decoder<unknown>>(
  schema: S,
  given: JsonObject,
  options: SchemaAST.ParseOptions = {}
): Effect.Effect<S["Type"], InvalidRequest> =>
  Schema.decodeUnknownEffect(schema)(given, options).pipe(Effect.mapError((failure) => invalidFields(failure, group)))

/** Whose memory it is has to be said somewhere. */
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
