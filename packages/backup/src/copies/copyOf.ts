/**
 * A consistent copy of one file of a data directory in use. A database is copied by `VACUUM INTO` in one read
 * transaction: the copy has every commit from before its start, none in part, and nothing of what was deleted before.
 *
 * Not opened read-only, because SQLite would then leave its log files behind, and never created: a file that was erased
 * meanwhile stays erased.
 */
import { type BigIntStats, chmodSync, copyFileSync, existsSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { syncedBytes } from "@muniment/sqlite/ClosedFile"
import { Database } from "@muniment/sqlite/Database"

export interface CopyRequest {
  readonly directory: string
  /** Path in the directory, with slashes. */
  readonly file: string
  /** Where the copy goes; a file there is replaced. */
  readonly to: string
  readonly nowMillis: number
}

export interface Copied {
  readonly bytes: number
  readonly mark: string | null
  readonly epoch?: number
  readonly seq?: number
  readonly ordinal?: number
  readonly version?: number
  /** Tags of the namespaces that `control.db` names. */
  readonly tags?: ReadonlyArray<string>
  /** Records of a part of the log. */
  readonly records?: CopiedRecords
}

/** Ordinals, both inclusive; `last` is `first - 1` if there are none. */
export interface CopiedRecords {
  readonly first: number
  readonly last: number
  /** It ends before a record that was erased: what follows needs younger copies of the files. */
  readonly isCut: boolean
  /** A record of it erases what may be in earlier ones, or in copies of the files. */
  readonly erases?: boolean
}

/** Undefined: there is no such file. Throws `SqliteError`. */
export const copyOf = ({ directory, file, nowMillis, to }: CopyRequest): Copied | undefined => {
  const path = join(directory, file)
  // Before the copy: what changes meanwhile has another mark.
  const mark = markOf(path, nowMillis)
  if (mark === undefined) return undefined
  rmSync(to, { force: true })
  const positions = file.endsWith(".db") ? copyDatabase(path, to) : copyPlain(path, to)
  if (positions === undefined) return undefined
  chmodSync(to, 0o600)
  return { bytes: syncedBytes(to), mark: mark === "" ? null : mark, ...positions }
}

/** A file that changed within this time may change again without a later time stamp. */
const settledMillis = 2_000

/**
 * Equal marks mean equal content: inode, size and time of change of the file and of its log. Empty: it changed a moment
 * ago, so nothing can be said yet. Undefined: there is no such file.
 */
export const markOf = (path: string, nowMillis: number): string | undefined => {
  const stats = [path, `${path}-wal`].map((each) => statSync(each, { bigint: true, throwIfNoEntry: false }))
  const [own, log] = stats
  if (own === undefined) return undefined
  const newest = Math.max(...stats.map((each) => (each === undefined ? 0 : Number(each.ctimeMs))))
  if (nowMillis - newest < settledMillis) return ""
  // An empty log is as good as none: it appears and goes with every look at the file.
  return [own, ...(log === undefined || log.size === 0n ? [] : [log])].map(stampOf).join("+")
}

const stampOf = ({ ctimeNs, ino, mtimeNs, size }: BigIntStats): string => `${ino}.${size}.${mtimeNs}.${ctimeNs}`

const copyDatabase = (path: string, to: string): Omit<Copied, "bytes" | "mark"> | undefined => {
  const database = openExisting(path)
  if (database === undefined) return undefined
  try {
    database.prepare("VACUUM INTO ?").run(to)
  } finally {
    database.close()
  }
  return positionsOf(to)
}

/** `mode=rw`: fails where there is no file, instead of making an empty one. */
const openExisting = (path: string): Database | undefined => {
  try {
    return new Database({ filename: `${pathToFileURL(path).href}?mode=rw` })
  } catch (error) {
    if (!existsSync(path)) return undefined
    throw error
  }
}

/** Of the copy, so that they are what it holds, whatever has been committed since. */
export const positionsOf = (copy: string): Omit<Copied, "bytes" | "mark"> => {
  const database = new Database({ filename: copy, readOnly: true })
  try {
    const version = Number(database.value("PRAGMA user_version"))
    return { version, ...metaIn(database), ...tagsIn(database) }
  } finally {
    database.close()
  }
}

const hasTable = (database: Database, name: string): boolean =>
  database.prepare("SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== undefined

const metaIn = (database: Database): Pick<Copied, "epoch" | "seq" | "ordinal"> =>
  hasTable(database, "meta")
    ? Object.fromEntries(
        database
          .prepare("SELECT key, value FROM meta WHERE key IN ('epoch', 'seq', 'ordinal')")
          .all()
          .map(({ key, value }) => [String(key), Number(value)])
      )
    : {}

const tagsIn = (database: Database): Pick<Copied, "tags"> =>
  hasTable(database, "namespace")
    ? {
        tags: database
          .prepare("SELECT tag FROM namespace ORDER BY tag")
          .all()
          .map(({ tag }) => String(tag))
      }
    : {}

const copyPlain = (path: string, to: string): Omit<Copied, "bytes" | "mark"> | undefined => {
  try {
    copyFileSync(path, to)
    return {}
  } catch (error) {
    if (!existsSync(path)) return undefined
    throw error
  }
}
