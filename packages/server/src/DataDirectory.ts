/**
 * The data directory and who may use it. One process at a time: the lock names it and where it
 * listens, so that the command line finds it. Only the owner of the directory can read it: what is
 * made by this process is private, and an existing directory that others can read is mended.
 *
 * The lock is a file held open with an exclusive SQLite lock: the kernel frees it when the process
 * dies, however it dies.
 */
import { existsSync, readFileSync, rmSync, statSync, statfsSync } from "node:fs"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Context, Data, Effect, Layer, Option, Redacted, Schema, type Scope } from "effect"
import { controlFile } from "@muniment/backup/BackupFormat"
import { unfinishedName } from "@muniment/backup/RestoreBackup"
import { Ballast, ballastName } from "@muniment/engine/host/FileGuard"
import { isUsableSecret } from "@muniment/trust/ApiKeys"
import { makePrivateDirectory, mendPermissions, replacePrivateFile } from "@muniment/trust/PrivateFile"

/** Another process serves this directory. */
class DirectoryInUse extends Data.TaggedError("DirectoryInUse")<{
  readonly path: string
  readonly holder: LockNote | undefined
}> {
  override get message(): string {
    const where = this.holder === undefined ? "" : ` (process ${this.holder.pid}, ${this.holder.url})`
    return `${this.path} is in use by another Muniment${where}`
  }
}

/** The directory cannot be made, read or written. */
export class DirectoryUnusable extends Data.TaggedError("DirectoryUnusable")<{
  readonly path: string
  readonly cause: unknown
}> {
  override get message(): string {
    const reason = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return `the data directory ${this.path} (MUNIMENT_DATA_DIR) cannot be used: ${reason}`
  }
}

/** A command came to a directory that no start has made one of a service. */
class InstallationAbsent extends Data.TaggedError("InstallationAbsent")<{ readonly path: string }> {
  override get message(): string {
    return `${this.path} (MUNIMENT_DATA_DIR) holds no installation, and this command makes none: name the directory of one, or start one with "npm run muniment -- serve"`
  }
}

/** A restore into the directory, or a move out of a cluster, was interrupted. */
class RestoreUnfinished extends Data.TaggedError("RestoreUnfinished")<{ readonly path: string }> {
  override get message(): string {
    return `the restore into ${this.path} was interrupted; repeat it: npm run muniment -- restore --from ... --to ${this.path}, or npm run muniment -- migrate if it came out of a cluster`
  }
}

/** Holder of the lock, as the lock file names it; `startedAt` in milliseconds. */
const LockNote = Schema.Struct({ pid: Schema.Int, url: Schema.String, startedAt: Schema.Int })
type LockNote = typeof LockNote.Type

export class DataDirectory extends Context.Service<
  DataDirectory,
  {
    readonly path: string
    readonly operatorToken: Redacted.Redacted
    /** Writes the address of this process into the lock note. */
    readonly announce: (note: LockNote) => Effect.Effect<void>
  }
>()("muniment/server/DataDirectory") {
  static readonly layer = (options: {
    readonly path: string
    readonly operatorToken: Redacted.Redacted | undefined
    /** Also of one whose data was moved into a cluster. */
    readonly isMove?: boolean
  }) =>
    Layer.effect(
      DataDirectory,
      Effect.gen(function* () {
        const { path } = options
        yield* prepare(path)
        if (existsSync(join(path, unfinishedName))) return yield* new RestoreUnfinished({ path })
        const moved = options.isMove === true ? undefined : movedFrom(path)
        if (moved !== undefined) return yield* moved
        yield* lock(path)
        yield* Effect.sync(() => makeRoom(path))
        return {
          path,
          operatorToken: options.operatorToken ?? Redacted.make(yield* ensureToken(path)),
          announce: (note) =>
            Effect.sync(() => {
              makeRoom(path)
              replacePrivateFile(join(path, noteName), `${JSON.stringify(note)}\n`)
            })
        }
      })
    )
}

/** For what works on an installation and must not make one; nothing is made or changed here. */
export const demandInstallation = (path: string): Effect.Effect<void, InstallationAbsent | DirectoryUnusable> =>
  Effect.try({
    // An interrupted restore has a sentence of its own.
    try: () => [controlFile, unfinishedName].some((name) => isThere(join(path, name))),
    catch: (cause) => new DirectoryUnusable({ path, cause })
  }).pipe(Effect.flatMap((isFound) => (isFound ? Effect.void : new InstallationAbsent({ path }))))

/** Throws where that cannot be told, as in a directory of another user. */
const isThere = (file: string): boolean => {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOTDIR") return false
    throw cause
  }
}

/** File of the operator's token. */
export const operatorTokenName = "operator-token"

const noteName = "server.lock"
const decodeNote = Schema.decodeUnknownOption(Schema.fromJsonString(LockNote))

/** Note of the process that serves a directory; undefined when there is none. */
export const readLockNote = (path: string): LockNote | undefined => {
  const file = join(path, noteName)
  if (!existsSync(file)) return undefined
  const note = decodeNote(readFileSync(file, "utf8"))
  return note._tag === "Some" ? note.value : undefined
}

