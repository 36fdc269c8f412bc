/**
 * The actor of one namespace: the only writer of its file and of its image in memory.
 *
 * Commands wait in a bounded mailbox (a full one holds its senders back) and are drained in groups:
 * one transaction for a group, then the image follows, then every sender has its reply; a commit
 * precedes every reply. Reads never enter the mailbox: they look at the image, which is always the
 * committed state. After any failure the outcome is unknown: the actor stops, tells everyone, and
 * its host opens the file anew. Lists and graphs are built by a fiber beside it, one slice at a time.
 */
import { Cause, Clock, Deferred, Effect, Queue, type Scope, type Semaphore } from "effect"
import { InsufficientStorage, Unavailable, type Conflict, type NotFound } from "@muniment/domain/Errors"
import { Limits } from "@muniment/domain/Limits"
import type { Command, ReplyOf } from "./Commands.ts"
import { CommandPlanner, type Reply } from "./CommandPlanner.ts"
import { Draft } from "./Draft.ts"
import { discardSnapshot } from "./index/Snapshot.ts"
import { NamespaceReader } from "./NamespaceReader.ts"
import { NamespaceState, snapshotPath, type IndexSettings } from "./NamespaceState.ts"
import { saveSegments } from "./SegmentKeeper.ts"
import type { NamespaceKey, OpenNamespace, StoreError } from "./store/NamespaceStore.ts"
import { isStoreError, NamespaceStore, StoreFault } from "./store/NamespaceStore.ts"
import { segmentsTouchedBy } from "./store/StoredSegments.ts"

export type CommandError = NotFound | Conflict | InsufficientStorage | Unavailable

/** Why an actor no longer serves; undefined while it does. */
export type StopReason = StoreError | undefined

/** Time for saving segments in one go, about a hundred; those left out are saved next time, or never. */
const saveMillisMax = 1_000
/** Changed segments that an open namespace is saved for; fewer cost more to write, again and again, than to encode once. */
const restingSegmentsMin = 4
/** Segments that a commit deletes itself: some 100 pages each. */
const segmentsPerCommitMax = 2

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
  /** Housekeeping: forgets results and turns past their time, erases from the log what deletes left there. */
  readonly tidy: (nowMillis: number) => Effect.Effect<void, StoreError>
}

/**
 * Opens the file, loads the image and starts the actor, which ends with the scope. `buildTurns` is
 * shared by all namespaces: graphs are built one slice at a time in the whole process.
 */
