/**
 * Parameters of search and listing (contract: Search), as query parameters and as bodies of the batch endpoints. An absent
 * field never restricts.
 */
import { Option, Schema } from "effect"
import { atLeastOneOf, exactlyOneOf, QueryText } from "./BodyRules.ts"
import { FeedbackFilter } from "./Feedback.ts"
import { IsoInstant, Moment, SaidAt, SaidAtText, TimeZone } from "./GivenTimes.ts"
import { AgentId, PageCursor, SubjectId, ThreadId } from "./Ids.ts"
import { Limits } from "./Limits.ts"
import type { JsonObject } from "./Memory.ts"
import { WhereFilter, WhereFilterText } from "./Where.ts"

/** Conditions under which a memory is seen; absent fields do not restrict. */
export interface MemoryFilter {
  readonly agentId?: string | undefined
  readonly subjectId?: string | undefined
  readonly threadId?: string | undefined
  readonly kind?: string | undefined
  /** A memory matches when it has any of them. */
  readonly tags?: ReadonlyArray<string> | undefined
  /** Inclusive bounds on `context.when`, milliseconds; memories without an event time fail them. */
  readonly eventFrom?: number | undefined
  readonly eventTo?: number | undefined
  readonly includeSuperseded?: boolean | undefined
  /** Milliseconds: what was stored then, and is still there; unless `includeSuperseded` what was latest then. */
  readonly asOf?: number | undefined
  /** Messages of conversations, everything else, or all (default). */
  readonly include?: typeof Include.Type | undefined
  /** Each of these fields of the data has the value, or is a list that has it. */
  readonly data?: DataFilter | undefined
  /** Conditions on data and metadata: what `WhereFilter` lets through. */
  readonly where?: JsonObject | undefined
  /** Only memories with feedback, or with such feedback. */
  readonly feedback?: FeedbackFilter | undefined
  /** Only memories without a subject; an absent `subjectId` alone does not restrict. */
  readonly hasNoSubject?: boolean | undefined
  /** Only memories without a thread. */
  readonly hasNoThread?: boolean | undefined
  /** Beside all of the above, at least one of these must let it through: the scopes of grants. */
  readonly anyOf?: ReadonlyArray<MemoryFilter> | undefined
}

/** Values of fields at the top of the data. */
export const DataFilter = Schema.Record(
  Schema.String,
  Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null])
).check(Schema.isMinProperties(1), Schema.isMaxProperties(Limits.dataFieldsMax))
export type DataFilter = typeof DataFilter.Type

const dataFilterIn = Schema.decodeUnknownOption(Schema.fromJsonString(DataFilter))

/** The same in a URL. */
const DataFilterText = Schema.String.check(
  Schema.makeFilter((text: string) => Option.isSome(dataFilterIn(text)), {
    expected: `a JSON object of 1 to ${Limits.dataFieldsMax} fields whose values are texts, numbers, true, false or null`,
    toJsonSchema: () => ({ format: "data-filter" })
  })
).annotate({
  description: "JSON: each of these fields of the data has the value, or is a list that has it.",
  examples: ['{"city":"Oslo"}']
})

/** Filter of a text that `DataFilterText` has let through. */
export const dataFilterOf = (text: string): DataFilter | undefined => Option.getOrUndefined(dataFilterIn(text))

export const Include = Schema.Literals(["messages", "extracted", "all"])
export const Scope = Schema.Literals(["own", "shared", "all"])
export const Recall = Schema.Literals(["fast", "strict"])
export type Recall = typeof Recall.Type
/** The language model, beside what the service does by itself. */
const Rerank = Schema.Literal("model")
export type Rerank = typeof Rerank.Type

export const SearchMode = Schema.Literals(["llm", "answer", "map", "raw"])

