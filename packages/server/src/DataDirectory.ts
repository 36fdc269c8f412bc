/**
 * The data directory and who may use it. One process at a time: the lock names it and where it
 * listens, so that the command line finds it. The operator's token lies beside, readable by the
 * owner of the directory alone.
 *
 * The lock is a file held open with an exclusive SQLite lock: the kernel frees it when the process
 * dies, however it dies.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statfsSync, writeFileSync } from "node:fs"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Context, Data, Effect, Layer, Redacted, Schema, type Scope } from "effect"
import { Ballast, ballastName } from "@muniment/engine/Ballast"

/** Another process serves this directory. */
export class DirectoryInUse extends Data.TaggedError("DirectoryInUse")<{
  readonly path: string
  readonly holder: LockNote | undefined
}> {
  override get message(): string {
    const where = this.holder === undefined ? "" : ` (process ${this.holder.pid}, ${this.holder.url})`
    return `${this.path} is in use by another Muniment${where}`
  }
}

/** What the lock file says of its holder; `startedAt` in milliseconds. */
export const LockNote = Schema.Struct({ pid: Schema.Int, url: Schema.String, startedAt: Schema.Int })
export type LockNote = typeof LockNote.Type

export class DataDirectory extends Context.Service<
  DataDirectory,
  {
    readonly path: string
    readonly operatorToken: Redacted.Redacted
    /** Writes where this process listens into the lock file. */
    readonly announce: (note: LockNote) => Effect.Effect<void>
  }
>()("muniment/server/DataDirectory") {
  static readonly layer = (options: { readonly path: string; readonly operatorToken: Redacted.Redacted | undefined }) =>
    Layer.effect(
      DataDirectory,
      Effect.gen(function* () {
        const { path } = options
        yield* Effect.sync(() => mkdirSync(path, { recursive: true, mode: 0o700 }))
        yield* lock(path)
        yield* Effect.sync(() => makeRoom(path))
        return {
          path,
          operatorToken:
            options.operatorToken ?? Redacted.make(yield* Effect.sync(() => ensureToken(join(path, "operator-token")))),
          announce: (note) => Effect.sync(() => writeAside(join(path, noteName), `${JSON.stringify(note)}\n`))
        }
      })
    )
}

const noteName = "server.lock"
const decodeNote = Schema.decodeUnknownOption(Schema.fromJsonString(LockNote))

/** Where the process that serves a directory says it listens; undefined when there is no note. */
export const readLockNote = (path: string): LockNote | undefined => {
  const file = join(path, noteName)
  if (!existsSync(file)) return undefined
  const note = decodeNote(readFileSync(file, "utf8"))
  return note._tag === "Some" ? note.value : undefined
}

/** The operator's token of a directory, if one was made. */
export const readOperatorToken = (path: string): string | undefined => {
  const file = join(path, "operator-token")
  return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined
}

const lock = (path: string): Effect.Effect<void, DirectoryInUse, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.try({
        try: () => {
          const database = new DatabaseSync(join(path, "lock.db"), { timeout: 0 })
          database.exec("PRAGMA journal_mode=DELETE; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE")
          return database
        },
        catch: () => new DirectoryInUse({ path, holder: readLockNote(path) })
      }),
      (database) => Effect.sync(() => database.close())
    )
  )

/** What a start writes itself: the log's index of control.db, the lock note. */
const startRoomBytes = 1_048_576

/** On a full disk a start takes the room that it needs from the ballast: reads and deletes must work. */
const makeRoom = (path: string): void => {
  const { bavail, bsize } = statfsSync(path)
  if (bavail * bsize < startRoomBytes) new Ballast(join(path, ballastName)).releasePart(startRoomBytes)
}

const ensureToken = (file: string): string => {
  if (!existsSync(file)) writeAside(file, `${randomBytes(32).toString("base64url")}\n`)
  chmodSync(file, 0o600)
  return readFileSync(file, "utf8").trim()
}

/** A reader sees the old file or the new one, never half of it. */
const writeAside = (file: string, text: string): void => {
  writeFileSync(`${file}.new`, text, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
