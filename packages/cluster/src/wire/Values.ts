/**
 * Schemas of what queries and commands of namespaces contain: the types of the engine, field by field. A field that the
 * engine adds as optional is passed over by older releases.
 */
import { Schema, SchemaTransformation } from "effect"
import { Feedback } from "@muniment/domain/Feedback"
import { DataFilter, Include } from "@muniment/domain/Search"
import {
  JsonObject,
  type MemoryRecord,
  type MemoryVersion,
  Mention,
  MessageSource,
  Revision
} from "@muniment/domain/Memory"
import type { MemoryFilter } from "@muniment/domain/Search"
import type { MemoryPlace, QueryVectors } from "@muniment/engine/namespace/NamespaceQuery"
import type { ScoredQuery } from "@muniment/engine/ranking/Evidence"
import type { WeightedQuery } from "@muniment/engine/ranking/Bm25"
import type { MemoryVector } from "@muniment/engine/store/Commit"
import type { ConversationScope, ConversationTurn, PendingReading } from "@muniment/engine/store/Conversations"
import type { ErasureMark } from "@muniment/engine/store/Conversations"

type Wire<A> = Schema.Codec<A, unknown>

const optionalText = Schema.optional(Schema.String)
const optionalNumber = Schema.optional(Schema.Number)
export const Text = Schema.String
export const Texts = Schema.Array(Schema.String)
export const MaybeText = Schema.UndefinedOr(Schema.String)
export const MaybeNumber = Schema.UndefinedOr(Schema.Number)

/** Four bytes a value, in the order of this machine; all that run this are little-endian. */
const Floats: Wire<Float32Array> = Schema.Uint8Array.pipe(
  Schema.decodeTo(
    Schema.instanceOf(Float32Array),
    SchemaTransformation.transform({
      decode: (bytes) => new Float32Array(aligned(bytes), 0, bytes.byteLength / 4),
      encode: ({ buffer, byteLength, byteOffset }) => new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)
    })
  )
)

export const Doubles: Wire<Float64Array> = Schema.Uint8Array.pipe(
  Schema.decodeTo(
    Schema.instanceOf(Float64Array),
    SchemaTransformation.transform({
      decode: (bytes) => new Float64Array(aligned(bytes), 0, bytes.byteLength / 8),
      encode: ({ buffer, byteLength, byteOffset }) => new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)
    })
  )
)

/** Copies bytes out of a larger buffer, which may lie anywhere and is used again. */
const aligned = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/** All fields but those that `Filter` names: one that is not sent would show or delete more than was asked for. */
const filterFields = {
  agentId: optionalText,
  subjectId: optionalText,
  threadId: optionalText,
  kind: optionalText,
  tags: Schema.optional(Texts),
  eventFrom: optionalNumber,
  eventTo: optionalNumber,
  includeSuperseded: Schema.optional(Schema.Boolean),
  include: Schema.optional(Include),
  data: Schema.optional(DataFilter),
  hasNoSubject: Schema.optional(Schema.Boolean),
  hasNoThread: Schema.optional(Schema.Boolean)
} satisfies Record<Exclude<keyof MemoryFilter, "anyOf" | "asOf" | "feedback" | "where">, unknown>

const filterOnWire = Schema.Struct({
  ...filterFields,
  /** JSON of `data` and of what not all releases know. */
  conditions: optionalText,
  anyOf: Schema.optional(Schema.Array(Schema.suspend((): Wire<MemoryFilter> => Filter)))
})

/** A node that does not know `conditions` finds nothing, where it would else show or delete more than was asked for. */
const noData = { "\0conditions": true } as const

export const Filter: Wire<MemoryFilter> = filterOnWire.pipe(
  Schema.decodeTo(
    Schema.declare((given): given is MemoryFilter => typeof given === "object" && given !== null),
    SchemaTransformation.transform({
      decode: ({ conditions, ...filter }): MemoryFilter =>
        conditions === undefined
          ? filter
          : {
              ...filter,
              data: undefined,
              ...(JSON.parse(conditions) as Pick<MemoryFilter, "asOf" | "data" | "feedback" | "where">)
            },
      encode: ({ asOf, feedback, where, ...filter }: MemoryFilter): typeof filterOnWire.Type =>
        where === undefined && asOf === undefined && feedback === undefined
          ? filter
          : { ...filter, data: noData, conditions: JSON.stringify({ data: filter.data, where, asOf, feedback }) }
    })
  )
)

