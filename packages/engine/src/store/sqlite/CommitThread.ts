/**
 * A worker thread on which files follow the log: SQLite's statements and syncs hold that thread and not the event loop, so
 * searches do not wait for writes. One thread for all namespaces; it starts with the store, because the first write should
 * not wait a quarter of a second for it. It ends when it rests, because it holds some fifteen megabytes.
 *
 * Small orders go before large ones of other files, so that what an agent just said does not wait behind an import.
 *
 * Invariants: orders for one file are carried out in the order they were given, one at a time; when the thread is lost, every order without an answer fails with an unknown outcome
 * (`StoreFault`), its owner stops and reopens the file, and the next order starts a new thread.
 */
import { Effect, type Scope } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { openWorkerThread, type WorkerFailure, type WorkerThread } from "@muniment/worker/WorkerThread"
import { Rounds } from "@muniment/worker/Rounds"
import type { LogEntry } from "../../log/CommitLog.ts"
import type { ReadEntry } from "../../log/RecordReader.ts"
import type { CopyContent } from "./namespaceMeta.ts"
import { StoreDamaged, StoreErased, type StoreError, StoreFault, StoreFull } from "../StoreError.ts"

/** A record in the log of this machine, by its place, or one of a log that lies elsewhere. */
export type FollowedEntry = LogEntry | ReadEntry

export type CommitRequest =
  | { readonly _tag: "Follow"; readonly filename: string; readonly entries: ReadonlyArray<FollowedEntry> }
  | { readonly _tag: "Empty"; readonly filename: string }
  | { readonly _tag: "Close"; readonly filename: string }

/** Errors travel as their tags: a class does not survive the way between threads. */
export type CommitReply =
  | { readonly _tag: "Followed"; readonly followed: Followed }
  | { readonly _tag: "Emptied" }
  | { readonly _tag: "Closed" }
  | {
      readonly _tag: "Failed"
      readonly error: Exclude<StoreError["_tag"], "StoreFenced">
      readonly message: string
    }

export interface Followed {
  readonly content: CopyContent
  /** Scopes of conversations that lost something; undefined in the list: any. */
  readonly erased: ReadonlyArray<string | undefined>
  readonly refused: Refusal | undefined
}

/** The file cannot carry this record out, and never will: it breaks a rule of its tables. Those behind it wait. */
export interface Refusal {
  readonly ordinal: number
  readonly reason: string
}

export interface CommitThreadSettings {
  /** Directory of the log that files follow; undefined: it lies elsewhere. */
  readonly logDirectory: string | undefined
  /** How many files the thread keeps open. */
  readonly filesOpenMax: number
}

/** The write after a longer rest waits until the thread has started. */
const idleMillis = 60_000
/** To close its files; a checkpoint writes at most what the thread has committed since the last one. */
const closeMillisMax = 10_000

export const openCommitThread = Effect.fnUntraced(function* (
  given: Partial<CommitThreadSettings> = {}
): Effect.fn.Return<CommitThread, never, Scope.Scope> {
  const settings: CommitThreadSettings = { logDirectory: undefined, filesOpenMax: filesOpenMax(), ...given }
  const worker = yield* openWorkerThread<CommitRequest, CommitReply>({
    name: "commit",
    entry: new URL("./CommitWorker.ts", import.meta.url),
    settings,
    // One is carried out while the next one is on its way; the others wait here, where small ones go first.
    concurrency: 2,
    // Every namespace has at most one order under way, so the actors bound what waits.
    queueMax: Infinity,
    idleMillis,
    closeMillisMax
  })
  // What fails then fails again for the next order, which says so.
  yield* Rounds.once({ name: "start of the commit thread", work: Effect.ignore(worker.start) })
  return new CommitThread(worker)
})

export class CommitThread {
  readonly #worker: WorkerThread<CommitRequest, CommitReply>
  /** Files that the thread may have open: of orders that have ended. */
  readonly #used = new Set<string>()

