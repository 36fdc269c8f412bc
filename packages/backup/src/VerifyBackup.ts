/**
 * Proves that a backup can be restored: everything is written into a scratch directory, each file compared with the digest
 * of the manifest, read whole by SQLite, and compared with the position that the manifest says. If all is whole, the
 * directory is brought to the end of its log as a restore does, and what would be served is proved.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { Database } from "@muniment/sqlite/Database"
import type { BackupFile, BackupLog, BackupManifest } from "./BackupFormat.ts"
import type { BackupStore } from "./BackupStore.ts"
import { positionsOf } from "./copies/copyOf.ts"
import {
  bytesOf,
  demandRoom,
  type LogWriter,
  type OnProgress,
  restoreFile,
  restoreLog,
  RestoreRefused,
  type RestoreOptions
} from "./RestoreBackup.ts"

export interface VerifyFault {
  readonly file: string
  readonly reason: string
}

interface VerifyOptions<E> extends RestoreOptions {
  /** Folder for the scratch directory, with room for the whole backup; default: the system's for temporary files. */
  readonly scratch?: string | undefined
  /** Faults of the service of the directory. */
  readonly prove: (directory: string) => Effect.Effect<ReadonlyArray<VerifyFault>, E>
}

/** -> what is wrong, file by file; empty: all can be restored. A target that does not answer fails. */
export const verifyBackup = Effect.fn("VerifyBackup")(function* <E>(
  store: BackupStore,
  manifest: BackupManifest,
  options: VerifyOptions<E>
) {
  const { prove, scratch = tmpdir() } = options
  return yield* inScratch(scratch, (directory) =>
    Effect.gen(function* () {
      yield* Effect.try({
        try: () => demandRoom(directory, bytesOf(manifest)),
        catch: (cause) => new RestoreRefused({ message: String(cause instanceof Error ? cause.message : cause) })
      })
      const faults = yield* faultsOf(store, manifest, directory, options)
      return faults.length > 0 ? faults : yield* prove(directory)
    })
  )
})

const faultsOf = Effect.fnUntraced(function* (
  store: BackupStore,
  manifest: BackupManifest,
  directory: string,
  { onProgress = () => Effect.void, openLog }: RestoreOptions
) {
  const faults: Array<VerifyFault> = []
  const total = bytesOf(manifest)
  let done = 0
  const advance: OnProgressBytes = (bytes) => onProgress((done += bytes), total)
  mkdirSync(join(directory, "namespaces"))
  for (const file of manifest.files) {
    const reason = yield* faultIn(store, file, join(directory, file.file))
    if (reason !== undefined) faults.push({ file: file.file, reason })
    yield* advance(file.bytes)
  }
  const { log } = manifest
  if (log !== null) {
    const reason = yield* logFault(store, log, openLog(directory, log), advance)
    if (reason !== undefined) faults.push({ file: logName, reason })
  }
  return faults
})

type OnProgressBytes = (bytes: number) => ReturnType<OnProgress>

/** Where the commit log lies in a data directory. */
const logName = "log"

const inScratch = <A, E, R>(
  scratch: string,
  use: (directory: string) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(scratch, "muniment-verify-"))),
    use,
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  )

const logFault = (store: BackupStore, log: BackupLog, writer: LogWriter, advance: OnProgressBytes) =>
  restoreLog(store, log, writer, advance).pipe(
    Effect.map((last) =>
      last === log.last ? undefined : `it ends with record ${last}, the manifest says ${log.last}`
    ),
    Effect.catchTags({
      DamagedBackup: ({ message }) => Effect.succeed(message),
      RestoreRefused: ({ message }) => Effect.succeed(message)
    })
  )

const faultIn = Effect.fnUntraced(function* (store: BackupStore, file: BackupFile, path: string) {
  const restored = yield* restoreFile(store, file, path).pipe(
    Effect.as(undefined),
    Effect.catchTag("DamagedBackup", ({ message }) => Effect.succeed(message))
  )
  return restored ?? (file.file.endsWith(".db") ? yield* Effect.sync(() => databaseFault(path, file)) : undefined)
})

const databaseFault = (path: string, file: BackupFile): string | undefined => {
  try {
    const database = new Database({ filename: path, readOnly: true })
    try {
      const verdict = database.value("PRAGMA integrity_check(1)")
      if (verdict !== "ok") return `SQLite finds: ${String(verdict)}`
      if (database.prepare("PRAGMA foreign_key_check").get() !== undefined) return "a row refers to one that is missing"
    } finally {
      database.close()
    }
    const found = positionsOf(path)
    const differs = (["epoch", "seq", "ordinal", "version"] as const).find((field) => found[field] !== file[field])
    return differs === undefined
      ? undefined
      : `its ${differs} is ${String(found[differs])}, the manifest says ${String(file[differs])}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
