/**
 * The last calls of accounts (contract: Operator routes): who called which operation when, and how it ended. In memory,
 * `Limits.requestRecordsMax` of them, until the service ends; `MUNIMENT_REQUEST_LOG` writes them for longer.
 *
 * Invariant: names of operations, ids of keys and addresses of wallets; never content, never a query.
 */
import { Context } from "effect"
import { Limits } from "@muniment/domain/Limits"

export interface RequestEntry {
  /** Counts up from the start of the service. */
  readonly id: number
  readonly at: number
  readonly method: string
  /** As `memories.create`. */
  readonly operation: string
  readonly status: number
  readonly millis: number
  /** Id; undefined: the credentials were refused. */
  readonly account: string | undefined
  /** Id of the key, address of the wallet, or `operator`. */
  readonly caller: string | undefined
}

export interface RequestFilter {
  /** Only entries with a smaller id. */
  readonly before: number | undefined
  readonly account: string | undefined
  readonly caller: string | undefined
  /** An operation, or the group before its dot. */
  readonly operation: string | undefined
  readonly isRefused: boolean | undefined
  readonly limit: number
}

interface Records {
  readonly add: (entry: Omit<RequestEntry, "id">) => void
  /** Newest first. */
  readonly list: (filter: RequestFilter) => ReadonlyArray<RequestEntry>
}

export class RequestRecords extends Context.Service<RequestRecords, Records>()("muniment/server/RequestRecords") {}

export const makeRequestRecords = (max: number = Limits.requestRecordsMax): Records => {
  /** Of entry `id` at `id % max`. */
  const ring: Array<RequestEntry> = []
  let next = 0
  return {
    add: (entry) => {
      ring[next % max] = { id: next, ...entry }
      next += 1
    },
    list: (filter) => {
      const found: Array<RequestEntry> = []
      const oldest = Math.max(0, next - max)
      for (let id = Math.min(next, filter.before ?? next) - 1; id >= oldest && found.length < filter.limit; id--) {
        const entry = ring[id % max]
        if (entry !== undefined && passes(entry, filter)) found.push(entry)
      }
      return found
    }
  }
}

const passes = (entry: RequestEntry, { account, caller, isRefused, operation }: RequestFilter): boolean =>
  (account === undefined || entry.account === account) &&
  (caller === undefined || entry.caller === caller) &&
  (operation === undefined || entry.operation === operation || entry.operation.startsWith(`${operation}.`)) &&
  (isRefused === undefined || entry.status >= 400 === isRefused)
