/**
 * Makes a data directory of a backup. The directory must be empty: nothing that is there is overwritten.
 *
 * Until everything is in place the directory holds `restore-unfinished`, with which no service starts; a restore that
 * was interrupted is repeated into the same directory, and files that are there already are not fetched again.
 */
import { Data, Effect } from "effect"
import { createHash } from "node:crypto"
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync
} from "node:fs"
import { dirname, join, relative, sep } from "node:path"
import { tmpdir } from "node:os"
import { makePrivateDirectory, replacePrivateFile } from "@muniment/trust/PrivateFile"
import { Database } from "@muniment/sqlite/Database"
import { type BackupFile, type BackupLog, type BackupManifest, namespaceTagOf } from "./BackupFormat.ts"
import type { BackupFailure, BackupStore } from "./BackupStore.ts"
import { positionsOf } from "./copies/copyOf.ts"

/** The directory cannot be restored into, or the system refuses to write. */
export class RestoreRefused extends Data.TaggedError("RestoreRefused")<{ readonly message: string }> {}

/** Name of the file that a directory has while it is being restored. */
export const unfinishedName = "restore-unfinished"

/** Takes the bytes of an archived log in their order, and ends it; -> its last ordinal. Both may throw. */
export interface LogWriter {
  readonly add: (bytes: Uint8Array) => void
  readonly close: () => number
}

/** Bytes that are there, of how many. */
type OnProgress = (done: number, total: number) => Effect.Effect<void>

export interface RestoreOptions {
  /** Writes the commit log of the directory. */
  readonly openLog: (directory: string, log: BackupLog) => LogWriter
  readonly onProgress?: OnProgress
}

/**
 * `settle`: brings the files to the end of the log; what it returns is returned. A directory that it fails for stays
 * unfinished.
 */
export const restoreBackup = Effect.fn("RestoreBackup")(function* <A, E>(
  store: BackupStore,
  manifest: BackupManifest,
  directory: string,
  options: RestoreOptions & { readonly settle: (directory: string) => Effect.Effect<A, E> }
) {
  const { onProgress = () => Effect.void, openLog, settle } = options
  const total = bytesOf(manifest)
  let done = 0
  yield* attempt(() => prepare(directory, manifest))
  for (const file of manifest.files) {
    const path = join(directory, file.file)
    if (!(yield* attempt(() => isThere(file, path)))) yield* restoreFile(store, file, path)
    yield* onProgress((done += file.bytes), total)
  }
  const { log } = manifest
  if (log !== null)
    yield* restoreLog(store, log, openLog(directory, log), (bytes) => onProgress((done += bytes), total))
  const settled = yield* settle(directory)
  yield* attempt(() => finish(directory))
  return settled
})

/** Size of the restored directory, roughly. */
export const bytesOf = ({ files, log }: BackupManifest): number =>
  [...files, ...(log?.segments ?? [])].reduce((sum, { bytes }) => sum + bytes, 0)

/** Throws where `bytes` more do not fit. */
export const demandRoom = (directory: string, bytes: number): void => {
  const { bavail, bsize } = statfsSync(directory)
  if (bavail * bsize < bytes) {
    throw new Error(
      `${directory} has room for ${Math.floor((bavail * bsize) / mebibyte)} MiB, the backup needs ${Math.ceil(bytes / mebibyte)} MiB`
    )
  }
}

const mebibyte = 1_048_576

/** -> the last ordinal that was written. */
const restoreLog = Effect.fn("RestoreBackup.log")(function* (
  store: BackupStore,
  log: BackupLog,
  writer: LogWriter,
  onBytes: (bytes: number) => Effect.Effect<void> = () => Effect.void
) {
  for (const segment of log.segments) {
    yield* store
      .getFile(segment, (chunk) => attempt(() => writer.add(chunk)))
      .pipe(
        Effect.catchTag("RestoreRefused", ({ message }) =>
          Effect.fail(new RestoreRefused({ message: `${segment.object}: ${message}` }))
        )
      )
    yield* onBytes(segment.bytes)
  }
  return yield* attempt(writer.close)
})

