/**
 * JSON Schemas of what tools give as structured content: those of REST's answers. Nothing in them is required and nothing
 * is closed: the demand for payment is structured content of the same tools, and later versions may add fields.
 */
import { Schema } from "effect"
import { ContextAnswer } from "@muniment/domain/Context"
import { CreatedMemories, type JsonObject, MemoryView } from "@muniment/domain/Memory"
import { DeletedMemories, RemovedMemory } from "@muniment/domain/Search"
import { FoundMemories, GroundedAnswer, TopicMap } from "@muniment/domain/SearchResult"
import { objectSchemaOf, shapeIn } from "./InputSchemas.ts"

const success = Schema.Boolean

const outputSchemaOf = (fields: Schema.Struct.Fields): JsonObject =>
  shapeIn(objectSchemaOf(Schema.Struct({ success, ...fields })))

/** Of the three modes of a search. */
export const searchOutput: JsonObject = outputSchemaOf({
  ...TopicMap.fields,
  ...GroundedAnswer.fields,
  ...FoundMemories.fields
})

export const contextOutput: JsonObject = outputSchemaOf(ContextAnswer.fields)

export const createdOutput: JsonObject = outputSchemaOf(CreatedMemories.fields)

export const memoryOutput: JsonObject = outputSchemaOf({ memory: MemoryView })

export const deletedOutput: JsonObject = outputSchemaOf(RemovedMemory.fields)

export const batchDeletedOutput: JsonObject = outputSchemaOf(DeletedMemories.fields)
