/**
 * Files of namespaces in their directory: names, removal, the logs of a killed process, the open with its migrations, and
 * what is durable of a copy.
 */
import { Effect } from "effect"
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync
} from "node:fs"
import { dirname, join } from "node:path"
import { open } from "node:fs/promises"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { Database } from "@muniment/sqlite/Database"
import { migrate } from "@muniment/sqlite/Migrate"
import { readClosed } from "@muniment/sqlite/ClosedFile"
import { classifySqlite } from "@muniment/sqlite/SqliteError"
import { demandKnownVersion, namespaceMigrations } from "./namespaceMigrations.ts"
import { registerRowSum } from "./rowSums.ts"
import { guarded, storeErrorOf } from "./storeErrorOf.ts"
import type { StoreError } from "../StoreError.ts"

/** Folder of the files in the data directory. */
export const namespaceFolder = "namespaces"

export const filesOf = (directory: string, tag: NamespaceTag): ReadonlyArray<string> =>
  readdirSync(directory)
    .filter((name) => name.startsWith(`${tag}.`))
    .toSorted()

/** Those with one of the endings. Not by a pattern: every start asks, and to match one took nine times as long. */
export const filesEnding = (directory: string, ...endings: ReadonlyArray<string>): ReadonlyArray<string> =>
  readdirSync(directory).filter((name) => endings.some((ending) => name.endsWith(ending)))

/** Synced, so that no file comes back after a power cut. */
export const removeFiles = (directory: string, tag: NamespaceTag): ReadonlyArray<string> => {
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

/** Removes an SQLite file with its log. */
export const removeDatabase = (filename: string): void => {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${filename}${suffix}`, { force: true })
}

/** Space that stays free when logs are emptied at the start: the start itself needs some. */
const roomKeptBytes = 16 * 1_048_576

/**
 * A killed process leaves the logs of its open namespaces behind, with what was erased shortly before. The last
 * connection to close a file empties its log into the file, which needs room. A log that stays is emptied after the
 * next use of its file.
 */
export const emptyLeftLogs = (directory: string): Effect.Effect<void> =>
  Effect.forEach(
    filesEnding(directory, ".db-wal"),
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

/** Copy of the file before a migration, without the version suffix. */
export const copyPath = (filename: string): string => `${filename}.before-migration`

/** Makes the file if it is missing. */
export const openMigrated = (filename: string): Database => {
  if (!existsSync(filename)) placeEmptyFile(filename, (unfinished) => migrated(unfinished).close())
  return migrated(filename)
}

const migrated = (filename: string): Database => {
  const database = new Database({ filename })
  try {
    registerRowSum(database)
    demandKnownVersion(database)
    migrate(database, namespaceMigrations, { snapshot: copyPath(filename) })
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

let emptyBytes: Buffer | undefined

/**
 * A new namespace file, as a copy of an empty one that the migrations made once in this thread: running them for each
 * takes longer than a commit. `make` writes an empty file of the newest version and closes it. False: the file system
 * refuses, or the name is taken.
 *
 * Invariants: the file gets its name when all of its bytes are synced, and never the name of a file that is there. The
 * name itself is synced with the first commit, or by `syncName`.
 */
export const placeEmptyFile = (filename: string, make: (unfinished: string) => void): boolean => {
  const unfinished = `${filename}.new`
  try {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${unfinished}${suffix}`, { force: true })
    if (emptyBytes === undefined) {
      make(unfinished)
      emptyBytes = readClosed(unfinished)
    } else writeSynced(unfinished, emptyBytes)
    linkSync(unfinished, filename)
    return true
  } catch (cause) {
    // A full disk, or one without links: SQLite makes the file, or says what is wrong.
    if (classifySqlite(cause, "open") === undefined) throw cause
    return false
  } finally {
    rmSync(unfinished, { force: true })
  }
}

const writeSynced = (path: string, bytes: Uint8Array): void => {
  const file = openSync(path, "wx")
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
    fdatasyncSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * What counts as durable of a copy, whose connections do not sync each commit: what its file has, and not what only
 * SQLite's log has.
 *
 * SQLite syncs that: a checkpoint syncs the log, moves it into the file and syncs the file before it lets go of the
 * log; one that fails moves and syncs all of it again. Not through a descriptor of ours, whose closing would drop
 * SQLite's locks of the file (`ClosedFile`). What is left to do here is the name of the file. Not on the event loop.
 */

/** Of a file that SQLite has closed. Fails while SQLite's log is not empty, as after a close that could not move it. */
export const syncClosedCopy = (filename: string): Effect.Effect<void, StoreError> =>
  Effect.andThen(
    guarded(() => {
      const log = statSync(`${filename}-wal`, { throwIfNoEntry: false })
      if (log !== undefined && log.size > 0) throw new Error("SQLite has not emptied the log of this file")
    }),
    syncName(filename)
  )

/** Syncs the folder, of which the name is an entry. */
export const syncName = (filename: string): Effect.Effect<void, StoreError> =>
  Effect.tryPromise({
    try: async () => {
      const folder = await open(dirname(filename), "r")
      try {
        await folder.sync()
      } finally {
        await folder.close()
      }
    },
    catch: storeErrorOf
  })
