/**
 * The API of the engine: delivers commands to namespaces and reads from them. Every namespace is an actor in this
 * process, opened on first use and closed when idle; callers see keys, commands and queries only, all of them plain data.
 *
 * Invariants: a damaged or fenced file is set aside and answers 503 while all others serve; on a full disk writes
 * answer 507, removals are repeated with the ballast's space, and while it is out nothing else is written; no call
 * holds two namespaces at once.
 */
import { Cause, Clock, Context, Effect, Exit, Layer, Queue, Schedule, Scope, Semaphore } from "effect"
import type { InsufficientStorage, Unavailable } from "@muniment/domain/Errors"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { Limits } from "@muniment/domain/Limits"
import { spentOn } from "@muniment/domain/StageTimes"
import { spanned } from "@muniment/domain/traced"
import { Rounds } from "@muniment/worker/Rounds"
import type { LogStatus } from "../log/CommitLog.ts"
import type { LogPart } from "../log/LogArchive.ts"
import { FileGuard, type SetAside } from "./FileGuard.ts"
import { makeNamespaceRegistry, type NamespaceRegistry } from "./NamespaceRegistry.ts"
import type { Command, PortionedRemoval, ReplyOf } from "../namespace/Commands.ts"
import { openNamespace, type Namespace } from "../namespace/Namespace.ts"
import { StorageMeter, type StorageMeterService } from "../namespace/StorageMeter.ts"
import {
  answerFromFile,
  answerFromImage,
  answerResolved,
  isImageQuery,
  filtersByData
} from "../namespace/answerQuery.ts"
import type { AnswerOf, Answers, Events, ImageQuery, NamespaceQuery, RecordQuery } from "../namespace/NamespaceQuery.ts"
import type { NamespaceReader } from "../namespace/NamespaceReader.ts"
import type { IndexSettings } from "../namespace/NamespaceVectors.ts"
import { toClientError, type CommandError } from "../namespace/toClientError.ts"
import {
  type CensusOptions,
  type EventPage,
  type FileVerdict,
  type NamespaceCensus,
  type NamespaceKey,
  NamespaceStore,
  type Pace
} from "../store/NamespaceStore.ts"
import { isStoreError, StoreDamaged, toStoreError, type StoreError } from "../store/StoreError.ts"

export type ReadError = Unavailable | InsufficientStorage

export interface HostStatus {
  readonly open: number
  readonly quarantined: ReadonlyArray<SetAside>
  readonly ballastBytes: number
  /** State of the commit log; undefined: commits go to the files. */
  readonly log: LogStatus | undefined
}

export interface HostOptions {
  readonly dataDirectory: string
  readonly index: IndexSettings
  /** Default `Limits.openNamespacesMax`. */
  readonly openMax?: number
  /** Milliseconds: what expired by then is removed by housekeeping; default: the clock's time. */
  readonly expiresBy?: Effect.Effect<number>
  /** Between two rounds of housekeeping; default `Limits.expirySweepMillis`. */
  readonly maintainMillis?: number
}

