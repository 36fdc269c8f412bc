/**
 * Copies of SQLite's files as a crash leaves them. A kill leaves all; a power cut takes commits off the end of a file
 * that is not synced at each commit: its log is cut behind what was moved into the file.
 */
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { ballastName } from "@muniment/engine/host/FileGuard"

const walHeaderBytes = 32
const frameHeaderBytes = 24
/** Places in SQLite's shared index of a log: frames written, moved, being moved. */
const writtenAt = 16
const movedAt = 96
const movingAt = 128

/** `frames`: chooses how many frames are left, of a range. */
export const copyFiles = (
  from: string,
  to: string,
  frames: ((least: number, most: number) => number) | undefined
): void => {
  mkdirSync(to, { recursive: true })
  if (!existsSync(from)) return
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const { name } = entry
    if (entry.isDirectory()) copyFiles(join(from, name), join(to, name), frames)
    // Nobody writes into it.
    else if (name === ballastName) linkSync(join(from, name), join(to, name))
    else if (!name.endsWith("-shm")) copyFileSync(join(from, name), join(to, name))
    // What holds the accounts is synced at each commit.
    if (frames !== undefined && name.endsWith(".db-wal") && name !== "control.db-wal")
      cutLog(join(from, name), join(to, name), frames)
  }
}

/** What the files below the directory hold. */
export const filesBelow = (directory: string): ReadonlyArray<Buffer> =>
  readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) return filesBelow(path)
    return entry.name === ballastName ? [] : [readFileSync(path)]
  })

export const removeDirectory = (directory: string): void => rmSync(directory, { recursive: true, force: true })

/** What SQLite's shared index of a log says at an offset; 0: there is none. */
const indexOf = (path: string, at: number): number => {
  const index = path.replace(/-wal$/, "-shm")
  const shared = existsSync(index) ? readFileSync(index) : Buffer.alloc(0)
  return shared.length < at + 4 ? 0 : shared.readUInt32LE(at)
}

const cutLog = (from: string, to: string, frames: (least: number, most: number) => number): void => {
  const bytes = readFileSync(to)
  const written = indexOf(from, writtenAt)
  const least = Math.max(indexOf(from, movedAt), indexOf(from, movingAt))
  if (bytes.length <= walHeaderBytes || least >= written) return
  const frameBytes = frameHeaderBytes + bytes.readUInt32BE(8)
  writeFileSync(to, bytes.subarray(0, walHeaderBytes + frames(least, written) * frameBytes))
}
