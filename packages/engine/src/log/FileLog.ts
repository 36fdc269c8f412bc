/**
 * The commit log in files of this machine. `append` gives a record its ordinal and its place and hands it to the log
 * thread; all records that come while one sync is under way share the next one. What stands
 * before what, and why: `packages/engine/README.md`, Order in the commit log.
 *
 * Invariants: records are written in the order of their ordinals; a namespace's commits follow each other by epoch and
 * sequence number; a segment is deleted only when nobody needs it; after an error of a write or a sync the log has ended.
 */
import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { Clock, Effect, type Scope } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { type Errands, Rounds } from "@muniment/worker/Rounds"
import { openWorkerThread, type WorkerThread } from "@muniment/worker/WorkerThread"
import type { CommitLogShape, CopyState, LogEntry, LogStatus, NewCommit } from "./CommitLog.ts"
import { type LoggedChange, changeFields, type NewLoggedChange, type RawRecord, recordsOf } from "./LogCursor.ts"
import { LogDamaged, LogFault, type LogFenced, LogFull } from "./LogError.ts"
import { emptyBody, processTag, recordBytesMax, recordFlags, recordKinds, removesAll } from "./logFormat.ts"
import { type LogIndex, type LogState, Retention, type SegmentIndex } from "./LogIndex.ts"
import { Admission, LogQueue, type NewRecord } from "./LogQueue.ts"
import {
  holeBehind,
  holeText,
  type LogHole,
  type LogScanned,
  lostRecords,
  type OwnerList,
  recoverLog,
  remainsOf
} from "./LogScan.ts"
import type { LogReply, LogRequest, LogThreadSettings } from "./LogWorker.ts"
import { readControl } from "./RecordReader.ts"
import { reserveBytesDefault, segmentBytesDefault, segmentPath, syncDirectory } from "./segmentFiles.ts"
import { type LogSizes, SegmentPlaces } from "./SegmentPlaces.ts"

export interface FileLogOptions {
  /** Directory of the segments; made if it is missing. */
  readonly directory: string
  readonly segmentBytes?: number
  /** Free space that a segment leaves to the copies and to erasures. */
  readonly reserveBytes?: number
  /** Entry of the log thread; tests give one whose disk fails. */
  readonly threadEntry?: URL
}

/** A segment that gets no more records. */
export interface SealedSegment {
  readonly segment: number
  readonly path: string
  readonly firstOrdinal: number
  readonly lastOrdinal: number
  /** Times of the first and the last record, milliseconds. */
  readonly firstMillis: number
  readonly lastMillis: number
}

/** Changes of the control database that are read in one turn of the loop. */
const controlPerTurn = 64

/** So long after a sync with nothing behind it, a mark says that everything before was synced. */
const quietMillis = 10

/** How long a measure of the disk's free space is used. */
const measureEachMillis = 100

export const openFileLog = Effect.fn("FileLog.open")(function* (
  options: FileLogOptions
): Effect.fn.Return<FileLog, LogFault, Scope.Scope> {
  const { directory, reserveBytes = reserveBytesDefault, segmentBytes = segmentBytesDefault } = options
  const scanned = yield* Effect.try({
    try: () => {
      if (mkdirSync(directory, { recursive: true, mode: 0o700 }) !== undefined) syncDirectory(dirname(directory))
      return recoverLog(directory)
    },
    catch: (cause) => new LogFault({ cause })
  })
  if (scanned.damage.length > 0) yield* Effect.logError(damageText, toldOf(scanned.damage))
  const settings: LogThreadSettings = { directory, segmentBytes }
  const thread = yield* openWorkerThread<LogRequest, LogReply>({
    name: "log",
    entry: options.threadEntry ?? new URL("./LogWorker.ts", import.meta.url),
    settings,
    // `LogQueue` sends one message at a time, with all that came meanwhile; the log bounds what is not synced.
    concurrency: Infinity,
    queueMax: 0
  })
  // What fails then fails again for the next record, which says so.
  yield* Rounds.once({ name: "start of the log thread", work: Effect.ignore(thread.start) })
  const begin = yield* Rounds.errands({ name: "commit log" })
  const clock = yield* Clock.Clock
  return yield* Effect.acquireRelease(
    Effect.sync(() => new FileLog(directory, { segmentBytes, reserveBytes }, scanned, thread, { begin, clock })),
    (log) => log.close
  )
})

