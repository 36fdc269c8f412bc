/**
 * Who runs where: the one door to namespaces. Today every namespace is an actor in this process,
 * opened on first use and closed when idle; callers see only keys, commands and reads.
 *
 * Invariants: a file that is damaged or fenced is set aside and answers 503 while all others serve;
 * when the disk is full, writes answer 507 and deletes get the ballast's room; no call holds two
 * namespaces at once.
 */
import { Cause, Clock, Context, Effect, Layer, Scope, Semaphore } from "effect"
import type { InsufficientStorage, Unavailable } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { Command, PortionedRemoval, ReplyOf } from "./Commands.ts"
import { FileGuard } from "./FileGuard.ts"
import { openNamespace, wireError, type CommandError, type Namespace } from "./Namespace.ts"
import { makeNamespaceRegistry, type NamespaceRegistry } from "./NamespaceRegistry.ts"
import type { NamespaceReader } from "./NamespaceReader.ts"
import type { IndexSettings } from "./NamespaceState.ts"
import {
  isStoreError,
  NamespaceStore,
  type CensusOptions,
  type NamespaceCensus,
  type NamespaceKey,
  type StoreError
} from "./store/NamespaceStore.ts"
import { guarded, storeError } from "./store/storeError.ts"

export type ReadError = Unavailable | InsufficientStorage

export interface HostStatus {
  readonly open: number
  readonly quarantined: ReadonlyArray<{ readonly file: string; readonly reason: string }>
  readonly ballastBytes: number
}

export class NamespaceHost extends Context.Service<
  NamespaceHost,
  {
    /** Delivers a command to the owner of the namespace. */
    readonly ask: <C extends Command>(key: NamespaceKey, command: C) => Effect.Effect<ReplyOf<C>, CommandError>
    /** Asks for portions until nothing is left; how many memories went. */
    readonly removeAll: (key: NamespaceKey, command: PortionedRemoval) => Effect.Effect<number, CommandError>
    /** Counts rows in the committed file; opens no namespace for it. */
    readonly census: (key: NamespaceKey, options: CensusOptions) => Effect.Effect<NamespaceCensus, ReadError>
    /** Looks at the committed state; never waits for writes. */
    readonly read: <A>(
      key: NamespaceKey,
      look: (reader: NamespaceReader, nowMillis: number) => A
    ) => Effect.Effect<A, ReadError>
    /** The same for looks that read records. */
    readonly readRecords: <A>(
      key: NamespaceKey,
      look: (reader: NamespaceReader, nowMillis: number) => Effect.Effect<A, StoreError>
    ) => Effect.Effect<A, ReadError>
    /** One round of housekeeping: expiry, idle files, logs, ballast. A background fiber runs it every minute. */
    readonly maintain: Effect.Effect<void>
    readonly status: Effect.Effect<HostStatus>
  }
>()("muniment/engine/NamespaceHost") {
  static readonly layer = (options: {
    readonly dataDirectory: string
    readonly index: IndexSettings
    readonly openMax?: number
  }) => Layer.effect(NamespaceHost, makeHost(options))
}

/** How long a shutdown may take to close files; those left open are replayed at the next start. */
const closeBudgetMillis = 5_000

const makeHost = Effect.fn("NamespaceHost.make")(function* (options: {
  readonly dataDirectory: string
  readonly index: IndexSettings
  readonly openMax?: number
}) {
  const own = yield* Effect.context<NamespaceStore>()
  const buildTurns = yield* Semaphore.make(1)
  const guard = new FileGuard(options.dataDirectory)
  yield* guard.restoreBallast
  const registry = yield* makeNamespaceRegistry<NamespaceKey, Namespace, StoreError>({
    // In the host's own context: an actor outlives the request that opened it, and would keep it alive.
    open: (key) =>
      guard
        .opening(key, openNamespace(key, options.index, buildTurns))
        .pipe(
          Effect.updateContext((context: Context.Context<Scope.Scope>) =>
            Context.add(own, Scope.Scope, Context.get(context, Scope.Scope))
          )
        ),
    openMax: options.openMax ?? Limits.openNamespacesMax,
    closeBudgetMillis
  })
  const host = new Host(registry, guard, Context.get(own, NamespaceStore))
  yield* host.maintain.pipe(Effect.delay(Limits.expirySweepMillis), Effect.forever, Effect.forkScoped)
  return host satisfies NamespaceHost["Service"]
})

