/**
 * The commit log in files of this machine. `append` gives a record its ordinal and its place; all records that come
 * while one sync is under way share the next one.
 *
 * Invariants: records are written in the order of their ordinals; a segment is synced before the next one is begun, so
 * that only the newest one can have a torn tail; after an error of a write or a sync nothing is written any more.
 */
import { closeSync, existsSync, fdatasync, fdatasyncSync, mkdirSync, openSync, statSync, write } from "node:fs"
import { Effect, Layer, type Scope } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import { Admission } from "./Admission.ts"
import { CommitLog, type CommitLogShape, type CopyState, type LogEntry, type NewCommit } from "./CommitLog.ts"
import { eraseBodies } from "./LogErasure.ts"
import { LogDamaged, LogFault, type LogFenced, type LogFull } from "./LogError.ts"
import {
  emptyBody,
  processTag,
  recordBytesMax,
  recordFlags,
  recordKinds,
  removesAll,
  writeRecord
} from "./logFormat.ts"
import type { RecordBody, RecordFields } from "./logFormat.ts"
import { type LogHole, type LogScanned, scanLog } from "./LogScan.ts"
import type { LogIndex } from "./LogIndex.ts"
import { createZeros, segmentBytesDefault, segmentPath, writeFully } from "./segmentFiles.ts"

export interface FileLogOptions {
  /** Directory of the segments; made if it is missing. */
  readonly directory: string
  readonly segmentBytes?: number
}

/** More records than this are not left without a sync: the header's field counts them in 16 bits. */
const unsyncedRecordsMax = 60_000
const unsyncedBytesMax = 16_777_216

/** A record on its way to the disk. */
interface Pending {
  readonly entry: LogEntry
  readonly bytes: Buffer
}

interface Waiter {
  readonly ordinal: number
  readonly resume: (result: Effect.Effect<void, LogFault>) => void
}

type NewRecord = Omit<RecordFields, "ordinal" | "unsynced"> & { readonly body: RecordBody }

export const fileLogLayer = (options: FileLogOptions): Layer.Layer<CommitLog, LogFault> =>
  Layer.effect(CommitLog, openFileLog(options))

export const openFileLog = (options: FileLogOptions): Effect.Effect<FileLog, LogFault, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        mkdirSync(options.directory, { recursive: true, mode: 0o700 })
        const scanned = scanLog(options.directory)
        cleanTail(options.directory, scanned)
        // One that was cut short is finished.
        for (const [tag, throughOrdinal] of scanned.index.erasures) {
          const entries = scanned.index.commitsOf(tag, 0).filter(({ ordinal }) => ordinal <= throughOrdinal)
          eraseBodies(options.directory, entries)
        }
        return new FileLog(options, scanned)
      },
      catch: (cause) => new LogFault({ cause })
    }),
    (log) => log.close
  )

export class FileLog implements CommitLogShape {
  readonly directory: string
  /** Acknowledged records that the open of the log could not read. */
  readonly damage: ReadonlyArray<LogHole>
  readonly #segmentBytes: number
  readonly #index: LogIndex
  readonly #admission = new Admission()
  #nextOrdinal: number
  #syncedOrdinal: number
  /** Where the next record goes. */
  #segment: number
  #offset = Infinity
  #file: { readonly segment: number; readonly descriptor: number } | undefined
  #pending: Array<Pending> = []
  #unsyncedBytes = 0
  #isWriting = false
  #ended: LogFault | undefined
  #waiters: Array<Waiter> = []

  constructor({ directory, segmentBytes = segmentBytesDefault }: FileLogOptions, scanned: LogScanned) {
    this.directory = directory
    this.damage = scanned.damage
    this.#segmentBytes = segmentBytes
    this.#index = scanned.index
    this.#nextOrdinal = scanned.nextOrdinal
    this.#syncedOrdinal = scanned.nextOrdinal - 1
    // A start begins a segment of its own: nothing is written behind a torn tail.
    this.#segment = scanned.lastSegment
  }

