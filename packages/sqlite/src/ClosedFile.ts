/**
 * What is read or synced of a database file without SQLite, which must have it closed.
 *
 * Invariant: no connection of this process has the file open, on no thread. POSIX drops all locks of a process on a file
 * when any of its descriptors is closed: another process then takes itself for the last one at the file, and moves and
 * deletes the log that SQLite here still writes (https://sqlite.org/howtocorrupt.html, 2.2).
 */
import { createHash } from "node:crypto"
import { closeSync, copyFileSync, fstatSync, fsyncSync, openSync, readFileSync, readSync } from "node:fs"

/** Also of a folder, whose entries it syncs. */
export const syncClosed = (path: string): void => withDescriptor(path, fsyncSync)

/** Bytes of the file, which is synced. */
export const syncedBytes = (path: string): number =>
  withDescriptor(path, (file) => {
    fsyncSync(file)
    return fstatSync(file).size
  })

export const readClosed = (path: string): Buffer => readFileSync(path)

export const copyClosed = (from: string, to: string): void => copyFileSync(from, to)

const chunkBytes = 1_048_576

/** Hex digits. */
export const sha256OfClosed = (path: string): string =>
  withDescriptor(path, (file) => {
    const hash = createHash("sha256")
    const chunk = Buffer.allocUnsafe(chunkBytes)
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) hash.update(chunk.subarray(0, read))
    return hash.digest("hex")
  })

const withDescriptor = <A>(path: string, use: (file: number) => A): A => {
  const file = openSync(path, "r")
  try {
    return use(file)
  } finally {
    closeSync(file)
  }
}
