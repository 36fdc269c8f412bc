/**
 * `NamespaceStore` on SQLite: `<dataDirectory>/namespaces/<tag>.db`, WAL, `synchronous=FULL`. File names are hashes;
 * account and agent are also written inside, so that the control database can be rebuilt from the files.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { openCheckThread } from "./CheckThread.ts"
import { openCommitThread, type CommitThread } from "./CommitThread.ts"
import { NamespaceFile } from "./NamespaceFile.ts"
import { emptyLeftLogs, filesOf, namespaceFolder, openMigrated, removeFiles } from "./namespaceFiles.ts"
import { storedBytes, takeCensus } from "./SqliteCensus.ts"
import { storedEvents } from "./readStored.ts"
import { guarded } from "./storeErrorOf.ts"
import {
  NamespaceStore,
  type CensusOptions,
  type NamespaceKey,
  type OpenNamespace,
  type Pace
} from "../NamespaceStore.ts"

/** Where commits run: on the event loop, or on a thread so that searches do not wait for writes. */
export type CommitPlace = "loop" | "thread"

export const sqliteNamespaceStore = (
  dataDirectory: string,
  { commitsOn }: { readonly commitsOn: CommitPlace } = { commitsOn: "loop" }
): Layer.Layer<NamespaceStore> =>
  Layer.effect(
    NamespaceStore,
    Effect.gen(function* () {
      const directory = join(dataDirectory, namespaceFolder)
      mkdirSync(directory, { recursive: true })
      yield* emptyLeftLogs(directory)
      const thread = commitsOn === "thread" ? yield* openCommitThread() : undefined
      const checks = yield* openCheckThread({ logDirectory: undefined })
      return {
        check: (key: NamespaceKey, pace: Pace) => checks.check(join(directory, `${key.tag}.db`), key.agentId, pace),
        checkFile: (filename: string, pace: Pace) => checks.check(filename, undefined, pace),
        open: (key: NamespaceKey) => openNamespace(directory, key, thread),
        census: (key: NamespaceKey, options: CensusOptions) => takeCensus(directory, key, options),
        storedBytes: (key: NamespaceKey) => storedBytes(directory, key),
        events: (key: NamespaceKey, after: number, limit: number) => storedEvents(directory, key, after, limit),
        remake: () => Effect.succeed(false),
        settleAll: Effect.succeed([]),
        releaseRoom: Effect.succeed(false),
        archive: () => Effect.undefined,
        logStatus: Effect.undefined,
        files: (tags: ReadonlyArray<NamespaceTag>) => guarded(() => tags.flatMap((tag) => filesOf(directory, tag))),
        remove: (tag: NamespaceTag) => guarded(() => removeFiles(directory, tag))
      }
    })
  )

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
