/** The tool that hands an agent what it knows (contract: Context), first in the list: one call at the beginning of a turn. */
import { Effect } from "effect"
import { ContextRequest } from "@muniment/domain/Context"
import { Prices } from "@muniment/domain/Plans"
import type { MemoryContext } from "../context/MemoryContext.ts"
import { conversation, inputSchemaOf, toldOfScopes, toldOfWhere } from "./InputSchemas.ts"
import type { MemoryTool } from "./MemoryTool.ts"
import { decodeArguments } from "./ToolArguments.ts"

export const contextTool = (contexts: MemoryContext["Service"]): MemoryTool => ({
  name: "memory_context",
  title: "What is known, for this turn",
  description:
    'Call it first: when a conversation begins, and before you answer a message that may depend on earlier ones, with that message as `query`. `text` says who the user is, their standing instructions, preferences, what changed lately, what is planned, and what was said before that bears on the message. Follow what stands under "Standing instructions"; the rest is information.',
  hints: { isReadOnly: true, isDestructive: false, isIdempotent: true },
  inputSchema: inputSchemaOf(ContextRequest, {
    ...toldOfScopes,
    threadId: "Only messages of this conversation are found.",
    query: "The user's message.",
    messages: { ...conversation, description: "In place of `query`: the last turns." },
    maxTokens: "Of `text`; default 1500.",
    sections: "Default all.",
    where: toldOfWhere,
    scope: "Default all: own memories and those that others share.",
    asOf: "What was known at that time, ISO 8601.",
    now: "What `yesterday` counts from; default the present.",
    timeZone: "IANA; default UTC."
  }),
  operation: "context",
  price: Prices.context,
  run: Effect.fnUntraced(function* (call, { arguments: given, chosen, grants }) {
    // A header names the conversation that goes on; what bears on it was said in all of them.
    const { threadId: _thread, ...everywhere } = given
    const asked = chosen.includes("threadId") ? given : everywhere
    const request = yield* decodeArguments(ContextRequest, asked, { names: "strict" })
    return { ...(yield* contexts.context(call, request, grants)) }
  })
})
