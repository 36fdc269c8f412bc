/** `memory_create`: POST /memories as a tool, for conversations and for several memories at once. */
import { Effect, type Schema } from "effect"
import { isJsonObject } from "@muniment/domain/isJsonObject"
import { CreateMemories, type JsonObject } from "@muniment/domain/Memory"
import { Prices } from "@muniment/domain/Prices"
import type { ConversationExtraction } from "../extraction/ConversationExtraction.ts"
import type { MemoryService } from "../memories/MemoryService.ts"
import { inputSchemaOf } from "./InputSchemas.ts"
import type { MemoryTool } from "./MemoryTool.ts"
import { createdOutput } from "./OutputSchemas.ts"
import { decodeArguments, demandAgent } from "./ToolArguments.ts"

export const createTool = (
  memories: MemoryService["Service"],
  extraction: ConversationExtraction["Service"]
): MemoryTool => ({
  name: "memory_create",
  title: "Remember a conversation or several memories",
  description:
    "Store memories. Give either `conversation` (the messages so far, best with their ids: facts, preferences and events are found in it, and messages that were sent before are skipped) or `memories` (records of known kinds, all or none; what is known already is returned, not stored twice). Call it at the end of a conversation, or when several things are to be remembered at once; for a single record use the write tool of its kind.",
  hints: { isReadOnly: false, isDestructive: false, isIdempotent: false },
  inputSchema: inputSchemaOf(CreateMemories),
  outputSchema: createdOutput,
  operation: "create",
  price: Prices.createMemories,
  run: Effect.fnUntraced(function* (call, { arguments: given }) {
    yield* demandAgent(given)
    const body = yield* decodeArguments(CreateMemories, given)
    const { conversation } = body
    return {
      ...(conversation === undefined
        ? yield* memories.create(call, { onDuplicate: "return", ...body })
        : yield* extraction.remember(call, { ...body, conversation }))
    }
  }),
  shown: shownCreated
})

/** Every memory once; `created`, `updated` and `existing` say by id which is which. */
export const shownCreated = ({ created, existing, updated, ...rest }: JsonObject): JsonObject => ({
  memories: [created, updated, existing].flatMap(entriesOf),
  created: idsOf(created),
  updated: idsOf(updated),
  ...(existing !== undefined && { existing: idsOf(existing) }),
  ...rest
})

const entriesOf = (list: Schema.Json | undefined): ReadonlyArray<JsonObject> =>
  Array.isArray(list) ? list.filter(isJsonObject) : []

const idsOf = (list: Schema.Json | undefined): Schema.Json => entriesOf(list).map(({ id = null }) => id)
