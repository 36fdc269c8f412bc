/**
 * Which database files of a directory a process has open without SQLite's locks, as the kernel says (Linux). SQLite keeps
 * a lock of the file and one of the shared index as long as it has them open: without the first, another process takes
 * itself for the last one at the file, and deletes the log that is in use.
 */
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs"
import { join } from "node:path"

/**
 * Looks that must all find a file without its lock: SQLite opens it a moment before it locks it, and a busy machine makes
 * that moment long. A lock that was dropped never comes back.
 */
const looks = 100
const betweenMillis = 50

/** Bytes that SQLite locks: of the file any of the shared ones, of the index the one that says it is in use. */
const sharedFirst = 1_073_741_826
const sharedSize = 510
const indexInUse = 128

/** -> names in the directory; a log that is in use and deleted is named too. */
export const unlockedFiles = async (directory: string, pid: number): Promise<ReadonlyArray<string>> => {
  let unlocked = unlockedNow(directory, pid)
  for (let look = 1; look < looks && unlocked.size > 0; look++) {
    await new Promise((wake) => setTimeout(wake, betweenMillis))
    unlocked = unlocked.intersection(unlockedNow(directory, pid))
  }
  return [...unlocked]
}

/** How many database files of the directory the process has open. */
export const openDatabases = (directory: string, pid: number): number =>
  new Set(openFiles(directory, pid).filter(({ name }) => name.endsWith(".db"))).size

interface OpenFile {
  readonly descriptor: string
  readonly name: string
}

const unlockedNow = (directory: string, pid: number): Set<string> => {
  // The locks last: a file that is closed meanwhile has none.
  const open = openFiles(directory, pid)
  const locks = locksOf(pid)
  return new Set(
    open.flatMap(({ descriptor, name }) => {
      if (name.endsWith("-wal (deleted)")) return [name]
      const isLocked = name.endsWith("-shm") ? isIndexLock : name.endsWith(".db") ? isFileLock : undefined
      const stats = statSync(`/proc/${pid}/fd/${descriptor}`, { throwIfNoEntry: false })
      if (isLocked === undefined || stats === undefined) return []
      return locks.some((lock) => lock.inode === stats.ino && isLocked(lock)) ? [] : [`${name} (${descriptor})`]
    })
  )
}

const isFileLock = ({ end, start }: Lock): boolean => start < sharedFirst + sharedSize && end >= sharedFirst
const isIndexLock = ({ end, start }: Lock): boolean => start <= indexInUse && end >= indexInUse

const openFiles = (directory: string, pid: number): ReadonlyArray<OpenFile> =>
  readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
    const path = linkOf(`/proc/${pid}/fd/${descriptor}`)
    return path?.startsWith(`${directory}/`) === true ? [{ descriptor, name: path.slice(directory.length + 1) }] : []
  })

/** Undefined: it was closed meanwhile. */
const linkOf = (path: string): string | undefined => {
  try {
    return readlinkSync(path)
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined
    throw cause
  }
}

interface Lock {
  readonly inode: number
  readonly start: number
  readonly end: number
}

const linePattern = /^\d+: POSIX +\w+ +(?:READ|WRITE) +(\d+) \w+:\w+:(\d+) (\d+) (\d+|EOF)$/

const locksOf = (pid: number): ReadonlyArray<Lock> =>
  readFileSync(join("/proc", "locks"), "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, owner, inode, start, end] = linePattern.exec(line) ?? []
      return Number(owner) === pid
        ? [{ inode: Number(inode), start: Number(start), end: end === "EOF" ? Infinity : Number(end) }]
        : []
    })
