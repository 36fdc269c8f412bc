/**
 * Makes a data directory of a backup. The directory must be empty: nothing that is there is overwritten.
 *
 * Until everything is in place the directory holds `restore-unfinished`, with which no service starts; a restore that
 * was interrupted is repeated into the same directory.
 */
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, rmSync, writeSync } from "node:fs"
import { dirname, join } from "node:path"
import { Data, Effect } from "effect"
import { makePrivateDirectory, replacePrivateFile } from "@muniment/trust/PrivateFile"
import { type BackupFile, type BackupLog, type BackupManifest, namespaceTagOf } from "./BackupFormat.ts"
import type { BackupFailure, BackupStore } from "./BackupStore.ts"

/** The directory cannot be restored into, or the system refuses to write. */
export class RestoreRefused extends Data.TaggedError("RestoreRefused")<{ readonly message: string }> {}

/** Name of the file that a directory has while it is being restored. */
export const unfinishedName = "restore-unfinished"

/** Takes the bytes of an archived log in their order, and ends it; -> its last ordinal. Both may throw. */
export interface LogWriter {
  readonly add: (bytes: Uint8Array) => void
  readonly close: () => number
}

export interface RestoreOptions {
  /** Writes the commit log of the directory. */
  readonly openLog: (directory: string, log: BackupLog) => LogWriter
  readonly onProgress?: (done: number, total: number) => Effect.Effect<void>
}

export const restoreBackup = Effect.fn("RestoreBackup")(function* (
  store: BackupStore,
  manifest: BackupManifest,
  directory: string,
  { onProgress = () => Effect.void, openLog }: RestoreOptions
) {
  yield* attempt(() => prepare(directory, manifest.id))
  let done = 0
  for (const file of manifest.files) {
    yield* restoreFile(store, file, join(directory, file.file))
    yield* onProgress(++done, manifest.files.length)
  }
  const { log } = manifest
  if (log !== null) yield* restoreLog(store, log, openLog(directory, log))
  yield* attempt(() => finish(directory))
})

/** -> the last ordinal that was written. */
export const restoreLog = Effect.fn("RestoreBackup.log")(function* (
  store: BackupStore,
  log: BackupLog,
  writer: LogWriter
) {
  for (const segment of log.segments) yield* store.getFile(segment, (chunk) => attempt(() => writer.add(chunk)))
  return yield* attempt(writer.close)
})

/** Writes one file of a backup; it is synced, and its digest compared. */
export const restoreFile = (
  store: BackupStore,
  file: BackupFile,
  path: string
): Effect.Effect<void, BackupFailure | RestoreRefused> =>
  Effect.acquireUseRelease(
    attempt(() => {
      if (!isSafe(file.file)) throw new Error(`a backup holds no file ${file.file}`)
      makePrivateDirectory(dirname(path))
      return openSync(path, "w", 0o600)
    }),
    (handle) =>
      Effect.andThen(
        store.getFile(file, (chunk) => attempt(() => writeAll(handle, chunk))),
        attempt(() => fsyncSync(handle))
      ),
    (handle) => Effect.sync(() => closeSync(handle))
  )

/** Names come from a manifest: none may lead out of the directory. */
const isSafe = (file: string): boolean => namespaceTagOf(file) !== undefined || /^[a-z][\w.-]*$/.test(file)

const prepare = (directory: string, id: string): void => {
  makePrivateDirectory(directory)
  const names = readdirSync(directory)
  if (names.length > 0 && !names.includes(unfinishedName)) {
    throw new Error(`${directory} is not empty; restore into an empty directory`)
  }
  for (const name of names) if (name !== unfinishedName) rmSync(join(directory, name), { recursive: true })
  replacePrivateFile(join(directory, unfinishedName), `${id}\n`)
  makePrivateDirectory(join(directory, "namespaces"))
}

/** The folders are synced before the mark goes: their entries are the files. */
const finish = (directory: string): void => {
  for (const folder of [join(directory, "namespaces"), directory]) sync(folder)
  rmSync(join(directory, unfinishedName))
  sync(directory)
}

const sync = (folder: string): void => {
  if (!existsSync(folder)) return
  const handle = openSync(folder, "r")
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

const writeAll = (handle: number, chunk: Uint8Array): void => {
  for (let at = 0; at < chunk.length;) at += writeSync(handle, chunk, at)
}

const attempt = <A>(step: () => A): Effect.Effect<A, RestoreRefused> =>
  Effect.try({
    try: step,
    catch: (cause) => new RestoreRefused({ message: cause instanceof Error ? cause.message : String(cause) })
  })
