/**
 * A memory (contract: Memories): a typed record (`kind`) whose `data` follows a registered schema. Times are milliseconds
 * since the epoch unless a field is ISO 8601.
 */
import { Schema } from "effect"
import { atLeastOneOf, exactlyOneOf } from "./BodyRules.ts"
import { AgentId, MemoryId, SubjectId, ThreadId, WrittenMemoryId } from "./Ids.ts"
import { Conversation, LeftOutMessage } from "./Conversation.ts"
import { CalendarDay, DurationText, ExpiresAt, RecordedAt, RecordedExpiry, TimeZone } from "./GivenTimes.ts"
import { type Feedback, FeedbackList } from "./Feedback.ts"
import { Limits } from "./Limits.ts"
import { Metadata } from "./Metadata.ts"

export const JsonObject = Schema.Record(Schema.String, Schema.Json).annotate({ description: "A JSON object." })
export type JsonObject = { readonly [key: string]: Schema.Json }

export const Mention = Schema.Struct({ name: Schema.String, type: Schema.String })
export type Mention = typeof Mention.Type

/** A message that a memory was taken from: its id as given, and the key under which it counts as processed. */
export const MessageSource = Schema.Struct({
  key: Schema.String,
  id: Schema.optionalKey(Schema.String),
  /** A caller has changed what was taken from the message, which no longer backs it. */
  isCorrected: Schema.optionalKey(Schema.Literal(true)),
  /** No message: the key is the id of an older version, whose words this one carries on. It goes with it. */
  isCarried: Schema.optionalKey(Schema.Literal(true))
})
export type MessageSource = typeof MessageSource.Type

/** The messages that still back what was taken from them. */
export const backingSources = (sources: ReadonlyArray<MessageSource> | undefined): ReadonlyArray<MessageSource> =>
  sources?.filter(({ isCarried, isCorrected }) => isCorrected !== true && isCarried !== true) ?? []

/** Sources of what was taken from messages, once a caller has given it other data. */
export const correctedSources = (
  { contentHash, origin, sources }: Pick<MemoryRecord, "contentHash" | "origin" | "sources">,
  newHash: string
): ReadonlyArray<MessageSource> | undefined =>
  origin === "extraction" && contentHash !== newHash
    ? sources?.map((source) => ({ ...source, isCorrected: true as const }))
    : sources

const MemoryOrigin = Schema.Literals(["direct", "extraction", "conversation"])
type MemoryOrigin = typeof MemoryOrigin.Type

/** Built-in kind of the messages of a conversation, one memory each. */
export const conversationMessageKind = "conversation_message"

/** Change that made a version which was not stored or extracted as a memory of its own. */
export const Revision = Schema.Struct({
  how: Schema.Literals(["corrected", "restored"]),
  /** Key, or wallet. */
  by: Schema.optionalKey(Schema.String),
  /** The older version that was restored. */
  of: Schema.optionalKey(Schema.String)
})
export type Revision = typeof Revision.Type

/** Stored record; the namespace adds owner and version chain. */
export interface MemoryRecord {
  readonly id: string
  readonly agentId: string
  readonly subjectId?: string | undefined
  readonly threadId?: string | undefined
  readonly kind: string
  readonly data: JsonObject
  readonly tags: ReadonlyArray<string>
  /** Metadata of the caller beside the data; undefined: none. */
  readonly metadata?: JsonObject | undefined
  readonly mentions: ReadonlyArray<Mention>
  /** Event time, ISO 8601. */
  readonly when?: string | undefined
  /** 0..1; 1 for direct memories. */
  readonly confidence: number
  readonly contentHash: string
  readonly createdAt: number
  readonly updatedAt: number
  /** When its data was last replaced in place; undefined: never, it is as it was stored. */
  readonly changedAt?: number | undefined
  readonly revision?: Revision | undefined
  /** Oldest first; undefined: none was given. */
  readonly feedback?: ReadonlyArray<Feedback> | undefined
  readonly expiresAt?: number | undefined
  /** Hash of the `uniqueOn` values; undefined for kinds without them. */
  readonly uniqueKey?: string | undefined
  /** `direct`: as the caller gave it; `extraction`: taken from messages; `conversation`: a message itself. */
  readonly origin: MemoryOrigin
  /**
   * Messages only: number in the conversation (subject and thread), from 0, never used twice in it. Assigned when the
   * message is stored; an import keeps it.
   */
  readonly position?: number | undefined
  /** Extraction: the messages that it was taken from. Conversation: the message itself. */
  readonly sources?: ReadonlyArray<MessageSource> | undefined
  /** Extraction only: texts of the turns around it, nearest first; they are searched, never returned. */
  readonly neighbours?: ReadonlyArray<string> | undefined
}

