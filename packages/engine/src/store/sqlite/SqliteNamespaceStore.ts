/**
 * `NamespaceStore` on SQLite: `<dataDirectory>/namespaces/<tag>.db`, WAL, `synchronous=FULL`. File names are hashes;
 * account and agent are also written inside, so that the control database can be rebuilt from the files.
 */
import { closeSync, fsyncSync, globSync, mkdirSync, openSync, rmSync, statfsSync, statSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { Database } from "@muniment/sqlite/Database"
import { migrate } from "@muniment/sqlite/Migrate"
import { openCommitThread, type CommitThread } from "./CommitThread.ts"
import { copyPath, NamespaceFile } from "./NamespaceFile.ts"
import { namespaceMigrations } from "./namespaceMigrations.ts"
import { storedBytes, takeCensus } from "./SqliteCensus.ts"
import { guarded } from "./storeErrorOf.ts"
import { NamespaceStore, type CensusOptions, type NamespaceKey, type OpenNamespace } from "../NamespaceStore.ts"

/** Where commits run: on the event loop, or on a thread so that searches do not wait for writes. */
export type CommitPlace = "loop" | "thread"

export const sqliteNamespaceStore = (
  dataDirectory: string,
  { commitsOn }: { readonly commitsOn: CommitPlace } = { commitsOn: "loop" }
): Layer.Layer<NamespaceStore> =>
  Layer.effect(
    NamespaceStore,
    Effect.gen(function* () {
      const directory = join(dataDirectory, "namespaces")
      mkdirSync(directory, { recursive: true })
      yield* emptyLeftLogs(directory)
      const thread = commitsOn === "thread" ? yield* openCommitThread : undefined
      return {
        open: (key: NamespaceKey) => openNamespace(directory, key, thread),
        census: (key: NamespaceKey, options: CensusOptions) => takeCensus(directory, key, options),
        storedBytes: (key: NamespaceKey) => storedBytes(directory, key),
        files: (tags: ReadonlyArray<NamespaceTag>) => guarded(() => tags.flatMap((tag) => filesOf(directory, tag))),
        remove: (tag: NamespaceTag) => guarded(() => removeFiles(directory, tag))
      }
    })
  )

const filesOf = (directory: string, tag: NamespaceTag): ReadonlyArray<string> =>
  globSync(`${tag}.*`, { cwd: directory }).toSorted()

/** Synced, so that no file comes back after a power cut. */
const removeFiles = (directory: string, tag: NamespaceTag): ReadonlyArray<string> => {
  const names = filesOf(directory, tag)
  for (const name of names) rmSync(join(directory, name), { force: true })
  const handle = openSync(directory, "r")
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  return names
}

/** Space that stays free when logs are emptied at the start: the start itself needs some. */
const roomKeptBytes = 16 * 1_048_576

/**
 * A killed process leaves the logs of its open namespaces behind, with what was erased shortly before. The last
 * connection to close a file empties its log into the file, which needs room. A log that stays is emptied after the
 * next use of its file.
 */
const emptyLeftLogs = (directory: string): Effect.Effect<void> =>
  Effect.forEach(
    globSync("*.db-wal", { cwd: directory }),
    (log) =>
      guarded(() => emptyLog(join(directory, log))).pipe(
        Effect.catch((error) => Effect.logWarning("the log of a killed process stays", { file: log, cause: error })),
        Effect.andThen(Effect.yieldNow)
      ),
    { discard: true }
  )

const emptyLog = (log: string): void => {
  const { bavail, bsize } = statfsSync(log)
  if (bavail * bsize < statSync(log).size + roomKeptBytes) return
  new Database({ filename: log.slice(0, -"-wal".length) }).close()
}

const openNamespace = Effect.fn("NamespaceStore.open")(function* (
  directory: string,
  key: NamespaceKey,
  thread: CommitThread | undefined
) {
  const filename = join(directory, `${key.tag}.db`)
  const database = yield* Effect.acquireRelease(
    guarded(() => openMigrated(filename)),
    (opened) =>
      // The thread's connection closes first, so that this one is the last and empties the log.
      (thread === undefined ? Effect.void : Effect.ignore(thread.close(filename))).pipe(
        Effect.andThen(Effect.sync(() => opened.close()))
      )
  )
  const file = yield* guarded(() => new NamespaceFile(database, key, thread))
  return file satisfies OpenNamespace
})

const openMigrated = (filename: string): Database => {
  const database = new Database({ filename })
  try {
    migrate(database, namespaceMigrations, { snapshot: copyPath(filename) })
    return database
  } catch (error) {
    database.close()
    throw error
  }
}
