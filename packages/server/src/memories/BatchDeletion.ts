/**
 * Deletion of many memories, by ids or by filters, or the count of what would go (specification section 4.1).
 * REST and MCP answer with what stands here.
 */
import { Effect } from "effect"
import { CurrentCharge, type IdempotencyToken } from "@muniment/domain/api/Middleware"
import { InvalidRequest } from "@muniment/domain/Errors"
import { Prices } from "@muniment/domain/Prices"
import type { BatchDelete } from "@muniment/domain/Search"
import type { MemoryService } from "./MemoryService.ts"

/** How many memories went, or would go. */
export const deleteBatch = Effect.fnUntraced(function* (
  memories: MemoryService["Service"],
  owner: string,
  { ids, filters, dryRun }: typeof BatchDelete.Type,
  token: IdempotencyToken | undefined
) {
  if ((ids === undefined) === (filters === undefined)) {
    return yield* new InvalidRequest({
      code: ids === undefined ? "invalid_request" : "invalid_filters",
      error: "give either `ids` or `filters`, not both"
    })
  }
  // By ids the service knows whose memories go, and asks for the price itself.
  if (dryRun === true) yield* (yield* CurrentCharge)({ price: Prices.getMemory })
  else if (ids === undefined) yield* (yield* CurrentCharge)()
  if (ids !== undefined) {
    return yield* dryRun === true ? memories.countExisting(owner, ids) : memories.removeAll(owner, ids, token)
  }
  return yield* dryRun === true ? memories.countMatching(owner, filters!) : memories.removeMatching(owner, filters!)
})