const ResultLimit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.searchResultsMax })).annotate({
  description: "Maximum results, 1 to 100; default 10."
})
const TurnsAround = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Limits.turnsAroundMax })).annotate({
  description: "Turns next to each message that was found, so many on each side, 0 to 5; default 0."
})
const KindFilter = Schema.NonEmptyString.annotate({ description: "Memory kind; an unknown one gives no hits." })

/** The caller's clock: what "yesterday" and "last week" in a query mean. */
const clockParameters = {
  now: Schema.optionalKey(
    Moment.annotate({
      description:
        "The time that `yesterday` or `last week` in the query count from; default: `asOf`, else when the request arrives."
    })
  ),
  timeZone: Schema.optionalKey(
    TimeZone.annotate({
      description:
        "IANA time zone of the days that the query names, and of messages whose time has no offset of its own; default UTC."
    })
  )
}

const asOfText =
  "Point in time, ISO 8601 with its offset, or milliseconds since the epoch: what was stored and latest then, whenever it was said, of what is still there. Default: now."
export const AsOf = SaidAt.annotate({ description: asOfText, examples: ["2026-11-21T09:30:00Z", 1_795_253_400_000] })
/** The same in a URL. */
export const AsOfText = SaidAtText.annotate({ description: asOfText, examples: ["2026-11-21T09:30:00Z"] })

const TagsText = Schema.NonEmptyString.annotate({
  description: "Comma-separated; any of them matches.",
  examples: ["travel,booking"]
})

const filterParameters = {
  agentId: Schema.optionalKey(AgentId),
  subjectId: Schema.optionalKey(SubjectId),
  threadId: Schema.optionalKey(ThreadId),
  kind: Schema.optionalKey(KindFilter),
  tags: Schema.optionalKey(TagsText),
  data: Schema.optionalKey(DataFilterText),
  where: Schema.optionalKey(WhereFilterText),
  eventDateFrom: Schema.optionalKey(IsoInstant.annotate({ description: "Lower bound on context.when, inclusive." })),
  eventDateTo: Schema.optionalKey(IsoInstant.annotate({ description: "Upper bound on context.when, inclusive." })),
  includeSuperseded: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Also older versions; default false." })
  ),
  asOf: Schema.optionalKey(AsOfText),
  include: Schema.optionalKey(
    Include.annotate({
      description:
        "`messages`: only messages of conversations, word for word; `extracted`: only what is no message; `all`: both, the default except in mode `map`, whose default is `extracted`."
    })
  )
}

/** Filters as they stand in a URL: tags in one string, bounds of event time in ISO 8601. */
export type FilterRequestParameters = Schema.Struct.Type<typeof filterParameters>

/** The bound of `limit`, which depends on the mode. */
export const searchLimitText = `a whole number from 1 to ${Limits.searchResultsMax}, in mode \`map\` to ${Limits.mapMemoriesMax}`

/** Query parameters of GET /memories/search. */
export const SearchParameters = {
  query: QueryText,
  ...filterParameters,
  limit: Schema.optionalKey(
    Schema.Int.check(
      Schema.isBetween({ minimum: 1, maximum: Limits.mapMemoriesMax }, { expected: searchLimitText })
    ).annotate({
      description:
        "Maximum results, 1 to 100; default 10. Mode `map`: how many memories are on the map, 1 to 5,000; default 50, and at least that."
    })
  ),
  mode: Schema.optionalKey(
    SearchMode.annotate({ description: "`llm` (default), `answer` or `map`; `raw` is an alias of `llm`." })
  ),
  scope: Schema.optionalKey(Scope.annotate({ description: "`own`, `shared` or `all` (default)." })),
  minRelevance: Schema.optionalKey(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })).annotate({
      description: "Leave out hits below this relevance."
    })
  ),
  ...clockParameters,
  newerFirst: Schema.optionalKey(
    Schema.Boolean.annotate({
      description:
        "Among the first ten hits of a question about the present, the later of two statements about the same person and matter goes before the best one, be it a message, a fact or a stored memory; default true."
    })
  ),
  context: Schema.optionalKey(TurnsAround),
  rerank: Schema.optionalKey(
    Rerank.annotate({
      description: `\`model\`: the language model puts the best ${Limits.modelRankedHitsMax} hits in order, which takes seconds and its tokens; \`reranked\` says whether it did. Not in mode \`map\`.`
    })
  ),
  recall: Schema.optionalKey(
    Recall.annotate({
      description:
        "`fast`: by 8-bit vectors, of whose ten best nearly all are those of the full vectors; `strict`: by the full vectors, without a miss; not in mode `map`. Default: the service's setting, `fast` if there is none."
    })
  ),
  explain: Schema.optionalKey(
    Schema.Boolean.annotate({
      description:
        "Add to each hit its scores and what they are the sum of, and to the answer how the vectors of each agent were searched."
    })
  )
}