/** A record with its place in the version chain, as a reader sees it now. */
export interface MemoryVersion extends MemoryRecord {
  readonly isLatest: boolean
  readonly supersedes?: string | undefined
  readonly supersededBy?: string | undefined
}

/** As older records have them. */
const StoredTag = Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.tagLengthMax))

const wholeTag = /^[^,\s](?:[^,]*[^,\s])?$/

/** A filter in a URL separates tags by commas, and cuts blanks. */
const Tag = StoredTag.check(
  Schema.isPattern(wholeTag, {
    expected: "a text without commas, and without blanks before or behind it: `tags` of a search could not name it"
  })
)
const Tags = Schema.Array(Tag)
  .check(Schema.isMaxLength(Limits.tagsPerMemoryMax))
  .annotate({
    description:
      "At most 32 tags of 1 to 32 characters, without commas and without blanks around them; duplicates are dropped in order.",
    examples: [["travel", "booking"]]
  })

/** Direct memory of a request. */
export const DirectMemory = Schema.Struct({
  kind: Schema.NonEmptyString.annotate({
    description: "Name of a registered schema or built-in kind.",
    examples: ["factual_memory"]
  }),
  data: JsonObject.annotate({ examples: [{ subject: "Alice", fact: "Alice lives in Seattle" }] }),
  id: Schema.optionalKey(
    Schema.String.annotate({ description: "Only for kinds without uniqueOn: update this record." })
  ),
  tags: Schema.optionalKey(Tags),
  metadata: Schema.optionalKey(Metadata),
  ttl: Schema.optionalKey(DurationText),
  expiresAt: Schema.optionalKey(ExpiresAt)
})
export type DirectMemory = typeof DirectMemory.Type

/** Part of a conversation that is kept: its messages and what is extracted from them, or the latter alone. */
export const Remember = Schema.Literals(["messages", "extracted"])
export type Remember = typeof Remember.Type

const ConversationDate = CalendarDay.annotate({
  description: "The day of the conversation, UTC: what `tomorrow` counts from; default today.",
  examples: ["2026-11-21"]
})

export const Instructions = Schema.NonEmptyString.check(Schema.isMaxLength(Limits.instructionsLengthMax)).annotate({
  description:
    "Extraction by a language model: what to look for and what to leave out, in your words. Rules do not read it.",
  examples: ["Only what matters for planning meals: diets, allergies, tastes. Leave out work."]
})

export const OnDuplicate = Schema.Literals(["return", "store"]).annotate({
  description:
    "When the latest memory of the same agent, subject and kind already has this data: `return` answers it in `existing` and stores nothing, `store` (default) stores a second one."
})

const VectorWait = Schema.Literal("vectors")
const vectorWaitText =
  "`vectors`: answers when the new memories are found by meaning too. Default: a small write waits a moment for its vectors; others are found by words at once, and by meaning soon after."

const ReadingWait = Schema.Literals(["vectors", "extraction"])
/** Work that an answer waits for: one, or several. */
const Wait = Schema.Union([ReadingWait, Schema.NonEmptyArray(ReadingWait)]).annotate({
  description: `${vectorWaitText} \`extraction\`: answers when the conversation is read, however many are read before it. Default: a busy reader is waited for a moment only.`,
  examples: ["extraction", ["vectors", "extraction"]]
})
type Wait = typeof ReadingWait.Type

/** Whether the caller asked to wait for it. */
export const waitsFor = ({ wait }: { readonly wait?: typeof Wait.Type | undefined }, what: Wait): boolean =>
  wait === what || (Array.isArray(wait) && wait.includes(what))

/** Tags of all memories of a request. */
const RequestTags = Tags.annotate({
  description:
    "Of all memories of the request, beside their own: of the messages of a conversation, and of what is extracted from them."
})

const RequestMetadata = Metadata.annotate({
  description:
    "Of all memories of the request, beside their own, which count on equal names: of the messages of a conversation, and of what is extracted from them."
})

