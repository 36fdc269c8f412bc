/**
 * Makes durable what a copy has committed: its connections do not sync each commit. Not on the event loop, and without
 * SQLite: a synced log of SQLite's is recovered after a power cut, and what is in the file was synced before it left
 * that log.
 */
import { open } from "node:fs/promises"
import { dirname } from "node:path"
import { Effect } from "effect"
import type { StoreError } from "../StoreError.ts"
import { storeErrorOf } from "./storeErrorOf.ts"

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
