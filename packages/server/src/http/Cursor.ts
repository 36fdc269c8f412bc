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

/** Cursor of the next page of a listing. */
export const listCursor = cursorOver(Schema.Struct({ createdAt: Schema.Int, id: Schema.String }))

/** Cursor of the next page of an export. */
export const exportCursor = cursorOver(Schema.Struct({ namespace: Schema.String, afterSeq: Schema.Int }))

/** Cursor of the next page of agents and their indexes. */
export const agentsCursor = cursorOver(Schema.Struct({ after: Schema.String }))

/** Cursor of the next page of an account's transactions. */
export const transactionCursor = cursorOver(Schema.Struct({ before: Schema.Int }))

/** Cursor of the next page of a statement. */
export const statementCursor = cursorOver(Schema.Struct({ at: Schema.Int, id: Schema.Int }))
