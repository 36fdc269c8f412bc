/**
 * Bounds that a request meets behind the gate: of its plan, its address, or a service inside that has its own queue. Each
 * refusal names its bound as the gate's refusals do, and is counted for `/metrics`.
 */
import { Effect, Metric } from "effect"
import type { ErrorDetail } from "@muniment/domain/Errors"
import type { RateLimit } from "@muniment/domain/Plans"
import type { ModelFailureReason } from "@muniment/models/llm/ModelFailure"

/**
 * minute, hour, day: requests of the plan. open_requests: of the account's quota. signatures, contract_wallets: of the
 * address, wrong or being verified. sign_ups: accounts that wallets opened. account_streams, streams: of events.
 * validation_queue, validation_starved: the schema validator. schema_quarantine: a schema overran its time before.
 * map_time: the map took too long. reverts: payments that their chain reverted. Those of the language model,
 * or of the rules in its place, have its reason.
 */
type InnerBound =
  | keyof RateLimit
  | "open_requests"
  | "signatures"
  | "contract_wallets"
  | "sign_ups"
  | "account_streams"
  | "streams"
  | "validation_queue"
  | "validation_starved"
  | "schema_quarantine"
  | "map_time"
  | "reverts"
  | `${"model" | "rules"}_${ModelFailureReason}`

const met = Metric.counter("inner_refused_total", {
  description: "Requests answered 429 or 503 because of a bound behind admission, by bound.",
  incremental: true
})

/** Counts a refusal; its `details`. `message` says how much is allowed. */
export const boundMet = (
  bound: InnerBound,
  message: string,
  retryAfterSeconds?: number
): Effect.Effect<ReadonlyArray<ErrorDetail>> => {
  const again = retryAfterSeconds === undefined ? "" : `; try again in ${retryAfterSeconds} s`
  return Effect.as(Metric.update(Metric.withAttributes(met, { bound }), 1), [
    { path: bound, message: `${message}${again}` }
  ])
}