/** Body of POST /memories: exactly one of `conversation` and `memories`. */
export const CreateMemories = Schema.Struct({
  agentId: AgentId,
  subjectId: Schema.optionalKey(SubjectId),
  threadId: Schema.optionalKey(ThreadId),
  conversation: Schema.optionalKey(Conversation),
  memories: Schema.optionalKey(
    Schema.NonEmptyArray(DirectMemory).check(Schema.isMaxLength(Limits.memoriesPerRequestMax))
  ),
  schemas: Schema.optionalKey(
    Schema.NonEmptyArray(Schema.NonEmptyString)
      .check(Schema.isMaxLength(Limits.schemasPerAccountMax))
      .annotate({ description: "Extraction: the kinds to look for; default all registered and built-in ones." })
  ),
  force: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Extraction: also from messages that were processed before." })
  ),
  instructions: Schema.optionalKey(Instructions),
  conversationDate: Schema.optionalKey(ConversationDate),
  timeZone: Schema.optionalKey(
    TimeZone.annotate({
      description:
        "Extraction: IANA time zone of messages whose `sentAt` has no offset (`Z`, or a number), and of today where none has a time; default UTC."
    })
  ),
  remember: Schema.optionalKey(
    Remember.annotate({
      description:
        "`messages` (default, unless account or installation say otherwise): every message is a memory too, word for word. `extracted`: only what is extracted from them."
    })
  ),
  tags: Schema.optionalKey(RequestTags),
  metadata: Schema.optionalKey(RequestMetadata),
  onDuplicate: Schema.optionalKey(OnDuplicate),
  wait: Schema.optionalKey(Wait),
  ttl: Schema.optionalKey(DurationText),
  expiresAt: Schema.optionalKey(ExpiresAt)
})
  .annotate({
    examples: [
      {
        agentId: "assistant",
        subjectId: "user-42",
        memories: [{ kind: "factual_memory", data: { subject: "Alice", fact: "Alice lives in Seattle" }, ttl: "30d" }]
      },
      {
        agentId: "assistant",
        subjectId: "user-42",
        threadId: "first-contact",
        conversation: [
          { id: "m1", role: "user", content: "My name is Alice and I live in Seattle." },
          { id: "m2", role: "assistant", content: "Nice to meet you, Alice!" }
        ],
        conversationDate: "2026-11-21"
      }
    ]
  })
  .check(exactlyOneOf("conversation", "memories"))
export type CreateMemories = typeof CreateMemories.Type

/** Body of POST /memories/extract: a conversation that is read and not stored. */
export const ExtractMemories = Schema.Struct({
  conversation: Conversation,
  schemas: CreateMemories.fields.schemas,
  instructions: CreateMemories.fields.instructions,
  conversationDate: CreateMemories.fields.conversationDate,
  timeZone: CreateMemories.fields.timeZone
}).annotate({
  examples: [{ conversation: [{ id: "m1", role: "user", content: "My name is Alice and I live in Seattle." }] }]
})
export type ExtractMemories = typeof ExtractMemories.Type

/** Body of POST /memories/batch/create. */
export const BatchCreate = Schema.Struct({
  agentId: AgentId,
  subjectId: Schema.optionalKey(SubjectId),
  threadId: Schema.optionalKey(ThreadId),
  memories: Schema.NonEmptyArray(DirectMemory).check(Schema.isMaxLength(Limits.memoriesPerRequestMax)),
  tags: Schema.optionalKey(RequestTags),
  metadata: Schema.optionalKey(RequestMetadata),
  onDuplicate: Schema.optionalKey(OnDuplicate),
  wait: Schema.optionalKey(VectorWait.annotate({ description: vectorWaitText })),
  ttl: Schema.optionalKey(DurationText),
  expiresAt: Schema.optionalKey(ExpiresAt)
}).annotate({
  examples: [
    {
      agentId: "assistant",
      memories: [
        { kind: "factual_memory", data: { subject: "Alice", fact: "Alice lives in Seattle" } },
        { kind: "temporal_event", data: { event: "Alice moves house", eventDate: "2027-03-01" } }
      ]
    }
  ]
})

