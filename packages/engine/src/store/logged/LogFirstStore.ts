/**
 * `NamespaceStore` whose commits go to the commit log first; the SQLite files are copies that follow.
 *
 * Invariants: a file is opened, read or counted only after it has followed the log; what neither the file nor the
 * log has is damage, told with the records that are missing, and never skipped; no new file takes the place of one that
 * had memories and is gone.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Clock, Context, Effect, Layer, Queue, type Scope } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { Database } from "@muniment/sqlite/Database"
import { Rounds } from "@muniment/worker/Rounds"
import { CommitLog, type CommitLogShape, type LogStatus } from "../../log/CommitLog.ts"
import { type LogPart, writePart } from "../../log/LogArchive.ts"
import { logFolder, syncDirectory } from "../../log/segmentFiles.ts"
import {
  NamespaceStore,
  type CensusOptions,
  type FileVerdict,
  type NamespaceKey,
  type OpenNamespace,
  type Pace
} from "../NamespaceStore.ts"
import { type FileChecks, openCheckThread } from "../sqlite/CheckThread.ts"
import { openCommitThread, type CommitThread } from "../sqlite/CommitThread.ts"
import { NamespaceFile } from "../sqlite/NamespaceFile.ts"
import {
  emptyLeftLogs,
  filesEnding,
  filesOf,
  namespaceFolder,
  openMigrated,
  removeDatabase,
  removeFiles,
  syncClosedCopy,
  syncName
} from "../sqlite/namespaceFiles.ts"
import { type CopyContent, copyContent, writeMeta } from "../sqlite/namespaceMeta.ts"
import { storedBytes, takeCensus } from "../sqlite/SqliteCensus.ts"
import { storedEvents } from "../sqlite/readStored.ts"
import { guarded } from "../sqlite/storeErrorOf.ts"
import { StoreDamaged, type StoreError } from "../StoreError.ts"
import { CopyLine, followLog, logged } from "./CopyLine.ts"
import { compareWithLog, removeComparisons } from "./LogComparison.ts"
import { LoggedNamespace } from "./LoggedNamespace.ts"

/** Whether a namespace is known to hold memories, by what is kept elsewhere. Default: nothing is. */
export const HoldsMemories = Context.Reference<(tag: NamespaceTag) => boolean>("muniment/engine/HoldsMemories", {
  defaultValue: () => () => false
})

export const logFirstStore = (dataDirectory: string): Layer.Layer<NamespaceStore, never, CommitLog> =>
  Layer.effect(
    NamespaceStore,
    Effect.gen(function* () {
      const directory = join(dataDirectory, namespaceFolder)
      mkdirSync(directory, { recursive: true })
      for (const name of filesEnding(directory, remadeSuffix)) removeDatabase(join(directory, name))
      removeComparisons(directory)
      yield* emptyLeftLogs(directory)
      const settings = { logDirectory: join(dataDirectory, logFolder) }
      const thread = yield* openCommitThread(settings)
      const checks = yield* openCheckThread(settings)
      const store = new LogFirstStore({
        directory,
        logs: yield* CommitLog,
        thread,
        checks,
        holdsMemories: yield* HoldsMemories
      })
      yield* store.shortenLog
      return store
    })
  )

/** Pause between two rounds in which copies are synced and segments of the log dropped. */
const shortenEachMillis = 60_000
/** The same on a disk that is nearly full. */
const shortenOftenMillis = 5_000

/** Copies that follow at the same time: each has its next record on the way to the thread that follows. */
const settledTogether = 8

const archiveName = "archive"
/** An archive that has not asked for this long counts as ended; on a tight disk it copies the files anew. */
const archiveHeldMillis = 600_000

interface Parts {
  readonly directory: string
  readonly logs: CommitLog["Service"]
  readonly thread: CommitThread
  readonly checks: FileChecks
  readonly holdsMemories: (tag: NamespaceTag) => boolean
}

class LogFirstStore {
  readonly #holdsMemories: (tag: NamespaceTag) => boolean
  readonly #checks: FileChecks
  readonly #directory: string
  readonly #logs: CommitLog["Service"]
  readonly #thread: CommitThread
  readonly #open = new Map<NamespaceTag, LoggedNamespace>()
  /** Closed, and their files have everything. */
  readonly #settled = new Set<NamespaceTag>()
  /** When an archive asked last. */
  #archivedAt = 0

