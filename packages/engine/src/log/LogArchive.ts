/**
 * The log in archives: a part of it is its records one after the other, as the segments have them; a log that continues
 * what an archive has is made of parts.
 */
import { closeSync, fsyncSync, openSync } from "node:fs"
import { Effect } from "effect"
import { LogDamaged, LogFault } from "./LogError.ts"
import type { RawRecord } from "./LogCursor.ts"
import {
  emptyBody,
  headerBytes,
  isBodyWhole,
  isErased,
  processTag,
  readHeader,
  recordBytesMax,
  recordKinds,
  type RecordHeader,
  removesAll,
  writeRecord
} from "./logFormat.ts"
import { segmentBytesDefault, segmentPath, syncDirectory, writeFully } from "./segmentFiles.ts"

export interface LogPart {
  readonly first: number
  /** `first - 1`: the part is empty. */
  readonly last: number
  readonly bytes: number
  /** It ends before a record that was erased: what follows needs younger copies of the files. */
  readonly isCut: boolean
  /** One of its records erases what may be in earlier ones, or in copies of the files. */
  readonly erases: boolean
}

/** Between two turns of the event loop. */
const writtenTogether = 1_048_576

/** Writes records into a new file; undefined: there are none. */
export const writePart = (
  records: Iterable<RawRecord>,
  path: string
): Effect.Effect<LogPart | undefined, LogDamaged | LogFault> =>
  Effect.acquireUseRelease(
    attempt(() => new PartFile(records, path)),
    (file) =>
      Effect.gen(function* () {
        while (yield* attempt(() => file.write())) yield* Effect.yieldNow
        return file.part
      }),
    (file) => Effect.sync(() => file.close())
  )

class PartFile {
  readonly #records: Iterator<RawRecord>
  readonly #file: number
  #part: LogPart | undefined

  constructor(records: Iterable<RawRecord>, path: string) {
    this.#records = records[Symbol.iterator]()
    this.#file = openSync(path, "w", 0o600)
  }

  get part(): LogPart | undefined {
    return this.#part
  }

  /** Writes some records; false: that was all. Not synced: the part is read at once, and a killed process needs none. */
  write(): boolean {
    const from = this.#part?.bytes ?? 0
    const taken: Array<Buffer> = []
    let isMore = true
    while (isMore && (this.#part?.bytes ?? 0) - from < writtenTogether) {
      const next = this.#records.next()
      isMore = next.done !== true && this.#add(next.value, taken)
    }
    writeFully(this.#file, Buffer.concat(taken), from)
    return isMore
  }

  close(): void {
    this.#records.return?.()
    closeSync(this.#file)
  }

  /** False: it is erased, and the part ends before it. */
  #add({ bytes: record, header }: RawRecord, taken: Array<Buffer>): boolean {
    const { bytes, erases, first } = this.#part ?? { first: header.ordinal, bytes: 0, erases: false }
    const isCut = isErased(header)
    if (isCut) this.#part = { first, last: header.ordinal - 1, bytes, isCut, erases }
    else {
      taken.push(record)
      const isErasing = header.kind === recordKinds.erased
      this.#part = { first, last: header.ordinal, bytes: bytes + record.length, isCut, erases: erases || isErasing }
    }
    return !isCut
  }
}

const attempt = <A>(step: () => A): Effect.Effect<A, LogDamaged | LogFault> =>
  Effect.try({ try: step, catch: (cause) => (cause instanceof LogDamaged ? cause : new LogFault({ cause })) })

/** Where a restored log ends: behind the last record that is not later. */
export interface LogEnd {
  readonly ordinal: number
  /** Milliseconds; of records behind `from`. */
  readonly millis: number
}

/**
 * Writes a log of parts of another one; the service that starts over it brings the copies to its end. What a record of it
 * erases is still needed for that, so the record becomes one that says nothing, unless it removes a whole namespace.
 */
export class RestoredLog {
  readonly #directory: string
  readonly #firstKept: number
  readonly #from: number
  readonly #end: LogEnd
  /** Bytes of a record that is not whole yet. */
  #rest = Buffer.alloc(0)
  #file: number | undefined
  #segment = 0
  #offset = 0
  #last: Pick<RecordHeader, "ordinal" | "atMillis">
  #hasEnded = false

  /** `first`: ordinal of the first record; `from`: the copies have everything up to it, and the log ends no earlier. */
  constructor(directory: string, first: number, from: number, end: LogEnd) {
    this.#directory = directory
    this.#firstKept = first
    this.#from = from
    this.#end = end
    this.#last = { ordinal: first - 1, atMillis: 0 }
  }

  /** The next bytes, in their order. Throws `LogDamaged`. */
  add(bytes: Uint8Array): void {
    const all = Buffer.concat([this.#rest, bytes])
    let at = 0
    while (!this.#hasEnded && at + headerBytes <= all.length) {
      const header = readHeader(all, at)
      if (header === undefined || header.ordinal !== this.#last.ordinal + 1) throw this.#damaged
      if (at + header.length > all.length) break
      if (!isBodyWhole(all, at, header)) throw this.#damaged
      this.#hasEnded =
        header.ordinal > this.#from && (header.ordinal > this.#end.ordinal || header.atMillis > this.#end.millis)
      if (!this.#hasEnded) this.#write(needed(all.subarray(at, at + header.length), header), header)
      at += header.length
    }
    this.#rest = this.#hasEnded ? Buffer.alloc(0) : Buffer.from(all.subarray(at))
  }

  /** -> the last ordinal of the other log that is here. */
  close(): number {
    const { atMillis, ordinal } = this.#last
    if (this.#rest.length > 0 || ordinal < this.#from) throw this.#damaged
    // The log begins here: nothing before was lost.
    this.#write(rebased(this.#firstKept, { atMillis, ordinal: ordinal + 1 }), { ordinal, atMillis })
    this.#closeFile()
    syncDirectory(this.#directory)
    return ordinal
  }

  #write(bytes: Buffer, last: Pick<RecordHeader, "ordinal" | "atMillis">): void {
    if (this.#offset + bytes.length > segmentBytesDefault) this.#closeFile()
    if (this.#file === undefined) {
      this.#file = openSync(segmentPath(this.#directory, ++this.#segment), "wx", 0o600)
      this.#offset = 0
    }
    writeFully(this.#file, bytes, this.#offset)
    this.#offset += bytes.length
    this.#last = { ordinal: last.ordinal, atMillis: last.atMillis }
  }

  #closeFile(): void {
    if (this.#file === undefined) return
    fsyncSync(this.#file)
    closeSync(this.#file)
    this.#file = undefined
  }

  get #damaged(): LogDamaged {
    return new LogDamaged({ reason: `the archived log is damaged behind record ${this.#last.ordinal}` })
  }
}

const needed = (bytes: Buffer, header: RecordHeader): Buffer =>
  header.kind === recordKinds.erased && header.changes !== removesAll ? rebased(0, header) : bytes

/** Says that nothing is missing before `firstKept`. */
const rebased = (firstKept: number, { atMillis, ordinal }: Pick<RecordHeader, "atMillis" | "ordinal">): Buffer => {
  const record = Buffer.alloc(recordBytesMax(emptyBody))
  const fields = { kind: recordKinds.rebased, flags: 0, tag: processTag, epoch: 0, changes: 0, unsynced: 0 }
  writeRecord(record, 0, emptyBody, { ...fields, fromSeq: firstKept, atMillis, ordinal })
  return record
}
