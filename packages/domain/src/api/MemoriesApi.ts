/**
 * Endpoints of memories (contract: Memories, Conversations, Search, Answers and maps). Those with a fixed name beside
 * `/memories/:id` are no ids of memories.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { InvalidRequest, NotFound, PreconditionFailed } from "../Errors.ts"
import { GivenFeedback } from "../Feedback.ts"
import {
  BatchCreate,
  BatchUpdate,
  CreatedMemories,
  CreateMemories,
  ExtractedMemories,
  ExtractMemories,
  LookupMemory,
  MemoryChange,
  MemoryHistory,
  MemoryView,
  SearchHit
} from "../Memory.ts"
import { Limits } from "../Limits.ts"
import { Prices } from "../Plans.ts"
import {
  BatchDelete,
  BatchSearch,
  DeletedMemories,
  FacetParameters,
  FacetValues,
  ListParameters,
  RemovedMemory,
  RemovedVersions,
  SearchBody,
  SearchParameters
} from "../Search.ts"
import {
  FoundMemories,
  GroundedAnswer,
  SearchedAt,
  sourceAttestations,
  TopicMap,
  unusableGrants
} from "../SearchResult.ts"
import { ChangeHeaders, GrantHeaders, WriteHeaders, chargeErrors, chargedGroup, operation } from "./Middleware.ts"

const success = Schema.Literal(true)
const id = Schema.String.annotate({ description: "Memory identifier.", examples: ["mem_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] })
const Created = Schema.Struct({ success, ...CreatedMemories.fields })
const One = Schema.Struct({ success, memory: MemoryView })
/** From the most to the least specific shape: an answer also has memories. */
const Searched = Schema.Union([
  Schema.Struct({ success, ...GroundedAnswer.fields }),
  Schema.Struct({ success, ...TopicMap.fields }),
  Schema.Struct({ success, ...FoundMemories.fields })
])

const writeErrors = [InvalidRequest, NotFound, ...chargeErrors] as const
const changeErrors = [...writeErrors, PreconditionFailed] as const
const readErrors = [InvalidRequest, NotFound, ...chargeErrors] as const

/** Unknown fields are refused: no caller believes that something else was changed, or that the search was narrowed. */
const strictBody = { onExcessProperty: "error", reportInput: true } as const

