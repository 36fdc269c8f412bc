/**
 * Makes one backup of a data directory in use.
 *
 * Order: `control.db` first, then every namespace that it names. A write reserves its price and its namespace in
 * `control.db`, then commits in the namespace, and is charged and its answer kept afterwards. So whatever the copy of
 * `control.db` says was charged, answered or erased, the later copies of the namespaces have; what they have beyond
 * it is settled by the start after a restore, as after a kill. The other way round, an account would have paid for
 * memories that are not there, and a repeated request would be answered with their ids.
 *
 * Invariants: what was acknowledged before the start is in it; the manifest is written last. Which files are copied is
 * decided in `BackupFiles.ts`.
 */
import { randomBytes } from "node:crypto"
import { Clock, Effect, Schedule, type Scope } from "effect"
import { Rounds } from "@muniment/worker/Rounds"
import { BackupFiles, type BackupSource, type DamagedSource, type SourceFailed } from "./BackupFiles.ts"
import {
  backupIdOf,
  type BackupDraft,
  type BackupLog,
  type BackupManifest,
  controlFile,
  DamagedBackup,
  formatVersion,
  namespaceFile,
  namespaceTagOf,
  recordsFile,
  recordsObjectOf
} from "./BackupFormat.ts"
import type { CopiedRecords } from "./copies/copyOf.ts"
import type { Marks } from "./copies/FileCopies.ts"
import type { BackupFailure, BackupStore } from "./BackupStore.ts"

interface CreateOptions {
  /** After each file: how many are done, of how many. */
  readonly onProgress?: (done: number, total: number) => Effect.Effect<void>
}

export interface Created {
  readonly manifest: BackupManifest
  /** Files whose content was copied into the target, and their bytes; all others were there already. */
  readonly copiedFiles: number
  readonly copiedBytes: number
  /** Namespaces whose file is damaged. */
  readonly damaged: ReadonlyArray<DamagedSource>
}

/** A backup that is continued longer, or by more parts, is followed by a whole one: a restore reads all records. */
const chainMillisMax = 86_400_000
const chainPartsMax = 1_440
/** Erasures during the copies: then the files are copied again. */
const attemptsMax = 4

type Records =
  | (CopiedRecords & { readonly _tag: "Records"; readonly segment: BackupLog["segments"][number] | undefined })
  | { readonly _tag: "Failed" }

interface Proceeded {
  readonly created: Created
  /** False: a whole backup has to follow. */
  readonly isEnough: boolean
}

/** Copies that are read and stored at a time; each holds two parts in memory. */
const filesAtOnce = 4
/** A draft is renewed this often, and counts as abandoned when it was not for `draftDeadMillis`. */
const draftEveryMillis = 5_000
export const draftDeadMillis = 60_000

export const createBackup = Effect.fn("CreateBackup")(
  (source: BackupSource, store: BackupStore, options: CreateOptions = {}) =>
    running(source, store, (run) => run.make(options))
)

/**
 * Adds the newest records of the commit log to the last backup, which takes its place under a new id. Where that is not
 * enough, which is after an erasure, after a day, and without a log, a whole one follows, and the last one gets the records
 * up to there, dated as before the erasure: it has what was erased, and goes with its age.
 */
export const continueBackup = Effect.fn("ContinueBackup")(
  (source: BackupSource, store: BackupStore, options: CreateOptions = {}) =>
    Effect.gen(function* () {
      const proceeded = yield* running(source, store, (run) => run.proceed)
      if (proceeded?.isEnough === true) return proceeded.created
      const whole = yield* createBackup(source, store, options)
      if (proceeded !== undefined && whole.manifest.log !== null)
        yield* running(source, store, (run) => run.close(proceeded.created.manifest))
      return whole
    })
)

const running = <A>(
  source: BackupSource,
  store: BackupStore,
  use: (run: CreateRun) => Effect.Effect<A, BackupFailure | SourceFailed>
): Effect.Effect<A, BackupFailure | SourceFailed> =>
  Effect.gen(function* () {
    const startedAt = yield* Clock.currentTimeMillis
    const run = new CreateRun(source, store, backupIdOf(startedAt, newSuffix()), startedAt)
    // Before earlier backups are read: `PruneBackups.ts` removes nothing while this is there.
    yield* run.saveDraft
    const schedule = Schedule.spaced(draftEveryMillis)
    const renewed = Rounds.add({ name: "draft of a backup", schedule, work: run.saveDraft })
    const used = yield* Effect.scoped(Effect.andThen(renewed, use(run)))
    yield* store.removeDraft(run.id)
    return used
  })

const newSuffix = (): string => randomBytes(2).toString("hex")

/** Another id of the same time, which no other backup has. */
const idBeside = (id: string): string => {
  for (;;) {
    const other = `${id.slice(0, id.lastIndexOf("-"))}-${newSuffix()}`
    if (other !== id) return other
  }
}