const patchFields = {
  tags: Schema.optionalKey(Tags),
  metadata: Schema.optionalKey(
    Schema.NullOr(Metadata).annotate({ description: "In place of all metadata; null removes it." })
  ),
  expiresAt: Schema.optionalKey(Schema.NullOr(ExpiresAt))
}
const changesSomething = atLeastOneOf("tags", "metadata", "expiresAt")

/** Fields of a memory that PATCH and batch update change in place; unknown fields are refused. */
export const MemoryPatch = Schema.Struct(patchFields)
  .annotate({ examples: [{ tags: ["travel", "booking"], expiresAt: null }] })
  .check(changesSomething)
export type MemoryPatch = typeof MemoryPatch.Type

/** Body of PATCH /memories/{id}: with `data` a new version. */
export const MemoryChange = Schema.Struct({
  data: Schema.optionalKey(
    JsonObject.annotate({
      description:
        "In place of all data. Of a kind with `uniqueOn` a new version with an id of its own; of others in place."
    })
  ),
  ...patchFields
})
  .annotate({
    examples: [{ tags: ["travel"], expiresAt: null }, { data: { subject: "Alice", fact: "Alice lives in Oslo" } }]
  })
  .check(atLeastOneOf("data", "tags", "metadata", "expiresAt"))
export type MemoryChange = typeof MemoryChange.Type

/** Entry of `created` and `updated`. */
export const MemoryEntry = Schema.Struct({
  id: MemoryId,
  kind: Schema.String,
  data: JsonObject,
  metadata: JsonObject.annotate({
    description:
      "What was given as `metadata`, the data laid flat, and system fields; on equal names the data counts before what was given, and system fields before both."
  })
})
export type MemoryEntry = typeof MemoryEntry.Type

const contextFields = {
  when: Schema.optionalKey(Schema.String.annotate({ description: "ISO 8601 event time." })),
  mentions: Schema.Array(Mention),
  tags: Schema.Array(Schema.String),
  metadata: Schema.optionalKey(JsonObject.annotate({ description: "As it was given, if it was." })),
  isLatest: Schema.Boolean,
  correctedBy: Schema.optionalKey(
    MemoryId.annotate({
      description: "Of a message in a search: the memory that was taken from it and has been corrected since."
    })
  )
}

/** Why something that was found in a conversation was not stored. */
const rejectionReasons = [
  "low_confidence",
  "unsupported",
  "malformed",
  "instruction",
  "question",
  "hypothetical",
  "unknown_kind",
  "schema_validation_failed",
  "unique_field_missing",
  "duplicate",
  "near_duplicate",
  "too_many"
] as const

/** Entry of `rejected`: what extraction found and did not store. */
export const RejectedCandidate = Schema.Struct({
  kind: Schema.optionalKey(Schema.String),
  data: Schema.optionalKey(JsonObject),
  reason: Schema.Literals(rejectionReasons),
  message: Schema.String,
  sourceMessageIds: Schema.Array(Schema.String),
  duplicateOf: Schema.optionalKey(MemoryId)
})
export type RejectedCandidate = typeof RejectedCandidate.Type

/** Body of POST /memories/lookup: what identifies a memory of a kind with `uniqueOn`. */
export const LookupMemory = Schema.Struct({
  agentId: AgentId,
  subjectId: Schema.optionalKey(SubjectId),
  kind: Schema.NonEmptyString.annotate({ description: "Name of a registered kind with `uniqueOn`." }),
  key: JsonObject.annotate({
    description: "The value of each field of `uniqueOn`, as it was stored; others are ignored."
  })
}).annotate({ examples: [{ agentId: "assistant", kind: "contact", key: { email: "ann@example.com" } }] })
export type LookupMemory = typeof LookupMemory.Type

/** Answer of POST /memories/extract. */
export const ExtractedMemories = Schema.Struct({
  found: Schema.Array(
    Schema.Struct({
      kind: Schema.String,
      data: JsonObject,
      confidence: Schema.Finite,
      when: Schema.optionalKey(Schema.String.annotate({ description: "ISO 8601 event time." })),
      mentions: Schema.Array(Mention),
      sourceMessageIds: Schema.Array(Schema.String)
    })
  ).annotate({ description: "What would be stored, if no memory said it already." }),
  rejected: Schema.Array(RejectedCandidate)
})
export type ExtractedMemories = typeof ExtractedMemories.Type

