/** Events of a namespace file, open or closed, through a second connection. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Effect } from "effect"
import { type EventPage, eventNumbers } from "../MemoryEvents.ts"
import type { NamespaceKey } from "../NamespaceStore.ts"
import type { StoreError } from "../StoreError.ts"
import { openMigrated } from "./namespaceFiles.ts"
import { requireOwner } from "./namespaceMeta.ts"
import { SqliteEvents } from "./SqliteEvents.ts"
import { guarded } from "./storeErrorOf.ts"

export const storedEvents = (
  directory: string,
  key: NamespaceKey,
  after: number,
  limit: number
): Effect.Effect<EventPage, StoreError> =>
  guarded(() => {
    const filename = join(directory, `${key.tag}.db`)
    if (!existsSync(filename)) return nothingCommitted
    const database = openMigrated(filename)
    try {
      requireOwner(database, key)
      return new SqliteEvents(database).page(after, limit)
    } finally {
      database.close()
    }
  })

const nothingCommitted: EventPage = { events: [], through: eventNumbers(0).other, floor: 0, born: 0 }