class Host {
  readonly #registry: NamespaceRegistry<NamespaceKey, Namespace, StoreError>
  readonly #guard: FileGuard
  readonly #store: NamespaceStore["Service"]

  constructor(
    registry: NamespaceRegistry<NamespaceKey, Namespace, StoreError>,
    guard: FileGuard,
    store: NamespaceStore["Service"]
  ) {
    this.#registry = registry
    this.#guard = guard
    this.#store = store
  }

  ask<C extends Command>(key: NamespaceKey, command: C): Effect.Effect<ReplyOf<C>, CommandError> {
    const once = this.#use(key, (namespace) => namespace.ask(command))
    if (!makesRoom(command)) return once
    return Effect.catchTag(once, "InsufficientStorage", (full) => (this.#guard.giveRoom() ? once : Effect.fail(full)))
  }

  removeAll(key: NamespaceKey, command: PortionedRemoval): Effect.Effect<number, CommandError> {
    return Effect.gen({ self: this }, function* () {
      let removed = 0
      for (let portion: number = Limits.removalsPerCommitMax; portion === Limits.removalsPerCommitMax;) {
        portion = yield* this.ask(key, command)
        removed += portion
      }
      return removed
    })
  }

  census(key: NamespaceKey, options: CensusOptions): Effect.Effect<NamespaceCensus, ReadError> {
    return Effect.suspend(() => {
      const refusal = this.#guard.refusal(key)
      if (refusal !== undefined) return Effect.fail(wireError(refusal))
      const counted = this.#store.census(key, options)
      // On a full disk even a look needs room, for the index of the log.
      const withRoom = Effect.catchTag(counted, "StoreFull", (full) =>
        this.#guard.giveRoom() ? counted : Effect.fail(full)
      )
      return this.#told(key, withRoom)
    })
  }

  read<A>(key: NamespaceKey, look: (reader: NamespaceReader, nowMillis: number) => A): Effect.Effect<A, ReadError> {
    const held = this.readRecords(key, (reader, nowMillis) => guarded(() => look(reader, nowMillis)))
    return Effect.flatMap(Clock.currentTimeMillis, (nowMillis) => {
      const namespace = this.#guard.refusal(key) === undefined ? this.#registry.peek(key, nowMillis) : undefined
      if (namespace === undefined || namespace.stopReason() !== undefined) return held
      // Nobody gets a turn before the look is over, so nothing has to be held for it.
      try {
        return Effect.succeed(look(namespace.reader, nowMillis))
      } catch (cause) {
        return this.#minding(namespace, this.#told(key, Effect.fail(storeError(cause))))
      }
    })
  }

  readRecords<A>(
    key: NamespaceKey,
    look: (reader: NamespaceReader, nowMillis: number) => Effect.Effect<A, StoreError>
  ): Effect.Effect<A, ReadError> {
    return Effect.flatMap(Clock.currentTimeMillis, (nowMillis) =>
      this.#use(key, (namespace) => this.#told(key, look(namespace.reader, nowMillis)))
    )
  }

  get maintain(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const nowMillis = yield* Clock.currentTimeMillis
      // Looking after an open namespace is no use of it: it neither reopens one nor keeps it from idling.
      for (const key of this.#registry.openKeys()) {
        const tended = this.#registry.whileOpen(key, (namespace) => this.#tend(namespace, nowMillis))
        yield* this.#noted(key, Effect.mapError(tended, wireErrorOf))
      }
      for (const key of this.#guard.dueToExpire(nowMillis)) {
        yield* this.#noted(
          key,
          this.#use(key, (namespace) => this.#tend(namespace, nowMillis))
        )
      }
      yield* this.#registry.closeIdle(nowMillis - Limits.namespaceIdleMillis)
      yield* this.#guard.restoreBallast
    })
  }

  get status(): Effect.Effect<HostStatus> {
    return Effect.sync(() => ({
      open: this.#registry.openKeys().length,
      quarantined: this.#guard.quarantined(),
      ballastBytes: this.#guard.ballastBytes
    }))
  }

  /** Removes what has expired, then tidies up. */
  #tend(namespace: Namespace, nowMillis: number): Effect.Effect<void, CommandError> {
    const sweep: Effect.Effect<void, CommandError> = Effect.flatMap(namespace.ask({ _tag: "Sweep" }), (removed) =>
      removed === Limits.removalsPerCommitMax ? sweep : Effect.void
    )
    const swept = Effect.suspend(() => (namespace.reader.counts(nowMillis).expired > 0 ? sweep : Effect.void))
    return this.#minding(
      namespace,
      Effect.catchTag(swept, "InsufficientStorage", (full) =>
        // The next round finds it reopened, and the room that this one gave.
        Effect.andThen(
          Effect.sync(() => this.#guard.giveRoom()),
          Effect.fail(full)
        )
      ).pipe(Effect.andThen(this.#told(namespace.key, namespace.tidy(nowMillis))))
    )
  }

  /** Whatever happens to one namespace, housekeeping goes on with the next. */
  #noted(key: NamespaceKey, tended: Effect.Effect<unknown, CommandError>): Effect.Effect<void> {
    return Effect.matchCauseEffect(tended, {
      onSuccess: () => Effect.void,
      onFailure: (cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.logWarning("housekeeping of a namespace failed", { namespace: key.tag, cause })
    })
  }

  /** Opens the namespace for one use, and closes it for good when its actor has stopped. */
  #use<A, E>(key: NamespaceKey, use: (namespace: Namespace) => Effect.Effect<A, E>): Effect.Effect<A, E | ReadError> {
    return Effect.suspend(() => {
      const refusal = this.#guard.refusal(key)
      if (refusal !== undefined) return Effect.fail(wireError(refusal))
      return this.#registry
        .with(key, (namespace) => this.#minding(namespace, use(namespace)))
        .pipe(Effect.mapError(wireErrorOf))
    })
  }

  /** Afterwards a namespace that has stopped is closed, and opened anew by its next use unless it is set aside. */
  #minding<A, E>(namespace: Namespace, used: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.ensuring(
      used,
      Effect.suspend(() => {
        const stopped = namespace.stopReason()
        if (stopped !== undefined) this.#guard.failed(namespace.key, stopped)
        const isOver = stopped !== undefined || this.#guard.refusal(namespace.key) !== undefined
        return isOver ? this.#registry.retire(namespace.key) : Effect.void
      })
    )
  }

  /** A failed look: sets the file aside if need be, and tells the log what the caller is not told. */
  #told<A>(key: NamespaceKey, looked: Effect.Effect<A, StoreError>): Effect.Effect<A, ReadError> {
    return Effect.catch(looked, (error) => {
      this.#guard.failed(key, error)
      return Effect.andThen(
        Effect.logError("a namespace could not be read", { namespace: key.tag, error: error._tag, cause: error }),
        Effect.fail(wireError(error))
      )
    })
  }
}

const makesRoom = (command: Command): boolean =>
  command._tag === "RemoveMemories" ||
  command._tag === "RemoveMatching" ||
  command._tag === "Sweep" ||
  command._tag === "RemoveCreatedBefore"

const wireErrorOf = <E>(error: E | StoreError): Exclude<E, StoreError> | ReadError =>
  isStoreError(error) ? wireError(error) : (error as Exclude<E, StoreError>)
