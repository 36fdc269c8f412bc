/**
 * Messages of a conversation as callers have them (contract: Conversations): the shape of this service, and those of
 * model APIs, whose content may be null or a list of parts, whose tool calls stand beside it, and which name time in
 * their own way. What is said in them is decided in `server/src/extraction/ConversationMessages.ts`; here is what is taken.
 */
import { Schema } from "effect"
import { AnyMoment, SaidAt } from "./GivenTimes.ts"
import { Limits } from "./Limits.ts"

const JsonFields = Schema.Record(Schema.String, Schema.Json)

/** Every name that a writer is given, and the role that it stands for. */
export const messageRoles = {
  user: "user",
  human: "user",
  assistant: "assistant",
  ai: "assistant",
  model: "assistant",
  system: "system",
  developer: "system",
  tool: "tool",
  function: "tool"
} as const
export type MessageRole = (typeof messageRoles)[keyof typeof messageRoles]

const roles = Object.keys(messageRoles) as ReadonlyArray<keyof typeof messageRoles>

/** A part of a message: `{type: "text", text}`, an image, a tool call or result, and whatever else an API has. */
const Part = Schema.Union([Schema.String, JsonFields])
const Content = Schema.Union([Schema.String, Schema.Array(Part), JsonFields])
export type MessageContent = typeof Content.Type

/** Texts of parts that somebody wrote; calls and results of tools are no part of it. */
export const saidTexts = (content: MessageContent | null | undefined): ReadonlyArray<string> => {
  if (content === null || content === undefined) return []
  if (typeof content === "string") return [content]
  const parts: ReadonlyArray<typeof Part.Type> = Array.isArray(content) ? content : [content as typeof JsonFields.Type]
  return parts.flatMap((part) => {
    if (typeof part === "string") return [part]
    const { refusal, text, thought, type } = part
    if (thought === true || type === "thinking" || type === "reasoning") return []
    return typeof text === "string" ? [text] : typeof refusal === "string" ? [refusal] : []
  })
}

const isToolRole = (role: string): boolean => role === "tool" || role === "function"

const textBound = `at most ${Limits.messageLengthMax} characters of text`

const MessageFields = Schema.Struct({
  id: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.identifierLengthMax))),
  role: Schema.Literals(roles).annotate({
    description:
      "Who wrote it: `user` (or `human`), `assistant` (`ai`, `model`), `system` (`developer`), `tool` (`function`)."
  }),
  name: Schema.optionalKey(
    Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.identifierLengthMax)).annotate({
      description: "Who wrote it, as questions name them.",
      examples: ["Alice"]
    })
  ),
  content: Schema.optionalKey(
    Schema.NullOr(Content).annotate({
      description:
        "A text, null, or the parts of a message as model APIs have them: text parts are joined by line ends, images and files are named as `[image]`, calls and results of tools become messages of role `tool`."
    })
  ),
  parts: Schema.optionalKey(Schema.Array(Part).annotate({ description: "The same as a list in `content`." })),
  tool_calls: Schema.optionalKey(
    Schema.Array(JsonFields).annotate({ description: "Calls of tools, as OpenAI has them: messages of role `tool`." })
  ),
  tool_call_id: Schema.optionalKey(Schema.String),
  function_call: Schema.optionalKey(JsonFields.annotate({ description: "The one call of earlier models of OpenAI." })),
  refusal: Schema.optionalKey(Schema.String.annotate({ description: "What a model says in place of an answer." })),
  audio: Schema.optionalKey(JsonFields.annotate({ description: "What a model says aloud; its `transcript` is kept." })),
  sentAt: Schema.optionalKey(
    SaidAt.annotate({
      description:
        "When it was sent: ISO 8601 with its offset, or seconds or milliseconds since the epoch; default `conversationDate`. `createdAt`, `created_at` and `timestamp` are read too."
    })
  ),
  createdAt: Schema.optionalKey(AnyMoment),
  created_at: Schema.optionalKey(AnyMoment),
  timestamp: Schema.optionalKey(AnyMoment)
})
export type GivenMessage = typeof MessageFields.Type

/** A message without any of these has its text under a name that is not read. */
const contents = ["content", "parts", "tool_calls", "function_call", "refusal", "audio"] as const

const ConversationMessage = MessageFields.check(
  Schema.makeFilter(
    (message: GivenMessage) =>
      contents.some((name) => message[name] !== undefined) ? undefined : { path: ["content"], issue: "is missing" },
    { expected: "the text of the message as `content`" }
  ),
  Schema.makeFilter(
    ({ content, parts, role }: GivenMessage) =>
      isToolRole(role) || [...[...saidTexts(content), ...saidTexts(parts)].join("\n")].length <= Limits.messageLengthMax
        ? undefined
        : { path: [content === undefined ? "parts" : "content"], issue: `expected ${textBound}` },
    { expected: textBound }
  )
)

/** Items between messages of OpenAI's Responses API: calls of tools, their results, the model's thoughts. */
const TurnItem = Schema.StructWithRest(
  Schema.Struct({
    // First, so that what has a role is refused for it, and is known not to be meant as an item.
    role: Schema.optionalKey(Schema.Never),
    type: Schema.String.check(
      Schema.isPattern(/(?:_call|_output|_request|_response|_tools)$|^(?:reasoning|item_reference)$/, {
        expected: "the type of an item, such as `function_call`"
      })
    ).annotate({
      description: "An item without a role, as OpenAI's Responses API has them: a message of role `tool`.",
      examples: ["function_call", "function_call_output"]
    })
  }),
  [JsonFields]
)
export type TurnItem = typeof TurnItem.Type

/** The messages of a request; a text alone is a message of the user. */
export const Conversation = Schema.Union([
  Schema.NonEmptyArray(Schema.Union([ConversationMessage, TurnItem, Schema.String])).check(
    Schema.isMaxLength(Limits.messagesPerConversationMax)
  ),
  Schema.String.check(Schema.isMaxCodePoints(Limits.messageLengthMax))
]).annotate({ description: "Messages, oldest first; a text alone is one message of the user." })
export type Conversation = typeof Conversation.Type

/** Why a message of a request is not stored. */
export const LeftOutMessage = Schema.Struct({
  index: Schema.Int.annotate({ description: "Its place in the request, from 0." }),
  id: Schema.optionalKey(Schema.String),
  reason: Schema.Literals(["empty", "no_text"]),
  message: Schema.String
})
export type LeftOutMessage = typeof LeftOutMessage.Type
