/**
 * The actor of one namespace: the only writer of its file and of its image in memory.
 *
 * Commands wait in a bounded mailbox (a full one suspends its senders) and are planned in groups. One record of
 * the log commits a group, then the image follows, then the replies are sent. Reads bypass the mailbox: the image is always
 * the committed state. After any failure of the store the outcome is unknown: the actor stops, fails all waiting
 * commands, and its host reopens the file. A second fiber builds lists and graphs in time slices.
 */
import { Cause, Clock, Context, Deferred, Effect, Queue, type Scope, type Semaphore } from "effect"
import { Limits } from "@muniment/domain/Limits"
import { Rounds } from "@muniment/worker/Rounds"
import { CommandPlanner, type Reply } from "./CommandPlanner.ts"
import type { Command, ReplyOf } from "./Commands.ts"
import { Draft } from "./Draft.ts"
import { NamespaceReader } from "./NamespaceReader.ts"
import { NamespaceState } from "./NamespaceState.ts"
import { StorageMeter, type StorageMeterService } from "./StorageMeter.ts"
import type { IndexSettings } from "./NamespaceVectors.ts"
import { SavedIndexes } from "./SavedIndexes.ts"
import { type CommandError, toClientError } from "./toClientError.ts"
import { type NamespaceKey, NamespaceStore, type OpenNamespace } from "../store/NamespaceStore.ts"
import { isStoreError, type StoreError, StoreFault } from "../store/StoreError.ts"

export interface Namespace {
  readonly key: NamespaceKey
  readonly reader: NamespaceReader
  /** Enters the mailbox; the reply follows the commit. */
  readonly ask: <C extends Command>(command: C) => Effect.Effect<ReplyOf<C>, CommandError>
  /** The failure that stopped the actor; undefined while it serves. */
  readonly stopReason: () => StoreError | undefined
  /** Deletes expired results, turns and summaries, erases the log after deletes, saves changed segments. */
  readonly runHousekeeping: (nowMillis: number) => Effect.Effect<void, StoreError>
}

/**
 * Opens the file, loads the image and starts the actor, which ends with the scope. All namespaces share `buildTurns`,
 * so that the process builds one slice of one index at a time.
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
    const mailbox = yield* Queue.bounded<MailboxEntry>(Limits.mailboxCapacity)
    const meter = yield* StorageMeter
    meter.settle(key, Infinity, store.bytes(), state.table.live)
    yield* Effect.addFinalizer(() => Effect.sync(() => meter.settle(key, Infinity, undefined)))
    const around = { meter, signal: yield* CommitSignal }
    const actor = new Actor(store, state, mailbox, yield* Queue.sliding<void>(1), around)
    yield* Effect.addFinalizer(() => actor.prepareToClose)
    yield* Effect.forkScoped(actor.run, { startImmediately: true })
    yield* actor.buildIndexes(buildTurns)
    return actor
  }
)

/** Changed segments from which a quiet namespace saves them; fewer are cheaper to encode at the next open. */
const quietSegmentsMin = 4

interface MailboxEntry {
  readonly command: Command
  readonly reply: Deferred.Deferred<unknown, CommandError>
}

interface PlannedEntry {
  readonly entry: MailboxEntry
  readonly reply: Reply<unknown>
}

class Actor implements Namespace {
  readonly key: NamespaceKey
  readonly reader: NamespaceReader
  readonly #store: OpenNamespace
  readonly #state: NamespaceState
  readonly #planner: CommandPlanner
  readonly #saved: SavedIndexes
  readonly #mailbox: Queue.Queue<MailboxEntry>
  /** Holds an element when an index may have something to build. */
  readonly #buildDue: Queue.Queue<void>
  readonly #meter: StorageMeterService
  readonly #signal: (key: NamespaceKey) => void
  readonly #waiting = new Set<MailboxEntry>()
  #stopReason: StoreError | undefined
  /** True at first: after a kill the log may still hold what was erased before it. */
  #isLogErasureDue = true
  /** Last change at the last housekeeping; if it is still the last change, the namespace is quiet. */
  #housekeptSeq: number