/** Answer of POST /memories, apart from `success`: `rejected` and what follows for conversations only. */
export const CreatedMemories = Schema.Struct({
  created: Schema.Array(MemoryEntry),
  updated: Schema.Array(MemoryEntry),
  existing: Schema.optionalKey(
    Schema.Array(MemoryEntry).annotate({
      description:
        "With `onDuplicate: return`: stored memories that already said what the request says, each once. Of a conversation whose messages were all read before: what was extracted from them."
    })
  ),
  rejected: Schema.optionalKey(Schema.Array(RejectedCandidate)),
  skippedMessages: Schema.optionalKey(
    Schema.Int.annotate({ description: "Messages that were processed before and not looked at again." })
  ),
  messages: Schema.optionalKey(
    Schema.Struct({ stored: Schema.Int, known: Schema.Int }).annotate({
      description: "Messages that became memories now, and those that were before."
    })
  ),
  leftOut: Schema.optionalKey(
    Schema.Array(LeftOutMessage).annotate({ description: "Messages with nothing to store, and why." })
  ),
  skippedParts: Schema.optionalKey(
    Schema.Int.annotate({ description: "Images, files and other parts without text: named as `[image]`, not kept." })
  ),
  extraction: Schema.optionalKey(
    Schema.Literals(["done", "partial", "pending"]).annotate({
      description:
        "`pending`: the messages are stored, and are read later. `partial`: rules have read them, the language model could not."
    })
  ),
  extractionProblem: Schema.optionalKey(
    Schema.Struct({ code: Schema.String, message: Schema.String }).annotate({
      description: "Of `partial`: why, and whether the service tries again.",
      examples: [{ code: "model_timeout", message: "the language model did not answer in time; it is asked again" }]
    })
  )
})
export type ExtractionProblem = NonNullable<CreatedMemories["extractionProblem"]>
export type CreatedMemories = typeof CreatedMemories.Type

/** A memory as returned by GET and PATCH. */
export const MemoryView = Schema.Struct({
  id: MemoryId,
  kind: Schema.String,
  data: JsonObject,
  metadata: JsonObject,
  context: Schema.Struct(contextFields),
  source: Schema.Literal("own"),
  feedback: Schema.optionalKey(
    FeedbackList.annotate({ description: "What callers said of its use, oldest first, if they did." })
  ),
  version: Schema.String.annotate({ description: "Changes with each change; in quotes the `ETag`, for `If-Match`." })
})
export type MemoryView = typeof MemoryView.Type

/** A version of a memory, and how it came about. */
export const HistoryEntry = Schema.Struct({
  memory: MemoryView,
  how: Schema.Literals(["stored", "extracted", "corrected", "restored"]).annotate({
    description:
      "`stored`: by a call that stores; `extracted`: from messages, `metadata.sourceMessageIds` names them; `corrected`: by new data, of some kinds in place; `restored`: from an older version."
  }),
  at: Schema.Int.annotate({ description: "Milliseconds: when that was." }),
  by: Schema.optionalKey(
    Schema.String.annotate({ description: "Key or wallet that corrected or restored it, as far as it is known." })
  ),
  restoredFrom: Schema.optionalKey(MemoryId)
})
export type HistoryEntry = typeof HistoryEntry.Type

/** Answer of GET /memories/{id}/history, apart from `success`. */
export const MemoryHistory = Schema.Struct({
  versions: Schema.Array(HistoryEntry).annotate({ description: "Newest first." }),
  total: Schema.Int.annotate({ description: "How many versions there are." })
})
export type MemoryHistory = typeof MemoryHistory.Type

/** One term of a ranking score. */
const ExplainedTerm = Schema.Struct({
  term: Schema.Literals([
    "words",
    "meaning",
    "around",
    "states",
    "aside",
    "speaks",
    "fits",
    "recent",
    "inRange",
    "nearRange"
  ]),
  value: Schema.Finite,
  weight: Schema.Finite,
  adds: Schema.Finite.annotate({ description: "Value times weight." }),
  meaning: Schema.String.annotate({ description: "What the term says, in words." })
})

