/** Calls of accounts as answers (contract: Operator routes): days become times, ids become names. */
import { dayMillis } from "@muniment/domain/CalendarDay"
import type { RequestRecord } from "@muniment/domain/Operations"
import type { KeptRequest, RequestFilter } from "../operator/requests/RequestFile.ts"

interface RequestsQueried {
  readonly before?: number
  readonly caller?: string
  readonly operation?: string
  readonly refused?: boolean
  readonly from?: string
  readonly to?: string
  readonly limit?: number
}

const requestsShownDefault = 100

export const requestFilter = ({ from, limit, refused, to, ...query }: RequestsQueried): RequestFilter => ({
  ...query,
  isRefused: refused,
  from: from === undefined ? undefined : Date.parse(from),
  until: to === undefined ? undefined : Date.parse(to) + dayMillis,
  limit: limit ?? requestsShownDefault
})

/** `name`: of the account; undefined: it has none any more. */
export const requestRecord = (
  { account, caller, deleted, ...entry }: KeptRequest,
  name: string | undefined
): RequestRecord => ({
  ...entry,
  ...(deleted !== undefined && { deleted }),
  account: name ?? account ?? null,
  caller: caller ?? null
})
