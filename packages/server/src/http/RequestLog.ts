/**
 * One line for each request, where the operator wants it (`MUNIMENT_REQUEST_LOG`): method, route, status, time, account.
 * No content, no ids and no query: the route is the contract's pattern.
 */
import { Context, Effect } from "effect"

export interface KnownRequest {
  accountId?: string
  /** Id of the key, address of the wallet, or `operator`. */
  caller?: string | undefined
  /** As `memories.create`. */
  operation?: string
}

/** Filled in as it becomes known; one object for each request. */
export const RequestAccount = Context.Reference<KnownRequest>("muniment/server/RequestAccount", {
  defaultValue: () => ({})
})

export const logRequest = (line: {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly millis: number
  readonly account: string | undefined
}): Effect.Effect<void> =>
  Effect.logInfo("request", { ...line, millis: Math.round(line.millis * 10) / 10, account: line.account ?? null })
