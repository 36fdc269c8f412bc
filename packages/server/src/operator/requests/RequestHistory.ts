/**
 * Calls of accounts, kept for days (contract: Operator routes): written down in the background, found by account, caller,
 * operation, outcome and time. Bounded by `MUNIMENT_REQUEST_DAYS` and `Limits.requestRowsMax`; with 0 days the last
 * `Limits.requestRecordsMax` are in memory. A store that fails costs entries and a warning, never an answer.
 *
 * Invariant: nothing is kept of an account that was erased.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { join } from "node:path"
import { dayMillis } from "@muniment/domain/CalendarDay"
import { Limits } from "@muniment/domain/Limits"
import { attempt, type SqliteError } from "@muniment/sqlite/Database"
import { Accounts } from "@muniment/control/accounts/Accounts"
import { Rounds } from "@muniment/worker/Rounds"
import { DataDirectory } from "../../DataDirectory.ts"
import type { PendingRequests } from "./PendingRequests.ts"
import { type KeptRequest, RequestFile, type RequestFilter } from "./RequestFile.ts"

export class RequestHistory extends Context.Service<
  RequestHistory,
  {
    /** Newest first, with what has just ended. */
    readonly list: (filter: RequestFilter) => Effect.Effect<ReadonlyArray<KeptRequest>>
    /** Removes what an account called; `accountId` need not exist any more. */
    readonly forget: (accountId: string) => Effect.Effect<void>
  }
>()("muniment/server/RequestHistory") {
  static readonly layer = (pending: PendingRequests, { days }: { readonly days: number }) =>
    Layer.effect(
      this,
      Effect.gen(function* () {
        const { path } = yield* DataDirectory
        const { list } = yield* Accounts
        const history = yield* makeRequestHistory(pending, days === 0 ? undefined : join(path, "requests.db"), days)
        // Erasures that ended while the file was not open.
        const known = new Set((yield* list).map(({ id }) => id))
        yield* history.keepOnly((account) => known.has(account))
        return history
      })
    )
}

/** Ids looked through in one turn of the event loop. */
const windowIds = 20_000

export const makeRequestHistory = Effect.fnUntraced(function* (
  pending: PendingRequests,
  path: string | undefined,
  days: number
) {
  const rowsMax = path === undefined ? Limits.requestRecordsMax : Limits.requestRowsMax
  const file = yield* Effect.acquireRelease(
    Effect.orDie(attempt("open", () => new RequestFile(path, rowsMax))),
    (opened) => Effect.sync(() => opened.close())
  )
  let isFailing = false
  const kept = (step: Effect.Effect<void, SqliteError>): Effect.Effect<void> =>
    step.pipe(
      Effect.andThen(Effect.sync(() => void (isFailing = false))),
      Effect.catch((error) => {
        const wasFailing = isFailing
        isFailing = true
        return wasFailing ? Effect.void : Effect.logWarning("calls cannot be written down", { error: error.message })
      })
    )

  const flush = kept(
    Effect.gen(function* () {
      for (let entries = pending.take(); entries.length > 0; entries = pending.take()) {
        yield* attempt("add", () => file.add(entries))
        yield* Effect.yieldNow
      }
    })
  )
  const prune = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    kept(attempt("prune", () => file.prune(path === undefined ? 0 : now - days * dayMillis)))
  )
  yield* Effect.addFinalizer(() => flush)
  yield* Rounds.add({
    name: "history of calls",
    schedule: Schedule.spaced(Limits.requestFlushMillis),
    work: Effect.andThen(flush, prune)
  })

  const list = Effect.fn("RequestHistory.list")(function* (filter: RequestFilter) {
    yield* flush
    const found: Array<KeptRequest> = []
    const oldest = file.oldest
    let until = Math.min(filter.before ?? Number.MAX_SAFE_INTEGER, file.newest + 1)
    while (until > oldest && found.length < filter.limit) {
      const from = Math.max(oldest, until - windowIds)
      found.push(...file.list({ ...filter, limit: filter.limit - found.length }, from, until))
      until = from
      yield* Effect.yieldNow
    }
    return found
  })
  const forget = (account: string) => Effect.andThen(flush, kept(attempt("forget", () => file.forget(account))))
  const keepOnly = (isKnown: (account: string) => boolean) =>
    Effect.forEach(
      file.accounts().filter((account) => !isKnown(account)),
      forget,
      { discard: true }
    )
  return { list, forget, keepOnly }
})
