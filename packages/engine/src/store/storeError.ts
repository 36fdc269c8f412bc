/** What SQLite and the file system throw, as the errors of the store's port. */
import { Effect } from "effect"
import { NewerDatabase } from "@muniment/sqlite/Migrate"
import { classifySqlite } from "@muniment/sqlite/SqliteError"
import { DamagedColumn } from "./memoryColumns.ts"
import { StoreDamaged, StoreFault, StoreFull, type StoreError } from "./NamespaceStore.ts"

/** Runs a synchronous step and sorts what it throws into the port's errors. */
export const guarded = <A>(step: () => A): Effect.Effect<A, StoreError> =>
  Effect.try({
    try: step,
    catch: storeError
  })

/** The port's error for whatever a step threw. */
export const storeError = (cause: unknown): StoreError => {
  const classified = classifySqlite(cause, "namespace")
  if (classified?.reason === "full") return new StoreFull({ cause: classified })
  if (classified?.reason === "corrupt") return new StoreDamaged({ reason: classified.message, cause })
  if (cause instanceof SyntaxError) return new StoreDamaged({ reason: "a stored column does not parse", cause })
  if (cause instanceof DamagedColumn) return new StoreDamaged({ reason: cause.message, cause })
  if (cause instanceof NewerDatabase) {
    return new StoreDamaged({
      reason: `version ${cause.found} of a later release; this one knows ${cause.known}`,
      cause
    })
  }
  return new StoreFault({ cause: classified ?? cause })
}
