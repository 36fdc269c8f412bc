/**
 * `NamespaceStore` of a node of a cluster: commits go to the log that the nodes share, and are acknowledged when it has
 * them. The SQLite file is this node's copy, made from the namespace's newest base and the records behind it.
 *
 * Invariants: an open claims the namespace, so that it has all that was acknowledged anywhere, and nothing of an earlier
 * owner comes after it; an agent that was erased is not opened on any node; a copy of an earlier opening is used only if
 * no other node has owned the namespace since; a namespace is opened, read, counted or removed by one caller of this node at a
 * time.
 */
import { hash } from "node:crypto"
import { existsSync, mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Context, Deferred, Effect, Layer, Queue, Schedule, type Scope } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { LogFault } from "@muniment/engine/log/LogError"
import { CopyLine, followLog, logged } from "@muniment/engine/store/logged/CopyLine"
import { LoggedNamespace } from "@muniment/engine/store/logged/LoggedNamespace"
import {
  NamespaceStore,
  type CensusOptions,
  type FileVerdict,
  type NamespaceKey,
  type OpenNamespace,
  type Pace
} from "@muniment/engine/store/NamespaceStore"
import { type FileChecks, openCheckThread } from "@muniment/engine/store/sqlite/CheckThread"
import { type CommitThread, openCommitThread } from "@muniment/engine/store/sqlite/CommitThread"
import { NamespaceFile } from "@muniment/engine/store/sqlite/NamespaceFile"
import { filesOf, namespaceFolder, openMigrated, removeFiles } from "@muniment/engine/store/sqlite/namespaceFiles"
import { type CopyContent, copyContent } from "@muniment/engine/store/sqlite/namespaceMeta"
import { storedBytes, takeCensus } from "@muniment/engine/store/sqlite/SqliteCensus"
import { storedEvents } from "@muniment/engine/store/sqlite/readStored"
import { guarded } from "@muniment/engine/store/sqlite/storeErrorOf"
import { StoreDamaged, StoreErased, StoreFault, type StoreError } from "@muniment/engine/store/StoreError"
import type { Database } from "@muniment/sqlite/Database"
import { Rounds } from "@muniment/worker/Rounds"
import { type BaseFault, type BaseStoreShape, openSnapshotThread, type SnapshotThread } from "../bases/BaseStore.ts"
import type { Claim, PostgresLog } from "../log/PostgresLog.ts"
import { TenuredLog } from "./TenuredLog.ts"

/** The last owner lives, and may have to close first. */
const claimMillis = 15_000
/** Between two looks at open namespaces whose logs have become long. */
const publishEachMillis = 60_000
/** Bases that a node which leaves publishes at the same time: one is copied while others are put. */
const handedOverTogether = 4

interface ReplicatedStoreOptions {
  /** Folder of this node; an earlier process's files in its folder of namespaces are removed. */
  readonly directory: string
  readonly log: PostgresLog
  readonly bases: BaseStoreShape
}

/** What a node does for the next owners of its namespaces. */
export class StoreHandOver extends Context.Service<
  StoreHandOver,
  {
    /** Before it leaves, while it still serves: publishes what they would have to read. */
    readonly handOver: Effect.Effect<void>
    /**
     * Before a namespace that moves is closed: its next owner does not wait for the end of a file that it does not use.
     * One whose log has to forget something first is released when it is closed.
     */
    readonly release: (tag: NamespaceTag) => Effect.Effect<void>
  }
>()("muniment/cluster/StoreHandOver") {}

export const replicatedStore = ({
  bases,
  directory,
  log
}: ReplicatedStoreOptions): Layer.Layer<NamespaceStore | StoreHandOver> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const folder = join(directory, namespaceFolder)
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const store = new ReplicatedStore({
        log,
        bases,
        folder,
        thread: yield* openCommitThread(),
        checks: yield* openCheckThread({ logDirectory: undefined }),
        snapshots: yield* openSnapshotThread("namespace base")
      })
      yield* Rounds.add({
        name: "bases of agents",
        schedule: Schedule.spaced(publishEachMillis),
        work: store.publishDue
      })
      return Context.make(NamespaceStore, store).pipe(Context.add(StoreHandOver, store))
    })
  )