export class MemoriesApi extends chargedGroup(
  HttpApiGroup.make("memories").add(
    HttpApiEndpoint.post("create", "/memories", {
      headers: WriteHeaders,
      payload: CreateMemories,
      success: Created,
      error: writeErrors
    }).annotateMerge(
      operation("Create memories", {
        description:
          "Stores direct memories, all or none, or extracts memories from a conversation: messages that were processed before are skipped, what was found and not stored stands in `rejected` with its reason. A kind with uniqueOn supersedes the older version.",
        price: Prices.createMemories
      })
    ),
    HttpApiEndpoint.get("list", "/memories", {
      query: ListParameters,
      success: Schema.Struct({
        success,
        memories: Schema.Array(MemoryView),
        nextCursor: Schema.optionalKey(Schema.String),
        total: Schema.Int
      }),
      error: readErrors
    }).annotateMerge(
      operation("List memories", {
        description: "In pages, newest first unless `order` says otherwise.",
        price: Prices.listMemories
      })
    ),
    HttpApiEndpoint.get("facets", "/memories/facets", {
      query: FacetParameters,
      success: Schema.Struct({ success, ...FacetValues.fields }),
      error: readErrors
    }).annotateMerge(
      operation("Count memories by agent, kind, subject, thread or tag", {
        description: "The values of one facet among the memories that the filters let through.",
        price: Prices.facets
      })
    ),
    HttpApiEndpoint.get("search", "/memories/search", {
      query: SearchParameters,
      headers: GrantHeaders,
      success: Searched,
      error: readErrors
    }).annotateMerge(
      operation("Search memories", {
        description:
          "By meaning and by words, within the filters. Mode `llm`: memories, sorted by relevance. Mode `answer`: a short answer made of them, with citations. Mode `map`: their topics, as Markdown and as clusters with positions.",
        price: Prices.searchMemories
      })
    ),
    HttpApiEndpoint.post("searchByBody", "/memories/search", {
      headers: GrantHeaders,
      payload: SearchBody,
      success: Searched,
      error: readErrors
    })
      .annotateMerge(
        operation("Search memories, with the parameters in a body", {
          description:
            "As `GET /memories/search`, for queries that are too long for a URL, or that no log of a proxy should have. Changes nothing, so it may be repeated.",
          price: Prices.searchMemories,
          isRead: true,
          knownAs: "search"
        })
      )
      .annotate(HttpApi.PayloadParseOptions, strictBody),
    HttpApiEndpoint.get("get", "/memories/:id", { params: { id }, success: One, error: readErrors }).annotateMerge(
      operation("Get a memory", { price: Prices.getMemory })
    ),
    HttpApiEndpoint.get("history", "/memories/:id/history", {
      params: { id },
      query: {
        limit: Schema.optionalKey(
          Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Limits.historyVersionsMax })).annotate({
            description: "At most so many versions, 1 to 100; default 50."
          })
        )
      },
      success: Schema.Struct({ success, ...MemoryHistory.fields }),
      error: readErrors
    }).annotateMerge(
      operation("List the versions of a memory", {
        description: "Every version that is there, newest first, and how each came about.",
        price: Prices.history
      })
    ),
    HttpApiEndpoint.post("restore", "/memories/:id/restore", {
      params: { id },
      headers: ChangeHeaders,
      success: One,
      error: changeErrors
    }).annotateMerge(
      operation("Make an older version the latest one", {
        description:
          "As a new version with its data, tags, metadata and expiry, which the answer is. Of the latest version it changes nothing and costs nothing.",
        price: Prices.restore
      })
    ),
    HttpApiEndpoint.post("feedback", "/memories/:id/feedback", {
      params: { id },
      headers: WriteHeaders,
      payload: GivenFeedback,
      success: One,
      error: writeErrors
    })
      .annotateMerge(
        operation("Say whether a memory was of use", {
          description:
            "Is kept with the memory, one for each query, and shown with it; `feedback` of a list finds such memories. It moves nothing in searches and leaves the `ETag` as it is.",
          price: Prices.feedback
        })
      )
      .annotate(HttpApi.PayloadParseOptions, strictBody),
    HttpApiEndpoint.patch("update", "/memories/:id", {
      params: { id },
      headers: ChangeHeaders,
      payload: MemoryChange,
      success: One,
      error: changeErrors
    })
      .annotateMerge(
        operation("Change data, tags or expiry", {
          description:
            "`data` takes the place of all data, validated; of a kind with `uniqueOn` as a new version, which the answer is. With `data` it costs what storing does. `If-Match` with the `ETag` of a read changes nothing else.",
          price: Prices.updateMemory
        })
      )
      .annotate(HttpApi.PayloadParseOptions, strictBody),
    HttpApiEndpoint.delete("delete", "/memories/:id", {
      params: { id },
      query: { versions: Schema.optionalKey(RemovedVersions) },
      headers: ChangeHeaders,
      success: Schema.Struct({ success, ...RemovedMemory.fields }),
      error: changeErrors
    }).annotateMerge(
      operation("Delete a memory", {
        description:
          "Removes the row, its full-text entry and its vector. To forget a memory of a kind with uniqueOn, remove all its versions.",
        price: Prices.deleteMemory
      })
    ),
    HttpApiEndpoint.post("extract", "/memories/extract", {
      payload: ExtractMemories,
      success: Schema.Struct({ success, ...ExtractedMemories.fields }),
      error: writeErrors
    }).annotateMerge(
      operation("Try what would be extracted from a conversation", {
        description:
          "Reads the messages as the beginning of a conversation, with the reader that the service has, and stores nothing: what was found, and what was left out and why.",
        price: Prices.extract,
        isRead: true
      })
    ),
    HttpApiEndpoint.post("lookup", "/memories/lookup", {
      payload: LookupMemory,
      success: One,
      error: readErrors
    }).annotateMerge(
      operation("Get a memory by its unique fields", {
        description:
          "The latest version of a memory of a kind with uniqueOn; of absent subject: one without a subject.",
        price: Prices.lookup,
        isRead: true
      })
    ),
    HttpApiEndpoint.post("batchSearch", "/memories/batch/search", {
      headers: GrantHeaders,
      payload: BatchSearch,
      success: Schema.Struct({
        success,
        results: Schema.Array(Schema.Struct({ memories: Schema.Array(SearchHit) })),
        searchedAt: SearchedAt,
        sourceAttestations,
        unusableGrants
      }),
      error: readErrors
    }).annotateMerge(operation("Search with up to 10 queries", { price: Prices.batchSearch, isRead: true })),
    HttpApiEndpoint.post("batchDelete", "/memories/batch/delete", {
      headers: WriteHeaders,
      payload: BatchDelete,
      success: Schema.Struct({ success, ...DeletedMemories.fields }),
      error: writeErrors
    }).annotateMerge(operation("Delete up to 100 memories, or all that match filters", { price: Prices.batchDelete })),
    HttpApiEndpoint.post("batchUpdate", "/memories/batch/update", {
      headers: WriteHeaders,
      payload: BatchUpdate,
      success: Schema.Struct({ success, updated: Schema.Int }),
      error: writeErrors
    })
      .annotateMerge(operation("Change up to 100 memories", { price: Prices.batchUpdate }))
      .annotate(HttpApi.PayloadParseOptions, strictBody),
    HttpApiEndpoint.post("batchCreate", "/memories/batch/create", {
      headers: WriteHeaders,
      payload: BatchCreate,
      success: Created,
      error: writeErrors
    }).annotateMerge(operation("Create up to 100 memories", { price: Prices.batchCreate }))
  )
) {}
