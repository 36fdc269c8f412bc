/**
 * Move into a cluster (`muniment migrate --to`): the data of one machine, whose service is stopped, becomes that of an
 * empty cluster. Every file is brought to this release's version in a copy, read whole, and kept as a base; then all
 * bases are fetched again and compared; then one transaction makes them count.
 *
 * Invariants: the directory stays what it is, except that its files follow its commit log as at a start, and that it says
 * where its data went; until the transaction the cluster is empty, and a repetition finds the bases that are there by the
 * digests in their names.
 */
import { createHash, randomBytes } from "node:crypto"
import { createReadStream, existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { Context, Data, Effect, Layer, Redacted } from "effect"
import { controlFile, namespaceFile } from "@muniment/backup/BackupFormat"
import { openTarget } from "@muniment/backup/target/openTarget"
import { BaseStore, type BaseStoreShape, packedBases } from "@muniment/cluster/bases/BaseStore"
import { controlTag } from "@muniment/cluster/control/ReplicatedControl"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { logDatabase } from "@muniment/cluster/log/LogDatabase"
import { demandUnused, hasArrived, type MovedNamespace, takeOver } from "@muniment/cluster/log/MoveMarks"
import { changeNumberOf } from "@muniment/control/database/ChangeLog"
import { controlMigrations } from "@muniment/control/database/migrations/controlMigrations"
import type { NamespaceKey } from "@muniment/engine/store/NamespaceStore"
import { type FileChecks, openCheckThread } from "@muniment/engine/store/sqlite/CheckThread"
import { openMigrated, removeDatabase } from "@muniment/engine/store/sqlite/namespaceFiles"
import { copyContent, requireOwner } from "@muniment/engine/store/sqlite/namespaceMeta"
import { Database } from "@muniment/sqlite/Database"
import { migrate } from "@muniment/sqlite/Migrate"
import { keyFileName } from "@muniment/trust/KeyRing"
import {
  DataDirectory,
  DirectoryUnusable,
  type MovedNote,
  demandInstallation,
  forgetMove,
  movedFrom,
  noteMove,
  operatorTokenName
} from "../DataDirectory.ts"
import { settleFiles } from "../operator/restoredDirectory.ts"
import type { ClusterSettings } from "./ClusterSettings.ts"

/** The data to be moved is not whole, or the moved data differs. */
export class MoveFailed extends Data.TaggedError("MoveFailed")<{ readonly message: string }> {}

type MoveStep = "Copying" | "Checking"

export interface MoveOptions {
  readonly settings: ClusterSettings
  /** Data directory of the one machine. */
  readonly directory: string
  /** Looks whether it can be moved, and moves nothing. */
  readonly isDry: boolean
  readonly onProgress: (done: number, total: number, step: MoveStep) => Effect.Effect<void>
}

export interface Moved {
  readonly agents: number
  readonly bytes: number
}

/** Length of the id of a move. */
const idBytes = 16
/** Folder of copies, in the data directory. */
const scratchName = "moving"

export const moveIntoCluster = Effect.fn("Cluster.moveInto")(function* (options: MoveOptions) {
  const { directory, isDry, settings } = options
  yield* demandInstallation(directory)
  yield* Layer.build(DataDirectory.layer({ path: directory, operatorToken: undefined, isMove: true }))
  const database = yield* Layer.build(logDatabase(settings.databaseUrl, 2))
  const place = databaseName(settings)
  const before = movedFrom(directory)
  if (before !== undefined) {
    const { note } = before
    if (note === undefined || note.isDone || note.database !== place) return yield* before
    if (yield* Effect.provide(hasArrived(note.id), database)) {
      if (!isDry) yield* noted(directory, { ...note, isDone: true })
      return lookedAt(directory)
    }
  }
  yield* Effect.provide(demandUnused, database)
  const bases = Context.get(yield* Layer.build(packedBases(yield* openTarget(settings.bases))), BaseStore)
  if (isDry) return lookedAt(directory)
  const behind = yield* settleFiles(directory)
  if (behind.length > 0)
    return yield* new MoveFailed({
      message: `${behind.join(", ")} cannot follow the commit log; see "npm run muniment -- doctor"`
    })
  const scratch = yield* scratchFolder(directory)
  const move = new Move({ directory, scratch, bases, checks: yield* openCheckThread({ logDirectory: undefined }) })
  const kept = yield* move.copyAll((done, total) => options.onProgress(done, total, "Copying"))
  yield* move.checkAll(kept, (done, total) => options.onProgress(done, total, "Checking"))
  const secrets = [operatorTokenName, keyFileName].flatMap((name) => {
    const path = join(directory, name)
    return existsSync(path) ? [{ name, text: textOf(name, path) }] : []
  })
  const note = { database: place, id: randomBytes(idBytes).toString("hex"), isDone: false }
  yield* noted(directory, note)
  yield* takeOver({ id: note.id, namespaces: kept, secrets }, settings.secret).pipe(
    Effect.provide(database),
    // Any other failure leaves open whether the cluster has it.
    Effect.tapErrorTag("ClusterInUse", () => Effect.sync(() => forgetMove(directory)))
  )
  yield* noted(directory, { ...note, isDone: true })
  return totalOf(kept.filter(({ tag }) => tag !== controlTag))
}, Effect.scoped)

const noted = (directory: string, note: MovedNote): Effect.Effect<void, DirectoryUnusable> =>
  Effect.try({
    try: () => noteMove(directory, note),
    catch: (cause) => new DirectoryUnusable({ path: directory, cause })
  })

/** Name of the database, without user and password. */
const databaseName = ({ databaseUrl }: ClusterSettings): string => {
  const { host, pathname } = new URL(Redacted.value(databaseUrl))
  return `${host}${pathname}`
}

/** The token is kept without the end of its line. */
const textOf = (name: string, path: string): string => {
  const text = readFileSync(path, "utf8")
  return name === operatorTokenName ? text.trim() : text
}

const lookedAt = (directory: string): Moved => {
  const database = new Database({ filename: join(directory, controlFile) })
  try {
    return totalOf(
      keysIn(database).flatMap(({ tag }) => {
        const path = join(directory, namespaceFile(tag))
        return existsSync(path) ? [{ bytes: statSync(path).size }] : []
      })
    )
  } finally {
    database.close()
  }
}

const totalOf = (files: ReadonlyArray<{ readonly bytes: number }>): Moved => ({
  agents: files.length,
  bytes: files.reduce((sum, { bytes }) => sum + bytes, 0)
})

const scratchFolder = (directory: string) => {
  const scratch = join(directory, scratchName)
  const remove = () => rmSync(scratch, { recursive: true, force: true })
  return Effect.acquireRelease(
    Effect.sync(() => {
      remove()
      mkdirSync(scratch, { mode: 0o700 })
      return scratch
    }),
    () => Effect.sync(remove)
  )
}

interface KeptBase extends MovedNamespace {
  readonly bytes: number
  readonly sha256: string
}

interface MoveParts {
  readonly directory: string
  readonly scratch: string
  readonly bases: BaseStoreShape
  readonly checks: FileChecks
}

type OnFile = (done: number, total: number) => Effect.Effect<void>

class Move {
  readonly #parts: MoveParts
  readonly #copy: string

  constructor(parts: MoveParts) {
    this.#parts = parts
    this.#copy = join(parts.scratch, "copy.db")
  }

  /** `control.db` and the file of every agent that it names. */
  copyAll(onFile: OnFile) {
    return Effect.gen({ self: this }, function* () {
      const { directory } = this.#parts
      const { control, keys } = yield* this.#copyControl
      const kept = [control]
      for (const [at, key] of keys.entries()) {
        if (existsSync(join(directory, namespaceFile(key.tag)))) kept.push(yield* this.#copyNamespace(key))
        yield* onFile(at + 1, keys.length)
      }
      return kept
    })
  }

  /** Every base as the nodes will get it. */
  checkAll(kept: ReadonlyArray<KeptBase>, onFile: OnFile) {
    return Effect.gen({ self: this }, function* () {
      const { bases } = this.#parts
      for (const [at, { object, sha256, tag }] of kept.entries()) {
        yield* bases.get(object, this.#copy)
        // The digest of what was read, not of what the list of the base says.
        const found = yield* sha256Of(this.#copy)
        if (found !== sha256) return yield* new MoveFailed({ message: `the base of ${tag} is not what was moved` })
        yield* onFile(at + 1, kept.length)
      }
    })
  }

  get #copyControl() {
    return Effect.gen({ self: this }, function* () {
      const { keys, number } = yield* this.#copied(controlFile, (database) => {
        migrate(database, controlMigrations, { snapshot: `${this.#copy}.before-migration` })
        return { number: changeNumberOf(database), keys: keysIn(database) }
      })
      yield* this.#demandWhole(controlFile, undefined)
      const control = yield* this.#keep("control", { tag: controlTag, epoch: 1, seq: number, ordinal: 1 })
      return { control, keys }
    })
  }

  #copyNamespace(key: NamespaceKey) {
    return Effect.gen({ self: this }, function* () {
      const { tag } = key
      const file = namespaceFile(tag)
      const { epoch, ordinal, seq } = yield* this.#copied(file, (database) => {
        openMigrated(database.filename).close()
        requireOwner(database, key)
        return copyContent(database)
      })
      yield* this.#demandWhole(file, key.agentId)
      return yield* this.#keep(`namespaces/${tag}`, { tag, epoch, seq, ordinal })
    })
  }

  /** Makes the copy, of this release's version once `look` has looked at it. */
  #copied<A>(file: string, look: (database: Database) => A): Effect.Effect<A, MoveFailed> {
    return Effect.try({
      try: () => {
        for (const path of [this.#copy, ...copiesBefore(this.#parts.scratch)]) removeDatabase(path)
        Database.using(join(this.#parts.directory, file), (database) =>
          database.prepare("VACUUM INTO ?").run(this.#copy)
        )
        return Database.using(this.#copy, look)
      },
      catch: (cause) =>
        new MoveFailed({ message: `${file}: ${cause instanceof Error ? cause.message : String(cause)}` })
    })
  }

  #demandWhole(file: string, agentId: string | undefined) {
    return Effect.flatMap(
      this.#parts.checks.check(this.#copy, agentId, () => Effect.void),
      ({ faults }) =>
        faults.length === 0
          ? Effect.void
          : Effect.fail(
              new MoveFailed({
                message: `${file} is damaged (${faults.join("; ")}); restore it from a backup before it is moved`
              })
            )
    )
  }

  #keep(folder: string, at: Omit<MovedNamespace, "object">) {
    return Effect.gen({ self: this }, function* () {
      const sha256 = yield* sha256Of(this.#copy)
      const object = `${folder}/${at.epoch}-${at.ordinal}-${sha256.slice(0, digestDigits)}`
      const { size } = statSync(this.#copy)
      yield* Effect.catchTag(this.#parts.bases.put(object, this.#copy), "BaseExists", () => Effect.void)
      return { ...at, object, bytes: size, sha256 } satisfies KeptBase
    })
  }
}

/** Digits of the digest in the name of a base. */
const digestDigits = 32

const copiesBefore = (scratch: string): ReadonlyArray<string> =>
  globSync("copy.db.before-migration*", { cwd: scratch }).map((name) => join(scratch, name))

const keysIn = (database: Database): ReadonlyArray<NamespaceKey> =>
  database
    .prepare("SELECT tag, account, agent_id FROM namespace ORDER BY tag")
    .allArrays()
    .map(([tag, account, agentId]) => ({
      tag: String(tag) as NamespaceTag,
      account: String(account),
      agentId: String(agentId)
    }))

const sha256Of = (path: string): Effect.Effect<string, MoveFailed> =>
  Effect.tryPromise({
    try: async () => {
      const hash = createHash("sha256")
      await pipeline(createReadStream(path), hash)
      return hash.digest("hex")
    },
    catch: (cause) => new MoveFailed({ message: String(cause) })
  })
