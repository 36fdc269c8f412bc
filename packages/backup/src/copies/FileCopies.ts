/**
 * Copies of the files of a data directory in use, for a backup that another process takes. A copy lies in the folder
 * `staging` of the directory until it is fetched: whoever fetches it opens it and removes its name.
 *
 * Invariants: a copy that nobody fetches is removed within two minutes and at the start, so that what is erased does
 * not stay behind in one; one thread copies, one file after the other, beside the thread that commits.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { Clock, Context, Data, Deferred, Effect, Exit, Layer, Schedule } from "effect"
import { type Errands, Rounds } from "@muniment/worker/Rounds"
import { openWorkerThread, type WorkerThread } from "@muniment/worker/WorkerThread"
import { controlFile, namespaceTagOf, recordsBehind } from "../BackupFormat.ts"
import type { CopyOrder, CopyReply } from "./CopyWorker.ts"
import type { Copied, CopiedRecords } from "./copyOf.ts"

/** The copy cannot be made: the disk is full, the file is damaged, the system refuses, or backups are made elsewhere. */
export class CopyFailed extends Data.TaggedError("CopyFailed")<{
  readonly reason: "full" | "corrupt" | "elsewhere" | "other"
  readonly message: string
}> {}

type CopyState =
  | { readonly _tag: "Copying" }
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Ready"; readonly path: string; readonly copied: Copied }

interface FileMark {
  readonly file: string
  readonly mark: string | null
}

export interface Marks {
  readonly files: ReadonlyArray<FileMark>
  /** The files have everything of the log up to this ordinal; undefined: there is no log. */
  readonly ordinal: number | undefined
}

export class FileCopies extends Context.Service<
  FileCopies,
  {
    /** Every file that a backup holds, with the mark of its content, and what they have of the log. */
    readonly marks: Effect.Effect<Marks, CopyFailed>
    /** Starts the copy `id` of a file, or says how far it is; waits for it a while. */
    readonly copy: (id: string, file: string) => Effect.Effect<CopyState, CopyFailed>
    /** Whether a backup holds a file of this name. */
    readonly isKnown: (file: string) => boolean
    /** Fails with `elsewhere` where no backup is made of these files. */
    readonly demandHere: Effect.Effect<void, CopyFailed>
  }
>()("muniment/backup/FileCopies") {
  static readonly layer = (options: CopiesOptions) => Layer.effect(FileCopies, make(options))
}

export interface CopiesOptions {
  readonly directory: string
  /** Names of files with keys. */
  readonly secrets: ReadonlyArray<string>
  /** Until the files have everything that the service has acknowledged. */
  readonly settle: Effect.Effect<void, { readonly message: string }>
  readonly log: LogSource
}

interface LogSource {
  /** Everything up to this ordinal is acknowledged; undefined: there is no log. */
  readonly synced: Effect.Effect<number | undefined>
  /** Writes the records behind an ordinal into a file; undefined: there are none. */
  readonly archive: (
    afterOrdinal: number,
    path: string
  ) => Effect.Effect<(CopiedRecords & { readonly bytes: number }) | undefined, CopyFailed>
}

/** Less than a client waits for an answer. */
const waitMillis = 20_000
const fetchedWithinMillis = 60_000
const sweepMillis = 60_000
/** Copies of one backup at a time; it asks for a few. */
const copiesMax = 64

interface Entry {
  readonly outcome: Deferred.Deferred<Copied | undefined, CopyFailed>
  /** Milliseconds; undefined while it is being made. */
  endedAt: number | undefined
}

const make = Effect.fnUntraced(function* ({ directory, log, secrets, settle }: CopiesOptions) {
  const staging = join(directory, "staging")
  rmSync(staging, { recursive: true, force: true })
  const thread = yield* openWorkerThread<CopyOrder, CopyReply>({
    name: "backup",
    entry: new URL("./CopyWorker.ts", import.meta.url),
    concurrency: 1,
    queueMax: copiesMax,
    idleMillis: 60_000
  })
  const begin = yield* Rounds.errands({ name: "copies for a backup" })
  const copies = new Copies(thread, { directory, staging, log }, begin)
  yield* Rounds.add({ name: "copies not fetched", schedule: Schedule.spaced(sweepMillis), work: copies.sweep })
  return {
    isKnown: (file: string) =>
      file === controlFile ||
      secrets.includes(file) ||
      namespaceTagOf(file) !== undefined ||
      recordsBehind(file) !== undefined,
    marks: Effect.gen(function* () {
      const ordinal = yield* log.synced
      // A file that is behind has the mark of its last copy, and would be left out.
      yield* Effect.mapError(settle, asCopyFailed)
      return { files: yield* copies.marks(secrets), ordinal }
    }),
    copy: (id: string, file: string) => copies.copy(id, file),
    demandHere: Effect.void
  }
})

