/**
 * Records on their way to the log thread, and who waits for their sync.
 *
 * Invariants: ordinals ascend without gaps in the order of `put`; the thread writes one message at a time, and what comes
 * meanwhile is the next one; a waiter is told once its ordinal is synced, or that the log has ended; after the end nothing
 * is sent.
 */
import { Cause, Effect } from "effect"
import type { Errands } from "@muniment/worker/Rounds"
import type { WorkerThread } from "@muniment/worker/WorkerThread"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { CopyState, LogEntry, NewCommit, RecordPlace } from "./CommitLog.ts"
import { LogFault, LogFenced } from "./LogError.ts"
import { type RecordBody, recordBytesMax, type RecordFields, writeRecord } from "./logFormat.ts"
import type { LogReply, LogRequest } from "./LogWorker.ts"
import type { PlacedRecord } from "./SegmentWriter.ts"

/** More are not left without a sync: the header counts them in 16 bits. */
const unsyncedRecordsMax = 60_000
const unsyncedBytesMax = 16_777_216

/** Of the bytes of records that are not sent yet, as long as no larger ones come. */
const unsentBytesKept = 262_144

interface Waiter {
  readonly ordinal: number
  readonly resume: (result: Effect.Effect<void, LogFault>) => void
}

/** A record without what the log adds. */
export type NewRecord = Omit<RecordFields, "ordinal" | "unsynced"> & { readonly body: RecordBody }

export class LogQueue {
  readonly #thread: WorkerThread<LogRequest, LogReply>
  readonly #begin: Errands
  #nextOrdinal: number
  #syncedOrdinal: number
  /** Bytes of records that are not sent yet, one after the other, and where the runs of them go. */
  #unsent = Buffer.allocUnsafeSlow(unsentBytesKept)
  #unsentBytes = 0
  #runs: Array<RecordPlace> = []
  #isSyncWanted = false
  #isSendDue = false
  /** The thread has a message to write. */
  #isWriting = false
  #unwrittenBytes = 0
  #waiters: Array<Waiter> = []
  #ended: LogFault | undefined
  #syncs = 0

  constructor(thread: WorkerThread<LogRequest, LogReply>, nextOrdinal: number, begin: Errands) {
    this.#thread = thread
    this.#begin = begin
    this.#nextOrdinal = nextOrdinal
    this.#syncedOrdinal = nextOrdinal - 1
  }

  get nextOrdinal(): number {
    return this.#nextOrdinal
  }

  get syncedOrdinal(): number {
    return this.#syncedOrdinal
  }

  get ended(): LogFault | undefined {
    return this.#ended
  }

  /** How many syncs the thread has made. */
  get syncs(): number {
    return this.#syncs
  }

  /** Whether an append has to wait for the next sync. */
  get isFull(): boolean {
    const unsynced = this.#nextOrdinal - 1 - this.#syncedOrdinal
    return unsynced >= unsyncedRecordsMax || this.#unwrittenBytes >= unsyncedBytesMax
  }

