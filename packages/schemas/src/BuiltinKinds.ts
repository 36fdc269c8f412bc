/**
 * Built-in kinds, which every account has without registering them (contract: Schemas). Extra properties are allowed,
 * none has `uniqueOn`, and the names are reserved.
 */

import { conversationMessageKind } from "@muniment/domain/Memory"

interface BuiltinKind {
  readonly name: string
  readonly description: string
  /** JSON Schema text, as a registered kind would carry it. */
  readonly schema: string
}

const text = { type: "string", minLength: 1 }
const moment = {
  anyOf: [
    { type: "string", format: "date-time" },
    { type: "string", format: "date" }
  ]
}

/** Standing instruction of the user to the agent; part of every context of its subject. */
export const instructionKind = "instruction_memory"

/** Kinds that an extraction yields and the write tools offer. */
export const factKinds: ReadonlyArray<BuiltinKind> = [
  {
    name: "preference_memory",
    description: "What somebody likes, dislikes, prefers, avoids, wants or needs",
    schema: JSON.stringify({
      type: "object",
      properties: {
        subject: { ...text, description: "Who holds the preference" },
        preferenceType: { enum: ["likes", "dislikes", "prefers", "avoids", "wants", "needs"] },
        preference: { ...text, description: "What it is about" },
        domain: { ...text, description: "Area of life, such as food or travel" }
      },
      required: ["subject", "preferenceType", "preference"]
    })
  },
  {
    name: "factual_memory",
    description: "A fact about somebody or something",
    schema: JSON.stringify({
      type: "object",
      properties: {
        subject: { ...text, description: "Whom or what the fact is about" },
        fact: { ...text, description: "The fact as one sentence" },
        source: { enum: ["user", "assistant", "system", "inferred"], description: "Who stated it" }
      },
      required: ["subject", "fact"]
    })
  },
  {
    name: "temporal_event",
    description: "Something that happened or will happen at a time",
    schema: JSON.stringify({
      type: "object",
      properties: {
        event: { ...text, description: "What happens" },
        subject: { ...text, description: "Who it happens to" },
        eventDate: { ...moment, description: "When, or when it starts, ISO 8601" },
        endDate: { ...moment, description: "When it ends, ISO 8601" },
        location: text,
        participants: { type: "array", items: text }
      },
      required: ["event"]
    })
  },
  {
    name: instructionKind,
    description: "What the user wants of the agent from now on, in every conversation",
    schema: JSON.stringify({
      type: "object",
      properties: {
        text: { ...text, description: "What to do or not to do, as one sentence that stands alone" },
        since: { ...moment, description: "From when on, ISO 8601" }
      },
      required: ["text"]
    })
  }
]

const factKindNames = new Set(factKinds.map(({ name }) => name))
export const isFactKind = (kind: string): boolean => factKindNames.has(kind)

/** One message of a conversation, word for word. Stored by requests with `conversation`, never extracted. */
const messageKind: BuiltinKind = {
  name: conversationMessageKind,
  description: "A message of a conversation, word for word",
  schema: JSON.stringify({
    type: "object",
    properties: {
      role: { enum: ["user", "assistant", "system", "tool"], description: "Who wrote it" },
      name: { ...text, description: "The writer's name" },
      text: { ...text, description: "The message" },
      sentAt: { type: "string", format: "date-time", description: "When it was sent, ISO 8601" }
    },
    required: ["role", "text"]
  })
}

export const builtinKinds: ReadonlyArray<BuiltinKind> = [...factKinds, messageKind]

/** Their schemas, as texts. */
export const builtinTexts: ReadonlySet<string> = new Set(builtinKinds.map(({ schema }) => schema))
