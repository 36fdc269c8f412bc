/**
 * Commits of one namespace that the log has and its file, the copy, does not have yet: the copy follows, several
 * commits in one transaction.
 *
 * Invariants: only synced records enter, in their order; the overlay holds the acknowledged ones until the copy has
 * them; after a failure they stay here, and whoever needs the copy tries again.
 */
import { Clock, Effect, Queue, type Scope, Semaphore } from "effect"
import { Rounds } from "@muniment/worker/Rounds"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { CommitLogShape, NamespaceLog } from "../../log/CommitLog.ts"
import type { CommandChanges } from "../Commit.ts"
import type { ConversationChange } from "../Conversations.ts"
import type { CopyContent } from "../sqlite/namespaceMeta.ts"
import type { CommitThread, Followed, FollowedEntry, Refusal } from "../sqlite/CommitThread.ts"
import type { NamespaceFile } from "../sqlite/NamespaceFile.ts"
import { StoreDamaged, type StoreError, StoreFault, StoreFenced, StoreFull } from "../StoreError.ts"
import { Overlay } from "./Overlay.ts"
import type { LogError } from "../../log/LogError.ts"

/** Commits that one transaction of the copy takes. */
const followedTogetherMax = 64
/** Changes that a copy lacks, from which a commit waits for it: bounds the overlay. */
const changesBehindMax = 1_024
/** A copy that lacks fewer changes waits long for more, unless somebody needs it: each transaction writes some 60 KB. */
const fewChanges = 16
const fewAfterMillis = 10_000
/** A copy that lacks more waits this long for further changes, and not at all once it lacks `manyChanges`. */
const followAfterMillis = 100
const manyChanges = 256

/** What an open namespace needs of its log, on this machine or elsewhere. */
export type CopiedLog = NamespaceLog<FollowedEntry> & Pick<CommitLogShape, "isTight">

interface Ahead {
  readonly entry: FollowedEntry
  readonly changes: number
  readonly conversations: ReadonlyArray<ConversationChange>
  /** Its caller was told that it is stored. */
  readonly isAcknowledged: boolean
}

export class CopyLine {
  readonly overlay = new Overlay()
  readonly #file: NamespaceFile
  readonly #log: CopiedLog
  readonly #turn = Semaphore.makeUnsafe(1)
  /** Holds an element when the copy has something to follow. */
  readonly #due: Queue.Queue<void>
  readonly #ahead: Array<Ahead> = []
  #content: CopyContent
  #changesBehind = 0
  #hasFailed = false
  #keepsLog = false

  constructor(file: NamespaceFile, log: CopiedLog, content: CopyContent, due: Queue.Queue<void>) {
    this.#file = file
    this.#log = log
    this.#content = content
    this.#due = due
  }

  /** What the copy holds. */
  get content(): CopyContent {
    return this.#content
  }