/** Body of POST /memories/search: the same names, in JSON's types or as a URL has them. */
export const SearchBody = Schema.Struct({
  ...SearchParameters,
  tags: Schema.optionalKey(
    Schema.Union([
      Schema.NonEmptyArray(Schema.NonEmptyString).check(Schema.isMaxLength(Limits.tagFiltersMax)),
      TagsText
    ])
  ),
  data: Schema.optionalKey(Schema.Union([DataFilter, DataFilterText])),
  where: Schema.optionalKey(Schema.Union([WhereFilter, WhereFilterText])),
  asOf: Schema.optionalKey(AsOf)
}).annotate({
  examples: [{ query: "Where does Alice live?", agentId: "assistant", tags: ["travel"], limit: 5 }]
})

const ListOrder = Schema.Literals(["asc", "desc"]).annotate({
  description: "`desc` (default): newest first; `asc`: oldest first."
})

/** Fields by which memories can be counted. */
export const FacetName = Schema.Literals(["agents", "kinds", "subjects", "threads", "tags"])
export type FacetName = typeof FacetName.Type

export const FacetOrder = Schema.Literals(["memories", "newest", "name"])
export type FacetOrder = typeof FacetOrder.Type

/** Query parameters of GET /memories/facets. */
export const FacetParameters = {
  facet: FacetName.annotate({ description: "What to count the memories by.", examples: ["kinds"] }),
  ...filterParameters,
  contains: Schema.optionalKey(
    Schema.NonEmptyString.check(Schema.isMaxCodePoints(Limits.identifierLengthMax)).annotate({
      description: "Only values with this text in them, in upper or lower case."
    })
  ),
  order: Schema.optionalKey(
    FacetOrder.annotate({
      description: "`memories` (default): most memories first; `newest`: newest memory first; `name`: by value."
    })
  ),
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.facetValuesMax })).annotate({
      description: "How many values, 1 to 1,000; default 50."
    })
  )
}

export type FacetRequestParameters = Schema.Struct.Type<typeof FacetParameters>

/** Answer of GET /memories/facets. */
export const FacetValues = Schema.Struct({
  values: Schema.Array(
    Schema.Struct({
      value: Schema.String,
      memories: Schema.Int,
      newestAt: Schema.Int.annotate({ description: "Milliseconds: when the newest of these memories was stored." })
    })
  ),
  total: Schema.Int.annotate({ description: "How many values there are; at least that many if not `isExact`." }),
  isExact: Schema.Boolean.annotate({
    description: `False: an agent has more than ${Limits.facetValuesMax} values, and only its first ones were counted.`
  })
})

/** Query parameters of GET /memories. */
export const ListParameters = {
  ...filterParameters,
  feedback: Schema.optionalKey(
    FeedbackFilter.annotate({
      description: "Only memories with feedback: `given`, or with some that says `useful` or `not_useful`."
    })
  ),
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.listPageMax })).annotate({
      description: "Page size, 1 to 100; default 50."
    })
  ),
  order: Schema.optionalKey(ListOrder),
  skip: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Limits.listSkipMax })).annotate({
      description: "Leaves out as many first ones, behind the cursor if there is one; at most 10,000."
    })
  ),
  cursor: Schema.optionalKey(PageCursor)
}

