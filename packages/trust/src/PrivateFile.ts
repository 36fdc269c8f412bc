/**
 * Files and folders of the data directory: only their owner can read them (0600, 0700), whatever the umask, and a
 * power cut leaves the old content or the new one, never an empty file.
 *
 * A file is written aside, synced and renamed; then its folder is synced, because a rename is an entry of the folder.
 */
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"

const fileMode = 0o600
const directoryMode = 0o700
/** Permissions of the group and of all others. */
const othersMask = 0o077

/** Writes the file, in place of the one that has its name; `aside` is a name that no other writer uses. */
export const replacePrivateFile = (path: string, text: string | Uint8Array, aside = `${path}.new`): void => {
  try {
    writeSynced(aside, text)
    renameSync(aside, path)
  } finally {
    rmSync(aside, { force: true })
  }
  syncDirectory(dirname(path))
}

/** Writes the file unless it exists: a link, unlike a rename, fails when the name is taken, so one of several wins. */
export const createPrivateFile = (path: string, text: string, aside = `${path}.new`): void => {
  try {
    writeSynced(aside, text)
    linkSync(aside, path)
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error
  } finally {
    rmSync(aside, { force: true })
  }
  syncDirectory(dirname(path))
}

/** Makes the folder and those above it that are missing. */
export const makePrivateDirectory = (path: string): void => {
  // Node's own `recursive` never returns where the system refuses every name, as below /proc.
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) return
  const above = dirname(path)
  if (above !== path && found === undefined) makePrivateDirectory(above)
  mkdirSync(path, { mode: directoryMode })
  chmodSync(path, directoryMode)
  syncDirectory(above)
}

/**
 * Takes the permissions of others from a folder and what is in it; -> how many entries were changed. A folder below
 * that is private already is not opened: it was mended before, or made so.
 */
export const mendPermissions = (directory: string): number => {
  let mended = narrow(directory)
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isFile()) mended += narrow(path)
    else if (entry.isDirectory() && (lstatSync(path).mode & othersMask) !== 0) mended += mendPermissions(path)
  }
  return mended
}

/** 1 if the mode had to be changed. */
const narrow = (path: string): number => {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & othersMask) === 0) return 0
  chmodSync(path, mode & 0o7777 & ~othersMask)
  return 1
}

const writeSynced = (path: string, text: string | Uint8Array): void => {
  // A file that a crash left has a mode of its own.
  rmSync(path, { force: true })
  const descriptor = openSync(path, "wx", fileMode)
  try {
    writeFileSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

const syncDirectory = (path: string): void => {
  const descriptor = openSync(path, "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code