/** The operator's token of a directory, if one was made. */
export const readOperatorToken = (path: string): string | undefined => {
  const file = join(path, operatorTokenName)
  return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined
}

/** SQLite and the index make files too; their modes follow from the umask. */
const privateUmask = 0o077

/** The directory exists, and others than its owner can read nothing in it. */
const prepare = Effect.fnUntraced(function* (path: string) {
  yield* Effect.try({
    try: () => {
      process.umask(privateUmask)
      makePrivateDirectory(path)
      // Made here and not by the store: its entry in this folder has to survive a power cut as well.
      makePrivateDirectory(join(path, "namespaces"))
    },
    catch: (cause) => new DirectoryUnusable({ path, cause })
  })
  yield* Effect.try(() => mendPermissions(path)).pipe(
    Effect.matchEffect({
      onSuccess: (entries) =>
        entries === 0
          ? Effect.void
          : Effect.logWarning("data directory was open to others; now only its owner can read it", { path, entries }),
      onFailure: ({ cause }) =>
        Effect.logWarning("data directory is open to others, and its permissions cannot be changed", {
          path,
          cause: String(cause)
        })
    })
  )
})

const lock = (path: string): Effect.Effect<void, DirectoryInUse | DirectoryUnusable, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.try({
        try: () => {
          const database = new DatabaseSync(join(path, "lock.db"), { timeout: 0 })
          database.exec("PRAGMA journal_mode=DELETE; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE")
          return database
        },
        catch: (cause) =>
          isBusy(cause)
            ? new DirectoryInUse({ path, holder: readLockNote(path) })
            : new DirectoryUnusable({ path, cause })
      }),
      (database) => Effect.sync(() => database.close())
    )
  )

/** SQLITE_BUSY: another process holds the lock. */
const busyCode = 5

const isBusy = (cause: unknown): boolean => cause instanceof Error && "errcode" in cause && cause.errcode === busyCode

/** Space that a start itself needs: the index of the log of control.db, the lock note. */
const startRoomBytes = 1_048_576

/** On a full disk a start takes the room that it needs from the ballast: reads and deletes must work. */
const makeRoom = (path: string): void => {
  const { bavail, bsize } = statfsSync(path)
  if (bavail * bsize < startRoomBytes) new Ballast(join(path, ballastName)).releasePart(startRoomBytes)
}

/** The token of the directory. One that is empty or torn, as a power cut leaves it, opens nothing and is made anew. */
const ensureToken = Effect.fnUntraced(function* (path: string) {
  const file = join(path, operatorTokenName)
  const unusable = (cause: unknown) => new DirectoryUnusable({ path, cause })
  const found = yield* Effect.try({
    try: () => (existsSync(file) ? readFileSync(file, "utf8").trim() : undefined),
    catch: unusable
  })
  if (found !== undefined && isUsableSecret(found)) return found
  if (found !== undefined)
    yield* Effect.logWarning("operator-token was empty or damaged: a new token is made", { file })
  const made = randomBytes(32).toString("base64url")
  yield* Effect.try({ try: () => replacePrivateFile(file, `${made}\n`), catch: unusable })
  return made
})

const movedName = "moved-to-cluster"

const MovedNote = Schema.fromJsonString(
  Schema.Struct({
    /** The cluster's, without user and password. */
    database: Schema.String,
    /** Id of the move; the cluster has the same. */
    id: Schema.String,
    isDone: Schema.Boolean
  })
)
/**
 * The note in a data directory that its data was moved into a cluster: no service starts over it any more, so that the
 * two do not go on side by side. An operator who wants the directory as it was then deletes the note.
 *
 * Invariant: the note is there before the cluster has the data; until `isDone` the move may have been interrupted.
 */
export type MovedNote = typeof MovedNote.Type

/** The data is in a cluster. */
class DirectoryMoved extends Data.TaggedError("DirectoryMoved")<{
  readonly path: string
  readonly note: MovedNote | undefined
}> {
  override get message(): string {
    const { note, path } = this
    const went =
      note === undefined
        ? `the data of ${path} was moved into a cluster`
        : note.isDone
          ? `the data of ${path} was moved into the cluster of ${note.database}`
          : `a move of ${path} into the cluster of ${note.database} was interrupted; repeat it: npm run muniment -- migrate --to ...`
    return `${went}; to use the directory as it was then, without what the cluster has since, delete ${join(path, movedName)}`
  }
}

/** Undefined: it was not moved. */
export const movedFrom = (path: string): DirectoryMoved | undefined => {
  const file = join(path, movedName)
  if (!existsSync(file)) return undefined
  return new DirectoryMoved({ path, note: Option.getOrUndefined(decodeMovedNote(readFileSync(file, "utf8"))) })
}

const decodeMovedNote = Schema.decodeUnknownOption(MovedNote)

export const noteMove = (path: string, note: MovedNote): void =>
  replacePrivateFile(join(path, movedName), `${JSON.stringify(note)}\n`)

export const forgetMove = (path: string): void => rmSync(join(path, movedName), { force: true })
