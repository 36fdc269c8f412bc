/**
 * Failures of commands and queries between nodes: the body that a client would see, with the name of its class. Effect's
 * binary form cannot tell apart bodies of the same shape.
 */
import { Schema } from "effect"
import { Conflict, InsufficientStorage, NotFound, PayloadTooLarge, Unavailable } from "@muniment/domain/Errors"
import type { CommandError } from "@muniment/engine/namespace/toClientError"

type Name = CommandError["_tag"]
type Named<N extends Name> = Extract<CommandError, { readonly _tag: N }>

const classes: { readonly [N in Name]: Schema.Codec<Named<N>, unknown> } = {
  NotFound,
  Conflict,
  PayloadTooLarge,
  InsufficientStorage,
  Unavailable
}
const names = Object.keys(classes) as ReadonlyArray<Name>

/** `body` is JSON. */
export const Failure = Schema.TaggedStruct("Failure", { name: Schema.Literals(names), body: Schema.String })
export type Failure = typeof Failure.Type

export const toFailure = (error: CommandError): Failure => ({
  _tag: "Failure",
  name: error._tag,
  body: JSON.stringify(Schema.encodeUnknownSync(classes[error._tag])(error))
})

/** Throws for a body that is none of its class. */
export const fromFailure = ({ name, body }: Failure): CommandError =>
  Schema.decodeUnknownSync(classes[name])(JSON.parse(body))
