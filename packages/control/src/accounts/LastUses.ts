/**
 * When keys and operators were used last: kept in memory and written in the background, never by the request. The first
 * use starts the wait for the next write. A failed write fails no request: its entries are written the next time.
 */
import { Effect } from "effect"
import { ControlDatabase } from "../database/ControlDatabase.ts"

/** How often last uses are written; a kill loses at most this much of them. */
export const lastUseFlushMillis = 60_000

/** By the value of a column that names a row of the table. */
export const makeLastUses = Effect.fnUntraced(function* ({
  column,
  table
}: {
  readonly table: string
  readonly column: string
}) {
  const { sql, write } = yield* ControlDatabase
  const scope = yield* Effect.scope
  const pending = new Map<string, number>()
  let isWaiting = false

  const flush = Effect.suspend(() => {
    const batch = Object.fromEntries(pending)
    pending.clear()
    return write(
      sql`UPDATE ${sql(table)} SET last_used_at = used.value FROM json_each(${JSON.stringify(batch)}) AS used
        WHERE ${sql.literal(`${table}.${column}`)} = used.key`
    ).pipe(
      Effect.catchCause((cause) => {
        for (const [id, at] of Object.entries(batch)) if (!pending.has(id)) pending.set(id, at)
        return Effect.logWarning("last uses not written; they are kept and retried", { table, cause })
      })
    )
  }).pipe(Effect.uninterruptible)
  const flushLater = Effect.gen(function* () {
    do {
      yield* Effect.sleep(lastUseFlushMillis)
      yield* flush
    } while (pending.size > 0)
    isWaiting = false
  })

  yield* Effect.addFinalizer(() => (pending.size === 0 ? Effect.void : flush))
  return {
    /** Notes it at once; the effect waits for the next write, where nothing waits for it yet. */
    note: (id: string, atMillis: number): Effect.Effect<void> => {
      pending.set(id, atMillis)
      if (isWaiting) return Effect.void
      isWaiting = true
      return Effect.asVoid(Effect.forkIn(flushLater, scope))
    },
    of: (id: string): number | undefined => pending.get(id)
  }
})