/** Bodies are passed on as they are: a name that `MemoryFilter` does not have would restrict nothing. */
const bodyFilters = {
  agentId: Schema.optionalKey(AgentId),
  subjectId: Schema.optionalKey(SubjectId),
  threadId: Schema.optionalKey(ThreadId),
  kind: Schema.optionalKey(KindFilter),
  tags: Schema.optionalKey(Schema.Array(Schema.NonEmptyString).check(Schema.isMaxLength(Limits.tagFiltersMax))),
  where: Schema.optionalKey(WhereFilter)
} satisfies Partial<Record<keyof MemoryFilter, Schema.Top>>

/** Body of POST /memories/batch/search. */
export const BatchSearch = Schema.Struct({
  queries: Schema.NonEmptyArray(
    Schema.Struct({
      query: QueryText,
      filters: Schema.optionalKey(
        Schema.Struct({
          ...bodyFilters,
          includeSuperseded: Schema.optionalKey(Schema.Boolean),
          include: Schema.optionalKey(Include)
        })
      ),
      limit: Schema.optionalKey(ResultLimit),
      context: Schema.optionalKey(TurnsAround)
    })
  ).check(Schema.isMaxLength(Limits.batchQueriesMax)),
  scope: Schema.optionalKey(Scope),
  recall: Schema.optionalKey(Recall),
  asOf: Schema.optionalKey(AsOf),
  ...clockParameters
}).annotate({
  examples: [
    {
      queries: [
        { query: "Where does Alice live?", filters: { agentId: "assistant", kind: "factual_memory" }, limit: 5 },
        { query: "upcoming trips", filters: { tags: ["travel"] } }
      ],
      scope: "own"
    }
  ]
})

/** Filters of a batch delete: all of them restrict, at least one must be given. */
export const DeleteFilters = Schema.Struct(bodyFilters).check(atLeastOneOf(...Object.keys(bodyFilters)))

/** Which versions of a memory go: a superseded one is the latest again when only the newer ones are gone. */
export const RemovedVersions = Schema.Literals(["one", "all"]).annotate({
  description:
    "`one` (default): only the versions that are named; an older version is the latest again and stands in `revived`. `all`: the memories with all their versions."
})

/** Body of POST /memories/batch/delete: `ids` or `filters`, never both. */
export const BatchDelete = Schema.Struct({
  ids: Schema.optionalKey(Schema.NonEmptyArray(Schema.String).check(Schema.isMaxLength(Limits.batchIdsMax))),
  filters: Schema.optionalKey(DeleteFilters),
  dryRun: Schema.optionalKey(Schema.Boolean.annotate({ description: "Only count; delete nothing." })),
  versions: Schema.optionalKey(RemovedVersions)
})
  .annotate({
    examples: [
      { ids: ["mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] },
      { filters: { agentId: "assistant", subjectId: "user-42" }, dryRun: true }
    ]
  })
  .check(exactlyOneOf("ids", "filters"))

/** Answer of POST /memories/batch/delete, apart from `success`. */
export const DeletedMemories = Schema.Struct({
  deleted: Schema.Int,
  revived: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({ description: "Ids of older versions that are the latest again." })
  ),
  dryRun: Schema.optionalKey(Schema.Literal(true).annotate({ description: "They were counted, and are still there." }))
})
export type DeletedMemories = typeof DeletedMemories.Type

/** Answer of DELETE /memories/{id}, apart from `success`. */
export const RemovedMemory = Schema.Struct({
  deleted: Schema.optionalKey(
    Schema.Int.annotate({ description: "With `versions=all`: how many versions there were." })
  ),
  revived: Schema.optionalKey(
    Schema.String.annotate({ description: "Id of the older version that is the latest again." })
  )
})
export type RemovedMemory = typeof RemovedMemory.Type
