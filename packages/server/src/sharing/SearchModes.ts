/**
 * GET /memories/search in its modes (interface.md sections 4.4 to 4.6). REST and MCP answer with what
 * stands here.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { Identity } from "@muniment/domain/Account"
import type { ChargeFailure } from "@muniment/domain/api/Middleware"
import { InvalidRequest } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { SearchRequestParameters } from "@muniment/domain/Search"
import type { SearchResult } from "@muniment/domain/SearchResult"
import { filterOf } from "../memories/FilterParameters.ts"
import { MemoryRecall } from "./MemoryRecall.ts"

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
      const { recall } = yield* MemoryRecall

      const search = Effect.fn("SearchModes.search")(function* (
        caller: Identity,
        parameters: SearchRequestParameters,
        grants: string | undefined
      ) {
        const filter = yield* filterOf(parameters)
        const { limit, minRelevance, query } = parameters
        if (limit !== undefined && limit > Limits.searchResultsMax && parameters.mode !== "map") {
          return yield* limitTooLarge
        }
        const { results, sourceAttestations } = yield* recall(caller, {
          queries: [{ text: query.trim(), filter, limit, minRelevance }],
          scope: parameters.scope ?? "all",
          grants,
          explain: parameters.explain ?? false
        })
        return {
          memories: results[0] ?? [],
          searchedAt: yield* isoNow,
          ...(sourceAttestations !== undefined && { sourceAttestations })
        }
      })

      return { search }
    })
  )
}

const limitText = `a number from 1 to ${Limits.searchResultsMax}, except in mode \`map\``
const limitTooLarge = new InvalidRequest({
  code: "invalid_request",
  error: `/limit: expected ${limitText}`,
  details: [{ path: "/limit", message: `expected ${limitText}` }]
})

const isoNow = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis).toISOString())
