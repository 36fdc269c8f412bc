/**
 * JSON Schemas of what tools give as structured content, one for each form of answer. Nothing in them is required and
 * nothing is closed: the demand for payment is structured content of the same tools, and later versions may add fields.
 */
import { Schema } from "effect"
import {
  CreatedMemories,
  type JsonObject,
  JsonObject as AnyObject,
  MemoryEntry,
  MemoryView
} from "@muniment/domain/Memory"
import { FoundMemories, GroundedAnswer, TopicMap } from "@muniment/domain/SearchResult"
import { inputSchemaOf, withoutRequired } from "./InputSchemas.ts"

const success = Schema.Boolean
const ids = Schema.Array(Schema.String)

/** A hit of REST, or a message as one line. */
const ShownHit = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  source: Schema.Literals(["own", "shared"]),
  message: Schema.optionalKey(Schema.String.annotate({ description: "A message, `Name (date): text`." })),
  data: Schema.optionalKey(AnyObject)
})

const outputSchemaOf = (schema: Schema.Top): JsonObject => withoutRequired(inputSchemaOf(schema))

/** Of the three modes of a search. */
export const searchOutput: JsonObject = outputSchemaOf(
  Schema.Struct({
    success,
    ...TopicMap.fields,
    ...GroundedAnswer.fields,
    ...FoundMemories.fields,
    memories: Schema.Array(ShownHit),
    hits: Schema.Array(AnyObject),
    explain: AnyObject
  })
)

export const createdOutput: JsonObject = outputSchemaOf(
  Schema.Struct({
    success,
    ...CreatedMemories.fields,
    memories: Schema.Array(MemoryEntry),
    created: ids,
    updated: ids,
    existing: Schema.optionalKey(ids)
  })
)

export const memoryOutput: JsonObject = outputSchemaOf(Schema.Struct({ success, memories: Schema.Array(MemoryView) }))

export const deletedOutput: JsonObject = outputSchemaOf(
  Schema.Struct({ success, memories: Schema.Array(AnyObject), deleted: Schema.Int, dryRun: Schema.Boolean })
)