/** As text: the binary form of a record of any keys has them in another order. */
const Data: Wire<JsonObject> = Schema.fromJsonString(JsonObject)

const recordFields = {
  id: Text,
  agentId: Text,
  subjectId: optionalText,
  threadId: optionalText,
  kind: Text,
  data: Data,
  tags: Texts,
  metadata: Schema.optional(Data),
  mentions: Schema.Array(Mention),
  when: optionalText,
  confidence: Schema.Number,
  contentHash: Text,
  createdAt: Schema.Number,
  updatedAt: Schema.Number,
  changedAt: optionalNumber,
  revision: Schema.optional(Revision),
  feedback: Schema.optional(Schema.Array(Feedback)),
  expiresAt: optionalNumber,
  uniqueKey: optionalText,
  origin: Schema.Literals(["direct", "extraction", "conversation"]),
  position: optionalNumber,
  sources: Schema.optional(Schema.Array(MessageSource)),
  neighbours: Schema.optional(Texts)
} satisfies Record<keyof MemoryRecord, unknown>

export const Record: Wire<MemoryRecord> = Schema.Struct(recordFields)

export const Version: Wire<MemoryVersion> = Schema.Struct({
  ...recordFields,
  isLatest: Schema.Boolean,
  supersedes: optionalText,
  supersededBy: optionalText
})

export const Vector: Wire<MemoryVector> = Schema.Struct({
  model: Text,
  values: Floats,
  passages: Schema.optional(Schema.Array(Floats))
})

export const Vectors: Wire<QueryVectors> = Schema.ReadonlyMap(Text, Floats)

export const PassageCut = Schema.Struct({ start: Schema.Number, end: Schema.Number })

export const placeFields = { id: Text, slot: Schema.Number, unit: optionalNumber }
export const Place: Wire<MemoryPlace> = Schema.Struct(placeFields)

export const Scope: Wire<ConversationScope> = Schema.Struct({ subjectId: optionalText, threadId: optionalText })

export const turnFields = {
  key: Text,
  role: Schema.Literals(["user", "assistant", "system"]),
  name: optionalText,
  content: Text,
  sentAt: optionalText
}
export const Turn: Wire<ConversationTurn> = Schema.Struct(turnFields)

export const readingFields = {
  id: Text,
  messages: Schema.Array(Schema.Struct({ key: Text, readKey: Text })),
  kinds: Schema.UndefinedOr(Texts),
  instructions: Schema.optional(Text),
  conversationDate: Text,
  expiresAt: MaybeNumber
}
export const Reading: Wire<PendingReading> = Schema.Struct(readingFields)

export const Mark: Wire<ErasureMark> = Schema.Struct({ owner: Text, count: Schema.Number })

export const Weighted: Wire<WeightedQuery> = Schema.Struct({
  terms: Texts,
  idf: Schema.Array(Schema.Number),
  averageLength: Schema.Number,
  documents: Schema.Number,
  scoreBound: Schema.Number
})

export const Scored: Wire<ScoredQuery> = Schema.Struct({
  scoreBound: Schema.Number,
  termCount: Schema.Number,
  modelId: MaybeText,
  asked: Schema.optional(
    Schema.Struct({
      speaker: MaybeText,
      isFirstPerson: Schema.Boolean,
      about: Schema.optional(Schema.ReadonlySet(Text)),
      kind: optionalNumber,
      isOfAssistant: Schema.optional(Schema.Boolean),
      goesOnAt: optionalNumber,
      ranges: Schema.Array(Schema.Struct({ from: Schema.Number, to: Schema.Number }))
    })
  ),
  documents: optionalNumber,
  cosines: Schema.optional(Schema.Struct({ mean: Schema.Number, deviation: Schema.Number })),
  hasWords: Schema.optional(Schema.Boolean)
})

/** Bytes from another node, or encoded here, are in memory of this thread alone. */
export const notShared = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => bytes as Uint8Array<ArrayBuffer>
