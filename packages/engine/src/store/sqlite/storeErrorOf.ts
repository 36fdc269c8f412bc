/** Maps exceptions of SQLite, of the file system and of damaged columns to the errors of the port. */
import { Effect } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { NewerDatabase } from "@muniment/sqlite/Migrate"
import { classifySqlite } from "@muniment/sqlite/SqliteError"
import { Database } from "@muniment/sqlite/Database"
import { LogDamaged } from "../../log/LogError.ts"
import { DamagedColumn } from "./memoryColumns.ts"
import { isStoreError, StoreDamaged, type StoreError, StoreFault, StoreFull } from "../StoreError.ts"
import { eventNumbers, type EventPage, type NamespaceKey } from "../NamespaceStore.ts"
import { requireOwner } from "./namespaceMeta.ts"
import { SqliteEvents } from "./SqliteEvents.ts"

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

/**
 * Reads a namespace file that has followed the log, open or closed, through a second connection. In WAL mode it and the
 * owner do not wait for each other. Not opened read-only, because SQLite would then leave its log files behind.
 */

/** A page of the namespace's events. */
export const storedEvents = (
  directory: string,
  key: NamespaceKey,
  after: number,
  limit: number
): Effect.Effect<EventPage, StoreError> =>
  readStored(directory, key, nothingCommitted, (database) =>
    guarded(() => {
      requireOwner(database, key)
      return new SqliteEvents(database).page(after, limit)
    })
  )

const nothingCommitted: EventPage = { events: [], through: eventNumbers(0).other, floor: 0, born: 0 }

/** `absent`: the answer where there is no file. */
export const readStored = <A>(
  directory: string,
  { tag }: NamespaceKey,
  absent: A,
  read: (database: Database) => Effect.Effect<A, StoreError>
): Effect.Effect<A, StoreError> => {
  const filename = join(directory, `${tag}.db`)
  return Effect.acquireUseRelease(
    guarded(() => (existsSync(filename) ? new Database({ filename }) : undefined)),
    (database) => (database === undefined ? Effect.succeed(absent) : read(database)),
    (database) => Effect.sync(() => database?.close())
  )
}
