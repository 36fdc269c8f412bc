/**
 * Reads a namespace file that has followed the log, open or closed, through a second connection. In WAL mode it and the
 * owner do not wait for each other. Not opened read-only, because SQLite would then leave its log files behind.
 */
import { Effect } from "effect"
import { type EventPage, eventNumbers, type NamespaceKey } from "../NamespaceStore.ts"
import type { StoreError } from "../StoreError.ts"
import { requireOwner } from "./namespaceMeta.ts"
import { SqliteEvents } from "./SqliteEvents.ts"
import { guarded } from "./storeErrorOf.ts"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { Database } from "@muniment/sqlite/Database"

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
