/**
 * What an agent is handed for its prompt (contract: Context): the request, the text or its sections, and what is known of
 * a subject. Sections stand in an order in which what changes seldom comes first, so that a prompt's prefix stays equal.
 */
import { Schema } from "effect"
import { sourceAttestations, unusableGrants } from "./SearchResult.ts"
import { Conversation } from "./Conversation.ts"
import { Moment, TimeZone } from "./GivenTimes.ts"
import { AgentId, MemoryId, PageCursor, SubjectId, ThreadId } from "./Ids.ts"
import { Limits } from "./Limits.ts"
import { QueryText } from "./BodyRules.ts"
import { AsOf, AsOfText, Scope } from "./Search.ts"
import { WhereFilter } from "./Where.ts"

/** In the order in which they stand. */
export const contextSections = ["profile", "instructions", "preferences", "changes", "plans", "found"] as const
export type ContextSectionName = (typeof contextSections)[number]
const SectionName = Schema.Literals(contextSections)

/** Headings under which facts of a subject stand, in this order. */
export const profileTopics = ["identity", "home", "work", "people", "health", "interests", "other"] as const
export type ProfileTopic = (typeof profileTopics)[number]
const Topic = Schema.Literals(profileTopics)

const notBoth = Schema.makeFilter(
  ({ messages, query }: { readonly query?: unknown; readonly messages?: unknown }) =>
    query !== undefined && messages !== undefined
      ? { path: ["messages"], issue: "give either `query` or `messages`, not both" }
      : undefined,
  { expected: "`query`, `messages` or neither" }
)

/** Body of POST /context. */
export const ContextRequest = Schema.Struct({
  agentId: Schema.optionalKey(AgentId),
  subjectId: Schema.optionalKey(SubjectId),
  threadId: Schema.optionalKey(
    ThreadId.annotate({ description: "Only messages of this conversation are found; the profile is the whole one." })
  ),
  query: Schema.optionalKey(QueryText),
  messages: Schema.optionalKey(
    Conversation.annotate({
      description:
        "In place of `query`: the turns that the prompt ends with. The last of the user is what is searched for, and what stands here is not handed over again."
    })
  ),
  maxTokens: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: Limits.contextTokensMin, maximum: Limits.contextTokensMax })).annotate(
      { description: "Most tokens of the text; default 1,500." }
    )
  ),
  tokenizer: Schema.optionalKey(
    Schema.Literals(["o200k_base", "other"]).annotate({
      description:
        "Whose tokens are counted: `o200k_base` (default), the vocabulary of OpenAI's models since GPT-4o, exactly; `other`: a third more for each text, for models with another vocabulary."
    })
  ),
  sections: Schema.optionalKey(
    Schema.NonEmptyArray(SectionName).annotate({ description: "Only these; default all. Their order is fixed." })
  ),
  format: Schema.optionalKey(
    Schema.Literals(["text", "json"]).annotate({ description: "`text` (default): to be pasted; `json`: its sections." })
  ),
  where: Schema.optionalKey(WhereFilter),
  scope: Schema.optionalKey(
    Scope.annotate({
      description:
        "Whose memories are searched: `own`, `shared` or `all` (default). All other sections are own memories."
    })
  ),
  asOf: Schema.optionalKey(AsOf),
  now: Schema.optionalKey(
    Moment.annotate({
      description:
        "What `yesterday` in the query, lately and to come count from; default: `asOf`, else when the request arrives."
    })
  ),
  timeZone: Schema.optionalKey(
    TimeZone.annotate({ description: "IANA time zone of the days in the text; default UTC." })
  )
})
  .annotate({
    examples: [
      { agentId: "assistant", subjectId: "user-42", query: "Where does Alice live?", timeZone: "America/Los_Angeles" },
      {
        agentId: "assistant",
        subjectId: "user-42",
        messages: [{ role: "user", content: "Any idea for dinner tonight?" }],
        maxTokens: 800,
        format: "json"
      }
    ]
  })
  .check(notBoth)
export type ContextRequest = typeof ContextRequest.Type

const Since = Schema.String.annotate({
  description: "The day since when this is known, in the time zone: of the last message that told it, else of storing."
})

/** One line of a section. */
export const ContextItem = Schema.Struct({
  id: MemoryId,
  kind: Schema.String,
  text: Schema.String,
  topic: Schema.optionalKey(Topic),
  since: Schema.optionalKey(Since),
  on: Schema.optionalKey(Schema.String.annotate({ description: "Of a plan: its day." })),
  before: Schema.optionalKey(Schema.String.annotate({ description: "Of a change: what held before." })),
  speaker: Schema.optionalKey(Schema.String.annotate({ description: "Of a message." })),
  threadId: Schema.optionalKey(ThreadId),
  saidOn: Schema.optionalKey(Schema.String.annotate({ description: "Of a message: its day in the time zone." })),
  dates: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({ description: "Of a message: what its `tomorrow` and the like mean." })
  ),
  isAround: Schema.optionalKey(
    Schema.Literal(true).annotate({ description: "A turn next to a message that was found." })
  ),
  grantor: Schema.optionalKey(Schema.String.annotate({ description: "Whose memory it is, of a shared one." }))
})
export type ContextItem = typeof ContextItem.Type

const LeftOut = Schema.Struct({
  facts: Schema.Int,
  messages: Schema.Int
}).annotate({ description: "What there was no room for." })