/** Writes one file of a backup; it is synced, and its digest compared. */
const restoreFile = (
  store: BackupStore,
  file: BackupFile,
  path: string
): Effect.Effect<void, BackupFailure | RestoreRefused> =>
  Effect.acquireUseRelease(
    attempt(() => {
      demandSafe(file.file)
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
const demandSafe = (file: string): void => {
  const isSafe = namespaceTagOf(file) !== undefined || /^[a-z][\w.-]*$/.test(file)
  if (!isSafe) throw new Error(`a backup holds no file ${file}`)
}

/** Leaves what a restore before has brought of the same files; what SQLite or a log has made of them goes. */
const prepare = (directory: string, manifest: BackupManifest): void => {
  for (const { file } of manifest.files) demandSafe(file)
  makePrivateDirectory(directory)
  const names = readdirSync(directory)
  if (names.length > 0 && !names.includes(unfinishedName)) {
    throw new Error(`${directory} is not empty; restore into an empty directory`)
  }
  replacePrivateFile(join(directory, unfinishedName), `${manifest.id}\n`)
  const kept = new Set([unfinishedName, ...manifest.files.map(({ file }) => file)])
  let keptBytes = 0
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue
    const path = join(entry.parentPath, entry.name)
    if (kept.has(relative(directory, path).split(sep).join("/"))) keptBytes += statSync(path).size
    else rmSync(path)
  }
  makePrivateDirectory(join(directory, "namespaces"))
  demandRoom(directory, bytesOf(manifest) - keptBytes)
}

/** Synced, because the restore that wrote it may have ended before. */
const isThere = ({ bytes, sha256 }: BackupFile, path: string): boolean => {
  if (statSync(path, { throwIfNoEntry: false })?.size !== bytes) return false
  const handle = openSync(path, "r+")
  try {
    const hash = createHash("sha256")
    const chunk = Buffer.allocUnsafe(Math.min(bytes, mebibyte))
    for (let read = readSync(handle, chunk); read > 0; read = readSync(handle, chunk))
      hash.update(chunk.subarray(0, read))
    fsyncSync(handle)
    return hash.digest("hex") === sha256
  } finally {
    closeSync(handle)
  }
}

/** The folders are synced before the mark goes: their entries are the files. */
const finish = (directory: string): void => {
  for (const folder of [join(directory, "namespaces"), directory]) sync(folder)
  rmSync(join(directory, unfinishedName))
  sync(directory)
}

const sync = (folder: string): void => {
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

/** A moment of the past: up to an ordinal of the commit log, or a time in milliseconds, both inclusive. */
export type Moment =
  | { readonly _tag: "Ordinal"; readonly ordinal: number }
  | { readonly _tag: "Time"; readonly millis: number }

/** `1234` is an ordinal, anything else a time (ISO 8601; UTC where it names no zone); undefined: neither. */
export const momentOf = (text: string): Moment | undefined => {
  if (/^\d{1,15}$/.test(text)) return { _tag: "Ordinal", ordinal: Number(text) }
  const isWithoutZone = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text)
  const millis = Date.parse(isWithoutZone ? `${text.replace(" ", "T")}Z` : text)
  return Number.isNaN(millis) ? undefined : { _tag: "Time", millis }
}

/** The newest backup that has the moment; undefined: none has it. */
export const backupAt = (manifests: ReadonlyArray<BackupManifest>, moment: Moment): BackupManifest | undefined =>
  manifests.findLast(({ log }) => {
    if (log === null) return false
    return moment._tag === "Ordinal"
      ? log.complete <= moment.ordinal && moment.ordinal <= log.last
      : log.completeAt <= moment.millis && moment.millis <= log.through
  })

/** Why no backup has the moment, as the rest of a sentence. */
export const whyMissing = (manifests: ReadonlyArray<BackupManifest>, moment: Moment): string => {
  const logs = manifests.flatMap(({ log }) => log ?? [])
  const isBefore = ({ last, through }: BackupLog) =>
    moment._tag === "Ordinal" ? last < moment.ordinal : through < moment.millis
  const before = logs.findLast(isBefore)
  const after = logs.find((log) => !isBefore(log))
  if (before === undefined) return after === undefined ? "none has a commit log" : `the first one is ${firstOf(after)}`
  const last = lastOf(before)
  if (after === undefined) return `the last one is ${last}`
  const reason = before.isCut === true ? erasedText : "in between no backup was made"
  return `the last one before it is ${last}, the next one ${firstOf(after)}; ${reason}`
}

export const erasedText = "what came in between was partly erased before a backup had it"

/** The first and the last moment of a log, exactly as `momentOf` reads them. */
export const firstOf = ({ complete, completeAt }: BackupLog): string => `${timeOf(completeAt)} (ordinal ${complete})`
export const lastOf = ({ last, through }: BackupLog): string => `${timeOf(through)} (ordinal ${last})`

const timeOf = (millis: number): string => new Date(millis).toISOString()

/**
 * Proves that a backup can be restored: everything is written into a scratch directory, each file compared with the digest
 * of the manifest, read whole by SQLite, and compared with the position that the manifest says. If all is whole, the
 * directory is brought to the end of its log as a restore does, and what would be served is proved.
 */
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
