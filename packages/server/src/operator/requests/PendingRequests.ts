/**
 * Calls of accounts that are to be written down: who called which operation when, and how it ended. A call costs one
 * entry of a list; what the store does not take in time is dropped, the oldest first.
 *
 * Invariant: names of operations and agents, ids of keys, addresses of wallets, codes of errors; of a deletion, whom and
 * how many memories it concerned; never content, never a query.
 */
import { Limits } from "@muniment/domain/Limits"
import type { DeletionRecord } from "@muniment/domain/Operations"

export interface RequestEntry {
  readonly at: number
  readonly method: string
  /** Operation, such as `memories.create`. */
  readonly operation: string
  readonly status: number
  readonly millis: number
  /** Id; undefined: the credentials were refused. */
  readonly account: string | undefined
  /** Id of the key, address of the wallet, or `operator`. */
  readonly caller: string | undefined
  /** The one that the call reads or changes. */
  readonly agentId?: string | undefined
  /** Code of a refusal or a failure, as in its answer. */
  readonly code?: string | undefined
  readonly deleted?: DeletionRecord | undefined
}

export class PendingRequests {
  #entries: Array<RequestEntry> = []

  add(entry: RequestEntry): void {
    if (this.#entries.length >= Limits.requestsPendingMax) this.#entries.splice(0, Limits.requestsSliceMax)
    this.#entries.push(entry)
  }

  /** Up to `Limits.requestsSliceMax` of the oldest, which the list no longer has. */
  take(): ReadonlyArray<RequestEntry> {
    return this.#entries.splice(0, Limits.requestsSliceMax)
  }
}
