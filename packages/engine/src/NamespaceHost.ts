/**
 * Who runs where: the one door to namespaces. Today every namespace is an actor in this process,
 * opened on first use and closed when idle; callers see only keys, commands and reads.
 *
 * Invariants: a damaged file is set aside and answers 503 while all others serve; when the disk is
 * full, writes answer 507 and deletes get the ballast's room; no call holds two namespaces at once.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { InsufficientStorage, Unavailable } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { Command, ReplyOf } from "./Commands.ts"
import { FileGuard } from "./FileGuard.ts"
import { openNamespace, wireError, type CommandError, type Namespace } from "./Namespace.ts"
import { makeNamespaceRegistry, type NamespaceRegistry } from "./NamespaceRegistry.ts"
import type { NamespaceReader } from "./NamespaceReader.ts"
import type { IndexSettings } from "./NamespaceState.ts"
import {
  NamespaceStore,
  StoreDamaged,
  StoreFault,
  StoreFenced,
  StoreFull,
  type NamespaceKey,
  type StoreError
} from "./store/NamespaceStore.ts"
import { storeError } from "./store/SqliteNamespaceStore.ts"

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
  const store = yield* NamespaceStore
  const guard = new FileGuard(options.dataDirectory)
  const registry = yield* makeNamespaceRegistry<NamespaceKey, Namespace, StoreError>({
    open: (key) =>
      guard.opening(key, openNamespace(key, options.index).pipe(Effect.provideService(NamespaceStore, store))),
    openMax: options.openMax ?? Limits.openNamespacesMax,
    closeBudgetMillis
  })
  const host = new Host(registry, guard)
  yield* host.maintain.pipe(Effect.delay(Limits.expirySweepMillis), Effect.forever, Effect.forkScoped)
  return host satisfies NamespaceHost["Service"]
})

class Host {
  readonly #registry: NamespaceRegistry<NamespaceKey, Namespace, StoreError>
  readonly #guard: FileGuard

  constructor(registry: NamespaceRegistry<NamespaceKey, Namespace, StoreError>, guard: FileGuard) {
    this.#registry = registry
    this.#guard = guard
  }

  ask<C extends Command>(key: NamespaceKey, command: C): Effect.Effect<ReplyOf<C>, CommandError> {
    const once = this.#use(key, (namespace) => namespace.ask(command))
    if (!makesRoom(command)) return once
    return Effect.catchTag(once, "InsufficientStorage", (full) => (this.#guard.giveRoom() ? once : Effect.fail(full)))
  }

  read<A>(key: NamespaceKey, look: (reader: NamespaceReader, nowMillis: number) => A): Effect.Effect<A, ReadError> {
    return this.readRecords(key, (reader, nowMillis) =>
      Effect.try({ try: () => look(reader, nowMillis), catch: storeError })
    )
  }

  readRecords<A>(
    key: NamespaceKey,
    look: (reader: NamespaceReader, nowMillis: number) => Effect.Effect<A, StoreError>
  ): Effect.Effect<A, ReadError> {
    return Effect.flatMap(Clock.currentTimeMillis, (nowMillis) =>
      this.#use(key, (namespace) =>
        Effect.catch(look(namespace.reader, nowMillis), (error) => {
          this.#guard.failed(key, error)
          return Effect.fail(wireError(error))
        })
      )
    )
  }

  get maintain(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const nowMillis = yield* Clock.currentTimeMillis
      for (const key of [...this.#registry.openKeys(), ...this.#guard.dueToExpire(nowMillis)]) {
        yield* Effect.catch(this.#maintainOne(key, nowMillis), (error) =>
          Effect.logWarning("housekeeping of a namespace failed", { namespace: key.tag, code: error.code })
        )
      }
      yield* this.#registry.closeIdle(nowMillis - Limits.namespaceIdleMillis)
      yield* Effect.try({ try: () => this.#guard.restoreBallast(), catch: storeError }).pipe(
        Effect.catch((error) => Effect.logWarning("the ballast file could not be written", { error: error._tag }))
      )
    })
  }

  get status(): Effect.Effect<HostStatus> {
    return Effect.sync(() => ({
      open: this.#registry.openKeys().length,
      quarantined: this.#guard.quarantined(),
      ballastBytes: this.#guard.ballastBytes
    }))
  }

  #maintainOne(key: NamespaceKey, nowMillis: number): Effect.Effect<void, CommandError> {
    const sweep: Effect.Effect<void, CommandError> = Effect.flatMap(this.ask(key, { _tag: "Sweep" }), (removed) =>
      removed === Limits.removalsPerCommitMax ? sweep : Effect.void
    )
    return this.read(key, (reader) => reader.counts(nowMillis).expired).pipe(
      Effect.flatMap((expired) => (expired > 0 ? sweep : Effect.void)),
      Effect.andThen(this.#use(key, (namespace) => Effect.mapError(namespace.tidy(nowMillis), wireError)))
    )
  }

  /** Opens the namespace for one use, and closes it for good when its actor has stopped. */
  #use<A, E>(key: NamespaceKey, use: (namespace: Namespace) => Effect.Effect<A, E>): Effect.Effect<A, E | ReadError> {
    return Effect.suspend(() => {
      const reason = this.#guard.reasonAgainst(key)
      if (reason !== undefined) return Effect.fail(wireError(new StoreDamaged({ reason, cause: undefined })))
      return this.#registry
        .with(key, (namespace) =>
          Effect.ensuring(
            use(namespace),
            Effect.suspend(() => {
              const stopped = namespace.stopReason()
              if (stopped === undefined) return Effect.void
              this.#guard.failed(key, stopped)
              return this.#registry.retire(key)
            })
          )
        )
        .pipe(Effect.mapError((error) => (isStoreError(error) ? wireError(error) : error)))
    })
  }
}

const makesRoom = (command: Command): boolean =>
  command._tag === "RemoveMemories" || command._tag === "RemoveMatching" || command._tag === "Sweep"

const isStoreError = (error: unknown): error is StoreError =>
  error instanceof StoreFull ||
  error instanceof StoreFenced ||
  error instanceof StoreDamaged ||
  error instanceof StoreFault