class CreateRun {
  readonly id: string
  readonly #source: BackupSource
  readonly #store: BackupStore
  readonly #startedAt: number
  readonly #files: BackupFiles
  /** Bytes of the log's records that were stored. */
  #recordBytes = 0

  constructor(source: BackupSource, store: BackupStore, id: string, startedAt: number) {
    this.#source = source
    this.#store = store
    this.id = id
    this.#startedAt = startedAt
    this.#files = new BackupFiles(source, store, id)
  }

  get saveDraft(): Effect.Effect<void, BackupFailure> {
    return this.#files.saveDraft
  }

  make({ onProgress = () => Effect.void }: CreateOptions): Effect.Effect<Created, BackupFailure | SourceFailed> {
    return Effect.gen({ self: this }, function* () {
      const last = yield* this.#readKnown
      for (let attempt = 1; ; attempt++) {
        const begun = yield* this.#source.marks
        yield* this.#copyAll(last, begun, onProgress)
        const copied = yield* this.#recordsBehind(begun.ordinal)
        if (copied._tag === "Whole") return yield* this.#finish(copied.log)
        if (attempt === attemptsMax) return yield* this.#finish(null)
        this.#files.beginAgain()
      }
    })
  }

  /** Undefined: there is nothing to continue. */
  get proceed(): Effect.Effect<Proceeded | undefined, BackupFailure | SourceFailed> {
    return Effect.gen({ self: this }, function* () {
      const last = yield* this.#readKnown
      if (last === undefined || last.log === null) return undefined
      const continued = yield* this.#continued(last.log)
      if (continued === undefined) return undefined
      const { completeAt, isCut, isOutlived, segments, through } = continued
      const isEnded = isCut === true || isOutlived === true
      const isYoung = through - completeAt < chainMillisMax && segments.length < chainPartsMax
      const created = yield* this.#replace(last, continued, isEnded ? last : undefined)
      return { created, isEnough: isYoung && !isEnded }
    })
  }

  /** Adds to a backup what came before the whole one that follows it. */
  close(last: BackupManifest): Effect.Effect<void, BackupFailure | SourceFailed> {
    return Effect.gen({ self: this }, function* () {
      const continued = last.log === null ? undefined : yield* this.#continued(last.log)
      if (continued !== undefined) yield* this.#replace(last, continued, last)
    })
  }

  /** Undefined: the records behind its end cannot be had any more. */
  #continued(log: BackupLog): Effect.Effect<BackupLog | undefined, BackupFailure | SourceFailed> {
    return Effect.gen({ self: this }, function* () {
      const through = yield* Clock.currentTimeMillis
      const part = yield* Effect.scoped(this.#records(log.last))
      if (part._tag === "Failed" || part.first !== log.last + 1) return undefined
      return {
        ...log,
        last: part.last,
        // Records that a cut leaves out were acknowledged too.
        through: part.isCut ? log.through : through,
        ...endOf(part, log),
        segments: part.segment === undefined ? log.segments : [...log.segments, part.segment]
      }
    })
  }

