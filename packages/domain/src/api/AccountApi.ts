/** GET /account (contract: Identity): the account behind the credentials. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Plan } from "../Account.ts"
import { Forbidden, InsufficientStorage, InvalidRequest, Unavailable } from "../Errors.ts"
import { Authorization, RateLimiting, Validation, WellFormedRequest } from "./Middleware.ts"
import { RequestQuery, RequestRecord } from "../Operations.ts"
import { QuotaUse } from "../Quotas.ts"
import { AgentCostQuery, AgentCosts, Statement, StatementQuery } from "../Statement.ts"
import { operation } from "./Operation.ts"

export class AccountApi extends HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.get("whoami", "/account", {
      success: Schema.Struct({
        success: Schema.Literal(true),
        account: Schema.Struct({ id: Schema.String, name: Schema.String, plan: Plan, createdAt: Schema.Int }),
        agents: Schema.Array(
          Schema.Struct({
            agentId: Schema.String,
            memories: Schema.NullOr(Schema.Int).annotate({
              description: "Live memories; null while the agent's file cannot be read."
            })
          })
        ),
        quotas: Schema.optionalKey(
          Schema.Array(QuotaUse).annotate({
            description: "What the account holds and may hold; not for keys that are bound to agents or subjects."
          })
        )
      }),
      error: [InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("Who the credentials belong to", { description: "With the live memories of each agent." })
    )
  )
  .add(
    HttpApiEndpoint.get("statement", "/account/statement", {
      query: StatementQuery,
      success: Schema.Struct({ success: Schema.Literal(true), ...Statement.fields }),
      error: [InvalidRequest, Forbidden]
    }).annotateMerge(
      operation("Statement of the account's credits", {
        description:
          "Movements of a period, oldest first, in pages, with what stood in the purses before and after. As CSV with `format=csv` or `Accept: text/csv`; the header `x-next-cursor` then leads to the next page. Not for keys that are bound to agents or subjects."
      })
    )
  )
  .add(
    HttpApiEndpoint.get("costs", "/account/costs", {
      query: AgentCostQuery,
      success: Schema.Struct({ success: Schema.Literal(true), ...AgentCosts.fields }),
      error: [InvalidRequest, Forbidden, InsufficientStorage, Unavailable]
    }).annotateMerge(
      operation("What each agent cost", {
        description:
          "Sums of the charges of a period by agent and operation, the dearest agent first. As CSV with `format=csv` or `Accept: text/csv`. Not for keys that are bound to agents or subjects."
      })
    )
  )
  .add(
    HttpApiEndpoint.get("requests", "/account/requests", {
      query: RequestQuery,
      success: Schema.Struct({ success: Schema.Literal(true), requests: Schema.Array(RequestRecord) }),
      error: [InvalidRequest, Forbidden]
    }).annotateMerge(
      operation("What the account called", {
        description:
          "Newest first: which operation, by which key or wallet, when, how it ended; never what was said. Kept as long as the operator has set, 30 days by default. Not for keys that are bound to agents or subjects."
      })
    )
  )
  .middleware(Validation)
  .middleware(WellFormedRequest)
  .middleware(RateLimiting)
  .middleware(Authorization)
  .prefix("/v1") {}
