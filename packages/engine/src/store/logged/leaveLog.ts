/**
 * Makes the files of a directory that nobody serves those of a service without a commit log: for `MUNIMENT_COMMIT_LOG`
 * `off`, and for a release that does not know the log.
 *
 * Invariant: the log goes only once every file has all of its commits durably; cut short anywhere, the next attempt goes
 * on, and a service with a log opens the directory too.
 */
import { existsSync, globSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { Database } from "@muniment/sqlite/Database"
import type { LogFault } from "../../log/LogError.ts"
import { fileLogLayer } from "../../log/RunningLog.ts"
import { logFolder, syncDirectory } from "../../log/segmentFiles.ts"
import { NamespaceStore } from "../NamespaceStore.ts"
import { namespaceFolder } from "../sqlite/namespaceFiles.ts"
import { retokenise } from "../sqlite/retokenise.ts"
import { removeSums, versionWithLanguages, versionWithoutLog, versionWithSums } from "../sqlite/namespaceMigrations.ts"
import { guarded } from "../sqlite/storeErrorOf.ts"
import { syncClosedCopy } from "../sqlite/syncCopy.ts"
import { StoreDamaged, type StoreError } from "../StoreError.ts"
import { englishOnly } from "../../text/Tokenizer.ts"
import { logFirstStore } from "./LogFirstStore.ts"

/** The log on its way out. */
const leftFolder = `${logFolder}.left`

/** -> how many files it changed. Fails, and keeps the log, if a file cannot follow it. */
export const leaveLog = Effect.fn("leaveLog")(function* (
  dataDirectory: string
): Effect.fn.Return<number, StoreError | LogFault> {
  const files = globSync("*.db", { cwd: join(dataDirectory, namespaceFolder) }).map((name) =>
    join(dataDirectory, namespaceFolder, name)
  )
  const log = join(dataDirectory, logFolder)
  if (existsSync(log)) {
    yield* followed(dataDirectory, log)
    for (const file of files) yield* syncClosedCopy(file)
    yield* guarded(() => {
      renameSync(log, join(dataDirectory, leftFolder))
      syncDirectory(dataDirectory)
    })
  }
  let changed = 0
  for (const file of files) if (yield* guarded(() => forgetLog(file))) changed++
  yield* guarded(() => {
    rmSync(join(dataDirectory, leftFolder), { recursive: true, force: true })
    syncDirectory(dataDirectory)
  })
  return changed
})

const followed = (dataDirectory: string, log: string): Effect.Effect<void, StoreError | LogFault> =>
  Effect.flatMap(NamespaceStore, ({ settleAll }) => settleAll).pipe(
    Effect.flatMap((behind) =>
      behind.length === 0
        ? Effect.void
        : Effect.fail(
            new StoreDamaged({
              reason: `the files of ${behind.join(", ")} cannot follow the commit log, which has more than they have`,
              cause: undefined
            })
          )
    ),
    Effect.provide(
      logFirstStore(dataDirectory, { acknowledgedAfter: "sync" }).pipe(Layer.provide(fileLogLayer({ directory: log })))
    )
  )

/** False: the file is older than the log, or was changed before. */
const forgetLog = (filename: string): boolean => {
  const database = new Database({ filename })
  try {
    const version = Number(database.value("PRAGMA user_version"))
    if (version <= versionWithoutLog) return false
    database.transaction(() => {
      if (version >= versionWithLanguages) retokenise(database, englishOnly)
      if (version >= versionWithSums) removeSums(database)
      database.exec("DELETE FROM meta WHERE key IN ('ordinal', 'erasure_due')")
      database.exec(`PRAGMA user_version=${versionWithoutLog}`)
    })
    return true
  } finally {
    database.close()
  }
}