  /** Sends a record to the place that `placeOf` gives a length in bytes. */
  put(
    { body, ...record }: NewRecord,
    placeOf: (length: number) => RecordPlace,
    isSync: boolean
  ): readonly [fields: RecordFields, entry: LogEntry] {
    // Taken once nothing can fail any more: a number without a record would be a hole.
    const ordinal = this.#nextOrdinal
    const fields = { ...record, ordinal, unsynced: ordinal - this.#syncedOrdinal - 1 }
    this.#makeRoom(recordBytesMax(body))
    const length = writeRecord(this.#unsent, this.#unsentBytes, body, fields)
    const entry = { ordinal, place: placeOf(length) }
    this.#nextOrdinal++
    this.#sendSoon()
    this.#unsentBytes += length
    this.#addToRun(entry.place)
    this.#isSyncWanted ||= isSync
    this.#unwrittenBytes += length
    return [fields, entry]
  }

  /** Has all that was put synced, though nothing more comes. */
  sync(): void {
    if (this.#syncedOrdinal === this.#nextOrdinal - 1) return
    this.#isSyncWanted = true
    this.#sendSoon()
  }

  readonly whenSynced = (ordinal: number): Effect.Effect<void, LogFault> =>
    Effect.callback((resume) => {
      if (this.#syncedOrdinal >= ordinal) resume(Effect.void)
      else if (this.#ended !== undefined) resume(Effect.fail(this.#ended))
      else this.#waiters.push({ ordinal, resume })
    })

  /** Erases the bodies of these records; returns how many had one. */
  erase(entries: ReadonlyArray<LogEntry>): Effect.Effect<number, LogFault> {
    return Effect.map(this.#ask({ _tag: "Erase", entries }), (reply) => (reply._tag === "Erased" ? reply.count : 0))
  }

  /** Deletes segments, after what was asked before. */
  drop(segments: ReadonlyArray<number>): Effect.Effect<void, LogFault> {
    return Effect.asVoid(this.#ask({ _tag: "Drop", segments }))
  }

  /** The outcome of what is not synced is unknown. */
  end(cause: unknown): LogFault {
    const ended = this.#ended ?? new LogFault({ cause })
    this.#ended = ended
    for (const { resume } of this.#waiters.splice(0)) resume(Effect.fail(ended))
    return ended
  }

  /** Also at a defect: nothing would write what comes after it. */
  #ask(request: LogRequest): Effect.Effect<LogReply, LogFault> {
    if (this.#ended !== undefined) return Effect.fail(this.#ended)
    const asked = Effect.mapError(this.#thread.ask(request), (cause) => this.end(cause))
    return Effect.catchDefect(asked, (cause) => Effect.fail(this.end(cause)))
  }

  #sendSoon(): void {
    if (this.#isSendDue || this.#isWriting) return
    this.#isSendDue = true
    queueMicrotask(() => this.#send())
  }

  #send(): void {
    const isSync = this.#isSyncWanted
    const bytes = this.#unsentBytes
    const records = this.#takeUnsent()
    this.#isSyncWanted = false
    this.#isSendDue = false
    if (this.#ended !== undefined) return
    const through = this.#nextOrdinal - 1
    const transfer = records.map((record) => record.bytes.buffer as ArrayBuffer)
    this.#isWriting = true
    const asked = this.#thread.ask({ _tag: "Write", records, isSync }, { transfer })
    this.#begin(
      asked.pipe(
        Effect.map((reply) => {
          if (reply._tag === "Written") this.#written(through, bytes, reply.isSynced, reply.syncs)
        }),
        // Whatever it was, nobody would write what comes.
        Effect.onError((cause) => Effect.sync(() => void this.end(Cause.squash(cause))))
      )
    )
  }

  #makeRoom(bytes: number): void {
    const needed = this.#unsentBytes + bytes
    if (needed <= this.#unsent.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#unsent.length))
    this.#unsent.copy(larger, 0, 0, this.#unsentBytes)
    this.#unsent = larger
  }

  /** Records that follow each other in a segment go to the thread, and to the disk, as one. */
  #addToRun(place: RecordPlace): void {
    const last = this.#runs.at(-1)
    const follows = last?.segment === place.segment && last.offset + last.length === place.offset
    if (follows) this.#runs[this.#runs.length - 1] = { ...last, length: last.length + place.length }
    else this.#runs.push(place)
  }

  /** Each run in a buffer of its own, which is handed over. */
  #takeUnsent(): ReadonlyArray<PlacedRecord> {
    let at = 0
    const records = this.#runs.map((place) => {
      const bytes = Buffer.allocUnsafeSlow(place.length)
      this.#unsent.copy(bytes, 0, at, (at += place.length))
      return { place, bytes }
    })
    this.#runs = []
    this.#unsentBytes = 0
    if (this.#unsent.length > unsentBytesKept) this.#unsent = Buffer.allocUnsafeSlow(unsentBytesKept)
    return records
  }

  #written(through: number, bytes: number, isSynced: boolean, syncs: number): void {
    this.#unwrittenBytes -= bytes
    this.#syncs = syncs
    this.#isWriting = false
    if (this.#runs.length > 0 || this.#isSyncWanted) this.#sendSoon()
    if (!isSynced) return
    this.#syncedOrdinal = through
    const ready = this.#waiters.filter(({ ordinal }) => ordinal <= through)
    this.#waiters = this.#waiters.filter(({ ordinal }) => ordinal > through)
    for (const { resume } of ready) resume(Effect.void)
  }
}

/**
 * Admission of appends: for each attached namespace the epoch and the last change that the log has, so that an owner
 * that was replaced is refused before anything is written.
 */
export class Admission {
  readonly #states = new Map<NamespaceTag, CopyState>()

  attach(tag: NamespaceTag, state: CopyState): void {
    if (!this.#states.has(tag)) this.#states.set(tag, state)
  }

  release(tag: NamespaceTag): void {
    this.#states.delete(tag)
  }

  /** The reason to refuse the commit; undefined: there is none. */
  fault({ epoch, fromSeq, tag }: NewCommit): LogFenced | undefined {
    const known = this.#states.get(tag)
    return known?.epoch === epoch && known.seq === fromSeq
      ? undefined
      : new LogFenced({ tag, epoch: known?.epoch ?? 0 })
  }

  /** The commit is in the log. */
  advance({ changes, epoch, fromSeq, isClaim, tag }: NewCommit): void {
    this.#states.set(tag, { epoch: isClaim ? epoch + 1 : epoch, seq: fromSeq + changes })
  }
}
