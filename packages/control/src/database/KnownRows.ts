/**
 * Cache of results that were read from rows, each kept until one of its rows changes (`RowWatch`), so that the same
 * question again neither reads `control.db` nor waits for a transaction. Bounded; the oldest goes first.
 */
import { Effect } from "effect"
import { ControlDatabase, type WatchedRows, type WithoutSql } from "./ControlDatabase.ts"

export interface KnownRows<A> {
  /**
   * Returns the value kept under `key` if it is still good, else reads it by `look` and keeps it unless it is
   * undefined.
   */
  readonly get: <E, R>(
    key: string,
    look: Effect.Effect<A | undefined, E, R>,
    isGood?: (known: A) => boolean
  ) => Effect.Effect<A | undefined, WithoutSql<E>, R>
}

export const makeKnownRows = <A>(rows: ReadonlyArray<WatchedRows>, max: number) =>
  Effect.gen(function* () {
    const { read, watch } = yield* ControlDatabase
    const known = new Map<string, A>()
    const changes = yield* watch(rows, () => known.clear())

    const keep = (key: string, value: A, count: number): void => {
      if (changes.count !== count) return
      if (known.size >= max) {
        const [oldest = ""] = known.keys()
        known.delete(oldest)
      }
      known.set(key, value)
    }

    const get: KnownRows<A>["get"] = (key, look, isGood) => {
      const value = known.get(key)
      if (value !== undefined && isGood?.(value) !== false) return Effect.succeed(value)
      return Effect.suspend(() => {
        const { count } = changes
        return Effect.map(read(look), (found) => {
          if (found !== undefined && count !== undefined) keep(key, found, count)
          return found
        })
      })
    }
    return { get } satisfies KnownRows<A>
  })
