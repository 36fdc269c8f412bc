/** `memory_create`: POST /memories as a tool, for conversations and for several memories at once. */
import { Effect } from "effect"
import { CreateMemories, DirectMemory } from "@muniment/domain/Memory"
import { Prices } from "@muniment/domain/Plans"
import type { ConversationExtraction } from "../extraction/ConversationExtraction.ts"
import type { MemoryService } from "../memories/MemoryService.ts"
import { conversation, inputSchemaOf, toldOfScopes } from "./InputSchemas.ts"
import type { MemoryTool } from "./MemoryTool.ts"
import { shortCreated } from "./shortResult.ts"
import { decodeArguments, demandAgent } from "./ToolArguments.ts"

const memory = inputSchemaOf(DirectMemory, {
  id: "Of a memory that it replaces."
})

export const createTool = (
  memories: MemoryService["Service"],
  extraction: ConversationExtraction["Service"]
): MemoryTool => ({
  name: "memory_create",
  title: "Remember a conversation or several memories",
  description:
    "Store memories. Give either `conversation` (the messages so far, best with ids: what they say is remembered, and messages sent before are skipped) or `memories` (records of known kinds, all or none). Call it at the end of a conversation, or to remember several things at once; for one record use the write tool of its kind.",
  hints: { isReadOnly: false, isDestructive: false, isIdempotent: false },
  inputSchema: inputSchemaOf(CreateMemories, {
    ...toldOfScopes,
    conversation: { ...conversation, description: "Messages, oldest first." },
    memories: { type: "array", items: memory },
    schemas: "Of a conversation: kinds to look for; default all.",
    force: "Also messages that were sent before.",
    instructions: "Of a conversation: what to look for and what to leave out, in your words.",
    conversationDate: "YYYY-MM-DD; default today.",
    timeZone: "IANA, of times without an offset; default UTC.",
    remember: "Messages and what they say, or only the latter.",
    tags: "Of all memories of this call.",
    metadata: "Of all memories of this call.",
    onDuplicate: "What is known already: `return` it (default), or `store` it again.",
    wait: { type: "string", enum: ["vectors", "extraction"], description: "Until it is found by meaning, or read." },
    ttl: "How long they are kept, as in 24h or 30d.",
    expiresAt: "In place of `ttl`: milliseconds since 1970."
  }),
  operation: "create",
  price: Prices.createMemories,
  run: Effect.fnUntraced(function* (call, { arguments: given }) {
    yield* demandAgent(given)
    const body = yield* decodeArguments(CreateMemories, given)
    const { conversation: messages } = body
    return shortCreated(
      messages === undefined
        ? yield* memories.create(call, { onDuplicate: "return", ...body })
        : yield* extraction.remember(call, { ...body, conversation: messages })
    )
  })
})
