/**
 * Filters as they stand in a URL: one string for all tags, bounds of event time in ISO 8601
 * (interface.md section 7.1).
 */
import { Effect } from "effect"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { InvalidRequest } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { MemoryFilter } from "@muniment/domain/Search"

export interface FilterParameters {
  readonly agentId?: string
  readonly subjectId?: string
  readonly threadId?: string
  readonly kind?: string
  readonly tags?: string
  readonly eventDateFrom?: string
  readonly eventDateTo?: string
  readonly includeSuperseded?: boolean
}

export const filterOf = Effect.fnUntraced(function* (query: FilterParameters) {
  const tags = query.tags
    ?.split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "")
  if (tags !== undefined && (tags.length === 0 || tags.length > Limits.tagFiltersMax)) {
    return yield* new InvalidRequest({
      code: "invalid_tag",
      error: `give 1 to ${Limits.tagFiltersMax} tags, separated by commas`
    })
  }
  const filter: MemoryFilter = {
    agentId: query.agentId,
    subjectId: query.subjectId,
    threadId: query.threadId,
    kind: query.kind,
    tags,
    eventFrom: query.eventDateFrom === undefined ? undefined : Date.parse(query.eventDateFrom),
    eventTo: query.eventDateTo === undefined ? undefined : endOf(query.eventDateTo),
    includeSuperseded: query.includeSuperseded
  }
  return filter
})

/** A bare date as an upper bound means the whole day. */
const endOf = (iso: string): number => Date.parse(iso) + (iso.length === "2026-01-01".length ? dayMillis - 1 : 0)
