/** Opaque cursors: a position as base64url JSON. What does not decode to one is refused. */
import { Effect, Schema } from "effect"
import { InvalidRequest } from "@muniment/domain/Errors"
import type { ListPosition } from "@muniment/engine/NamespaceReader"

const Position = Schema.Struct({ createdAt: Schema.Int, id: Schema.String })
const decodePosition = Schema.decodeUnknownEffect(Schema.fromJsonString(Position))

export const encodeCursor = ({ createdAt, id }: ListPosition): string =>
  Buffer.from(JSON.stringify({ createdAt, id })).toString("base64url")

export const decodeCursor = (cursor: string): Effect.Effect<ListPosition, InvalidRequest> =>
  Effect.mapError(
    decodePosition(Buffer.from(cursor, "base64url").toString("utf8")),
    () => new InvalidRequest({ code: "invalid_request", error: "the cursor is not one of this service" })
  )
