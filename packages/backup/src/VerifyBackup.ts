/**
 * Proves that a backup can be restored: every file is written into a scratch directory, compared with the digest of the
 * manifest, read whole by SQLite, and compared with the position that the manifest says. One file at a time, so that
 * the scratch directory needs room for the largest only.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { Database } from "@muniment/sqlite/Database"
import type { BackupFile, BackupLog, BackupManifest } from "./BackupFormat.ts"
import type { BackupStore } from "./BackupStore.ts"
import { positionsOf } from "./copies/copyOf.ts"
import { type LogWriter, restoreFile, restoreLog, type RestoreOptions } from "./RestoreBackup.ts"

export interface VerifyFault {
  readonly file: string
  readonly reason: string
}

/** -> what is wrong, file by file; empty: all can be restored. A target that does not answer fails. */
export const verifyBackup = Effect.fn("VerifyBackup")(function* (
  store: BackupStore,
  manifest: BackupManifest,
  options: Pick<RestoreOptions, "openLog"> & {
    /** Folder for the scratch directory; default: the system's for temporary files. */
    readonly scratch?: string | undefined
    readonly onProgress?: (done: number, total: number) => Effect.Effect<void>
  }
) {
  const { onProgress = () => Effect.void, openLog, scratch = tmpdir() } = options
  const faults: Array<VerifyFault> = []
  let done = 0
  for (const file of manifest.files) {
    const reason = yield* inScratch(scratch, (directory) => faultIn(store, file, directory))
    if (reason !== undefined) faults.push({ file: file.file, reason })
    yield* onProgress(++done, manifest.files.length)
  }
  const { log } = manifest
  if (log !== null) {
    const reason = yield* inScratch(scratch, (directory) => logFault(store, log, openLog(directory, log)))
    if (reason !== undefined) faults.push({ file: logName, reason })
  }
  return faults
})

/** Where the commit log lies in a data directory. */
const logName = "log"

const inScratch = <A, E>(scratch: string, use: (directory: string) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(scratch, "muniment-verify-"))),
    use,
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  )

const logFault = (store: BackupStore, log: BackupLog, writer: LogWriter) =>
  restoreLog(store, log, writer).pipe(
    Effect.map((last) =>
      last === log.last ? undefined : `it ends with record ${last}, the manifest says ${log.last}`
    ),
    Effect.catchTags({
      DamagedBackup: ({ message }) => Effect.succeed(message),
      RestoreRefused: ({ message }) => Effect.succeed(message)
    })
  )

const faultIn = Effect.fnUntraced(function* (store: BackupStore, file: BackupFile, directory: string) {
  const path = join(directory, "copy.db")
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