export class NamespaceHost extends Context.Service<
  NamespaceHost,
  {
    /** Delivers a command to the actor of the namespace. */
    readonly ask: <C extends Command>(key: NamespaceKey, command: C) => Effect.Effect<ReplyOf<C>, CommandError>
    /** Repeats a portioned removal until nothing is left; returns the number of memories removed. */
    readonly removeAll: (key: NamespaceKey, command: PortionedRemoval) => Effect.Effect<number, CommandError>
    /** Answers from the committed state; never waits for commands. */
    readonly answer: <Q extends NamespaceQuery>(key: NamespaceKey, query: Q) => Effect.Effect<AnswerOf<Q>, ReadError>
    /** As `answer`, if the namespace is open; undefined: it is not. Does not keep it open. */
    readonly answerIfOpen: <Q extends ImageQuery>(
      key: NamespaceKey,
      query: Q
    ) => Effect.Effect<AnswerOf<Q> | undefined, ReadError>
    /** Counts rows in the committed file without opening the namespace. */
    readonly census: (key: NamespaceKey, options: CensusOptions) => Effect.Effect<NamespaceCensus, ReadError>
    /** Names of all files of these namespaces. */
    readonly files: (tags: ReadonlyArray<NamespaceTag>) => Effect.Effect<ReadonlyArray<string>, ReadError>
    /** Until the files have everything that was committed before. */
    readonly settleAll: Effect.Effect<void, ReadError>
    /** `NamespaceStore.archive`. */
    readonly archive: (afterOrdinal: number, path: string) => Effect.Effect<LogPart | undefined, StoreError>
    /** Closes the namespace, if it is open, when its users have left; its next use opens it again. */
    readonly close: (key: NamespaceKey) => Effect.Effect<void>
    /** Refuses the namespace from now on, waits for its users, and deletes its files; returns their names. */
    readonly erase: (key: NamespaceKey) => Effect.Effect<ReadonlyArray<string>, ReadError>
    /**
     * Deletes the files of a namespace that is empty at `atMillis` (`NamespaceCensus.isEmpty`), then runs `left`; the key
     * is refused from then on. False, and nothing is changed, if it holds something.
     */
    readonly retire: <E>(
      key: NamespaceKey,
      atMillis: number,
      left: Effect.Effect<void, E>
    ) => Effect.Effect<boolean, E | ReadError>
    /**
     * Reads a namespace's whole file anew. What is damaged is mended or set aside, and what was set aside and is whole
     * is served again. Fails if the file cannot be read now.
     */
    readonly check: (key: NamespaceKey, pace: Pace) => Effect.Effect<FileVerdict, StoreError>
    /** Reads another SQLite file of the data directory anew, on the same thread; changes nothing. */
    readonly checkFile: (filename: string, pace: Pace) => Effect.Effect<FileVerdict, StoreError>
    /** One round of housekeeping: expiry, idle files, logs, ballast. Runs every `Limits.expirySweepMillis`. */
    readonly maintain: Effect.Effect<void>
    readonly status: Effect.Effect<HostStatus>
  }
>()("muniment/engine/NamespaceHost") {
  static readonly layer = (options: HostOptions) => Layer.effect(NamespaceHost, makeHost(options))
}

/** A file that fails again this soon after it was found whole stays set aside. */
const acquittalMillis = 600_000

/** A file that cannot be read now is tried after 1, 2, ... 16 s; then the scrubber or a restart tries again. */
const readAgainSchedule = { schedule: Schedule.exponential("1 second"), times: 5 }

/** Time for closing files at shutdown; SQLite recovers those left open at the next start. */
const closeBudgetMillis = 5_000

type Registry = NamespaceRegistry<NamespaceKey, Namespace, StoreError>

const makeHost = Effect.fn("NamespaceHost.make")(function* (options: HostOptions) {
  // A file is suspected while it is open. One that finds no room stays set aside until the scrubber reads it.
  const suspects = yield* Queue.dropping<NamespaceKey>(Limits.openNamespacesMax)
  const store = yield* NamespaceStore
  const suspect = (key: NamespaceKey) => Queue.offerUnsafe(suspects, key)
  const guard = new FileGuard(options.dataDirectory, suspect, store.releaseRoom)
  yield* guard.restoreBallast
  const registry = yield* openRegistry(options, guard)
  const host = new Host(registry, guard, store, {
    expiresBy: options.expiresBy ?? Clock.currentTimeMillis,
    meter: yield* StorageMeter
  })
  yield* Rounds.each({
    name: "files that seem damaged",
    take: Queue.take(suspects),
    work: (key) => host.readAgain(key)
  })
  yield* Rounds.add({
    name: "housekeeping of agents",
    schedule: Schedule.spaced(options.maintainMillis ?? Limits.expirySweepMillis),
    work: host.maintain
  })
  return host satisfies NamespaceHost["Service"]
})

const openRegistry = Effect.fnUntraced(function* (options: HostOptions, guard: FileGuard) {
  const context = yield* Effect.context<NamespaceStore>()
  const buildTurns = yield* Semaphore.make(1)
  const registry: Registry = yield* makeNamespaceRegistry({
    // In the host's context: an actor outlives the request that opened it, and would keep that request's context alive.
    open: (key: NamespaceKey) =>
      guard
        .opening(key, openNamespace(key, options.index, buildTurns))
        .pipe(
          Effect.updateContext((opening: Context.Context<Scope.Scope>) =>
            Context.add(context, Scope.Scope, Context.get(opening, Scope.Scope))
          )
        ),
    openMax: options.openMax ?? Limits.openNamespacesMax,
    closeBudgetMillis
  })
  return registry
})