  /** Puts the same backup with another log in its place; `dated`: by this one's time. */
  #replace(last: BackupManifest, log: BackupLog, dated: BackupManifest | undefined) {
    return Effect.gen({ self: this }, function* () {
      this.#files.takeOver(last)
      const created = yield* this.#finish(
        log,
        dated === undefined ? undefined : { id: idBeside(dated.id), startedAt: dated.startedAt }
      )
      yield* this.#store.removeManifest(last.id)
      return created
    })
  }

  /** `control.db` first, then what it names. */
  #copyAll(
    last: BackupManifest | undefined,
    begun: Marks,
    onProgress: NonNullable<CreateOptions["onProgress"]>
  ): Effect.Effect<void, BackupFailure | SourceFailed> {
    return Effect.gen({ self: this }, function* () {
      const tags = yield* this.#control(last, begun)
      const marks = new Map((yield* this.#source.marks).files.map(({ file, mark }) => [file, mark]))
      const secrets = [...marks.keys()].filter((file) => file !== controlFile && namespaceTagOf(file) === undefined)
      // Only what `control.db` names: a namespace that came later has nothing from before the start.
      const files = [...secrets, ...tags.map(namespaceFile)]
      let left = files.length
      yield* Effect.forEach(
        files,
        (file) =>
          Effect.scoped(this.#files.take(file, marks.get(file))).pipe(
            Effect.andThen(Effect.suspend(() => onProgress(files.length - --left, files.length)))
          ),
        { concurrency: filesAtOnce, discard: true }
      )
    })
  }

  /** Records that the files may lack, by which all are brought to one moment. */
  #recordsBehind(
    ordinal: number | undefined
  ): Effect.Effect<
    { readonly _tag: "Cut" } | { readonly _tag: "Whole"; readonly log: BackupLog | null },
    BackupFailure | SourceFailed
  > {
    return Effect.gen({ self: this }, function* () {
      if (ordinal === undefined) return { _tag: "Whole", log: null } as const
      const through = yield* Clock.currentTimeMillis
      const part = yield* Effect.scoped(this.#records(ordinal))
      if (part._tag === "Failed") return { _tag: "Whole", log: null } as const
      if (part.isCut || part.first !== ordinal + 1) return { _tag: "Cut" } as const
      const { last, segment } = part
      const segments = segment === undefined ? [] : [segment]
      const log = { first: ordinal + 1, complete: last, completeAt: through, last, through, ...endOf(part), segments }
      return { _tag: "Whole", log } as const
    })
  }

  /** Stores the records behind an ordinal. */
  #records(after: number): Effect.Effect<Records, BackupFailure | SourceFailed, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      const copy = yield* this.#source.copy(this.id, recordsFile(after))
      if (copy._tag === "Damaged") {
        yield* Effect.logWarning("the commit log cannot be read for the backup", { reason: copy.reason })
        return { _tag: "Failed" } as const
      }
      const { records } = copy._tag === "Copy" ? copy.copied : { records: undefined }
      if (copy._tag === "Absent" || records === undefined)
        return { _tag: "Records", first: after + 1, last: after, isCut: false, segment: undefined } as const
      if (records.last < records.first) return { _tag: "Records", ...records, segment: undefined } as const
      const { first, last } = records
      const object = recordsObjectOf(this.id, first, last)
      const stored = yield* this.#store.putFile(object, copy.copied.bytes, copy.read)
      this.#recordBytes += stored.bytes
      return { _tag: "Records", ...records, segment: { ...stored, first, last } } as const
    })
  }

  /** The last complete backup, if it can be read; what drafts have is known too. */
  get #readKnown(): Effect.Effect<BackupManifest | undefined, BackupFailure> {
    return Effect.gen({ self: this }, function* () {
      const lastId = (yield* this.#store.ids).at(-1)
      const last =
        lastId === undefined
          ? undefined
          : yield* this.#store
              .manifest(lastId)
              .pipe(
                Effect.catchTag("DamagedBackup", (damage) =>
                  Effect.as(
                    Effect.logWarning("the last backup cannot be read; everything is copied", damage),
                    undefined
                  )
                )
              )
      const drafts: ReadonlyArray<BackupDraft> = yield* this.#store.drafts
      for (const file of [...(last?.files ?? []), ...drafts.flatMap(({ files }) => files)]) this.#files.learn(file)
      return last
    })
  }

  /** -> tags of the namespaces that it names. */
  #control(
    last: BackupManifest | undefined,
    { files }: Marks
  ): Effect.Effect<ReadonlyArray<string>, BackupFailure | SourceFailed> {
    return Effect.scoped(
      Effect.gen({ self: this }, function* () {
        const mark = files.find(({ file }) => file === controlFile)?.mark
        const before = last?.files.find(({ file }) => file === controlFile)
        if (last !== undefined && before !== undefined && typeof mark === "string" && before.mark === mark) {
          this.#files.add(before)
          return [...last.files.flatMap((known) => namespaceTagOf(known.file) ?? []), ...last.empty]
        }
        const copy = yield* this.#source.copy(this.id, controlFile)
        if (copy._tag !== "Copy") {
          const reason = copy._tag === "Damaged" ? copy.reason : "there is none"
          return yield* new DamagedBackup({ message: `${controlFile} of the service cannot be copied: ${reason}` })
        }
        yield* this.#files.keep(controlFile, copy)
        return copy.copied.tags ?? []
      })
    )
  }

  #finish(
    log: BackupLog | null,
    dated: Pick<BackupManifest, "id" | "startedAt"> = {
      id: this.id,
      startedAt: Math.min(this.#startedAt, log?.through ?? this.#startedAt)
    }
  ): Effect.Effect<Created, BackupFailure> {
    return Effect.gen({ self: this }, function* () {
      const manifest: BackupManifest = {
        muniment: "manifest",
        format: formatVersion,
        ...dated,
        finishedAt: yield* Clock.currentTimeMillis,
        release: this.#source.release,
        files: this.#files.done.toSorted((left, right) => rankOf(left.file).localeCompare(rankOf(right.file))),
        empty: this.#files.empty.toSorted(),
        log
      }
      yield* this.#store.putManifest(manifest)
      for (const { id, touchedAt } of yield* this.#store.drafts) {
        if (manifest.finishedAt - touchedAt >= draftDeadMillis) yield* this.#store.removeDraft(id)
      }
      return {
        manifest,
        copiedFiles: this.#files.copiedFiles,
        copiedBytes: this.#files.copiedBytes + this.#recordBytes,
        damaged: this.#files.damaged
      }
    })
  }
}

const endOf = (part: CopiedRecords, log?: BackupLog): Pick<BackupLog, "isCut" | "isOutlived"> => ({
  ...(part.isCut && { isCut: true }),
  ...((part.erases === true || log?.isOutlived === true) && { isOutlived: true })
})

/** `control.db`, files of keys, namespaces. */
const rankOf = (file: string): string =>
  file === controlFile ? "0" : namespaceTagOf(file) === undefined ? `1${file}` : `2${file}`
