/**
 * The actor of one namespace: the only writer of its file and of its image in memory.
 *
 * Commands wait in a bounded mailbox (a full one holds its senders back) and are drained in groups:
 * one transaction for a group, then the image follows, then every sender has its reply; a commit
 * precedes every reply. Reads never enter the mailbox: they look at the image, which is always the
 * committed state. After a failed commit the outcome is unknown: the actor stops, tells everyone,
 * and its host opens the file anew.
 */
import { Clock, Deferred, Effect, Queue, type Scope } from "effect"
import { InsufficientStorage, Unavailable, type Conflict, type NotFound } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { Command, ReplyOf } from "./Commands.ts"
import { CommandPlanner, type Reply } from "./CommandPlanner.ts"
import { Draft } from "./Draft.ts"
import { discardSnapshot } from "./index/Snapshot.ts"
import { NamespaceReader } from "./NamespaceReader.ts"
import { NamespaceState, type IndexSettings } from "./NamespaceState.ts"
import type { NamespaceKey, OpenNamespace, StoreError } from "./store/NamespaceStore.ts"
import { NamespaceStore } from "./store/NamespaceStore.ts"

export type CommandError = NotFound | Conflict | InsufficientStorage | Unavailable

/** Why an actor no longer serves; undefined while it does. */
export type StopReason = StoreError | undefined

interface Envelope {
  readonly command: Command
  readonly reply: Deferred.Deferred<unknown, CommandError>
}

interface Planned {
  readonly envelope: Envelope
  readonly reply: Reply<unknown>
}

export interface Namespace {
  readonly key: NamespaceKey
  readonly reader: NamespaceReader
  readonly ask: <C extends Command>(command: C) => Effect.Effect<ReplyOf<C>, CommandError>
  readonly stopReason: () => StopReason
  /** Housekeeping: forgets results past their retention, erases from the log what deletes left there. */
  readonly tidy: (nowMillis: number) => Effect.Effect<void, StoreError>
}

/** Opens the file, loads the image and starts the actor; it ends with the scope, after its mailbox. */
export const openNamespace: (
  key: NamespaceKey,
  settings: IndexSettings
) => Effect.Effect<Namespace, StoreError, NamespaceStore | Scope.Scope> = Effect.fn("Namespace.open")(
  function* (key, settings) {
    const store = yield* (yield* NamespaceStore).open(key)
    const state = yield* Effect.acquireRelease(NamespaceState.load(store, settings), (loaded) =>
      Effect.sync(() => loaded.close())
    )
    const actor = new Actor(store, state, yield* Queue.bounded<Envelope>(Limits.mailboxCapacity))
    yield* Effect.addFinalizer(() => actor.leave)
    yield* Effect.forkScoped(actor.run, { startImmediately: true })
    return actor
  }
)

class Actor implements Namespace {
  readonly key: NamespaceKey
  readonly reader: NamespaceReader
  readonly #store: OpenNamespace
  readonly #state: NamespaceState
  readonly #planner: CommandPlanner
  readonly #mailbox: Queue.Queue<Envelope>
  readonly #waiting = new Set<Envelope>()
  #stopReason: StopReason
  #eraseDue = false
  /** Models whose graphs an earlier owner may have left on disk. */
  #snapshotModels: ReadonlyArray<string>

  constructor(store: OpenNamespace, state: NamespaceState, mailbox: Queue.Queue<Envelope>) {
    this.key = store.key
    this.#store = store
    this.#state = state
    this.#planner = new CommandPlanner(state)
    this.#snapshotModels = state.models
    this.#mailbox = mailbox
    this.reader = new NamespaceReader(store, state)
  }

  stopReason(): StopReason {
    return this.#stopReason
  }