class Host {
  readonly #registry: Registry
  readonly #guard: FileGuard
  readonly #store: NamespaceStore["Service"]
  readonly #expiresBy: Effect.Effect<number>
  readonly #meter: StorageMeterService
  /** Files that are being checked: a damaged one is made again under one name. */
  readonly #checking = new Map<NamespaceTag, { readonly turn: Semaphore.Semaphore; users: number }>()
  /** When a file that seemed damaged was found whole. */
  readonly #acquitted = new Map<string, number>()

  constructor(
    registry: Registry,
    guard: FileGuard,
    store: NamespaceStore["Service"],
    around: { readonly expiresBy: Effect.Effect<number>; readonly meter: StorageMeterService }
  ) {
    this.#registry = registry
    this.#guard = guard
    this.#store = store
    this.#expiresBy = around.expiresBy
    this.#meter = around.meter
  }

  ask<C extends Command>(key: NamespaceKey, command: C): Effect.Effect<ReplyOf<C>, CommandError> {
    const asked = this.#use(key, (namespace) => namespace.ask(command))
    const once = spentOn("storing", spanned(asked, `NamespaceHost.${command._tag}`))
    if (!isRemoval(command)) return Effect.andThen(this.#guard.demandRoom, once)
    // The failed commit has closed the file, which empties SQLite's log: that may be room enough.
    return Effect.catchTag(this.#guard.retrying("InsufficientStorage")(once), "InsufficientStorage", () => once)
  }

  removeAll(key: NamespaceKey, command: PortionedRemoval): Effect.Effect<number, CommandError> {
    return inPortions(this.ask(key, command))
  }

  answer<Q extends NamespaceQuery>(key: NamespaceKey, query: Q): Effect.Effect<AnswerOf<Q>, ReadError> {
    // The answer of this query's type; only the choice by its tag has lost it.
    return this.#answer(key, query) as Effect.Effect<AnswerOf<Q>, ReadError>
  }

  #answer(key: NamespaceKey, query: NamespaceQuery): Effect.Effect<Answers[NamespaceQuery["_tag"]], ReadError> {
    if (query._tag === "Events") return this.#events(key, query)
    if (filtersByData(query))
      return this.#readRecords(key, (reader, nowMillis) =>
        Effect.flatMap(reader.resolved<ImageQuery | RecordQuery>(query), (resolved) =>
          answerResolved(reader, resolved, nowMillis)
        )
      )
    if (isImageQuery(query)) return this.#read(key, (reader, nowMillis) => answerFromImage(reader, query, nowMillis))
    return this.#readRecords(key, (reader, nowMillis) => answerFromFile(reader, query, nowMillis))
  }