const HitExplanation = Schema.Struct({
  lexical: Schema.Finite.annotate({ description: "Share of the greatest possible score by words, 0 to 1." }),
  dense: Schema.NullOr(Schema.Finite).annotate({ description: "Cosine of the embeddings; null: no vector." }),
  fused: Schema.Finite.annotate({ description: "As `quality.relevance`." }),
  rank: Schema.Int,
  score: Schema.Finite.annotate({
    description: "What hits are ordered by: log-odds of the sum of the terms, comparable between kinds."
  }),
  terms: Schema.Array(ExplainedTerm).annotate({ description: "What the score is the sum of." }),
  moved: Schema.optionalKey(
    Schema.String.annotate({ description: "Why the hit stands higher or lower than its score, in words." })
  )
})
type HitExplanation = typeof HitExplanation.Type

/** A turn next to a message that was found. */
export const TurnAround = Schema.Struct({
  id: MemoryId,
  offset: Schema.Int.annotate({
    description: "Its place among the turns that the caller sees: -1 just before the message, 1 just after it."
  }),
  role: Schema.String,
  name: Schema.optionalKey(Schema.String.annotate({ description: "Who wrote it, if the conversation says so." })),
  when: Schema.optionalKey(Schema.String.annotate({ description: "ISO 8601: when it was said." })),
  text: Schema.String.annotate({
    description: "Of a turn of more than 800 characters its beginning, with `…` at its end."
  }),
  contentHash: Schema.optionalKey(
    Schema.String.annotate({ description: "Of a shared turn, as in the attestation of its source." })
  )
})
export type TurnAround = typeof TurnAround.Type

/** A memory as returned by search. */
export const SearchHit = Schema.Struct({
  id: MemoryId,
  kind: Schema.String,
  quality: Schema.Struct({ relevance: Schema.Finite, confidence: Schema.Finite }),
  data: JsonObject,
  context: Schema.Struct({
    ...contextFields,
    around: Schema.optionalKey(
      Schema.Array(TurnAround).annotate({
        description: "With `context` in the request, of a message: the turns next to it, oldest first."
      })
    )
  }),
  source: Schema.Literals(["own", "shared"]).annotate({ description: "`own`, or `shared` with `grantor` beside it." }),
  grantor: Schema.optionalKey(Schema.String.annotate({ description: "Whose memory it is, spelled as in the grant." })),
  metadata: JsonObject.annotate({
    description:
      "Given metadata, the data laid flat, and system fields; on equal names system fields win, then data. Of a shared memory these are `source`, `contentHash` and `agentId` alone."
  }),
  passage: Schema.optionalKey(
    Schema.Struct({ start: Schema.Int, end: Schema.Int }).annotate({
      description:
        "Of a message of more than 800 characters: the part of `data.text` that was found, in UTF-16 units, `end` exclusive."
    })
  ),
  explain: Schema.optionalKey(HitExplanation)
})
export type SearchHit = typeof SearchHit.Type

/** Line of an export (JSONL): the complete record, so that ids and times survive a move. */
export const ExportedMemory = Schema.Struct({
  id: WrittenMemoryId,
  agentId: AgentId,
  subjectId: Schema.optionalKey(SubjectId),
  threadId: Schema.optionalKey(ThreadId),
  kind: Schema.NonEmptyString,
  data: JsonObject,
  tags: Schema.Array(StoredTag).check(Schema.isMaxLength(Limits.tagsPerMemoryMax)),
  metadata: Schema.optionalKey(JsonObject),
  mentions: Schema.Array(Mention),
  when: Schema.optionalKey(Schema.String),
  confidence: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  createdAt: RecordedAt,
  updatedAt: RecordedAt,
  changedAt: Schema.optionalKey(RecordedAt),
  revision: Schema.optionalKey(Revision),
  feedback: Schema.optionalKey(FeedbackList),
  expiresAt: Schema.optionalKey(RecordedExpiry),
  uniqueKey: Schema.optionalKey(Schema.String),
  origin: MemoryOrigin,
  position: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  sources: Schema.optionalKey(Schema.Array(MessageSource)),
  neighbours: Schema.optionalKey(Schema.Array(Schema.String))
})
export type ExportedMemory = typeof ExportedMemory.Type

/** Body of POST /memories/batch/update. */
export const BatchUpdate = Schema.Struct({
  ids: Schema.NonEmptyArray(Schema.String).check(Schema.isMaxLength(Limits.batchIdsMax)),
  update: MemoryPatch
}).annotate({ examples: [{ ids: ["mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"], update: { tags: ["archived"] } }] })
