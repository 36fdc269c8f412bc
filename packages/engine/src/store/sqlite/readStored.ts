/**
 * Reads a namespace file, open or closed, through a second connection. In WAL mode it and the owner do not wait for each
 * other. Not opened read-only, because SQLite would then leave its log files behind.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import type { Database } from "@muniment/sqlite/Database"
import type { NamespaceKey } from "../NamespaceStore.ts"
import type { StoreError } from "../StoreError.ts"
import { guarded } from "./storeErrorOf.ts"

/** `absent`: the answer where there is no file. */
export const readStored = <A>(
  directory: string,
  { tag }: NamespaceKey,
  open: (filename: string) => Database,
  absent: A,
  read: (database: Database) => Effect.Effect<A, StoreError>
): Effect.Effect<A, StoreError> => {
  const filename = join(directory, `${tag}.db`)
  return Effect.acquireUseRelease(
    guarded(() => (existsSync(filename) ? open(filename) : undefined)),
    (database) => (database === undefined ? Effect.succeed(absent) : read(database)),
    (database) => Effect.sync(() => database?.close())
  )
}
