/**
 * A search as the contract's parameters describe it, decoded once at the edge and passed on unchanged down to
 * the engine: from the URL of GET /memories/search, from a body, from the arguments of a tool.
 */
import { Effect } from "effect"
import { InvalidRequest } from "@muniment/domain/Errors"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { instantIn, momentText } from "@muniment/domain/GivenTimes"
import { Limits } from "@muniment/domain/Limits"
import {
  type BatchSearch,
  dataFilterOf,
  type FacetRequestParameters,
  type FilterRequestParameters,
  type MemoryFilter,
  type Recall,
  type Rerank,
  type Scope,
  type SearchBody,
  searchLimitText,
  type SearchMode
} from "@muniment/domain/Search"
import { whereOf } from "@muniment/domain/Where"

/** Owners whose memories are searched; the same for all queries of one call. */
export interface SearchReach {
  readonly scope: typeof Scope.Type
  /** The `X-Grants` header as received. */
  readonly grants: string | undefined
}

export interface SearchQuery extends SearchReach {
  readonly mode: typeof SearchMode.Type
  readonly text: string
  readonly filter: MemoryFilter
  readonly limit: number
  readonly minRelevance: number
  /** The caller's clock, for times that the text names: milliseconds (default: the service's) and IANA zone (UTC). */
  readonly askedAtMillis: number | undefined
  readonly timeZone: string | undefined
  /** The later of two statements about one matter goes first. */
  readonly newerFirst: boolean
  /** On each side of each message that was found. */
  readonly turnsAround: number
  /** Undefined: by the service's own re-ranker, if it has one. */
  readonly rerank: Rerank | undefined
  /** Undefined: the service's setting. */
  readonly recall: Recall | undefined
  /** How many of the best by words, and by meaning, are ranked; default `Limits.searchCandidatesMax`. */
  readonly candidates: number | undefined
  /** Adds scores to each hit, and how vectors were searched to the answer. */
  readonly explain: boolean
}

export interface SearchBatch extends SearchReach {
  readonly queries: ReadonlyArray<SearchQuery>
}

export const facetQuery = Effect.fnUntraced(function* (parameters: FacetRequestParameters) {
  const { contains, facet, limit = Limits.facetValuesDefault, order = "memories" } = parameters
  return { facet, filter: yield* filterOf(parameters), contains, order, limit }
})

export const searchQuery = Effect.fnUntraced(function* (
  parameters: typeof SearchBody.Type,
  grants: string | undefined
) {
  const { context: turnsAround = 0, explain = false, limit, minRelevance = 0, mode = "llm" } = parameters
  const { newerFirst = true, now, query, recall, rerank, scope = "all", timeZone } = parameters
  const filter = yield* filterOf(parameters)
  if (recall === "strict" && mode === "map") return yield* notOfMaps("recall", "`strict` is", "`fast`")
  if (rerank === "model" && mode === "map") return yield* notOfMaps("rerank", "`model` is", "no `rerank`")
  if (turnsAround > 0 && mode === "map") return yield* notOfMaps("context", "turns are", "0")
  if (limit !== undefined && limit > Limits.searchResultsMax && mode !== "map") return yield* limitTooLarge
  const base = {
    mode,
    text: query.trim(),
    filter,
    minRelevance,
    explain,
    scope,
    grants,
    newerFirst,
    turnsAround,
    rerank,
    recall,
    ...clockOf(now, timeZone, filter.asOf),
    candidates: undefined
  }
  switch (mode) {
    case "answer":
      return { ...base, limit: limit ?? Limits.answerEvidenceDefault } satisfies SearchQuery
    // Messages would be nearly all of a map.
    case "map": {
      const drawn = Math.max(limit ?? 0, Limits.mapMemoriesDefault)
      return {
        ...base,
        filter: { ...filter, include: filter.include ?? (filter.kind === undefined ? "extracted" : undefined) },
        limit: drawn,
        candidates: Math.max(drawn, Limits.searchCandidatesMax)
      } satisfies SearchQuery
    }
    default:
      return { ...base, limit: limit ?? Limits.searchResultsDefault } satisfies SearchQuery
  }
})

export const searchBatch = (
  { asOf: given, now, queries, recall, scope = "all", timeZone }: typeof BatchSearch.Type,
  grants: string | undefined,
  asOf = given === undefined ? undefined : asOfIn(given)
): SearchBatch => ({
  scope,
  grants,
  queries: queries.map(({ context: turnsAround = 0, filters = {}, limit = Limits.searchResultsDefault, query }) => ({
    mode: "llm",
    text: query.trim(),
    filter: { ...filters, asOf },
    limit,
    minRelevance: 0,
    newerFirst: true,
    turnsAround,
    rerank: undefined,
    recall,
    ...clockOf(now, timeZone, asOf),
    candidates: undefined,
    explain: false,
    scope,
    grants
  }))
})

const clockOf = (now: string | undefined, timeZone: string | undefined, asOf: number | undefined) => ({
  askedAtMillis: now === undefined ? asOf : Date.parse(now),
  timeZone
})

export const filterOf = Effect.fnUntraced(function* (query: FilterRequestParameters | typeof SearchBody.Type) {
  const tags = typeof query.tags === "string" ? tagsIn(query.tags) : query.tags
  if (tags !== undefined && (tags.length === 0 || tags.length > Limits.tagFiltersMax)) {
    return yield* new InvalidRequest({
      code: "invalid_tag",
      error: `give 1 to ${Limits.tagFiltersMax} tags, separated by commas`
    })
  }
  return {
    agentId: query.agentId,
    subjectId: query.subjectId,
    threadId: query.threadId,
    kind: query.kind,
    tags,
    data: typeof query.data === "string" ? dataFilterOf(query.data) : query.data,
    where: typeof query.where === "string" ? whereOf(query.where) : query.where,
    eventFrom: query.eventDateFrom === undefined ? undefined : instantIn(query.eventDateFrom),
    eventTo: query.eventDateTo === undefined ? undefined : endOf(query.eventDateTo),
    includeSuperseded: query.includeSuperseded,
    asOf: query.asOf === undefined ? undefined : asOfIn(query.asOf),
    include: query.include
    // Every filter but those that no request names, and that of lists alone.
  } satisfies Record<Exclude<keyof MemoryFilter, "anyOf" | "feedback" | "hasNoSubject" | "hasNoThread">, unknown> &
    MemoryFilter
})

export const asOfIn = (given: string | number): number => Date.parse(momentText(given))

const tagsIn = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "")

/** A bare date as an upper bound means the whole day. */
const endOf = (iso: string): number => instantIn(iso) + (iso.length === "2026-01-01".length ? dayMillis - 1 : 0)

const notOfMaps = (name: string, what: string, expected: string) =>
  new InvalidRequest({
    code: "invalid_request",
    error: `/${name}: ${what} not for mode \`map\`, which draws what it finds`,
    details: [{ path: `/${name}`, message: `expected ${expected}, or another mode` }]
  })

const limitTooLarge = new InvalidRequest({
  code: "invalid_request",
  error: `/limit: expected ${searchLimitText}`,
  details: [{ path: "/limit", message: `expected ${searchLimitText}` }]
})
