/**
 * Operator routes of the consolidation of memories (contract: Consolidation): what it did, doing it now, undoing it. Same
 * credentials as the other operator routes.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Conflict, InsufficientStorage, NotFound, PayloadTooLarge, Unavailable } from "../Errors.ts"
import { AccountName } from "./AdminApi.ts"
import { BodyLimit, OperatorAuthorization, Validation, WellFormedRequest } from "./Middleware.ts"
import { operation } from "./Operation.ts"

const success = Schema.Literal(true)

const changeFields = {
  account: Schema.String,
  agentId: Schema.String,
  action: Schema.Literals(["merge", "replace", "end"]).annotate({
    description:
      "`merge`: memories that say the same got one text; `replace`: the last one is put in the place of older ones that hold no longer; `end`: a plan or event whose day is over is said in the past tense."
  }),
  memories: Schema.Array(Schema.String).annotate({ description: "Ids of what was superseded, oldest first." })
}

/** Changes that were made, by ids; `at` in milliseconds. */
export const Consolidation = Schema.Struct({
  id: Schema.String.annotate({ examples: ["con_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] }),
  at: Schema.Int,
  ...changeFields,
  into: Schema.String.annotate({ description: "Id of the memory that supersedes them." }),
  undoneAt: Schema.NullOr(Schema.Int)
})
export type Consolidation = typeof Consolidation.Type

/** Changes that would be made; with the text, which is stored nowhere. */
export const ProposedConsolidation = Schema.Struct({ ...changeFields, text: Schema.String })
export type ProposedConsolidation = typeof ProposedConsolidation.Type

/** How far a run came. */
export const ConsolidationRun = Schema.Struct({
  agents: Schema.Int.annotate({ description: "Agents with new memories that lie beside others." }),
  left: Schema.Int.annotate({
    description: "Agents that this run had no time for; the service or another run goes on."
  }),
  done: Schema.Array(Consolidation),
  proposed: Schema.Array(ProposedConsolidation).annotate({ description: "Of a dry run." }),
  problems: Schema.Array(
    Schema.Struct({ account: Schema.String, agentId: Schema.String, reason: Schema.String })
  ).annotate({ description: "Agents that will be looked at again, and why." })
})
export type ConsolidationRun = typeof ConsolidationRun.Type

export class ConsolidationAdminApi extends HttpApiGroup.make("consolidations")
  .add(
    HttpApiEndpoint.get("list", "/consolidations", {
      query: {
        account: Schema.optionalKey(AccountName),
        limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })))
      },
      success: Schema.Struct({ success, consolidations: Schema.Array(Consolidation) }),
      error: [NotFound, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("What consolidation did", {
        description: "Newest first: which memories became which; never what they say. Kept for 90 days."
      })
    ),
    HttpApiEndpoint.post("run", "/consolidations", {
      payload: Schema.Struct({
        account: Schema.optionalKey(AccountName),
        dryRun: Schema.optionalKey(Schema.Boolean)
      }).annotate({ examples: [{ account: "research", dryRun: true }] }),
      success: Schema.Struct({ success, ...ConsolidationRun.fields }),
      error: [NotFound, Conflict, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Consolidate now", {
        description:
          "Agents with memories that were extracted since their last consolidation, within the budget of the day. A dry run asks the language model too, shows what it would change, and changes nothing. 409 `consolidation_off` unless the service is configured for it."
      })
    ),
    HttpApiEndpoint.post("undo", "/consolidations/:id/undo", {
      params: { id: Schema.String.annotate({ examples: ["con_01KAJ8Q0V7E5XK9D2M4N6P8R0T"] }) },
      success: Schema.Struct({ success, consolidation: Consolidation }),
      error: [NotFound, Conflict, PayloadTooLarge, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Undo a consolidation", {
        description:
          "The superseded memories stand as before, and the one that superseded them is removed. Repeating changes nothing. 409 `consolidation_superseded` where a later memory has taken its place."
      })
    )
  )
  .middleware(Validation)
  .middleware(WellFormedRequest)
  .middleware(OperatorAuthorization)
  .middleware(BodyLimit)
  .prefix("/admin") {}
