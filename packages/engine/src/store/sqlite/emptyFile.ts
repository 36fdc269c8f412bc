/**
 * A new namespace file, as a copy of an empty one that the migrations made once in this thread: running them for each
 * takes longer than a commit.
 *
 * Invariants: the file gets its name when all of its bytes are synced, and never the name of a file that is there. The
 * name itself is synced with the first commit, or by `syncName`.
 */
import { closeSync, fdatasyncSync, linkSync, openSync, rmSync, writeSync } from "node:fs"
import { readClosed } from "@muniment/sqlite/ClosedFile"
import { classifySqlite } from "@muniment/sqlite/SqliteError"

let emptyBytes: Buffer | undefined

/** `make` writes an empty file of the newest version and closes it. False: the file system refuses, or the name is taken. */
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
