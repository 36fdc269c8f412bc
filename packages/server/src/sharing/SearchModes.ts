/**
 * GET /memories/search in its modes (interface.md sections 4.4 to 4.6). REST and MCP answer with what
 * stands here.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Identity } from "@muniment/domain/Account"
import type { ChargeFailure } from "@muniment/domain/api/Middleware"
import { InvalidRequest, Unavailable } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { SearchRequestParameters } from "@muniment/domain/Search"
import type { SearchResult } from "@muniment/domain/SearchResult"
import { AnswerWriter } from "@muniment/insight/answers/AnswerWriter"
import { MemoryMap } from "@muniment/insight/map/MemoryMap"
import { filterOf } from "../memories/FilterParameters.ts"
import { MemoryService, type SearchRequest } from "../memories/MemoryService.ts"
import { MemoryRecall, type RecallAnswer, type Recalled, type RecallRequest } from "./MemoryRecall.ts"

export class SearchModes extends Context.Service<
  SearchModes,
  {
    readonly search: (
      caller: Identity,
      parameters: SearchRequestParameters,
      /** The `X-Grants` header as it came. */
      grants: string | undefined
    ) => Effect.Effect<SearchResult, InvalidRequest | ChargeFailure>
  }
>()("muniment/server/SearchModes") {
  static readonly layer = Layer.effect(
    this,
    Effect.gen(function* () {
      const { find, show } = yield* MemoryRecall
      const memories = yield* MemoryService
      const writer = yield* AnswerWriter
      const cartographer = yield* MemoryMap

      const llm = Effect.fnUntraced(function* (caller: Identity, request: RecallRequest) {
        const recalled = yield* find(caller, request)
        const { results, sourceAttestations } = yield* show(recalled, request.explain)
        return { memories: results[0] ?? [], ...vouched(sourceAttestations), ...explained(request, recalled) }
      })

      const answer = Effect.fnUntraced(function* (caller: Identity, request: RecallRequest, question: string) {
        const recalled = yield* find(caller, request)
        const { owners, results } = recalled
        const found = results[0] ?? []
        const written = yield* writer.write({
          account: caller.account.id,
          question,
          evidence: found.map(({ hit: { memory, ranked } }) => ({
            id: memory.id,
            kind: memory.kind,
            data: memory.data,
            when: memory.when,
            createdAt: memory.createdAt,
            relevance: ranked.relevance
          }))
        })
        const used = new Set(written.citations)
        const cited = found.filter(({ hit }) => used.has(hit.memory.id))
        const shown = yield* show({ owners, results: [cited] }, request.explain)
        return {
          ...written,
          memories: shown.results[0] ?? [],
          ...vouched(shown.sourceAttestations),
          ...explained(request, recalled)
        }
      })

      const map = Effect.fnUntraced(function* (caller: Identity, request: RecallRequest) {
        const recalled = yield* find(caller, request)
        const found = recalled.results[0] ?? []
        const vectors = yield* memories.vectorsOf(found)
        const models = new Set(Array.from(vectors.values(), ({ model }) => model))
        // Vectors of two models, or of some memories only, cannot be compared: then words place them all.
        const isPlaced = vectors.size === found.length && models.size === 1
        const drawn = yield* cartographer
          .draw(
            found.map(({ hit: { memory } }) => ({
              id: memory.id,
              kind: memory.kind,
              data: memory.data,
              contentHash: memory.contentHash,
              vector: isPlaced ? vectors.get(memory.id)?.values : undefined
            }))
          )
          .pipe(Effect.catchTag("MapUnavailable", () => Effect.fail(mapUnavailable)))
        const { sourceAttestations } = yield* show(recalled, false)
        return { ...drawn, ...vouched(sourceAttestations), ...explained(request, recalled) }
      })

      const search = Effect.fn("SearchModes.search")(function* (
        caller: Identity,
        parameters: SearchRequestParameters,
        grants: string | undefined
      ) {
        const filter = yield* filterOf(parameters)
        const { limit, minRelevance, mode = "llm" } = parameters
        if (limit !== undefined && limit > Limits.searchResultsMax && mode !== "map") return yield* limitTooLarge
        const text = parameters.query.trim()
        const mapped = Math.max(limit ?? 0, Limits.mapMemoriesDefault)
        const request = (query: Pick<SearchRequest, "candidates" | "limit">): RecallRequest => ({
          queries: [{ text, filter, minRelevance, ...query }],
          scope: parameters.scope ?? "all",
          grants,
          explain: parameters.explain ?? false
        })
        const result =
          mode === "answer"
            ? yield* answer(caller, request({ limit: limit ?? Limits.answerEvidenceDefault }), text)
            : mode === "map"
              ? yield* map(caller, request({ limit: mapped, candidates: Math.max(mapped, Limits.recallCandidatesMax) }))
              : yield* llm(caller, request({ limit }))
        return { ...result, searchedAt: yield* isoNow }
      })

      return { search }
    })
  )
}

const vouched = (sourceAttestations: RecallAnswer["sourceAttestations"]) =>
  sourceAttestations === undefined ? {} : { sourceAttestations }

const explained = ({ explain }: RecallRequest, { index }: Recalled) =>
  explain ? { explain: { index: index[0] ?? [] } } : {}

const mapUnavailable = new Unavailable({
  code: "overloaded",
  error: "the map could not be drawn in time; ask for fewer memories, or try again"
})

const limitText = `a number from 1 to ${Limits.searchResultsMax}, except in mode \`map\``
const limitTooLarge = new InvalidRequest({
  code: "invalid_request",
  error: `/limit: expected ${limitText}`,
  details: [{ path: "/limit", message: `expected ${limitText}` }]
})

/** `searchedAt` of an answer. */
export const isoNow = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis).toISOString())