  /** Until the next commit may be acknowledged before the copy has it. */
  get whenNear(): Effect.Effect<void, StoreError> {
    return this.#followWhile(
      () => this.#ahead.length > 0 && (this.#hasFailed || this.#changesBehind >= changesBehindMax)
    )
  }

  /** An insertion that is acknowledged now, and followed later. */
  hold(entry: FollowedEntry, group: ReadonlyArray<CommandChanges>): void {
    this.#enter(entry, group, true)
    this.overlay.hold(entry.ordinal, group)
    if (this.#ahead.length === 1 || this.#changesBehind >= fewChanges) Queue.offerUnsafe(this.#due, undefined)
  }

  /** Fails if the copy cannot carry out the commit; then it is refused in the log too, and has not happened. */
  follow(entry: FollowedEntry, group: ReadonlyArray<CommandChanges>): Effect.Effect<void, StoreError> {
    return Effect.suspend(() => {
      this.#enter(entry, group, false)
      return Effect.flatMap(this.#followThrough(entry.ordinal), () => this.#requireFollowed(entry.ordinal))
    })
  }

  /** Until the copy has all that is here now. */
  get followAll(): Effect.Effect<void, StoreError> {
    return Effect.suspend(() => this.#followThrough(this.#ahead.at(-1)?.entry.ordinal ?? 0))
  }

  /** A change that the log does not hold removes what the log may have. */
  get noteErasure(): Effect.Effect<void, StoreError> {
    return this.#turn.withPermit(
      Effect.suspend(() => {
        const erasureDue = this.#content.ordinal
        return Effect.map(this.#file.noteErasure(erasureDue), () => {
          this.#content = { ...this.#content, erasureDue }
        })
      })
    )
  }

  /** The copy is damaged: it is made again from the log, which is erased only after that. */
  keepLog(): void {
    this.#keepsLog = true
  }

  /**
   * If the copy holds durably, up to `throughOrdinal`, what removes something: erases the log up to there. What came later
   * stays for archives.
   */
  eraseLog(throughOrdinal: number): Effect.Effect<void, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const { erasureDue } = this.#content
      if (this.#keepsLog || erasureDue === 0 || erasureDue > throughOrdinal) return
      const nowMillis = yield* Clock.currentTimeMillis
      yield* logged(this.#log.erase(this.#file.key.tag, erasureDue, nowMillis))
      yield* this.#file.noteErasure(0)
      this.#content = { ...this.#content, erasureDue: 0 }
    }).pipe(this.#turn.withPermit)
  }

  /** Follows in the background until the scope ends. */
  get run(): Effect.Effect<void, never, Scope.Scope> {
    const due = Queue.take(this.#due).pipe(
      Effect.andThen(this.#untilBehind(fewChanges, fewAfterMillis)),
      Effect.andThen(this.#untilBehind(manyChanges, followAfterMillis))
    )
    return Rounds.whenWoken({ name: "files that follow the log", until: due, work: this.followAll }).pipe(
      Effect.annotateLogs({ namespace: this.#file.key.tag })
    )
  }

  #untilBehind(changes: number, millisMax: number): Effect.Effect<void> {
    const isBehind = () => this.#changesBehind >= changes
    return Effect.suspend(() =>
      isBehind()
        ? Effect.void
        : Effect.raceFirst(Effect.sleep(millisMax), Effect.repeat(Queue.take(this.#due), { until: isBehind }))
    )
  }

  /** While it waited for its turn, another step may have found the disk full and refused it. */
  #requireFollowed(ordinal: number): Effect.Effect<void, StoreError> {
    if (this.#content.ordinal >= ordinal) return Effect.void
    return Effect.fail(new StoreFault({ cause: new Error(`record ${ordinal} was refused`) }))
  }

  #followThrough(ordinal: number): Effect.Effect<void, StoreError> {
    return this.#followWhile(() => (this.#ahead[0]?.entry.ordinal ?? Infinity) <= ordinal)
  }

  /**
   * Who waits for the turn gets it before the next step.
   * Uninterruptible: a reply that is dropped would leave conversations and bytes behind the file.
   */
  #followWhile(isBehind: () => boolean): Effect.Effect<void, StoreError> {
    const step = this.#turn.withPermit(
      Effect.suspend(() => (isBehind() ? Effect.uninterruptible(this.#followSome) : Effect.void))
    )
    return Effect.suspend(() =>
      isBehind() ? Effect.repeat(Effect.andThen(step, Effect.yieldNow), { while: isBehind }) : Effect.void
    )
  }

  get #followSome(): Effect.Effect<void, StoreError> {
    return Effect.suspend(() => {
      const some = this.#ahead.slice(0, followedTogetherMax)
      if (some.length === 0) return Effect.void
      const entries = some.map(({ entry }) => entry)
      const conversations = some.flatMap((one) => one.conversations)
      return this.#file.follow(entries, conversations).pipe(
        Effect.tapError((error) => this.#failed(error)),
        Effect.flatMap((followed) => this.#settle(followed))
      )
    })
  }

  #settle({ content, refused }: Followed): Effect.Effect<void, StoreError> {
    return Effect.suspend(() => {
      this.#hasFailed = false
      this.#content = content
      this.overlay.forget(content.ordinal)
      while (this.#ahead.length > 0 && this.#ahead[0]!.entry.ordinal <= content.ordinal)
        this.#changesBehind -= this.#ahead.shift()!.changes
      if (refused === undefined) return Effect.void
      const error = new StoreFault({
        cause: new Error(`the file refuses record ${refused.ordinal}: ${refused.reason}`)
      })
      return Effect.andThen(this.#refuse(0), Effect.fail(error))
    })
  }

  /** A full disk refuses a commit whose caller still waits: it has not happened. */
  #failed(error: StoreError): Effect.Effect<void, StoreError> {
    return Effect.suspend(() => {
      this.#hasFailed = true
      const last = this.#ahead.length - 1
      const isRefused = error instanceof StoreFull && this.#ahead[last]?.isAcknowledged === false
      return isRefused ? this.#refuse(last) : Effect.void
    })
  }

  /** Refuses in the log what is ahead from this place on. */
  #refuse(from: number): Effect.Effect<void, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const { tag } = this.#file.key
      const refused = this.#ahead.splice(from)
      const nowMillis = yield* Clock.currentTimeMillis
      for (const { changes, entry, isAcknowledged } of refused) {
        this.#changesBehind -= changes
        yield* logged(this.#log.refuse(tag, entry.ordinal, nowMillis))
        if (isAcknowledged)
          yield* Effect.logError("an acknowledged commit is lost: the namespace's file refuses it", {
            namespace: tag,
            ordinal: entry.ordinal
          })
      }
      // What is left was acknowledged: the copy will have it, and the next commit follows it.
      if (this.#ahead.length === 0) this.overlay.forget(Infinity)
      const { epoch, seq } = this.#content
      yield* this.#log.release(tag)
      yield* this.#log.attach(tag, { epoch, seq: seq + this.#changesBehind })
    })
  }

  #enter(entry: FollowedEntry, group: ReadonlyArray<CommandChanges>, isAcknowledged: boolean): void {
    const changes = group.reduce((sum, unit) => sum + unit.changes.length, 0)
    const conversations = group.flatMap(({ conversation }) => (conversation === undefined ? [] : [conversation]))
    this.#ahead.push({ entry, changes, conversations, isAcknowledged })
    this.#changesBehind += changes
  }
}

/** Errors of the log as those of the store's port. */
export const logged = <A>(step: Effect.Effect<A, LogError>): Effect.Effect<A, StoreError> =>
  Effect.mapError(step, storeErrorOfLog)

const storeErrorOfLog = (error: LogError): StoreError => {
  switch (error._tag) {
    case "LogFenced":
      return new StoreFenced({ epoch: error.epoch })
    case "LogFull":
      return new StoreFull({ cause: error.cause })
    case "LogDamaged":
      return new StoreDamaged({ reason: error.reason, cause: error })
    case "LogFault":
      return new StoreFault({ cause: error })
  }
}

/** A copy that is behind its log, and is not open, carries out the records that it lacks. */
interface FollowParts {
  readonly log: NamespaceLog<FollowedEntry>
  readonly thread: CommitThread
  readonly tag: NamespaceTag
  readonly filename: string
}

/** Records that one step takes. */
const stepRecordsMax = 256

/** `entries`: all that the copy lacks, of a copy that holds `before`; -> what it holds then. */
export const followLog = Effect.fnUntraced(function* (
  parts: FollowParts,
  before: CopyContent,
  entries: ReadonlyArray<FollowedEntry>
): Effect.fn.Return<CopyContent, StoreError> {
  let content = before
  for (let at = 0; at < entries.length; at += stepRecordsMax) {
    const followed = yield* parts.thread.follow(parts.filename, entries.slice(at, at + stepRecordsMax))
    content = followed.content
    if (followed.refused !== undefined) yield* refuse(parts, followed.refused, entries.at(-1)!.ordinal)
  }
  return content
})

/** Only a last commit, whose caller was told nothing, can be refused: its process ended before it said so. */
const refuse = Effect.fnUntraced(function* (
  { log, tag }: FollowParts,
  { ordinal, reason }: Refusal,
  lastOrdinal: number
): Effect.fn.Return<void, StoreError> {
  const told = `the file refuses record ${ordinal} of the log: ${reason}`
  if (ordinal !== lastOrdinal) return yield* Effect.fail(new StoreDamaged({ reason: told, cause: undefined }))
  yield* Effect.logWarning(told, { namespace: tag })
  yield* logged(log.refuse(tag, ordinal, yield* Clock.currentTimeMillis))
})