  ask<C extends Command>(command: C): Effect.Effect<ReplyOf<C>, CommandError> {
    return Effect.suspend(() => {
      if (this.#stopReason !== undefined) return Effect.fail(wireError(this.#stopReason))
      const envelope: Envelope = { command, reply: Deferred.makeUnsafe<unknown, CommandError>() }
      this.#waiting.add(envelope)
      // The planner replies to each command with its own type; the mailbox only forgets which.
      const reply = Deferred.await(envelope.reply) as Effect.Effect<ReplyOf<C>, CommandError>
      return Effect.andThen(Queue.offer(this.#mailbox, envelope), reply).pipe(
        Effect.ensuring(Effect.sync(() => this.#waiting.delete(envelope)))
      )
    })
  }

  get run(): Effect.Effect<void> {
    return Effect.flatMap(this.#nextBatch(), (batch) => this.#serve(batch)).pipe(
      Effect.repeat({ while: () => this.#stopReason === undefined })
    )
  }

  tidy(nowMillis: number): Effect.Effect<void, StoreError> {
    return Effect.suspend(() => {
      if (this.#stopReason !== undefined) return Effect.void
      const forget = this.#store.forgetResultsBefore(nowMillis - Limits.idempotencyRetentionMillis)
      return Effect.andThen(forget, this.#eraseLog())
    })
  }

  /** Before the file closes: erase the log if a delete asks for it, keep the graph if it is worth it. */
  get leave(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#stopReason !== undefined) return Effect.void
      return Effect.andThen(this.#eraseLog(), this.#saveSnapshots()).pipe(
        Effect.catch((error) =>
          Effect.logWarning("closing a namespace", { namespace: this.key.tag, error: error._tag })
        )
      )
    })
  }

  /** The next group; graphs are built in slices while nobody asks. */
  #nextBatch(): Effect.Effect<ReadonlyArray<Envelope>> {
    return Effect.suspend(() => {
      if (Queue.sizeUnsafe(this.#mailbox) === 0 && this.#work() > 0) {
        return Effect.andThen(Effect.yieldNow, this.#nextBatch())
      }
      return Queue.takeBetween(this.#mailbox, 1, Limits.commitBatchMax)
    })
  }

  #work(): number {
    return this.#state.work(Limits.indexSliceMillis, () => performance.now())
  }

  #serve(batch: ReadonlyArray<Envelope>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const nowMillis = yield* Clock.currentTimeMillis
      this.#state.table.advance(nowMillis)
      let draft = new Draft(this.#state, this.#store)
      let planned: Array<Planned> = []
      for (const envelope of batch) {
        // A filter is matched against the image, so what was drafted before has to be in it.
        if (isByFilter(envelope.command) && !draft.isEmpty) {
          yield* this.#commit(draft, planned, nowMillis)
          draft = new Draft(this.#state, this.#store)
          planned = []
        }
        const outcome = yield* Effect.result(this.#planner.plan(envelope.command, draft))
        if (outcome._tag === "Success") planned.push({ envelope, reply: outcome.success })
        else if (isStoreError(outcome.failure)) return yield* Effect.fail(outcome.failure)
        else yield* Deferred.fail(envelope.reply, outcome.failure)
      }
      yield* this.#commit(draft, planned, nowMillis)
    }).pipe(Effect.catch((error) => this.#stop(error)))
  }

  #commit(draft: Draft, planned: ReadonlyArray<Planned>, nowMillis: number): Effect.Effect<void, StoreError> {
    return Effect.gen({ self: this }, function* () {
      if (!draft.isEmpty) {
        const firstSeq = this.#state.lastSeq + 1
        yield* this.#store.commit(this.#state.lastSeq, draft.units, nowMillis)
        const erased = this.#state.apply(
          draft.units.flatMap((unit) => unit.changes),
          firstSeq
        )
        this.#state.table.advance(nowMillis)
        if (erased) yield* this.#erased()
      }
      for (const { envelope, reply } of planned) yield* Deferred.succeed(envelope.reply, reply())
    })
  }

  /** A vector or text is gone: its snapshot must go now, its trace in the log soon. */
  #erased(): Effect.Effect<void> {
    this.#eraseDue = true
    const models = this.#snapshotModels
    this.#snapshotModels = []
    return Effect.forEach(models, (model) => Effect.promise(() => discardSnapshot(snapshotPath(this.#store, model))), {
      discard: true
    })
  }

  #eraseLog(): Effect.Effect<void, StoreError> {
    if (!this.#eraseDue) return Effect.void
    return Effect.andThen(
      this.#store.checkpoint("TRUNCATE"),
      Effect.sync(() => {
        this.#eraseDue = false
      })
    )
  }

  #saveSnapshots(): Effect.Effect<void> {
    return Effect.forEach(
      this.#state.models,
      (model) =>
        Effect.promise(async () => {
          const key = { modelId: model, seq: this.#state.lastSeq }
          await this.#state.index(model)?.writeSnapshot(snapshotPath(this.#store, model), key)
        }),
      { discard: true }
    )
  }

  #stop(error: StoreError): Effect.Effect<void> {
    this.#stopReason = error
    return Effect.andThen(
      Effect.logError("a namespace stopped", { namespace: this.key.tag, error: error._tag }),
      Effect.forEach([...this.#waiting], (envelope) => Deferred.fail(envelope.reply, wireError(error)), {
        discard: true
      })
    )
  }
}

/** Where the graph of one model is kept. */
export const snapshotPath = (store: OpenNamespace, model: string): string =>
  `${store.snapshotPath}.${encodeURIComponent(model)}`

const isByFilter = (command: Command): boolean => command._tag === "RemoveMatching" || command._tag === "Sweep"

const isStoreError = (error: { readonly _tag: string }): error is StoreError => error._tag.startsWith("Store")

/** What a caller is told of a failure of the store. */
export const wireError = (error: StoreError): InsufficientStorage | Unavailable => {
  switch (error._tag) {
    case "StoreFull":
      return new InsufficientStorage({
        code: "insufficient_storage",
        error: "the disk is full: nothing was stored; reads and deletes still work"
      })
    case "StoreDamaged":
      return new Unavailable({
        code: "namespace_unavailable",
        error:
          "the memories of this agent are in a damaged file, which is set aside; the operator has to look (muniment doctor)"
      })
    case "StoreFenced":
    case "StoreFault":
      return new Unavailable({
        code: "namespace_unavailable",
        error: "the memories of this agent were interrupted; try again, with the same Idempotency-Key if there was one"
      })
  }
}