export const openNamespace: (
  key: NamespaceKey,
  settings: IndexSettings,
  buildTurns: Semaphore.Semaphore
) => Effect.Effect<Namespace, StoreError, NamespaceStore | Scope.Scope> = Effect.fn("Namespace.open")(
  function* (key, settings, buildTurns) {
    const store = yield* (yield* NamespaceStore).open(key)
    const state = yield* Effect.acquireRelease(NamespaceState.load(store, settings), (loaded) =>
      Effect.sync(() => loaded.close())
    )
    const mailbox = yield* Queue.bounded<Envelope>(Limits.mailboxCapacity)
    const actor = new Actor(store, state, mailbox, yield* Queue.sliding<void>(1))
    yield* Effect.addFinalizer(() => actor.leave)
    yield* Effect.forkScoped(actor.run, { startImmediately: true })
    yield* Effect.forkScoped(actor.build(buildTurns))
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
  /** Holds something when graphs may have work to do. */
  readonly #buildDue: Queue.Queue<void>
  readonly #waiting = new Set<Envelope>()
  #stopReason: StopReason
  #eraseDue = false
  /** Last change seen by the last housekeeping: when it is still the last, the namespace is quiet. */
  #seqAtTidy: number
  /** Whether a save of segments was given up. */
  #segmentsDue = false
  /** Models whose graphs may lie on disk. */
  #snapshotModels: ReadonlyArray<string>

  constructor(
    store: OpenNamespace,
    state: NamespaceState,
    mailbox: Queue.Queue<Envelope>,
    buildDue: Queue.Queue<void>
  ) {
    this.key = store.key
    this.#store = store
    this.#state = state
    this.#planner = new CommandPlanner(state)
    this.#seqAtTidy = state.lastSeq
    this.#snapshotModels = state.models
    this.#mailbox = mailbox
    this.#buildDue = buildDue
    this.reader = new NamespaceReader(store, state, () => Queue.offerUnsafe(buildDue, undefined))
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
    return Effect.flatMap(Queue.takeBetween(this.#mailbox, 1, Limits.commitBatchMax), (batch) =>
      this.#serve(batch)
    ).pipe(Effect.repeat({ while: () => this.#stopReason === undefined }))
  }

  /** Builds lists and graphs whenever there is something to build; searches scan what is not built yet. */
  build(turns: Semaphore.Semaphore): Effect.Effect<void> {
    // The yield comes first, so that other fibers and sockets get theirs between any two slices.
    const slice = turns.withPermit(
      Effect.andThen(
        Effect.yieldNow,
        Effect.sync(() => this.#state.work(Limits.indexSliceMillis, () => performance.now()))
      )
    )
    const untilBuilt = Effect.repeat(slice, { while: (left) => left > 0 })
    return Queue.offer(this.#buildDue, undefined).pipe(
      Effect.andThen(Effect.forever(Effect.andThen(Queue.take(this.#buildDue), untilBuilt))),
      // Without them a search is exact and slower, never wrong.
      Effect.tapDefect((defect) =>
        Effect.logError("lists or a graph cannot be built", { namespace: this.key.tag, defect })
      )
    )
  }

  tidy(nowMillis: number): Effect.Effect<void, StoreError> {
    return Effect.suspend(() => {
      if (this.#stopReason !== undefined) return Effect.void
      const forget = this.#store.forgetResultsBefore(nowMillis - Limits.idempotencyRetentionMillis)
      const sweep = Effect.map(this.#store.conversations.sweep(nowMillis), (swept) => {
        this.#eraseDue ||= swept > 0
      })
      const isQuiet = this.#seqAtTidy === this.#state.lastSeq
      this.#seqAtTidy = this.#state.lastSeq
      return Effect.andThen(forget, sweep).pipe(
        Effect.andThen(Effect.suspend(() => this.#eraseLog())),
        Effect.andThen(isQuiet ? this.#saveSegments(restingSegmentsMin) : Effect.void)
      )
    })
  }

  /** Before the file closes: erase the log if a delete asks for it, keep segments and graph if they are worth it. */
  get leave(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#stopReason !== undefined) return Effect.void
      return this.#eraseLog().pipe(
        Effect.andThen(this.#saveSegments(1)),
        Effect.andThen(this.#saveSnapshots()),
        Effect.catch((error) =>
          Effect.logWarning("closing a namespace", { namespace: this.key.tag, error: error._tag })
        )
      )
    })
  }

  #serve(batch: ReadonlyArray<Envelope>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const nowMillis = yield* Clock.currentTimeMillis
      this.#state.table.advance(nowMillis)
      let draft = new Draft(this.#state, this.#store, nowMillis)
      let planned: Array<Planned> = []
      for (const envelope of batch) {
        // A filter is matched against the image, so what was drafted before has to be in it; and a
        // transaction is one turn of the event loop, so it must not grow with the group.
        if ((isByFilter(envelope.command) && !draft.isEmpty) || draft.changeCount >= Limits.changesPerCommitMax) {
          yield* this.#commit(draft, planned)
          yield* Effect.yieldNow
          draft = new Draft(this.#state, this.#store, nowMillis)
          planned = []
        }
        const outcome = yield* Effect.result(this.#planner.plan(envelope.command, draft))
        if (outcome._tag === "Success") planned.push({ envelope, reply: outcome.success })
        else if (isStoreError(outcome.failure)) return yield* Effect.fail(outcome.failure)
        else yield* Deferred.fail(envelope.reply, outcome.failure)
      }
      yield* this.#commit(draft, planned)
    }).pipe(
      Effect.catchCause((cause) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
        const failure = Cause.findErrorOption(cause)
        // A defect may have left the image half changed: like a failed commit, it asks for a new start.
        return this.#stop(failure._tag === "Some" ? failure.value : new StoreFault({ cause: Cause.squash(cause) }))
      })
    )
  }

  /** Whole or not at all, also when the scope closes meanwhile: file, image and replies stay together. */
  #commit(draft: Draft, planned: ReadonlyArray<Planned>): Effect.Effect<void, StoreError> {
    return Effect.gen({ self: this }, function* () {
      if (!draft.isEmpty) {
        if (draft.erases) yield* this.#discardSnapshots()
        yield* this.#discardSegments(draft)
        if (draft.outdatesCopies) yield* this.#store.discardCopies
        const firstSeq = this.#state.lastSeq + 1
        yield* this.#store.commit(this.#state.lastSeq, draft.units, draft.nowMillis)
        this.#eraseDue ||= draft.tracesInLog
        this.#state.apply(
          draft.units.flatMap((unit) => unit.changes),
          firstSeq
        )
        this.#state.table.advance(draft.nowMillis)
        yield* Queue.offer(this.#buildDue, undefined)
      }
      for (const { envelope, reply } of planned) yield* Deferred.succeed(envelope.reply, reply())
    }).pipe(Effect.uninterruptible)
  }

  /** Before the commit that erases: wherever the process dies, no graph outlives a memory in it. */
  #discardSnapshots(): Effect.Effect<void, StoreFault> {
    return Effect.suspend(() => {
      const models = this.#snapshotModels
      this.#snapshotModels = []
      return Effect.forEach(
        models,
        (model) =>
          Effect.tryPromise({
            try: () => discardSnapshot(snapshotPath(this.#store, model)),
            catch: (cause) => new StoreFault({ cause })
          }),
        { discard: true }
      )
    })
  }

  /**
   * Before a commit that touches many segments, which it would delete: each in a transaction of its own, since
   * the pages of a hundred of them would hold up the loop, and make a log larger than the ballast.
   */
  #discardSegments(draft: Draft): Effect.Effect<void, StoreError> {
    const touched = segmentsTouchedBy(draft.units)
    if (touched.size <= segmentsPerCommitMax) return Effect.void
    const { segments } = this.#store
    return Effect.flatMap(segments.stored, (stored) => segments.discard(stored.filter((one) => touched.has(one))))
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

  /** If at least so many have changed. A save that fails makes the next open slower, and is told to the log. */
  #saveSegments(least: number): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const source = this.#state.segmentSource
      if (source === undefined) return
      if (!this.#segmentsDue && source.index.changedSegments().length < least) return
      this.#segmentsDue = true
      const untilMillis = (yield* Clock.currentTimeMillis) + saveMillisMax
      this.#segmentsDue = !(yield* saveSegments(this.#store.segments, source, untilMillis))
    }).pipe(
      Effect.catch((error) =>
        Effect.logWarning("segments of an index are not saved", { namespace: this.key.tag, error: error._tag })
      )
    )
  }

  #saveSnapshots(): Effect.Effect<void> {
    return Effect.forEach(
      this.#state.models.filter((model) => !this.#state.isOnDisk(model)),
      (model) =>
        Effect.promise(async () => {
          const key = { modelId: model, seq: this.#state.lastSeq }
          return this.#state.index(model)?.writeSnapshot(snapshotPath(this.#store, model), key)
        }).pipe(
          Effect.tap((outcome) =>
            outcome?.written === false
              ? Effect.logDebug("no snapshot", { namespace: this.key.tag, model, reason: outcome.reason })
              : Effect.void
          )
        ),
      { discard: true }
    )
  }

  /** Fails all who wait: those served, those in the mailbox, and those a full mailbox held back. */
  #stop(error: StoreError): Effect.Effect<void> {
    this.#stopReason = error
    return Effect.logError("a namespace stopped", { namespace: this.key.tag, error: error._tag, cause: error }).pipe(
      Effect.andThen(
        Effect.forEach([...this.#waiting], (envelope) => Deferred.fail(envelope.reply, wireError(error)), {
          discard: true
        })
      ),
      Effect.andThen(Queue.shutdown(this.#mailbox))
    )
  }
}

const isByFilter = (command: Command): boolean =>
  command._tag === "RemoveMatching" || command._tag === "Sweep" || command._tag === "RemoveCreatedBefore"

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
          "the memories of this agent are in a file that cannot be read, which is set aside; the operator has to look (muniment doctor)"
      })
    case "StoreFenced":
      return new Unavailable({
        code: "namespace_unavailable",
        error: "the memories of this agent are served by another process; the operator has to look (muniment doctor)"
      })
    case "StoreFault":
      return new Unavailable({
        code: "namespace_unavailable",
        error: "the memories of this agent were interrupted; try again, with the same Idempotency-Key if there was one"
      })
  }
}
