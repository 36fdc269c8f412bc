/**
 * Stands in for `node:fs/promises` where copies are synced: notes how many frames of SQLite's log a power cut leaves. A
 * sync that fails loses those that it was to write; the syncs after it succeed, and leave no more than it did.
 */
import { closeSync, existsSync, openSync, readFileSync, readSync } from "node:fs"

interface SyncedLog {
  /** Of the log's header: new ones begin the log again. */
  readonly salts: string
  readonly frames: number
  readonly hasLost: boolean
}

const logs = new Map<string, SyncedLog>()
const failing: Array<string> = []

/** Of the log at this path, as it is now. */
export const syncedFramesOf = (path: string): number => known(path)?.frames ?? 0

/** The next sync of a log below this directory fails. */
export const failNextSync = (directory: string): void => void failing.push(directory)

export const open = async (path: string) => {
  if (!existsSync(path)) throw Object.assign(new Error("ENOENT: no such file"), { code: "ENOENT" })
  return {
    sync: async (): Promise<void> => {
      if (path.endsWith("-wal")) sync(path)
    },
    close: async (): Promise<void> => undefined
  }
}

export const forgetSynced = (directory: string): void => {
  for (const path of logs.keys()) if (path.startsWith(directory)) logs.delete(path)
  failing.length = 0
}

/** What SQLite's shared index of a log says at an offset; 0: there is none. */
export const indexOf = (path: string, at: number): number => {
  const index = path.replace(/-wal$/, "-shm")
  const shared = existsSync(index) ? readFileSync(index) : Buffer.alloc(0)
  return shared.length < at + 4 ? 0 : shared.readUInt32LE(at)
}

/** Place of the number of frames in that index. */
export const writtenAt = 16

const sync = (path: string): void => {
  const before = known(path)
  if (before?.hasLost === true) return
  const salts = saltsOf(path)
  const at = failing.findIndex((directory) => path.startsWith(directory))
  if (at === -1) return void logs.set(path, { salts, frames: indexOf(path, writtenAt), hasLost: false })
  failing.splice(at, 1)
  logs.set(path, { salts, frames: before?.frames ?? 0, hasLost: true })
  throw Object.assign(new Error("EIO: the simulated disk"), { code: "EIO", syscall: "fsync" })
}

const known = (path: string): SyncedLog | undefined => {
  const log = logs.get(path)
  return log?.salts === saltsOf(path) ? log : undefined
}

const saltsAt = 16
const saltsBytes = 8

const saltsOf = (path: string): string => {
  if (!existsSync(path)) return ""
  const bytes = Buffer.alloc(saltsBytes)
  const file = openSync(path, "r")
  try {
    readSync(file, bytes, 0, saltsBytes, saltsAt)
  } finally {
    closeSync(file)
  }
  return bytes.toString("hex")
}
