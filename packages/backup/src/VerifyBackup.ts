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
import type { BackupFile, BackupManifest } from "./BackupFormat.ts"
import type { BackupStore } from "./BackupStore.ts"
import { positionsOf } from "./copies/copyOf.ts"
import { restoreFile } from "./RestoreBackup.ts"

export interface VerifyFault {
  readonly file: string
  readonly reason: string
}

/** -> what is wrong, file by file; empty: all can be restored. A target that does not answer fails. */
export const verifyBackup = Effect.fn("VerifyBackup")(function* (
  store: BackupStore,
  manifest: BackupManifest,
  options: {
    /** Folder for the scratch directory; default: the system's for temporary files. */
    readonly scratch?: string | undefined
    readonly onProgress?: (done: number, total: number) => Effect.Effect<void>
  } = {}
) {
  const { onProgress = () => Effect.void, scratch = tmpdir() } = options
  const faults: Array<VerifyFault> = []
  let done = 0
  for (const file of manifest.files) {
    const reason = yield* Effect.acquireUseRelease(
      Effect.sync(() => mkdtempSync(join(scratch, "muniment-verify-"))),
      (directory) => faultIn(store, file, directory),
      (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
    )
    if (reason !== undefined) faults.push({ file: file.file, reason })
    yield* onProgress(++done, manifest.files.length)
  }
  return faults
})

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