  readonly attach = (tag: NamespaceTag, state: CopyState): Effect.Effect<void> =>
    Effect.sync(() => this.#admission.attach(tag, state))

  readonly release = (tag: NamespaceTag): Effect.Effect<void> => Effect.sync(() => this.#admission.release(tag))

  readonly append = (commit: NewCommit): Effect.Effect<LogEntry, LogFenced | LogFull | LogFault> =>
    Effect.suspend(() => {
      const fault = this.#admission.fault(commit)
      if (fault !== undefined) return Effect.fail(fault)
      if (this.#mustWait) return Effect.andThen(this.whenSynced(this.#syncedOrdinal + 1), this.append(commit))
      const flags = commit.isClaim ? recordFlags.claim : 0
      return Effect.map(this.#put({ ...commit, kind: recordKinds.commit, flags }), (entry) => {
        this.#admission.advance(commit)
        return entry
      })
    })

  readonly appendLedger = (body: RecordBody, atMillis: number): Effect.Effect<LogEntry, LogFull | LogFault> =>
    this.#putSoon({ ...processRecord, kind: recordKinds.ledger, atMillis, body })

  readonly whenSynced = (ordinal: number): Effect.Effect<void, LogFault> =>
    Effect.callback((resume) => {
      if (this.#syncedOrdinal >= ordinal) resume(Effect.void)
      else if (this.#ended !== undefined) resume(Effect.fail(this.#ended))
      else this.#waiters.push({ ordinal, resume })
    })

  readonly syncedOrdinal = (): number => this.#syncedOrdinal

  readonly tail = (tag: NamespaceTag, afterOrdinal: number): Effect.Effect<ReadonlyArray<LogEntry>, LogDamaged> =>
    Effect.suspend(() => {
      const lost = this.damage.find((hole) => hole.to > afterOrdinal && (hole.tag ?? tag) === tag)
      if (lost !== undefined) {
        const reason = `records ${lost.from} to ${lost.to} of the log are damaged (segment ${lost.segment}, byte ${lost.offset})`
        return Effect.fail(new LogDamaged({ reason: `${reason}, and the copy of ${tag} ends at ${afterOrdinal}` }))
      }
      const entries = this.#index
        .commitsOf(tag, Math.max(afterOrdinal, this.#index.removedThrough(tag)))
        .filter(({ ordinal }) => ordinal <= this.#syncedOrdinal && !this.#index.isRefused(tag, ordinal))
      const [first] = entries
      return first !== undefined && first.ordinal <= this.#index.erasedThrough(tag)
        ? Effect.fail(new LogDamaged({ reason: `record ${first.ordinal} of ${tag} was erased, and its copy lacks it` }))
        : Effect.succeed(entries)
    })

  readonly refuse = (tag: NamespaceTag, ordinal: number, atMillis: number): Effect.Effect<void, LogFull | LogFault> =>
    Effect.flatMap(
      this.#putSoon({ ...processRecord, tag, kind: recordKinds.refused, fromSeq: ordinal, atMillis }),
      (entry) => this.whenSynced(entry.ordinal)
    )

  readonly erase = (
    tag: NamespaceTag,
    throughOrdinal: number,
    atMillis: number
  ): Effect.Effect<number, LogFull | LogFault> => {
    const intent = { ...processRecord, tag, kind: recordKinds.erased, fromSeq: throughOrdinal, atMillis }
    return this.#carryOut(intent)
  }

  readonly remove = (tag: NamespaceTag, atMillis: number): Effect.Effect<void, LogFull | LogFault> =>
    Effect.suspend(() => {
      this.#admission.release(tag)
      const fromSeq = this.#nextOrdinal - 1
      return this.#carryOut({ ...processRecord, tag, kind: recordKinds.erased, fromSeq, changes: removesAll, atMillis })
    })

  readonly rebase = (_tag: NamespaceTag, _ordinal: number): Effect.Effect<void> => Effect.void

  readonly isCurrent = (): boolean => this.#ended === undefined

  /** Syncs what was appended, and ends the log. */
  get close(): Effect.Effect<void> {
    return Effect.suspend(() => Effect.ignore(this.whenSynced(this.#nextOrdinal - 1))).pipe(
      Effect.andThen(
        Effect.sync(() => {
          this.#end(new Error("the commit log is closed"))
          if (this.#file !== undefined) closeSync(this.#file.descriptor)
          this.#file = undefined
        })
      )
    )
  }

  get #mustWait(): boolean {
    const unsynced = this.#nextOrdinal - 1 - this.#syncedOrdinal
    return unsynced > 0 && (unsynced >= unsyncedRecordsMax || this.#unsyncedBytes >= unsyncedBytesMax)
  }

  #putSoon(record: NewRecord): Effect.Effect<LogEntry, LogFull | LogFault> {
    return Effect.suspend(() =>
      this.#mustWait
        ? Effect.andThen(this.whenSynced(this.#syncedOrdinal + 1), this.#putSoon(record))
        : this.#put(record)
    )
  }

  #put({ body, ...record }: NewRecord): Effect.Effect<LogEntry, LogFault> {
    if (this.#ended !== undefined) return Effect.fail(this.#ended)
    const ordinal = this.#nextOrdinal++
    const fields = { ...record, ordinal, unsynced: ordinal - this.#syncedOrdinal - 1 }
    const target = Buffer.allocUnsafeSlow(recordBytesMax(body))
    const bytes = target.subarray(0, writeRecord(target, 0, body, fields))
    const entry = { ordinal, place: this.#place(bytes.length) }
    this.#index.add(fields, entry.place)
    this.#pending.push({ entry, bytes })
    this.#unsyncedBytes += bytes.length
    if (!this.#isWriting) {
      this.#isWriting = true
      queueMicrotask(() => void this.#writeAll())
    }
    return Effect.succeed(entry)
  }

  #place(length: number): LogEntry["place"] {
    if (this.#offset + length > this.#segmentBytes) {
      this.#segment++
      this.#offset = 0
    }
    const place = { segment: this.#segment, offset: this.#offset, length }
    this.#offset += length
    return place
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#pending.length > 0) await this.#writeGroup(this.#pending.splice(0))
      this.#isWriting = false
    } catch (cause) {
      this.#end(cause)
    }
  }

  async #writeGroup(group: ReadonlyArray<Pending>): Promise<void> {
    for (const { bytes, entry } of group) {
      const { offset, segment } = entry.place
      await writeAsync(this.#fileOf(segment), bytes, offset)
      this.#unsyncedBytes -= bytes.length
    }
    const last = group.at(-1)!.entry
    await syncAsync(this.#fileOf(last.place.segment))
    this.#syncedOrdinal = last.ordinal
    const ready = this.#waiters.filter(({ ordinal }) => ordinal <= last.ordinal)
    this.#waiters = this.#waiters.filter(({ ordinal }) => ordinal > last.ordinal)
    for (const { resume } of ready) resume(Effect.void)
  }

  #fileOf(segment: number): number {
    if (this.#file?.segment === segment) return this.#file.descriptor
    if (this.#file !== undefined) {
      fdatasyncSync(this.#file.descriptor)
      closeSync(this.#file.descriptor)
    }
    const path = segmentPath(this.directory, segment)
    createZeros(this.directory, path, this.#segmentBytes)
    this.#file = { segment, descriptor: openSync(path, "r+") }
    return this.#file.descriptor
  }

  /** Erases once the intent is durable, so that an open finishes what is cut short. */
  #carryOut(intent: NewRecord): Effect.Effect<number, LogFull | LogFault> {
    return Effect.flatMap(this.#putSoon(intent), ({ ordinal }) =>
      Effect.andThen(
        this.whenSynced(ordinal),
        Effect.try({ try: () => this.#eraseThrough(intent.tag, intent.fromSeq), catch: (cause) => this.#end(cause) })
      )
    )
  }

  #eraseThrough(tag: NamespaceTag, throughOrdinal: number): number {
    const entries = this.#index.commitsOf(tag, 0).filter(({ ordinal }) => ordinal <= throughOrdinal)
    return eraseBodies(this.directory, entries)
  }

  #end(cause: unknown): LogFault {
    const ended = this.#ended ?? new LogFault({ cause })
    this.#ended = ended
    for (const { resume } of this.#waiters.splice(0)) resume(Effect.fail(ended))
    return ended
  }
}

const processRecord = {
  flags: 0,
  tag: processTag,
  epoch: 0,
  changes: 0,
  fromSeq: 0,
  body: emptyBody
}

/** What is kept is synced before any copy applies it; a torn tail is overwritten, so that no text stays there. */
const cleanTail = (directory: string, { lastSegment, tornAt }: LogScanned): void => {
  for (let segment = tornAt?.segment ?? lastSegment; segment <= lastSegment; segment++) {
    const path = segmentPath(directory, segment)
    if (!existsSync(path)) continue
    const file = openSync(path, "r+")
    try {
      const from = segment === tornAt?.segment ? tornAt.offset : 0
      if (tornAt !== undefined) writeFully(file, Buffer.alloc(statSync(path).size - from), from)
      fdatasyncSync(file)
    } finally {
      closeSync(file)
    }
  }
}

const writeAsync = (file: number, bytes: Buffer, at: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const step = (written: number): void =>
      write(file, bytes, written, bytes.length - written, at + written, (error, count) => {
        if (error !== null) reject(error)
        else if (written + count < bytes.length) step(written + count)
        else resolve()
      })
    step(0)
  })

const syncAsync = (file: number): Promise<void> =>
  new Promise((resolve, reject) => fdatasync(file, (error) => (error === null ? resolve() : reject(error))))
