/**
 * Move out of a cluster (`muniment migrate --from`): the data of a cluster of which no node runs becomes a data
 * directory of one machine. This process owns `control.db` as a node would, so that no node serves before it ends;
 * every namespace is made from its base and its records, and the whole directory is proved before it counts.
 *
 * Invariants: until everything is in place the directory holds `restore-unfinished`, with which no service starts; what
 * the cluster holds stays the same, except that it says where its data went and serves no more.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs"
import { hostname } from "node:os"
import { join, resolve } from "node:path"
import { Context, Effect, Layer } from "effect"
import { controlFile, namespaceFile } from "@muniment/backup/BackupFormat"
import { unfinishedName } from "@muniment/backup/RestoreBackup"
import { openTarget } from "@muniment/backup/target/openTarget"
import { BaseStore, packedBases } from "@muniment/cluster/bases/BaseStore"
import { controlTag, replicatedControl } from "@muniment/cluster/control/ReplicatedControl"
import { logDatabase } from "@muniment/cluster/log/LogDatabase"
import { ClusterMoved, demandData, destination, type Destination, reopen } from "@muniment/cluster/log/MoveMarks"
import { openPostgresLog } from "@muniment/cluster/log/PostgresLog"
import { replicatedStore } from "@muniment/cluster/store/ReplicatedStore"
import { NamespaceDirectory } from "@muniment/control/accounts/NamespaceDirectory"
import { Quotas } from "@muniment/control/accounts/Accounts"
import { changeNumberOf } from "@muniment/control/database/ChangeLog"
import { type NamespaceKey, NamespaceStore } from "@muniment/engine/store/NamespaceStore"
import { copyContent } from "@muniment/engine/store/sqlite/namespaceMeta"
import { syncClosedCopy } from "@muniment/engine/store/sqlite/namespaceFiles"
import { syncClosed } from "@muniment/sqlite/ClosedFile"
import { Database } from "@muniment/sqlite/Database"
import { keyFileName } from "@muniment/trust/KeyRing"
import { makePrivateDirectory, replacePrivateFile } from "@muniment/trust/PrivateFile"
import { DirectoryUnusable, operatorTokenName } from "../DataDirectory.ts"
import { beginLogBehind, proveRestored } from "../operator/restoredDirectory.ts"
import { type Moved, MoveFailed, type MoveOptions } from "./moveIntoCluster.ts"

/** Folder of copies, in the data directory. */
const scratchName = "moving"
/** Address without a listener: nodes that start now wait. */
const moverName = "moving:0"
/** Text of `restore-unfinished`, by which a repetition empties only what a move has left. */
const unfinishedText = "migrate\n"

export const moveOutOfCluster = Effect.fn("Cluster.moveOut")(function* (options: MoveOptions) {
  const { directory, isDry, settings } = options
  yield* usable(directory, () => demandEmptyDirectory(directory))
  const database = yield* Layer.build(logDatabase(settings.databaseUrl, 1))
  yield* Effect.provide(Effect.andThen(demandData, demandHereOrIn(directory)), database)
  if (isDry) return { agents: 0, bytes: 0 } satisfies Moved
  yield* usable(directory, () => prepare(directory))
  const moved = yield* Effect.scoped(copied(options))
  // Until the directory is proved the data stays where it was.
  yield* Effect.onError(proved(options), () => Effect.ignore(Effect.provide(reopen, database)))
  yield* usable(directory, () => rmSync(join(directory, unfinishedName)))
  return moved
}, Effect.scoped)

const proved = Effect.fnUntraced(function* ({ directory, onProgress }: MoveOptions) {
  const faults = yield* proveRestored(directory, (done, total) => onProgress(done, total, "Checking"))
  if (faults.length > 0)
    return yield* new MoveFailed({
      message: `what was copied is not whole: ${faults.map(({ file, reason }) => `${file}: ${reason}`).join("; ")}`
    })
})

const placeOf = (directory: string): Destination => ({ host: hostname(), directory: resolve(directory) })