/** Answer of POST /context, apart from `success`. */
export const ContextAnswer = Schema.Struct({
  text: Schema.optionalKey(Schema.String.annotate({ description: "Format `text`." })),
  sources: Schema.optionalKey(
    Schema.Array(MemoryId).annotate({
      description: "Format `text`: the memory that `[1]` names, that of `[2]`, and so on."
    })
  ),
  sections: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        name: SectionName,
        tokens: Schema.Int.annotate({ description: "Of its lines in the text." }),
        items: Schema.Array(ContextItem)
      })
    ).annotate({ description: "Format `json`." })
  ),
  tokens: Schema.Int.annotate({ description: "Of the text, at most `maxTokens`." }),
  tokenizer: Schema.Literals(["o200k_base", "other"]),
  leftOut: LeftOut,
  sourceAttestations,
  unusableGrants
})
export type ContextAnswer = typeof ContextAnswer.Type

const { agentId, maxTokens, now, subjectId, timeZone, tokenizer } = ContextRequest.fields

/** Body of POST /chat. */
export const ChatRequest = Schema.Struct({
  agentId,
  subjectId,
  messages: Conversation.annotate({
    description: "The turns so far, of `user` and `assistant`; the last is the user's, which is replied to."
  }),
  maxTokens,
  tokenizer,
  now,
  timeZone
}).annotate({
  examples: [
    {
      agentId: "assistant",
      subjectId: "user-42",
      messages: [{ role: "user", content: "Any idea for dinner tonight?" }]
    }
  ]
})
export type ChatRequest = typeof ChatRequest.Type

/** Answer of POST /chat, apart from `success`. */
export const ChatAnswer = Schema.Struct({
  reply: Schema.String,
  model: Schema.String.annotate({ description: "Name of the language model, as configured." }),
  modelCredits: Schema.Finite.annotate({ description: "Credits for its tokens, where they have a price." }),
  context: ContextAnswer.annotate({
    description: "What the model was handed, as `POST /context` gives it for these messages, of own memories."
  })
})
export type ChatAnswer = typeof ChatAnswer.Type

/** Query parameters of GET /subjects. */
export const SubjectParameters = {
  agentId: Schema.optionalKey(AgentId),
  contains: Schema.optionalKey(
    Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.identifierLengthMax)).annotate({
      description: "Only subjects with this text in their id, in upper or lower case."
    })
  ),
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.listPageMax })).annotate({
      description: "Page size, 1 to 100; default 50."
    })
  ),
  conflicts: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "True: says of each subject how many conflicts its profile has." })
  ),
  cursor: Schema.optionalKey(PageCursor)
}

/** Answer of GET /subjects, apart from `success`. */
export const SubjectPage = Schema.Struct({
  subjects: Schema.Array(
    Schema.Struct({
      subjectId: SubjectId,
      names: Schema.Array(Schema.String).annotate({
        description: "What they are called, as it was told first, then aliases."
      }),
      memories: Schema.Int,
      newestAt: Schema.Int.annotate({ description: "Milliseconds: when the newest of these memories was stored." }),
      conflicts: Schema.optionalKey(Schema.Int.annotate({ description: "Where they are asked for." }))
    })
  ),
  nextCursor: Schema.optionalKey(Schema.String)
})
export type SubjectPage = typeof SubjectPage.Type

/** Query parameters of GET /subjects/{id}/profile. */
export const ProfileParameters = {
  agentId: Schema.optionalKey(AgentId),
  asOf: Schema.optionalKey(AsOfText),
  timeZone: ContextRequest.fields.timeZone
}

const FactVersion = Schema.Struct({ id: MemoryId, text: Schema.String, since: Since })

/** Answer of GET /subjects/{id}/profile, apart from `success`. */
export const SubjectProfile = Schema.Struct({
  subjectId: SubjectId,
  names: Schema.Array(Schema.String),
  people: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      aliases: Schema.Array(Schema.String),
      relations: Schema.Array(
        Schema.Struct({
          relation: Schema.String,
          of: Schema.optionalKey(Schema.String.annotate({ description: "To whom, if not to the subject." }))
        })
      )
    })
  ).annotate({ description: "Whom the memories name, and what they are to whom." }),
  topics: Schema.Array(
    Schema.Struct({
      topic: Schema.Literals([...profileTopics, "instructions", "preferences", "events"]),
      facts: Schema.Array(
        Schema.Struct({
          id: MemoryId,
          agentId: AgentId,
          kind: Schema.String,
          text: Schema.String,
          about: Schema.optionalKey(
            Schema.String.annotate({ description: "Whom or what it is about, if not the subject." })
          ),
          since: Since,
          on: Schema.optionalKey(Schema.String.annotate({ description: "Of an event: its day." })),
          sourceMessageIds: Schema.Array(Schema.String),
          versions: Schema.Array(FactVersion).annotate({ description: "What held before, newest first." })
        })
      )
    })
  ),
  conflicts: Schema.Array(
    Schema.Struct({
      attribute: Schema.String.annotate({
        description: "What cannot have all of these values: `home`, `workplace`, or as the newest fact calls it.",
        examples: ["home", "favourite colour"]
      }),
      about: Schema.optionalKey(Schema.String.annotate({ description: "As of its facts." })),
      facts: Schema.Array(MemoryId).annotate({ description: "Of the facts in `topics`, newest first; at least two." })
    })
  ).annotate({
    description:
      "Facts that contradict each other: several current values of one person for an attribute that has one at a time, or a liking and a dislike of the same thing. Told by English words."
  }),
  total: Schema.Int.annotate({ description: "Memories of the subject that are no messages." }),
  isComplete: Schema.Boolean.annotate({
    description: `False: there are more than ${Limits.profileMemoriesMax}; these are the newest.`
  })
})
export type SubjectProfile = typeof SubjectProfile.Type