class Copies {
  readonly #thread: WorkerThread<CopyOrder, CopyReply>
  readonly #directory: string
  readonly #staging: string
  readonly #log: LogSource
  readonly #beginErrand: Errands
  readonly #entries = new Map<string, Entry>()

  constructor(
    thread: WorkerThread<CopyOrder, CopyReply>,
    { directory, log, staging }: Pick<CopiesOptions, "directory" | "log"> & { readonly staging: string },
    beginErrand: Errands
  ) {
    this.#thread = thread
    this.#directory = directory
    this.#staging = staging
    this.#log = log
    this.#beginErrand = beginErrand
  }

  marks(secrets: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<FileMark>, CopyFailed> {
    return Effect.gen({ self: this }, function* () {
      const nowMillis = yield* Clock.currentTimeMillis
      const reply = yield* this.#ask({ _tag: "Marks", directory: this.#directory, secrets, nowMillis })
      return reply._tag === "Marks" ? reply.marks : []
    })
  }

  copy(id: string, file: string): Effect.Effect<CopyState, CopyFailed> {
    return Effect.gen({ self: this }, function* () {
      const name = stagedName(id, file)
      const entry = this.#entries.get(name) ?? (yield* this.#begin(name, file))
      const ended = yield* Effect.timeoutOption(Effect.exit(Deferred.await(entry.outcome)), waitMillis)
      if (ended._tag === "None") return { _tag: "Copying" } as const
      // Told once; whoever missed the answer asks again, and gets a new copy.
      this.#entries.delete(name)
      const copied = yield* ended.value
      return copied === undefined
        ? ({ _tag: "Absent" } as const)
        : ({ _tag: "Ready", path: join(this.#staging, name), copied } as const)
    })
  }

  /** Removes copies that were not fetched. */
  get sweep(): Effect.Effect<void> {
    return Effect.map(Clock.currentTimeMillis, (nowMillis) => {
      for (const [name, { endedAt }] of this.#entries) {
        if (endedAt !== undefined && nowMillis - endedAt >= fetchedWithinMillis) this.#entries.delete(name)
      }
      const names = existsSync(this.#staging) ? readdirSync(this.#staging) : []
      for (const name of names) {
        const path = join(this.#staging, name)
        const stats = statSync(path, { throwIfNoEntry: false })
        const isOld = stats !== undefined && nowMillis - stats.mtimeMs >= fetchedWithinMillis
        if (isOld && !this.#entries.has(name)) rmSync(path, { force: true })
      }
    })
  }

  /** In the background: the caller may go away and ask again. */
  #begin(name: string, file: string): Effect.Effect<Entry, CopyFailed> {
    return Effect.gen({ self: this }, function* () {
      if (this.#entries.size >= copiesMax) {
        return yield* new CopyFailed({ reason: "other", message: "too many copies are under way" })
      }
      const entry: Entry = { outcome: Deferred.makeUnsafe(), endedAt: undefined }
      this.#entries.set(name, entry)
      this.#beginErrand(this.#carryOut(entry, join(this.#staging, name), file))
      return entry
    })
  }

  #carryOut(entry: Entry, to: string, file: string): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      mkdirSync(this.#staging, { recursive: true, mode: 0o700 })
      const after = recordsBehind(file)
      if (after !== undefined) return yield* this.#records(after, to)
      const nowMillis = yield* Clock.currentTimeMillis
      const order = { directory: this.#directory, file, to, nowMillis }
      const reply = yield* this.#ask({ _tag: "Copy", ...order })
      return reply._tag === "Copied" ? reply.copied : undefined
    }).pipe(
      Effect.exit,
      Effect.flatMap((exit) =>
        Effect.map(Clock.currentTimeMillis, (nowMillis) => {
          entry.endedAt = nowMillis
          Deferred.doneUnsafe(entry.outcome, exit)
          if (Exit.isFailure(exit)) rmSync(to, { force: true })
        })
      )
    )
  }

  #records(after: number, to: string): Effect.Effect<Copied | undefined, CopyFailed> {
    return Effect.map(this.#log.archive(after, to), (part) => {
      if (part === undefined) {
        rmSync(to, { force: true })
        return undefined
      }
      const { bytes, ...records } = part
      return { bytes, mark: null, records }
    })
  }

  #ask(order: CopyOrder): Effect.Effect<Exclude<CopyReply, { readonly _tag: "Failed" }>, CopyFailed> {
    return this.#thread.ask(order).pipe(
      Effect.mapError(({ message }) => new CopyFailed({ reason: "other", message })),
      Effect.flatMap((reply) =>
        reply._tag === "Failed"
          ? Effect.fail(new CopyFailed({ reason: reply.reason, message: reply.message }))
          : Effect.succeed(reply)
      )
    )
  }
}

const asCopyFailed = ({ message }: { readonly message: string }): CopyFailed =>
  new CopyFailed({ reason: "other", message })

const stagedName = (id: string, file: string): string => `${id}-${file.replaceAll("/", "-")}`