/** A move into that directory may have been interrupted after the cluster was left. */
const demandHereOrIn = (directory: string) =>
  Effect.flatMap(destination, (to) => {
    const { directory: path, host } = placeOf(directory)
    return to === undefined || (to.host === host && to.directory === path)
      ? Effect.void
      : Effect.fail(new ClusterMoved({ to }))
  })

/** Owns the cluster until all files are copied, and leaves it marked as left. */
const copied = Effect.fnUntraced(function* ({ directory, onProgress, settings }: MoveOptions) {
  const log = yield* openPostgresLog({ url: settings.databaseUrl, node: moverName })
  const bases = Context.get(yield* Layer.build(packedBases(yield* openTarget(settings.bases))), BaseStore)
  const parts = { directory: join(directory, scratchName), log, bases }
  const context = yield* Layer.build(
    NamespaceDirectory.layer.pipe(Layer.provideMerge(Quotas.layer), Layer.provideMerge(replicatedControl(parts)))
  )
  const secrets = log.secretsUnder(settings.secret)
  for (const name of [operatorTokenName, keyFileName]) {
    const text = yield* secrets.get(name)
    if (text !== undefined) replacePrivateFile(join(directory, name), name === operatorTokenName ? `${text}\n` : text)
  }
  const control = yield* usable(directory, () => copyControl(parts.directory, join(directory, controlFile)))
  const { storedBytes } = Context.get(yield* Layer.build(replicatedStore(parts)), NamespaceStore)
  const keys = Context.get(context, NamespaceDirectory).all()
  const done = { agents: 0, bytes: 0, last: control }
  for (const [at, key] of keys.entries()) {
    // Opened for this scope, and closed with everything that the cluster has of it.
    yield* storedBytes(key)
    const content = yield* usable(directory, () => place(parts.directory, directory, key))
    if (content !== undefined) {
      yield* syncClosedCopy(join(directory, namespaceFile(key.tag)))
      done.agents++
      done.bytes += content.bytes
      done.last = Math.max(done.last, content.ordinal)
    }
    yield* onProgress(at + 1, keys.length, "Copying")
  }
  yield* syncClosedCopy(join(directory, controlFile))
  rmSync(parts.directory, { recursive: true, force: true })
  yield* beginLogBehind(directory, done.last)
  // A node that waits for `control.db` sees it when it has that.
  yield* log.markLeft(controlTag, placeOf(directory))
  return { agents: done.agents, bytes: done.bytes } satisfies Moved
})

/** A move before this one may have left a part. */
const demandEmptyDirectory = (directory: string): void => {
  if (!existsSync(directory)) return
  const names = readdirSync(directory)
  const isLeft =
    names.includes(unfinishedName) && readFileSync(join(directory, unfinishedName), "utf8") === unfinishedText
  if (names.length > 0 && !isLeft) throw new Error("it is not empty; move into an empty directory")
}

const prepare = (directory: string): void => {
  makePrivateDirectory(directory)
  replacePrivateFile(join(directory, unfinishedName), unfinishedText)
  for (const name of readdirSync(directory))
    if (name !== unfinishedName) rmSync(join(directory, name), { recursive: true, force: true })
  makePrivateDirectory(join(directory, "namespaces"))
  mkdirSync(join(directory, scratchName), { mode: 0o700 })
}

/** -> its number. */
const copyControl = (folder: string, to: string): number => {
  Database.using(join(folder, "control", controlFile), (database) => database.prepare("VACUUM INTO ?").run(to))
  const number = Database.using(to, changeNumberOf)
  syncClosed(to)
  return number
}

/** Undefined: the agent holds nothing yet. */
const place = (scratch: string, directory: string, { tag }: NamespaceKey) => {
  const from = join(scratch, namespaceFile(tag))
  const { epoch, ordinal } = Database.using(from, copyContent)
  if (epoch === 0) return undefined
  // Begun as a base that was fetched, which was not synced.
  syncClosed(from)
  renameSync(from, join(directory, namespaceFile(tag)))
  return { ordinal, bytes: statSync(join(directory, namespaceFile(tag))).size }
}

const usable = <A>(path: string, step: () => A): Effect.Effect<A, DirectoryUnusable> =>
  Effect.try({ try: step, catch: (cause) => new DirectoryUnusable({ path, cause }) })
