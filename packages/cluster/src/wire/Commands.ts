/**
 * Commands to namespaces as bytes between nodes, as `Queries.ts`, with their replies and failures. Failures travel as the
 * body that a client would see, with the name of its class: Effect's binary form cannot tell apart bodies of the same shape.
 */
import { Schema } from "effect"
import { SchemaBinary } from "effect/encoding"
import { Feedback } from "@muniment/domain/Feedback"
import { MemoryPatch } from "@muniment/domain/Memory"
import type { Command, Replies, ReplyOf } from "@muniment/engine/namespace/Commands"
import { Conflict, InsufficientStorage, NotFound, PayloadTooLarge, Unavailable } from "@muniment/domain/Errors"
import type { CommandError } from "@muniment/engine/namespace/toClientError"
import {
  Filter,
  Mark,
  MaybeNumber,
  MaybeText,
  notShared,
  Reading,
  Record,
  Scope,
  Text,
  Texts,
  Turn,
  Vector,
  Version
} from "./Values.ts"

type Tag = Command["_tag"]
type CommandOf<T extends Tag> = Extract<Command, { readonly _tag: T }>

const token = Schema.UndefinedOr(Schema.Struct({ key: Text, fingerprint: Text }))
const ids = Texts
const vector = Schema.UndefinedOr(Vector)
const skipsDuplicates = Schema.optional(Schema.Boolean)
const expected = Schema.optional(Schema.Struct({ id: Text, versions: Texts }))

const room = Schema.optional(Schema.Struct({ limit: Schema.Number, used: Schema.Number }))

const conversation = Schema.Struct({
  scope: Scope,
  processed: Texts,
  isForced: Schema.Boolean,
  turns: Schema.Array(Turn),
  summary: MaybeText,
  expiresAt: Schema.optional(Schema.Number),
  context: Schema.optional(Schema.Struct({ readAt: Mark, expiresAt: MaybeNumber })),
  shown: Schema.optional(
    Schema.Array(Schema.Struct({ id: Text, contentHash: Text, isReplaced: Schema.optional(Schema.Boolean) }))
  ),
  withheld: Schema.optional(Texts),
  awaits: Schema.optional(Reading),
  reads: Schema.optional(Text)
})

const commands = {
  StoreMemories: Schema.TaggedStruct("StoreMemories", {
    memories: Schema.Array(
      Schema.Struct({
        record: Record,
        vector,
        isReplacement: Schema.Boolean,
        setsExpiry: Schema.Boolean,
        setsTags: Schema.optional(Schema.Boolean)
      })
    ),
    idempotency: token,
    skipsDuplicates,
    conversation: Schema.optional(conversation),
    expected,
    moves: Schema.optional(Schema.Array(Schema.Struct({ id: Text, from: Text, to: MaybeText, version: Text }))),
    room
  }),
  PatchMemories: Schema.TaggedStruct("PatchMemories", {
    ids,
    patch: MemoryPatch,
    atMillis: Schema.Number,
    expected,
    idempotency: token,
    room
  }),
  GiveFeedback: Schema.TaggedStruct("GiveFeedback", { id: Text, feedback: Feedback, idempotency: token, room }),
  RemoveMemories: Schema.TaggedStruct("RemoveMemories", { ids, expected, idempotency: token }),
  RemoveMatching: Schema.TaggedStruct("RemoveMatching", { filter: Filter }),
  StoreVectors: Schema.TaggedStruct("StoreVectors", {
    vectors: Schema.Array(Schema.Struct({ id: Text, contentHash: Text, vector: Vector }))
  }),
  ImportRecords: Schema.TaggedStruct("ImportRecords", {
    records: Schema.Array(Schema.Struct({ record: Record, vector })),
    skipsDuplicates,
    room
  }),
  Sweep: Schema.TaggedStruct("Sweep", { expiredBy: Schema.optionalKey(Schema.Number) }),
  RemoveCreatedBefore: Schema.TaggedStruct("RemoveCreatedBefore", { beforeMillis: Schema.Number })
} satisfies { readonly [T in Tag]: Schema.Codec<CommandOf<T>, unknown> }

const versions = Schema.Array(Version)

const replies: { readonly [T in Tag]: Schema.Codec<Replies[T], unknown> } = {
  StoreMemories: Schema.Struct({
    created: versions,
    updated: versions,
    duplicates: Schema.Array(Schema.Struct({ index: Schema.Number, id: Text })),
    isStale: Schema.Boolean
  }),
  PatchMemories: versions,
  GiveFeedback: Schema.UndefinedOr(Version),
  RemoveMemories: Schema.Number,
  RemoveMatching: Schema.Number,
  StoreVectors: Schema.Number,
  ImportRecords: Schema.Number,
  Sweep: Schema.Number,
  RemoveCreatedBefore: Schema.Number
}

const commandCodec = SchemaBinary.toCodec(Schema.Union(Object.values(commands)))

export const encodeCommand = (command: Command): Uint8Array => Schema.encodeSync(commandCodec)(command).slice()

/** Throws for bytes that are none of a command. */
export const decodeCommand = (bytes: Uint8Array): Command => Schema.decodeSync(commandCodec)(notShared(bytes))

export const encodeReply = <C extends Command>(command: C, reply: ReplyOf<C>): Uint8Array =>
  Schema.encodeUnknownSync(SchemaBinary.toCodec(replies[command._tag]))(reply).slice()

export const decodeReply = <C extends Command>(command: C, bytes: Uint8Array): ReplyOf<C> =>
  Schema.decodeUnknownSync(SchemaBinary.toCodec(replies[command._tag]))(notShared(bytes)) as ReplyOf<C>

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