  #read<A>(key: NamespaceKey, look: (reader: NamespaceReader, nowMillis: number) => A): Effect.Effect<A, ReadError> {
    const opened = this.#readRecords(key, (reader, nowMillis) =>
      Effect.try({ try: () => look(reader, nowMillis), catch: toStoreError })
    )
    return Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => {
      const namespace = this.#guard.refusal(key) === undefined ? this.#registry.peek(key, nowMillis) : undefined
      if (namespace === undefined || namespace.stopReason() !== undefined) return opened
      // Synchronous, so the namespace cannot close meanwhile and needs no hold.
      try {
        return Effect.succeed(look(namespace.reader, nowMillis))
      } catch (cause) {
        return this.#retireIfStopped(namespace, this.#toReadError(key, Effect.fail(toStoreError(cause))))
      }
    })
  }

  #readRecords<A>(
    key: NamespaceKey,
    look: (reader: NamespaceReader, nowMillis: number) => Effect.Effect<A, StoreError>
  ): Effect.Effect<A, ReadError> {
    return Effect.flatMap(Clock.currentTimeMillis, (nowMillis) =>
      this.#use(key, (namespace) => this.#toReadError(key, look(namespace.reader, nowMillis)))
    )
  }

  answerIfOpen<Q extends ImageQuery>(key: NamespaceKey, query: Q): Effect.Effect<AnswerOf<Q> | undefined, ReadError> {
    const answer = Effect.flatMap(Clock.currentTimeMillis, (nowMillis) =>
      this.#lookIfOpen(key, (reader) =>
        Effect.try({ try: () => answerFromImage(reader, query, nowMillis), catch: toStoreError })
      )
    )
    // As in `answer`.
    return answer as Effect.Effect<AnswerOf<Q> | undefined, ReadError>
  }

  #lookIfOpen<A>(
    key: NamespaceKey,
    look: (reader: NamespaceReader) => Effect.Effect<A, StoreError>
  ): Effect.Effect<A | undefined, ReadError> {
    return this.#unlessRefused(key, () => {
      const looked = this.#registry.whileOpen(key, (namespace) =>
        namespace.stopReason() === undefined
          ? this.#retireIfStopped(namespace, this.#toReadError(key, look(namespace.reader)))
          : Effect.undefined
      )
      return Effect.mapError(looked, toClientErrors)
    })
  }

  #events(key: NamespaceKey, { after, limit }: Events): Effect.Effect<EventPage, ReadError> {
    // A turn of the loop for each file: those of many agents are read one after the other.
    const inFile = Effect.andThen(Effect.yieldNow, this.#inFile(key, this.#store.events(key, after, limit)))
    const ifOpen = this.#lookIfOpen(key, (reader) => reader.store.whole((file) => file.events(after, limit)))
    return Effect.flatMap(ifOpen, (page) => (page === undefined ? inFile : Effect.succeed(page)))
  }

  census(key: NamespaceKey, options: CensusOptions): Effect.Effect<NamespaceCensus, ReadError> {
    return this.#inFile(key, this.#store.census(key, options))
  }

  #inFile<A>(key: NamespaceKey, read: Effect.Effect<A, StoreError>): Effect.Effect<A, ReadError> {
    // Even a read needs disk space: for the index of the log.
    return this.#unlessRefused(key, () => this.#toReadError(key, this.#guard.retrying("StoreFull")(read)))
  }

  files(tags: ReadonlyArray<NamespaceTag>): Effect.Effect<ReadonlyArray<string>, ReadError> {
    return Effect.mapError(this.#store.files(tags), toClientError)
  }

  get settleAll(): Effect.Effect<void, ReadError> {
    return Effect.asVoid(Effect.mapError(this.#store.settleAll, toClientError))
  }

  archive(afterOrdinal: number, path: string): Effect.Effect<LogPart | undefined, StoreError> {
    return this.#store.archive(afterOrdinal, path)
  }

  close(key: NamespaceKey): Effect.Effect<void> {
    return this.#registry.close(key)
  }

  erase(key: NamespaceKey): Effect.Effect<ReadonlyArray<string>, ReadError> {
    return Effect.suspend(() => {
      this.#guard.erase(key)
      return this.#registry.close(key).pipe(
        Effect.andThen(this.#store.remove(key.tag)),
        Effect.tap(() =>
          Effect.sync(() => {
            this.#guard.forget(key)
            this.#meter.forget(key)
          })
        ),
        Effect.mapError(toClientError)
      )
    })
  }

  retire<E>(key: NamespaceKey, atMillis: number, left: Effect.Effect<void, E>): Effect.Effect<boolean, E | ReadError> {
    const isEmpty = Effect.map(this.census(key, { atMillis, createdBefore: -Infinity }), (census) => census.isEmpty)
    // The key is refused before the second count, and that looks at the file alone.
    const isEmptyStill = Effect.map(
      Effect.mapError(this.#store.census(key, { atMillis, createdBefore: -Infinity }), toClientError),
      (census) => census.isEmpty
    )
    const retired = Effect.gen({ self: this }, function* () {
      this.#guard.erase(key)
      yield* this.#registry.close(key)
      if (!(yield* isEmptyStill)) return false
      yield* this.erase(key)
      yield* left
      return true
    }).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (!Exit.isSuccess(exit) || !exit.value) this.#guard.spare(key)
        })
      )
    )
    // Cut off behind `left`, the key would be served again, and what it writes would have no place in the directory.
    return Effect.flatMap(isEmpty, (empty) => (empty ? Effect.uninterruptible(retired) : Effect.succeed(false)))
  }

  /** Checks a file, one after the other: the scrubber and a read that failed may ask for the same one. */
  check(key: NamespaceKey, pace: Pace): Effect.Effect<FileVerdict, StoreError> {
    return Effect.suspend(() => {
      const checks = this.#checking.get(key.tag) ?? { turn: Semaphore.makeUnsafe(1), users: 0 }
      checks.users++
      this.#checking.set(key.tag, checks)
      const ended = Effect.sync(() => void (--checks.users === 0 && this.#checking.delete(key.tag)))
      return Effect.ensuring(checks.turn.withPermit(this.#check(key, pace)), ended)
    })
  }

  #check(key: NamespaceKey, pace: Pace): Effect.Effect<FileVerdict, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const verdict = yield* this.#store.check(key, pace)
      const { faults } = verdict
      // Faults of a namespace that was erased meanwhile say nothing of one that has its tag now.
      if (this.#guard.refusal(key)?._tag === "StoreErased") return { ...verdict, faults: [] }
      if (faults.length === 0) {
        this.#guard.acquit(key)
        return verdict
      }
      this.#guard.condemn(key, new StoreDamaged({ reason: faults.join("; "), cause: undefined }))
      yield* this.#registry.close(key)
      if (yield* this.#store.remake(key)) {
        this.#guard.acquit(key)
        yield* Effect.logError("a namespace's file was damaged and is made again from the commit log", {
          namespace: key.tag,
          faults
        })
      } else yield* Effect.logError("a namespace's file is damaged and set aside", { namespace: key.tag, faults })
      return verdict
    })
  }

  checkFile(filename: string, pace: Pace): Effect.Effect<FileVerdict, StoreError> {
    return this.#store.checkFile(filename, pace)
  }

  /** Before a file that seemed damaged stays set aside; not again soon after it was found whole. */
  readAgain(key: NamespaceKey): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const nowMillis = yield* Clock.currentTimeMillis
      if (nowMillis - (this.#acquitted.get(key.tag) ?? -Infinity) < acquittalMillis) return
      const { faults } = yield* Effect.retry(
        this.check(key, () => Effect.void),
        readAgainSchedule
      )
      if (faults.length > 0) return
      this.#acquitted.set(key.tag, nowMillis)
      yield* Effect.logWarning("a file that seemed damaged was read again: it is whole and served", {
        namespace: key.tag
      })
    }).pipe(
      Effect.catch((error) =>
        Effect.logError("a file that seems damaged cannot be read; it stays set aside", { namespace: key.tag, error })
      )
    )
  }

  get maintain(): Effect.Effect<void> {
    return Effect.flatMap(this.#expiresBy, (expiresBy) => this.#maintainAll(expiresBy))
  }

  #maintainAll(expiresBy: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const nowMillis = yield* Clock.currentTimeMillis
      // `whileOpen`: housekeeping neither reopens a namespace nor keeps it from becoming idle.
      for (const key of this.#registry.openKeys()) {
        const maintained = this.#registry.whileOpen(key, (namespace) => this.#maintainOne(namespace, expiresBy))
        yield* this.#logFailure(key, Effect.mapError(maintained, toClientErrors))
      }
      for (const key of this.#guard.dueToExpire(expiresBy)) {
        yield* this.#logFailure(
          key,
          this.#use(key, (namespace) => this.#maintainOne(namespace, expiresBy))
        )
      }
      yield* this.#registry.closeIdle(nowMillis - Limits.namespaceIdleMillis)
      yield* this.#guard.restoreBallast
    })
  }

  get status(): Effect.Effect<HostStatus> {
    return Effect.map(this.#store.logStatus, (log) => ({
      open: this.#registry.openKeys().length,
      quarantined: this.#guard.quarantined(),
      ballastBytes: this.#guard.ballastBytes,
      log
    }))
  }

  /** Removes expired memories, then runs the namespace's housekeeping. */
  #maintainOne(namespace: Namespace, expiresBy: number): Effect.Effect<void, CommandError> {
    const sweep: Effect.Effect<void, CommandError> = Effect.flatMap(
      namespace.ask({ _tag: "Sweep", expiredBy: expiresBy }),
      (removed) => (removed === Limits.removalsPerCommitMax ? sweep : Effect.void)
    )
    const swept = Effect.suspend(() => (namespace.reader.counts(expiresBy).expired > 0 ? sweep : Effect.void))
    const sweptOrRoomMade = Effect.tapError(swept, (error) =>
      // The failed commit has stopped the actor; the next round reopens the file and uses this space.
      error._tag === "InsufficientStorage" ? this.#guard.makeRoom : Effect.succeed(false)
    )
    return this.#retireIfStopped(
      namespace,
      Effect.andThen(sweptOrRoomMade, this.#toReadError(namespace.key, namespace.runHousekeeping(expiresBy)))
    )
  }

  /** Logs a failed housekeeping, so that the round continues with the next namespace. */
  #logFailure(key: NamespaceKey, maintained: Effect.Effect<unknown, CommandError>): Effect.Effect<void> {
    return Effect.matchCauseEffect(maintained, {
      onSuccess: () => Effect.void,
      onFailure: (cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.logWarning("namespace housekeeping failed; the next round tries again", {
              namespace: key.tag,
              cause
            })
    })
  }

  /** Opens the namespace for one use. */
  #use<A, E>(key: NamespaceKey, use: (namespace: Namespace) => Effect.Effect<A, E>): Effect.Effect<A, E | ReadError> {
    return this.#unlessRefused(key, () =>
      this.#registry
        .with(key, (namespace) => this.#retireIfStopped(namespace, use(namespace)))
        .pipe(Effect.mapError(toClientErrors))
    )
  }

  #unlessRefused<A, E>(key: NamespaceKey, use: () => Effect.Effect<A, E>): Effect.Effect<A, E | ReadError> {
    return Effect.suspend((): Effect.Effect<A, E | ReadError> => {
      const refusal = this.#guard.refusal(key)
      return refusal === undefined ? use() : Effect.fail(toClientError(refusal))
    })
  }

  /** After `used`, closes a namespace that has stopped or is set aside; unless set aside, its next use reopens it. */
  #retireIfStopped<A, E>(namespace: Namespace, used: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.ensuring(
      used,
      Effect.suspend(() => {
        const stopReason = namespace.stopReason()
        if (stopReason !== undefined) this.#guard.setAside(namespace.key, stopReason)
        const isOver = stopReason !== undefined || this.#guard.refusal(namespace.key) !== undefined
        return isOver ? this.#registry.retire(namespace.key) : Effect.void
      })
    )
  }

  /** Sets the file aside if the failure is permanent, logs the cause, and fails with the client's error. */
  #toReadError<A>(key: NamespaceKey, looked: Effect.Effect<A, StoreError>): Effect.Effect<A, ReadError> {
    return Effect.catch(looked, (error) => {
      this.#guard.setAside(key, error)
      return Effect.andThen(
        Effect.logError("namespace not readable", { namespace: key.tag, error: error._tag, cause: error }),
        Effect.fail(toClientError(error))
      )
    })
  }
}

/** The sum of all portions of a removal. */
export const inPortions = Effect.fnUntraced(function* <E>(removal: Effect.Effect<number, E>) {
  let removed = 0
  for (let portion: number = Limits.removalsPerCommitMax; portion === Limits.removalsPerCommitMax;) {
    portion = yield* removal
    removed += portion
  }
  return removed
})

/** Frees room, so no want of it refuses it. */
const isRemoval = (command: Command): boolean =>
  command._tag === "RemoveMemories" ||
  command._tag === "RemoveMatching" ||
  command._tag === "Sweep" ||
  command._tag === "RemoveCreatedBefore"

const toClientErrors = <E>(error: E | StoreError): Exclude<E, StoreError> | ReadError =>
  isStoreError(error) ? toClientError(error) : (error as Exclude<E, StoreError>)