export class FileLog implements CommitLogShape {
  readonly directory: string
  readonly #damage: ReadonlyArray<LogHole>
  readonly #owners: OwnerList
  readonly #index: LogIndex
  readonly #queue: LogQueue
  readonly #places: SegmentPlaces
  readonly #admission = new Admission()
  readonly #retention = new Retention()
  readonly #begin: Errands
  readonly #clock: Clock.Clock
  readonly #sealListeners = new Set<(sealed: SealedSegment) => void>()
  /** A mark is being waited for, or the last record is one. */
  #isMarking = false
  #lastMillis = 0
  #isTight = false
  #measuredMillis = -Infinity
  /** The last record that is to be synced soon; 0: none. */
  #syncDue = 0

  constructor(
    directory: string,
    sizes: LogSizes,
    scanned: LogScanned,
    thread: WorkerThread<LogRequest, LogReply>,
    { begin, clock }: { readonly begin: Errands; readonly clock: Clock.Clock }
  ) {
    this.directory = directory
    this.#damage = scanned.damage
    this.#owners = scanned.unlisted
    this.#index = scanned.index
    this.#queue = new LogQueue(thread, scanned.nextOrdinal, begin)
    this.#places = new SegmentPlaces(directory, sizes, scanned.lastSegment, scanned.end)
    this.#begin = begin
    this.#clock = clock
  }

