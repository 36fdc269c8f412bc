/** Maps exceptions of SQLite, of the file system and of damaged columns to the errors of the port. */
import { Effect } from "effect"
import { NewerDatabase } from "@muniment/sqlite/Migrate"
import { classifySqlite } from "@muniment/sqlite/SqliteError"
import { LogDamaged } from "../../log/LogError.ts"
import { DamagedColumn } from "./memoryColumns.ts"
import { isStoreError, StoreDamaged, StoreFault, StoreFull, type StoreError } from "../StoreError.ts"

/** Runs a synchronous step; what it throws becomes a `StoreError`. */
export const guarded = <A>(step: () => A): Effect.Effect<A, StoreError> =>
  Effect.try({ try: step, catch: storeErrorOf })

/** The same for callers that have to stay synchronous: throws the `StoreError`. */
export const orStoreError = <A>(step: () => A): A => {
  try {
    return step()
  } catch (cause) {
    throw storeErrorOf(cause)
  }
}

/** A statement that does not fit the tables: ours fit those that we made. */
const sqliteError = 1

export const storeErrorOf = (cause: unknown): StoreError => {
  if (isStoreError(cause)) return cause
  const classified = classifySqlite(cause, "namespace")
  if (classified?.reason === "full") return new StoreFull({ cause: classified })
  if (classified?.reason === "corrupt") return new StoreDamaged({ reason: classified.message, cause })
  if (classified?.errcode === sqliteError)
    return new StoreDamaged({ reason: `its schema is not that of this release: ${classified.message}`, cause })
  if (cause instanceof RangeError) return new StoreDamaged({ reason: "a stored number is out of range", cause })
  if (cause instanceof SyntaxError) return new StoreDamaged({ reason: "a stored column does not parse", cause })
  if (cause instanceof DamagedColumn) return new StoreDamaged({ reason: cause.message, cause })
  if (cause instanceof LogDamaged) return new StoreDamaged({ reason: cause.reason, cause })
  if (cause instanceof NewerDatabase) {
    return new StoreDamaged({
      reason: `version ${cause.found} of a later release; this one knows ${cause.known}`,
      cause,
      newer: { found: cause.found, known: cause.known }
    })
  }
  return new StoreFault({ cause: classified ?? cause })
}