  constructor({ checks, directory, holdsMemories, logs, thread }: Parts) {
    this.#holdsMemories = holdsMemories
    this.#checks = checks
    this.#directory = directory
    this.#logs = logs
    this.#thread = thread
  }

  readonly open = Effect.fn("NamespaceStore.open")(
    function* (this: LogFirstStore, key: NamespaceKey): Effect.fn.Return<OpenNamespace, StoreError, Scope.Scope> {
      const { tag } = key
      // One log as long as it is open: after a fault of the log, what was not told is unknown, and it opens anew.
      const log = yield* this.#log
      yield* this.#isMissing(log, tag)
      const database = yield* this.#openCopy(log, tag)
      const content = yield* this.#caughtUp(log, tag, database)
      const file = yield* guarded(() => new NamespaceFile(database, key, this.#thread))
      yield* log.attach(tag, content)
      yield* Effect.addFinalizer(() => log.release(tag))
      const line = new CopyLine(file, log, content, yield* Queue.sliding<void>(1))
      const namespace = new LoggedNamespace(file, log, line)
      yield* line.run
      this.#settled.delete(tag)
      this.#open.set(tag, namespace)
      yield* Effect.addFinalizer(() => this.#leave(namespace))
      return namespace
    }.bind(this)
  )

  /** Syncs copies that old segments of the log are kept for, and drops these; until the scope ends. */
  get shortenLog(): Effect.Effect<void, never, Scope.Scope> {
    return Rounds.whenWoken({ name: "segments of the commit log", until: this.#untilDue, work: this.#shortened })
  }

  /** Old segments of the log go, or else its spare. */
  get releaseRoom(): Effect.Effect<boolean> {
    return Effect.gen({ self: this }, function* () {
      if ((yield* this.#shortened) > 0) return true
      const log = yield* this.#log
      return yield* log.giveUpSpare
    }).pipe(
      Effect.catch((error) =>
        Effect.as(Effect.logWarning("the commit log frees no room on a full disk", { error: error._tag }), false)
      )
    )
  }

  /** How many segments were dropped. */
  get #shortened(): Effect.Effect<number, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const log = yield* this.#log
      const isArchived = (yield* Clock.currentTimeMillis) < this.#archivedAt + archiveHeldMillis
      if (!isArchived || log.isTight()) yield* log.hold(archiveName, Infinity)
      for (const tag of yield* log.holders) yield* this.#makeDurable(log, tag)
      return yield* logged(log.dropUnneeded)
    })
  }

  /** Until the next round: at once where room is short. */
  get #untilDue(): Effect.Effect<void> {
    return Effect.repeat(Effect.sleep(shortenOftenMillis), {
      times: shortenEachMillis / shortenOftenMillis - 1,
      until: () => Effect.match(this.#log, { onFailure: () => false, onSuccess: (log) => log.isTight() })
    })
  }

  readonly census = (key: NamespaceKey, options: CensusOptions) =>
    Effect.andThen(this.#followed(key.tag), takeCensus(this.#directory, key, options))

  readonly storedBytes = (key: NamespaceKey) =>
    Effect.andThen(this.#followed(key.tag), storedBytes(this.#directory, key))

  readonly events = (key: NamespaceKey, after: number, limit: number) => {
    const stored = storedEvents(this.#directory, key, after, limit)
    return Effect.suspend(() => (this.#settled.has(key.tag) ? stored : Effect.andThen(this.#followed(key.tag), stored)))
  }

  /** What is whole as a file must also be what the log says. */
  readonly check = (key: NamespaceKey, pace: Pace): Effect.Effect<FileVerdict, StoreError> =>
    Effect.gen({ self: this }, function* () {
      const { tag } = key
      const verdict = yield* this.#checks.check(join(this.#directory, `${tag}.db`), key.agentId, pace)
      const parts = { checks: this.#checks, directory: this.#directory, log: yield* this.#log }
      const compared = Effect.andThen(this.#followed(tag), compareWithLog(parts, tag, pace)).pipe(
        Effect.catchTag("StoreDamaged", ({ reason }) => Effect.succeed([reason]))
      )
      const faults = verdict.faults.length > 0 ? verdict.faults : yield* compared
      if (faults.length > 0) this.#open.get(tag)?.keepLog()
      return { ...verdict, faults }
    })

  readonly checkFile = (filename: string, pace: Pace) => this.#checks.check(filename, undefined, pace)

  /** Beside the damaged file, which it replaces when it has everything. */
  readonly remake = (key: NamespaceKey): Effect.Effect<boolean, StoreError> =>
    Effect.gen({ self: this }, function* () {
      const { tag } = key
      const log = yield* this.#log
      const made = join(this.#directory, `${tag}${remadeSuffix}`)
      removeDatabase(made)
      const content = yield* Effect.scoped(
        Effect.flatMap(this.#openFile(made), (database) => this.#caughtUp(log, tag, database))
      )
      if (content.seq === 0) return false
      yield* syncClosedCopy(made)
      yield* guarded(() => {
        const filename = join(this.#directory, `${tag}.db`)
        // Never the other way round: SQLite would carry the log of the damaged file into the new one.
        for (const suffix of ["-wal", "-shm"]) rmSync(`${filename}${suffix}`, { force: true })
        renameSync(made, filename)
        syncDirectory(this.#directory)
      })
      return true
    }).pipe(
      Effect.catchTag("StoreDamaged", ({ reason }) =>
        Effect.as(Effect.logWarning("the commit log cannot make a file again", { namespace: key.tag, reason }), false)
      ),
      Effect.ensuring(Effect.sync(() => removeDatabase(join(this.#directory, `${key.tag}${remadeSuffix}`))))
    )

  get settleAll(): Effect.Effect<ReadonlyArray<NamespaceTag>, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const log = yield* this.#log
      const damaged: Array<NamespaceTag> = []
      const settle = (tag: NamespaceTag) =>
        Effect.catchTag(this.#followed(tag), "StoreDamaged", ({ reason }) => {
          damaged.push(tag)
          return Effect.logWarning("a namespace's file cannot follow the commit log", { namespace: tag, reason })
        })
      const behind = (yield* log.tags).filter((tag) => !this.#settled.has(tag))
      yield* Effect.forEach(behind, settle, { concurrency: settledTogether, discard: true })
      return damaged
    })
  }

  readonly archive = (afterOrdinal: number, path: string): Effect.Effect<LogPart | undefined, StoreError> =>
    Effect.gen({ self: this }, function* () {
      const log = yield* this.#log
      this.#archivedAt = yield* Clock.currentTimeMillis
      yield* log.hold(archiveName, afterOrdinal + 1)
      return yield* logged(writePart(log.recordsFrom(afterOrdinal + 1), path))
    })

  get logStatus(): Effect.Effect<LogStatus> {
    return this.#logs.status
  }

  readonly files = (tags: ReadonlyArray<NamespaceTag>) =>
    guarded(() => tags.flatMap((tag) => filesOf(this.#directory, tag)))

  /** The log first: a kill before the files are gone leaves files that the log does not bring back. */
  readonly remove = (tag: NamespaceTag) =>
    Effect.gen({ self: this }, function* () {
      const log = yield* this.#log
      yield* logged(log.remove(tag, yield* Clock.currentTimeMillis))
      return yield* guarded(() => removeFiles(this.#directory, tag))
    })

  get #log(): Effect.Effect<CommitLogShape, StoreError> {
    return logged(this.#logs.current)
  }

  /** What is not followed then stays in the log, and the next open follows it. */
  #leave(namespace: LoggedNamespace): Effect.Effect<void> {
    return namespace.followed.pipe(
      Effect.tap(() => Effect.sync(() => this.#settled.add(namespace.key.tag))),
      Effect.catch((error) =>
        Effect.logWarning("a namespace closed before its file had followed the log; its next open follows it", {
          namespace: namespace.key.tag,
          error: error._tag
        })
      ),
      Effect.andThen(Effect.sync(() => this.#open.delete(namespace.key.tag)))
    )
  }

  /** A file that a removal has left, or that a backup has brought back, is removed before another namespace uses its name. */
  #openCopy(log: CommitLogShape, tag: NamespaceTag): Effect.Effect<Database, StoreError, Scope.Scope> {
    const filename = join(this.#directory, `${tag}.db`)
    return this.#openFile(filename, () => {
      const database = openMigrated(filename)
      const { ordinal } = copyContent(database)
      if (ordinal === 0 || ordinal > log.removedThrough(tag)) return database
      database.close()
      removeFiles(this.#directory, tag)
      return openMigrated(filename)
    })
  }

  #openFile(
    filename: string,
    open = (): Database => openMigrated(filename)
  ): Effect.Effect<Database, StoreError, Scope.Scope> {
    return Effect.acquireRelease(
      guarded(open),
      // The thread's connection closes first, so that this one is the last and empties SQLite's own log.
      (opened) =>
        Effect.andThen(
          Effect.ignore(this.#thread.close(filename)),
          Effect.sync(() => opened.close())
        )
    )
  }

  /** Brings a closed or open file to the state of the log; up to which record it has all that there is. */
  #followed(tag: NamespaceTag): Effect.Effect<number, StoreError> {
    return Effect.suspend(() => this.#open.get(tag)?.followed ?? this.#followedClosed(tag))
  }

  #followedClosed(tag: NamespaceTag): Effect.Effect<number, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const log = yield* this.#log
      const through = log.syncedOrdinal()
      if (!(yield* this.#isMissing(log, tag)))
        yield* Effect.scoped(Effect.flatMap(this.#openCopy(log, tag), (file) => this.#caughtUp(log, tag, file)))
      if (!this.#open.has(tag)) this.#settled.add(tag)
      return through
    })
  }

  /** A copy that cannot follow keeps its segments, and the others lose theirs. */
  #makeDurable(log: CommitLogShape, tag: NamespaceTag): Effect.Effect<void> {
    const filename = join(this.#directory, `${tag}.db`)
    return Effect.suspend(() => {
      const open = this.#open.get(tag)
      return open === undefined
        ? Effect.tap(this.#followedClosed(tag), () => syncClosedCopy(filename))
        : Effect.tap(open.settled, () => syncName(filename))
    }).pipe(
      Effect.flatMap((ordinal) => log.rebase(tag, ordinal)),
      Effect.catch((error) =>
        Effect.logWarning("the commit log is kept for a namespace that does not follow it", {
          namespace: tag,
          error: error._tag
        })
      )
    )
  }

  /** There is neither a file nor a record of it in the log. Fails if there was: a new file would know nothing. */
  #isMissing(log: CommitLogShape, tag: NamespaceTag): Effect.Effect<boolean, StoreError> {
    return Effect.gen({ self: this }, function* () {
      if (existsSync(join(this.#directory, `${tag}.db`))) return false
      if ((yield* logged(log.tail(tag, 0))).length > 0) return false
      if (!this.#holdsMemories(tag) || log.removedThrough(tag) > 0) return true
      const reason = "the file is gone, and the log has none of its records"
      return yield* Effect.fail(new StoreDamaged({ reason, cause: undefined }))
    })
  }

  /** What the file holds once it has followed the log. */
  #caughtUp(log: CommitLogShape, tag: NamespaceTag, database: Database): Effect.Effect<CopyContent, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const content = yield* guarded(() => within(database, log.syncedOrdinal()))
      const entries = yield* logged(log.tail(tag, content.ordinal))
      if (entries.length === 0) return content
      yield* Effect.logWarning("a namespace's file is behind the commit log and follows it now", {
        namespace: tag,
        from: content.ordinal,
        records: entries.length
      })
      return yield* followLog({ log, thread: this.#thread, tag, filename: database.filename }, content, entries)
    })
  }
}

/** A file that is being made again from the log. */
const remadeSuffix = ".remade"

/** A file that has seen more of the log than there is followed another one, which is gone: it continues with this one. */
const within = (database: Database, lastOrdinal: number): CopyContent => {
  const content = copyContent(database)
  if (content.ordinal <= lastOrdinal) return content
  const erasureDue = Math.min(content.erasureDue, lastOrdinal)
  return database.transaction(() => writeMeta(database, { ordinal: lastOrdinal, erasure_due: erasureDue }))
}
