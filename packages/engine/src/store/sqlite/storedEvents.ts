/** Events of a namespace file, open or closed (`readStored.ts`). */
import type { Effect } from "effect"
import { type EventPage, eventNumbers } from "../MemoryEvents.ts"
import type { NamespaceKey } from "../NamespaceStore.ts"
import type { StoreError } from "../StoreError.ts"
import { openMigrated } from "./namespaceFiles.ts"
import { requireOwner } from "./namespaceMeta.ts"
import { readStored } from "./readStored.ts"
import { SqliteEvents } from "./SqliteEvents.ts"
import { guarded } from "./storeErrorOf.ts"

export const storedEvents = (
  directory: string,
  key: NamespaceKey,
  after: number,
  limit: number
): Effect.Effect<EventPage, StoreError> =>
  readStored(directory, key, openMigrated, nothingCommitted, (database) =>
    guarded(() => {
      requireOwner(database, key)
      return new SqliteEvents(database).page(after, limit)
    })
  )

const nothingCommitted: EventPage = { events: [], through: eventNumbers(0).other, floor: 0, born: 0 }
