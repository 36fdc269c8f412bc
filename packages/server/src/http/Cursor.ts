/** Opaque cursors: a position as base64url JSON. Anything else is refused. */
import { Effect, Schema } from "effect"
import { InvalidRequest } from "@muniment/domain/Errors"

/** A cursor over positions of the given form. */
const cursorOver = <P extends object>(position: Schema.Codec<P, unknown>) => {
  const decodeJson = Schema.decodeUnknownEffect(Schema.fromJsonString(position))
  const encodeJson = Schema.encodeSync(Schema.fromJsonString(position))
  return {
    encode: (at: P): string => Buffer.from(encodeJson(at)).toString("base64url"),
    decode: (cursor: string): Effect.Effect<P, InvalidRequest> =>
      Effect.mapError(
        decodeJson(Buffer.from(cursor, "base64url").toString("utf8")),
        () => new InvalidRequest({ code: "invalid_request", error: "the cursor is not one of this service" })
      )
  }
}

/** Where the next page of a listing begins. */
export const listCursor = cursorOver(Schema.Struct({ createdAt: Schema.Int, id: Schema.String }))

/** Where the next page of an export begins. */
export const exportCursor = cursorOver(Schema.Struct({ namespace: Schema.String, afterSeq: Schema.Int }))

/** Where the next page of agents and their indexes begins. */
export const agentsCursor = cursorOver(Schema.Struct({ after: Schema.String }))

/** Where the next page of an account's transactions begins. */
export const transactionCursor = cursorOver(Schema.Struct({ before: Schema.Int }))

/** Where the next page of a statement begins. */
export const statementCursor = cursorOver(Schema.Struct({ at: Schema.Int, id: Schema.Int }))