  constructor(
    store: OpenNamespace,
    state: NamespaceState,
    mailbox: Queue.Queue<MailboxEntry>,
    buildDue: Queue.Queue<void>,
    { meter, signal }: { readonly meter: StorageMeterService; readonly signal: (key: NamespaceKey) => void }
  ) {
    this.key = store.key
    this.#store = store
    this.#state = state
    this.#meter = meter
    this.#signal = signal
    this.#planner = new CommandPlanner(state, (growth) => meter.hold(store.key, growth))
    this.#saved = new SavedIndexes(store, state)
    this.#housekeptSeq = state.lastSeq
    this.#mailbox = mailbox
    this.#buildDue = buildDue
    this.reader = new NamespaceReader(store, state, () => Queue.offerUnsafe(buildDue, undefined))
  }

  stopReason(): StoreError | undefined {
    return this.#stopReason
  }

  ask<C extends Command>(command: C): Effect.Effect<ReplyOf<C>, CommandError> {
    return Effect.suspend(() => {
      if (this.#stopReason !== undefined) return Effect.fail(toClientError(this.#stopReason))
      const entry: MailboxEntry = { command, reply: Deferred.makeUnsafe<unknown, CommandError>() }
      this.#waiting.add(entry)
      // The planner makes the reply of this command's type; only the mailbox has lost the type.
      const reply = Deferred.await(entry.reply) as Effect.Effect<ReplyOf<C>, CommandError>
      return Effect.andThen(Queue.offer(this.#mailbox, entry), reply).pipe(
        Effect.ensuring(Effect.sync(() => this.#waiting.delete(entry)))
      )
    })
  }

  get run(): Effect.Effect<void> {
    return Effect.flatMap(Queue.takeBetween(this.#mailbox, 1, Limits.commitBatchMax), (batch) =>
      this.#serve(batch)
    ).pipe(Effect.repeat({ while: () => this.#stopReason === undefined }))
  }

  /** Builds lists and graphs until the scope ends; until they are built, searches scan. */
  buildIndexes(turns: Semaphore.Semaphore): Effect.Effect<void, never, Scope.Scope> {
    // Yields first, so that other fibers and sockets run between any two slices.
    const slice = turns.withPermit(
      Effect.andThen(
        Effect.yieldNow,
        Clock.clockWith((clock) =>
          Effect.sync(() =>
            this.#state.vectors.buildFor(
              Limits.indexSliceMillis,
              () => Number(clock.monotonicTimeNanosUnsafe()) / nanosPerMilli
            )
          )
        )
      )
    )
    const untilBuilt = Effect.repeat(slice, { while: (left) => left > 0 })
    return Rounds.whenWoken({
      name: "indexes of vectors",
      until: Queue.take(this.#buildDue),
      work: untilBuilt,
      isFirstNow: true
    }).pipe(Effect.annotateLogs({ namespace: this.key.tag }))
  }

  runHousekeeping(nowMillis: number): Effect.Effect<void, StoreError> {
    return Effect.suspend(() => {
      if (this.#stopReason !== undefined) return Effect.void
      const isQuiet = this.#housekeptSeq === this.#state.lastSeq
      this.#housekeptSeq = this.#state.lastSeq
      return this.#store
        .whole((file) =>
          Effect.andThen(
            file.forgetResultsBefore(nowMillis - Limits.idempotencyRetentionMillis),
            file.forgetEvents(nowMillis - Limits.eventsKeptMillis, Limits.eventChangesKept)
          )
        )
        .pipe(
          Effect.andThen(this.#sweepConversations(nowMillis)),
          Effect.andThen(Effect.suspend(() => this.#eraseLog())),
          Effect.andThen(isQuiet ? this.#saved.saveSegments(quietSegmentsMin) : Effect.void)
        )
    })
  }

  #sweepConversations(nowMillis: number): Effect.Effect<void, StoreError> {
    const { conversations, discardCopies } = this.#store
    if (conversations.nextExpiry === undefined || conversations.nextExpiry > nowMillis) return Effect.void
    return Effect.map(Effect.andThen(discardCopies, this.#store.sweepConversations(nowMillis)), (swept) => {
      this.#isLogErasureDue ||= swept > 0
    })
  }

  /** Before the file closes: erases the log if deletes require it, saves segments and snapshots. */
  get prepareToClose(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#stopReason !== undefined) return Effect.void
      return this.#eraseLog().pipe(
        Effect.andThen(this.#saved.saveSegments(1)),
        Effect.andThen(this.#saved.saveSnapshots()),
        Effect.catch((error) =>
          Effect.logWarning("namespace close: truncating the log failed", {
            namespace: this.key.tag,
            error: error._tag
          })
        )
      )
    })
  }

  #serve(batch: ReadonlyArray<MailboxEntry>): Effect.Effect<void> {
    return this.#planAndCommit(batch).pipe(
      Effect.catchCause((cause) => {
        if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
        const failure = Cause.findErrorOption(cause)
        // A defect may have left the image partly changed, so it stops the actor like a failed commit.
        return this.#stop(failure._tag === "Some" ? failure.value : new StoreFault({ cause: Cause.squash(cause) }))
      })
    )
  }

  #planAndCommit(batch: ReadonlyArray<MailboxEntry>): Effect.Effect<void, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const nowMillis = yield* Clock.currentTimeMillis
      this.#state.table.advance(nowMillis)
      let draft = new Draft(this.#state, this.#store, nowMillis)
      let planned: Array<PlannedEntry> = []
      for (const entry of batch) {
        // A filter matches against the image, which lacks what is only drafted. And a commit is applied to the image
        // in one turn of the event loop, so its size must not depend on the size of the group.
        if ((isByFilter(entry.command) && !draft.isEmpty) || draft.changeCount >= Limits.changesPerCommitMax) {
          yield* this.#commit(draft, planned)
          yield* Effect.yieldNow
          draft = new Draft(this.#state, this.#store, nowMillis)
          planned = []
        }
        const outcome = yield* Effect.result(this.#planner.plan(entry.command, draft))
        if (outcome._tag === "Success") planned.push({ entry, reply: outcome.success })
        else if (isStoreError(outcome.failure)) return yield* Effect.fail(outcome.failure)
        else yield* Deferred.fail(entry.reply, outcome.failure)
      }
      yield* this.#commit(draft, planned)
    })
  }

  /** Uninterruptible, so that file, image and replies agree even if the scope closes meanwhile. */
  #commit(draft: Draft, planned: ReadonlyArray<PlannedEntry>): Effect.Effect<void, StoreError> {
    return Effect.gen({ self: this }, function* () {
      if (!draft.isEmpty) {
        yield* draft.completeColumns
        yield* this.#saved.discardOutdatedBy(draft)
        if (draft.outdatesCopies) yield* this.#store.discardCopies
        const firstSeq = this.#state.lastSeq + 1
        yield* this.#meter.changing(this.key)
        yield* this.#store.commit(this.#state.lastSeq, draft.group, draft.nowMillis)
        this.#signal(this.key)
        this.#isLogErasureDue ||= draft.tracesInLog
        this.#state.apply(
          draft.group.flatMap(({ changes }) => changes),
          firstSeq
        )
        this.#state.table.advance(draft.nowMillis)
        yield* Queue.offer(this.#buildDue, undefined)
      }
      this.#meter.settle(this.key, draft.held, this.#store.bytes(), this.#state.table.live)
      for (const { entry, reply } of planned) yield* Deferred.succeed(entry.reply, reply())
    }).pipe(Effect.uninterruptible)
  }

  #eraseLog(): Effect.Effect<void, StoreError> {
    if (!this.#isLogErasureDue) return Effect.void
    return Effect.andThen(
      this.#store.checkpoint("TRUNCATE"),
      Effect.sync(() => {
        this.#isLogErasureDue = false
      })
    )
  }

  /** Fails every waiting command: of the group, in the mailbox, and in senders suspended by a full mailbox. */
  #stop(error: StoreError): Effect.Effect<void> {
    this.#stopReason = error
    this.#meter.settle(this.key, Infinity, undefined)
    return Effect.logError("namespace stopped; its next use reopens the file", {
      namespace: this.key.tag,
      error: error._tag,
      cause: error
    }).pipe(
      Effect.andThen(
        Effect.forEach([...this.#waiting], (entry) => Deferred.fail(entry.reply, toClientError(error)), {
          discard: true
        })
      ),
      Effect.andThen(Queue.shutdown(this.#mailbox))
    )
  }
}

const isByFilter = (command: Command): boolean =>
  command._tag === "RemoveMatching" || command._tag === "Sweep" || command._tag === "RemoveCreatedBefore"

const nanosPerMilli = 1_000_000

/** Port of those who wait for changes: called after each commit, and waited for by nobody; by default it does nothing. */
export const CommitSignal = Context.Reference<(key: NamespaceKey) => void>("muniment/engine/CommitSignal", {
  defaultValue: () => () => undefined
})