  constructor(worker: WorkerThread<CommitRequest, CommitReply>) {
    this.#worker = worker
  }

  /** Carries out records of the log as one transaction; those that the file has are passed over. */
  follow(filename: string, entries: ReadonlyArray<FollowedEntry>): Effect.Effect<Followed, StoreError> {
    const isUrgent = entries.reduce((sum, entry) => sum + lengthOf(entry), 0) <= urgentBytesMax
    return this.#ask({ _tag: "Follow", filename, entries }, isUrgent).pipe(
      // At its end, so that a close which was asked for meanwhile does not make it forgotten.
      Effect.ensuring(Effect.sync(() => this.#used.add(filename))),
      Effect.flatMap((reply) =>
        reply._tag === "Followed"
          ? Effect.succeed(reply.followed)
          : Effect.die(new Error("records were answered without an outcome"))
      )
    )
  }

  /** Moves SQLite's log into the file. Fails while a long read holds it. */
  empty(filename: string): Effect.Effect<void, StoreError> {
    return Effect.asVoid(this.#ask({ _tag: "Empty", filename }))
  }

  /**
   * Closes the thread's connection to a file, if it has one; that of a thread that is ending is closed too. Files that
   * are only read do not keep the thread from its rest.
   */
  close(filename: string): Effect.Effect<void, StoreError> {
    return Effect.suspend(() =>
      this.#used.delete(filename) && this.#worker.isRunning
        ? Effect.asVoid(this.#ask({ _tag: "Close", filename }))
        : Effect.void
    ).pipe(Effect.andThen(this.#worker.ended))
  }

  /** Ends the thread; the next order starts another. */
  get end(): Effect.Effect<void> {
    return this.#worker.end
  }

  #ask(
    request: CommitRequest,
    isUrgent = false
  ): Effect.Effect<Exclude<CommitReply, { readonly _tag: "Failed" }>, StoreError> {
    return this.#worker.ask(request, { isUrgent }).pipe(
      Effect.mapError((cause: WorkerFailure): StoreError => new StoreFault({ cause })),
      Effect.flatMap((reply) => (reply._tag === "Failed" ? Effect.fail(errorOf(reply)) : Effect.succeed(reply)))
    )
  }
}

/** Records that go before larger ones of other files: some twenty memories with vectors. */
const urgentBytesMax = 65_536

const lengthOf = (entry: FollowedEntry): number => ("place" in entry ? entry.place.length : entry.record.header.length)

const errorOf = ({ error, message }: Extract<CommitReply, { readonly _tag: "Failed" }>): StoreError => {
  const cause = new Error(message)
  switch (error) {
    case "StoreFull":
      return new StoreFull({ cause })
    case "StoreDamaged":
      return new StoreDamaged({ reason: message, cause })
    case "StoreErased":
      return new StoreErased()
    case "StoreFault":
      return new StoreFault({ cause })
  }
}

/**
 * Number of files that the committing thread keeps open: a share of what the operating system lets this process open.
 */

/** Where the system does not say, and where it allows very few. */
const least = 64
/** Each takes some 200 KB of memory. */
const most = 512
/** A file, SQLite's log beside it, and the index of that log. */
const descriptorsEach = 3
/** The rest is for reading, connections and everything else. */
const share = 1 / 4

export const filesOpenMax = (limits: string = systemLimits()): number => {
  const [, soft] = /^Max open files +(\d+|unlimited) /m.exec(limits) ?? []
  if (soft === undefined) return least
  if (soft === "unlimited") return most
  return Math.max(least, Math.min(most, Math.floor((Number(soft) * share) / descriptorsEach)))
}

const limitsFile = "/proc/self/limits"

/** Those of this process as Linux writes them (proc(5)); empty on other systems. */
const systemLimits = (): string => (existsSync(limitsFile) ? readFileSync(limitsFile, "utf8") : "")