  readonly attach = (tag: NamespaceTag, state: CopyState): Effect.Effect<void> =>
    Effect.sync(() => this.#admission.attach(tag, state))

  readonly release = (tag: NamespaceTag): Effect.Effect<void> => Effect.sync(() => this.#admission.release(tag))

  readonly append = (commit: NewCommit): Effect.Effect<LogEntry, LogFenced | LogFull | LogFault> =>
    Effect.suspend(() => {
      const fault = this.#admission.fault(commit)
      if (fault !== undefined) return Effect.fail(fault)
      const flags = commit.isClaim ? recordFlags.claim : 0
      const entry = this.#tryPut({ ...commit, kind: recordKinds.commit, flags }, commit.isErasure)
      if (entry === undefined) return Effect.andThen(this.#room, this.append(commit))
      return Effect.map(entry, (put) => {
        this.#admission.advance(commit)
        return put
      })
    })

  readonly appendControl = (change: NewLoggedChange): Effect.Effect<LogEntry, LogFull | LogFault> =>
    Effect.tap(this.#put(changeFields(change), false, false), ({ ordinal }) =>
      Effect.sync(() => this.#syncSoon(ordinal))
    )

  readonly controlBehind = (number: number): Effect.Effect<ReadonlyArray<LoggedChange>, LogDamaged> =>
    Effect.gen({ self: this }, function* () {
      const found: Array<LoggedChange> = []
      for (const entry of this.#controlEntries.toReversed()) {
        const [change] = yield* Effect.try({ try: () => [...readControl(this.directory, [entry])], catch: toDamaged })
        if (change === undefined || change.number <= number) break
        // Weekly rounds ask for many while callers are served.
        if (found.push(change) % controlPerTurn === 0) yield* Effect.yieldNow
      }
      return found.toReversed()
    })

  get newestControl(): Effect.Effect<LoggedChange | undefined, LogDamaged> {
    return Effect.try({
      try: () => [...readControl(this.directory, this.#controlEntries.slice(-1))][0],
      catch: toDamaged
    })
  }

  readonly whenSynced = (ordinal: number): Effect.Effect<void, LogFault> => this.#queue.whenSynced(ordinal)

  readonly syncedOrdinal = (): number => this.#queue.syncedOrdinal

  readonly tail = (tag: NamespaceTag, afterOrdinal: number): Effect.Effect<ReadonlyArray<LogEntry>, LogDamaged> =>
    Effect.suspend(() => {
      const after = Math.max(afterOrdinal, this.removedThrough(tag))
      const lost = holeBehind(this.damage, tag, after)
      if (lost !== undefined) return Effect.fail(lostRecords(lost, tag, afterOrdinal))
      const entries = this.#index
        .commitsOf(tag, after)
        .filter(({ ordinal }) => ordinal <= this.#queue.syncedOrdinal && !this.#index.isRefused(tag, ordinal))
      const [first] = entries
      return first !== undefined && first.ordinal <= this.#index.erasedThrough(tag)
        ? Effect.fail(new LogDamaged({ reason: `record ${first.ordinal} of ${tag} was erased, and its copy lacks it` }))
        : Effect.succeed(entries)
    })

  get tags(): Effect.Effect<ReadonlyArray<NamespaceTag>> {
    return Effect.sync(() => this.#index.tags())
  }

  readonly refuse = (tag: NamespaceTag, ordinal: number, atMillis: number): Effect.Effect<void, LogFull | LogFault> =>
    this.#putSynced({ ...processRecord, tag, kind: recordKinds.refused, fromSeq: ordinal, atMillis })

  readonly erase = (
    tag: NamespaceTag,
    throughOrdinal: number,
    atMillis: number
  ): Effect.Effect<number, LogFull | LogFault> =>
    this.#eraseBodies({ ...processRecord, tag, kind: recordKinds.erased, fromSeq: throughOrdinal, atMillis })

  readonly remove = (tag: NamespaceTag, atMillis: number): Effect.Effect<void, LogFull | LogFault> =>
    Effect.suspend(() => {
      const fromSeq = this.#queue.nextOrdinal - 1
      const intent = { ...processRecord, tag, kind: recordKinds.erased, fromSeq, changes: removesAll, atMillis }
      // Not before: a log that has no room for the intent keeps what the copy may lack.
      return Effect.map(this.#eraseBodies(intent), () => {
        this.#admission.release(tag)
        this.#retention.rebase(tag, fromSeq)
      })
    })

  readonly removedThrough = (tag: NamespaceTag): number => this.#index.removedThrough(tag, this.#queue.syncedOrdinal)

  readonly rebase = (tag: NamespaceTag, ordinal: number): Effect.Effect<void> =>
    Effect.sync(() => this.#retention.rebase(tag, ordinal))

  readonly isCurrent = (): boolean => this.#queue.ended === undefined

  readonly isTight = (): boolean => {
    const nowMillis = this.#nowMillis
    if (nowMillis - this.#measuredMillis >= measureEachMillis) {
      this.#measuredMillis = nowMillis
      this.#isTight = this.#places.isTight
    }
    return this.#isTight
  }

  /** Acknowledged records that the open of the log could not read, as far as the log still reaches. */
  get damage(): ReadonlyArray<LogHole> {
    const first = this.#index.segments[0]?.firstOrdinal ?? Infinity
    return this.#damage.filter(({ to }) => to >= first)
  }

  /** How many syncs were made. */
  get syncs(): number {
    return this.#queue.syncs
  }

  get status(): LogStatus {
    const { segments } = this.#index
    this.#places.retry()
    return {
      segments: segments.length,
      bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
      firstOrdinal: segments[0]?.firstOrdinal ?? this.#queue.nextOrdinal,
      lastOrdinal: this.#queue.nextOrdinal - 1,
      syncedOrdinal: this.#queue.syncedOrdinal,
      syncs: this.syncs,
      isCurrent: this.isCurrent(),
      isFull: this.shortage !== undefined,
      damage: this.damage.map(holeText)
    }
  }

  /** Why there is no room for another segment: appends that do not erase are refused. */
  get shortage(): { readonly cause: unknown } | undefined {
    return this.#places.shortage
  }

  /** Segments that get no more records, oldest first. */
  get sealed(): ReadonlyArray<SealedSegment> {
    return this.#sealedIndexes.map((index) => this.#sealedOf(index))
  }

  /** Calls back, until the scope closes, when a segment has got its last record and is synced. */
  onSealed(listener: (sealed: SealedSegment) => void): Effect.Effect<void, never, Scope.Scope> {
    const added = Effect.sync(() => void this.#sealListeners.add(listener))
    return Effect.acquireRelease(added, () => Effect.sync(() => void this.#sealListeners.delete(listener)))
  }

  /** Keeps records from `fromOrdinal` on for a consumer, such as an archive; `Infinity` ends it. */
  hold(consumer: string, fromOrdinal: number): Effect.Effect<void> {
    return Effect.sync(() => this.#retention.hold(consumer, fromOrdinal))
  }

  /**
   * Synced records of every kind from `fromOrdinal` on, oldest first, as bytes; what was dropped is missing. Reading on
   * throws `LogDamaged` at a record that is not whole.
   */
  *recordsFrom(fromOrdinal: number): Generator<RawRecord, void, void> {
    const through = this.#queue.syncedOrdinal
    for (const index of this.#index.segments) {
      const { firstOrdinal, lastOrdinal, segment } = index
      if (lastOrdinal < fromOrdinal || firstOrdinal > through) continue
      const at = this.#index.offsetBefore(index, fromOrdinal)
      yield* recordsOf(this.directory, segment, { at, fromOrdinal, toOrdinal: Math.min(lastOrdinal, through) })
    }
  }

  /** Namespaces whose copies hold back a segment that could be deleted: `rebase` them. */
  get holders(): Effect.Effect<ReadonlyArray<NamespaceTag>> {
    return Effect.sync(() => this.#retention.holders(this.#sealedIndexes, this.#retentionState))
  }

  /** Deletes segments that are not needed any more; returns how many. */
  get dropUnneeded(): Effect.Effect<number, LogFull | LogFault> {
    return Effect.suspend(() => {
      const sealed = this.#sealedIndexes
      const count = this.#retention.droppable(sealed, this.#retentionState)
      if (count === 0) return Effect.succeed(0)
      const firstKept = this.#index.segments[count]?.firstOrdinal ?? this.#queue.nextOrdinal
      const note = { ...processRecord, kind: recordKinds.rebased, fromSeq: firstKept, atMillis: this.#nowMillis }
      return Effect.andThen(
        this.#putSynced(note),
        Effect.suspend(() => {
          const segments = this.#index.dropBefore(firstKept)
          return Effect.map(this.#queue.drop(segments), () => {
            this.#places.retry()
            return segments.length
          })
        })
      )
    })
  }

  get giveUpSpare(): Effect.Effect<boolean> {
    return Effect.sync(() => this.#places.giveUpSpare())
  }

  /** Syncs what was appended, and ends the log. */
  get close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#queue.ended === undefined && this.#places.isBegun) this.#mark(true)
      return Effect.ignore(this.whenSynced(this.#queue.nextOrdinal - 1))
    }).pipe(
      Effect.andThen(this.#places.settled),
      Effect.andThen(Effect.sync(() => void this.#queue.end(new Error("the commit log is closed"))))
    )
  }

  get #controlEntries(): ReadonlyArray<LogEntry> {
    return this.#index.commitsOf(processTag, 0).filter(({ ordinal }) => ordinal <= this.#queue.syncedOrdinal)
  }

  get #nowMillis(): number {
    return this.#clock.currentTimeMillisUnsafe()
  }

  get #retentionState(): LogState {
    const { isTight, segmentBytes } = this.#places
    return { segmentBytes, nowMillis: this.#nowMillis, isTight }
  }

  /** Without the newest one: a log that was opened on a full disk may continue it. */
  get #sealedIndexes(): ReadonlyArray<SegmentIndex> {
    return this.#index.segments.slice(0, -1)
  }

  /** The intent first: the next open finishes what a crash cuts short. */
  #eraseBodies(intent: NewRecord): Effect.Effect<number, LogFull | LogFault> {
    const erase = Effect.suspend(() => {
      const commits = this.#index.commitsOf(intent.tag, 0).filter(({ ordinal }) => ordinal <= intent.fromSeq)
      return this.#queue.erase([...commits, ...remainsOf(this.#damage, intent.tag, intent.fromSeq)])
    })
    return Effect.andThen(this.#putSynced(intent), erase)
  }

  #putSynced(record: NewRecord): Effect.Effect<void, LogFull | LogFault> {
    return Effect.flatMap(this.#put(record, true), ({ ordinal }) => this.whenSynced(ordinal))
  }

  #put(record: NewRecord, isErasure: boolean, isSync = true): Effect.Effect<LogEntry, LogFull | LogFault> {
    return Effect.suspend(
      () => this.#tryPut(record, isErasure, isSync) ?? Effect.andThen(this.#room, this.#put(record, isErasure, isSync))
    )
  }

  /** Undefined: it has to wait for room. */
  #tryPut(
    record: NewRecord,
    isErasure: boolean,
    isSync = true
  ): Effect.Effect<LogEntry, LogFull | LogFault> | undefined {
    if (this.#queue.ended !== undefined) return Effect.fail(this.#queue.ended)
    if (this.#queue.isFull) return undefined
    const room = this.#places.roomFor(recordBytesMax(record.body), isErasure)
    if (room === "full") return Effect.fail(new LogFull({ cause: this.#places.shortage?.cause }))
    return room === "wait" ? undefined : Effect.succeed(this.#write(record, isSync))
  }

  #write(record: NewRecord, isSync: boolean): LogEntry {
    const before = this.#index.segments.at(-1)?.segment
    const placed = { ...record, previous: this.#owners.last }
    const [fields, entry] = this.#queue.put(placed, (length) => this.#places.place(length), isSync)
    this.#index.add(fields, entry.place)
    this.#owners.note(entry.ordinal, record.tag)
    this.#lastMillis = record.atMillis
    if (entry.place.segment !== before) this.#beginSegment(before, entry.ordinal)
    if (isSync && !this.#isMarking) {
      this.#isMarking = true
      this.#begin(Effect.ignore(this.#markWhenQuiet(entry.ordinal)))
    }
    if (this.#owners.isLong) this.#mark(false)
    return entry
  }

  /** The log thread seals the segment before it writes the first record of the next one. */
  #beginSegment(sealed: number | undefined, ordinal: number): void {
    const told = Effect.sync(() => {
      this.#places.begun()
      const index = this.#index.segments.find(({ segment }) => segment === sealed)
      if (index === undefined) return
      for (const listener of this.#sealListeners) listener(this.#sealedOf(index))
    })
    // The end of the log wakes those who wait for a spare too.
    const woken = Effect.sync(() => this.#places.wake())
    this.#begin(Effect.matchEffect(this.whenSynced(ordinal), { onFailure: () => woken, onSuccess: () => told }))
  }

  /** Waits until nothing has come for `quietMillis` after a sync; the mark rides with the next sync. */
  #markWhenQuiet(ordinal: number): Effect.Effect<void, LogFault> {
    return this.whenSynced(ordinal).pipe(
      Effect.andThen(Effect.sleep(quietMillis)),
      Effect.andThen(
        Effect.suspend(() => {
          if (this.#queue.ended !== undefined) return Effect.void
          const last = this.#queue.nextOrdinal - 1
          if (last !== ordinal) return this.#markWhenQuiet(last)
          this.#mark(false)
          this.#isMarking = false
          return Effect.void
        })
      )
    )
  }

  /** Syncs a record without a waiting caller: with the next sync, or with one of its own if none has come. */
  #syncSoon(ordinal: number): void {
    const isWaiting = this.#syncDue > 0
    this.#syncDue = ordinal
    if (isWaiting) return
    const sync = Effect.sync(() => {
      const isSynced = this.#queue.syncedOrdinal >= this.#syncDue
      this.#syncDue = 0
      if (!isSynced && this.#queue.ended === undefined) this.#mark(true)
    })
    this.#begin(Effect.delay(sync, quietMillis))
  }

  /**
   * Also says whose the records before it are, and from which one on the log has them. Without room for it what was
   * appended is synced all the same.
   */
  #mark(isSync: boolean): void {
    const { changes, text } = this.#owners.listed
    const body = { text, vectors: [] }
    if (this.#places.roomFor(recordBytesMax(body), true) !== "free") {
      if (isSync) this.#queue.sync()
      return
    }
    this.#owners.clear()
    const wasMarking = this.#isMarking
    this.#isMarking = true
    const fields = { ...processRecord, kind: recordKinds.mark, atMillis: this.#lastMillis }
    this.#write({ ...fields, changes, fromSeq: this.#index.firstKept, body }, isSync)
    this.#isMarking = wasMarking
  }

  /** Until the next sync, or until there is a spare segment: it is made once the first record of this one is synced. */
  get #room(): Effect.Effect<void, LogFault> {
    return Effect.suspend(() => {
      if (this.#queue.isFull) return this.whenSynced(this.#queue.syncedOrdinal + 1)
      this.#queue.sync()
      return Effect.callback<void>((resume) => this.#places.onChange(() => resume(Effect.void)))
    })
  }

  #sealedOf({ firstMillis, firstOrdinal, lastMillis, lastOrdinal, segment }: SegmentIndex): SealedSegment {
    const path = segmentPath(this.directory, segment)
    return { segment, path, firstOrdinal, lastOrdinal, firstMillis, lastMillis }
  }
}

const damageText =
  "acknowledged records of the commit log cannot be read: agents whose files lack them are set aside and answer 503, all others are served; restore those that /admin/status names from a backup"

/** Of a line in the service's log. */
const toldMax = 20

const toldOf = (damage: ReadonlyArray<LogHole>) => ({
  records: damage.slice(0, toldMax).map(holeText),
  namespaces: [...new Set(damage.map(({ tag }) => tag ?? "any whose file ends before"))].slice(0, toldMax),
  more: Math.max(0, damage.length - toldMax)
})

const toDamaged = (cause: unknown): LogDamaged =>
  cause instanceof LogDamaged ? cause : new LogDamaged({ reason: String(cause) })

const processRecord = { flags: 0, tag: processTag, epoch: 0, changes: 0, fromSeq: 0, body: emptyBody }
