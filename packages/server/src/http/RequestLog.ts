/**
 * One line for each request, where the operator wants it (`MUNIMENT_REQUEST_LOG`): method, route, status, time, account.
 * No content, no ids and no query: the route is the contract's pattern.
 */
import { Context, Effect } from "effect"
import type { DeletionRecord } from "@muniment/domain/Operations"
import type { BatchDelete, DeletedMemories, RemovedMemory } from "@muniment/domain/Search"

export interface KnownRequest {
  accountId?: string
  /** Id of the key, address of the wallet, `operator`, or `operator:NAME` of one who was added. */
  caller?: string | undefined
  /** Operation, such as `memories.create`. */
  operation?: string
  /** The one agent that the call reads or changes. */
  agentId?: string
  deleted?: DeletionRecord
}

/** Filled in as it becomes known; one object for each request. */
export const RequestAccount = Context.Reference<KnownRequest>("muniment/server/RequestAccount", {
  defaultValue: () => ({})
})

export const noteAgent =
  (known: KnownRequest) =>
  (agentId: string): void => {
    known.agentId = agentId
  }

/** Keeps for the history of calls whom a deletion concerned and how many memories it met; no names where it met none. */
export const noted = <E, R>(
  deletion: Effect.Effect<DeletedMemories, E, R>,
  { filters = {} }: Pick<typeof BatchDelete.Type, "filters">
): Effect.Effect<DeletedMemories, E, R> =>
  Effect.tap(deletion, ({ deleted, dryRun }) =>
    Effect.map(RequestAccount, (known) => {
      const { agentId, kind, subjectId, threadId } = deleted === 0 ? {} : filters
      known.deleted = {
        ...(agentId !== undefined && { agentId }),
        ...(subjectId !== undefined && { subjectId }),
        ...(threadId !== undefined && { threadId }),
        ...(kind !== undefined && { kind }),
        memories: deleted,
        ...(dryRun === true && { dryRun })
      }
    })
  )

/** As {@link noted}, of one memory by its id. */
export const notedOne = <E, R>(deletion: Effect.Effect<RemovedMemory, E, R>): Effect.Effect<RemovedMemory, E, R> =>
  Effect.tap(deletion, ({ deleted = 1 }) => noted(Effect.succeed({ deleted }), {}))

export const logRequest = (line: {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly millis: number
  readonly account: string | undefined
}): Effect.Effect<void> =>
  Effect.logInfo("request", { ...line, millis: Math.round(line.millis * 10) / 10, account: line.account ?? null })
