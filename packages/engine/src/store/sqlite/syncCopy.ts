/**
 * Makes durable what a copy has committed: its connections do not sync each commit. Not on the event loop, and without
 * SQLite.
 *
 * What only SQLite's log has does not count. A sync that fails, here or within SQLite, which passes over it when it
 * empties its log by itself, may lose pages for which the next sync succeeds. What is moved into the file is moved again
 * until the file's sync succeeds.
 */
import { statSync } from "node:fs"
import { open } from "node:fs/promises"
import { dirname } from "node:path"
import { Effect } from "effect"
import type { StoreError } from "../StoreError.ts"
import { guarded, storeErrorOf } from "./storeErrorOf.ts"

/** Of a file that is closed. Fails while SQLite's log is not empty, as after a close that could not move it. */
export const syncClosedCopy = (filename: string): Effect.Effect<void, StoreError> =>
  Effect.andThen(
    guarded(() => {
      const log = statSync(`${filename}-wal`, { throwIfNoEntry: false })
      if (log !== undefined && log.size > 0) throw new Error("SQLite has not emptied the log of this file")
    }),
    syncCopy(filename)
  )

/** Of a file that may be open, whose log was emptied. */
export const syncCopy = (filename: string): Effect.Effect<void, StoreError> =>
  Effect.tryPromise({
    try: async () => {
      for (const path of [`${filename}-wal`, filename, dirname(filename)]) await syncIfThere(path)
    },
    catch: storeErrorOf
  })

const syncIfThere = async (path: string): Promise<void> => {
  const file = await open(path, "r").catch((cause: unknown) => {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined
    throw cause
  })
  if (file === undefined) return
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