/** Digest of an agent that was erased with its account: refused on every node, while another agent may get its tag. */
export const agentDigest = ({ account, agentId }: Pick<NamespaceKey, "account" | "agentId">): string =>
  hash("sha256", `${account}\0${agentId}`, "hex")

interface Parts {
  readonly log: PostgresLog
  readonly bases: BaseStoreShape
  readonly folder: string
  readonly thread: CommitThread
  readonly checks: FileChecks
  readonly snapshots: SnapshotThread
}

/** State of a namespace that somebody of this node has. */
interface Place {
  opened: Opened | undefined
  /** When it is open, or has been left. */
  readonly settled: Deferred.Deferred<void>
  readonly left: Deferred.Deferred<void>
}

interface Opened {
  readonly namespace: LoggedNamespace
  readonly log: TenuredLog
}

class ReplicatedStore {
  readonly #parts: Parts
  readonly #places = new Map<NamespaceTag, Place>()
  /** The tenure that left a copy here. */
  readonly #copies = new Map<NamespaceTag, bigint>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  readonly open = Effect.fn("NamespaceStore.open")(
    function* (this: ReplicatedStore, key: NamespaceKey): Effect.fn.Return<OpenNamespace, StoreError, Scope.Scope> {
      const place = yield* this.#enter(key.tag)
      return yield* this.#openIn(place, key)
    }.bind(this)
  )

  readonly census = (key: NamespaceKey, options: CensusOptions) =>
    Effect.scoped(Effect.andThen(this.#followed(key), takeCensus(this.#parts.folder, key, options)))

  readonly storedBytes = (key: NamespaceKey) =>
    Effect.scoped(Effect.andThen(this.#followed(key), storedBytes(this.#parts.folder, key)))

  readonly events = (key: NamespaceKey, after: number, limit: number) =>
    Effect.scoped(Effect.andThen(this.#followed(key), storedEvents(this.#parts.folder, key, after, limit)))

  /** Checks this node's copy; another one has nothing to be read. */
  readonly check = (key: NamespaceKey, pace: Pace): Effect.Effect<FileVerdict, StoreError> =>
    Effect.suspend(() => {
      const filename = this.#filename(key.tag)
      return existsSync(filename)
        ? this.#parts.checks.check(filename, key.agentId, pace)
        : Effect.succeed({ bytes: 0, faults: [] })
    })

  readonly checkFile = (filename: string, pace: Pace) => this.#parts.checks.check(filename, undefined, pace)

  /** The next open makes it again. */
  readonly remake = ({ tag }: NamespaceKey): Effect.Effect<boolean, StoreError> =>
    Effect.scoped(Effect.andThen(this.#enter(tag), Effect.as(this.#dropCopy(tag), true)))

  /** Acknowledged commits are in the log of the cluster, not in files. */
  readonly settleAll = Effect.succeed<ReadonlyArray<NamespaceTag>>([])

  readonly releaseRoom = Effect.succeed(false)

  readonly archive = () => Effect.undefined

  readonly logStatus = Effect.undefined

  readonly files = (tags: ReadonlyArray<NamespaceTag>) =>
    guarded(() => tags.flatMap((tag) => filesOf(this.#parts.folder, tag)))

  /**
   * The row that points to the base first, which condemns the base; what of that was not done to its end is finished by a
   * repetition, or by the sweep. Fails if the namespace has moved since.
   */
  readonly remove = (tag: NamespaceTag): Effect.Effect<ReadonlyArray<string>, StoreError> =>
    Effect.gen({ self: this }, function* () {
      const { folder, log } = this.#parts
      yield* this.#enter(tag)
      const claim = yield* this.#claimed(tag)
      const left = this.#copies.get(tag)
      this.#copies.delete(tag)
      if (left !== undefined && claim.tenure !== left + 1n)
        return yield* new StoreFault({ cause: new Error("the namespace has moved to another node") })
      yield* Effect.mapError(log.remove(tag), faultOf)
      yield* Effect.mapError(this.#removeCondemned(tag), faultOf)
      return yield* guarded(() => removeFiles(folder, tag))
    }).pipe(Effect.scoped)

  /** Publishes bases of open namespaces whose next owners would have much to read. */
  get publishDue(): Effect.Effect<void> {
    return Effect.forEach(
      [...this.#places.values()],
      ({ opened }) => (opened === undefined ? Effect.void : Effect.ignore(publishIfDue(opened, false))),
      { discard: true }
    )
  }

  get handOver(): Effect.Effect<void> {
    return Effect.forEach(
      [...this.#places.values()],
      ({ opened }) => (opened === undefined ? Effect.void : Effect.ignore(publishIfDue(opened, true))),
      { concurrency: handedOverTogether, discard: true }
    )
  }

  readonly release = (tag: NamespaceTag): Effect.Effect<void> =>
    Effect.suspend(() => {
      const opened = this.#places.get(tag)?.opened
      return opened?.namespace.isErasureDue === false ? this.#parts.log.release(tag) : Effect.void
    })

  #filename(tag: NamespaceTag): string {
    return join(this.#parts.folder, `${tag}.db`)
  }

  /** Waits until no other caller on this node has it; given back with the scope. */
  #enter(tag: NamespaceTag): Effect.Effect<Place, never, Scope.Scope> {
    const entered: Effect.Effect<Place> = Effect.suspend(() => {
      const known = this.#places.get(tag)
      if (known !== undefined) return Effect.andThen(Deferred.await(known.left), entered)
      const place: Place = { opened: undefined, settled: Deferred.makeUnsafe(), left: Deferred.makeUnsafe() }
      this.#places.set(tag, place)
      return Effect.succeed(place)
    })
    return Effect.acquireRelease(entered, ({ left, settled }) =>
      Effect.suspend(() => {
        this.#places.delete(tag)
        return Effect.andThen(Deferred.succeed(settled, undefined), Deferred.succeed(left, undefined))
      })
    )
  }

  #openIn(place: Place, key: NamespaceKey): Effect.Effect<LoggedNamespace, StoreError, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      const { tag } = key
      const claim = yield* this.#claimed(tag)
      if (claim.erased === agentDigest(key)) return yield* new StoreErased()
      yield* this.#broughtHere(tag, claim)
      const database = yield* this.#openFile(this.#filename(tag))
      const log = new TenuredLog({ ...this.#parts, tag, filename: database.filename, claim })
      const content = yield* this.#caughtUp(log, tag, database)
      const file = yield* guarded(() => new NamespaceFile(database, key, this.#parts.thread))
      const line = new CopyLine(file, log, content, yield* Queue.sliding<void>(1))
      const namespace = new LoggedNamespace(file, log, line)
      yield* line.run
      const opened = { namespace, log }
      place.opened = opened
      yield* Effect.addFinalizer(() => {
        place.opened = undefined
        return this.#leave(opened, claim)
      })
      yield* Deferred.succeed(place.settled, undefined)
      return namespace
    })
  }

  /** Released with the scope. */
  #claimed(tag: NamespaceTag): Effect.Effect<Claim, StoreError, Scope.Scope> {
    const { log } = this.#parts
    const claimed = log.claim(tag).pipe(
      Effect.timeout(claimMillis),
      Effect.mapError(faultOf),
      Effect.tap(({ state }) => (state === undefined ? log.attach(tag, { epoch: 0, seq: 0 }) : Effect.void)),
      // Its caller may have given up when it had just happened.
      Effect.onError(() => log.release(tag))
    )
    return Effect.acquireRelease(claimed, () => log.release(tag), { interruptible: true })
  }

  /** The copy of an earlier opening, if it is still good, or else the base. */
  #broughtHere(tag: NamespaceTag, { base, tenure }: Claim): Effect.Effect<void, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const left = this.#copies.get(tag)
      this.#copies.delete(tag)
      if (left !== undefined && tenure === left + 1n) return
      yield* this.#dropCopy(tag)
      if (base === undefined) return
      yield* Effect.mapError(this.#parts.bases.get(base.object, this.#filename(tag)), (error) =>
        error._tag === "BaseFault" ? faultOf(error) : new StoreDamaged({ reason: baseReason(error), cause: error })
      )
    })
  }

  #openFile(filename: string): Effect.Effect<Database, StoreError, Scope.Scope> {
    return Effect.acquireRelease(
      guarded(() => openMigrated(filename)),
      // The thread's connection closes first, so that this one is the last and empties SQLite's own log.
      (opened) =>
        Effect.andThen(
          Effect.ignore(this.#parts.thread.close(filename)),
          Effect.sync(() => opened.close())
        )
    )
  }

  /**
   * A copy has more than the log if the database has lost what it had acknowledged, as by a failover to a standby for which
   * commits did not wait.
   */
  #caughtUp(log: TenuredLog, tag: NamespaceTag, database: Database): Effect.Effect<CopyContent, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const content = yield* guarded(() => copyContent(database))
      const entries = yield* logged(log.tail(tag, content.ordinal))
      const parts = { log, thread: this.#parts.thread, tag, filename: database.filename }
      const followed = yield* followLog(parts, content, entries)
      if (this.#parts.log.isWhole(tag, followed)) return followed
      const lost = "this node's copy is not what the log says; the next use makes it again from there"
      yield* Effect.logError(lost, { namespace: tag, copy: followed.ordinal })
      return yield* new StoreFault({ cause: new Error(lost) })
    })
  }

  /** The copy stays for the next opening if it has everything that was acknowledged. A base is the owner's to publish. */
  #leave({ log, namespace }: Opened, { tenure }: Claim): Effect.Effect<void> {
    const { tag } = namespace.key
    return namespace.followed.pipe(
      Effect.tap(() => Effect.sync(() => this.#copies.set(tag, tenure))),
      Effect.andThen(
        Effect.suspend(() => (this.#parts.log.isCurrent(tag) ? publishIfDue({ log, namespace }, true) : Effect.void))
      ),
      Effect.catch((error) =>
        Effect.logWarning("a namespace closed and its base is behind; its next owner reads more of the log", {
          namespace: tag,
          error: error._tag
        })
      )
    )
  }

  /** The copy of an open namespace, or of one that is opened for this scope. */
  #followed(key: NamespaceKey): Effect.Effect<void, StoreError, Scope.Scope> {
    return Effect.suspend(() => {
      const known = this.#places.get(key.tag)
      if (known?.opened !== undefined) return Effect.asVoid(known.opened.namespace.followed)
      if (known !== undefined) {
        const change = Deferred.isDoneUnsafe(known.settled) ? known.left : known.settled
        return Effect.andThen(Deferred.await(change), this.#followed(key))
      }
      return Effect.asVoid(this.open(key))
    })
  }

  #removeCondemned(tag: NamespaceTag): Effect.Effect<void, BaseFault | LogFault> {
    const { bases, log } = this.#parts
    return Effect.flatMap(log.condemned(tag), (objects) =>
      Effect.forEach(objects, (object) => Effect.andThen(bases.remove(object), log.forgetCondemned(object)), {
        discard: true
      })
    )
  }

  #dropCopy(tag: NamespaceTag): Effect.Effect<void, StoreError> {
    return guarded(() => {
      this.#copies.delete(tag)
      removeFiles(this.#parts.folder, tag)
    })
  }
}

/** Publishes a base if one is due, with all that the copy has followed. */
const publishIfDue = ({ log, namespace }: Opened, isClosing: boolean): Effect.Effect<void, StoreError> =>
  log.isBaseDue(isClosing) ? Effect.andThen(namespace.followed, logged(log.publishBase)) : Effect.void

const faultOf = (cause: unknown): StoreFault => new StoreFault({ cause })

const baseReason = (error: { readonly _tag: string; readonly name: string }): string =>
  error._tag === "BaseAbsent" ? `its base ${error.name} is missing` : `its base ${error.name} is damaged`
