/**
 * What counts as durable of a copy, whose connections do not sync each commit: what its file has, and not what only
 * SQLite's log has.
 *
 * SQLite syncs that: a checkpoint syncs the log, moves it into the file and syncs the file before it lets go of the
 * log; one that fails moves and syncs all of it again. Not through a descriptor of ours, whose closing would drop
 * SQLite's locks of the file (`ClosedFile`). What is left to do here is the name of the file. Not on the event loop.
 */
import { statSync } from "node:fs"
import { open } from "node:fs/promises"
import { dirname } from "node:path"
import { Effect } from "effect"
import type { StoreError } from "../StoreError.ts"
import { guarded, storeErrorOf } from "./storeErrorOf.ts"

/** Of a file that SQLite has closed. Fails while SQLite's log is not empty, as after a close that could not move it. */
export const syncClosedCopy = (filename: string): Effect.Effect<void, StoreError> =>
  Effect.andThen(
    guarded(() => {
      const log = statSync(`${filename}-wal`, { throwIfNoEntry: false })
      if (log !== undefined && log.size > 0) throw new Error("SQLite has not emptied the log of this file")
    }),
    syncName(filename)
  )

/** Syncs the folder, of which the name is an entry. */
export const syncName = (filename: string): Effect.Effect<void, StoreError> =>
  Effect.tryPromise({
    try: async () => {
      const folder = await open(dirname(filename), "r")
      try {
        await folder.sync()
      } finally {
        await folder.close()
      }
    },
    catch: storeErrorOf
  })
