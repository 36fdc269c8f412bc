/**
 * Writes records into segments, on the log thread.
 *
 * Invariants: a segment is made of zeros and synced, with its directory, before its first record; it is synced to its
 * end before the next one gets a record, so that only the newest one can have a torn tail; after an error it is never
 * written again, because a failed sync may have dropped what it was to write.
 */
import { closeSync, existsSync, fdatasyncSync, openSync, readSync, renameSync, rmSync, writevSync } from "node:fs"
import type { LogEntry, RecordPlace } from "./CommitLog.ts"
import { createZeros, segmentPath, sparePath, syncDirectory, writeFully } from "./segmentFiles.ts"
import { headerBytes, isErased, readHeader, recordFlags, writeHeader } from "./logFormat.ts"

/** A record with its bytes, or several that follow each other. */
export interface PlacedRecord {
  readonly place: RecordPlace
  readonly bytes: Uint8Array
}

/** Buffers of one call of the kernel. */
const buffersMax = 512

export class SegmentWriter {
  readonly #directory: string
  readonly #segmentBytes: number
  #open: { readonly segment: number; readonly file: number } | undefined
  #fault: unknown

  constructor(directory: string, segmentBytes: number) {
    this.#directory = directory
    this.#segmentBytes = segmentBytes
  }

  /** Writes the records, which follow each other, and syncs them if `isSync`. */
  write(records: ReadonlyArray<PlacedRecord>, isSync: boolean): void {
    this.#unlessBroken(() => {
      for (let from = 0; from < records.length;) {
        const to = this.#endOfRun(records, from)
        const { offset, segment } = records[from]!.place
        const buffers = records.slice(from, to).map(({ bytes }) => bytes)
        const bytesMin = offset + buffers.reduce((sum, { length }) => sum + length, 0)
        writeAllFully(this.#fileOf(segment, bytesMin), buffers, offset)
        from = to
      }
      if (isSync && this.#open !== undefined) fdatasyncSync(this.#open.file)
    })
  }

  erase(entries: ReadonlyArray<LogEntry>): number {
    return this.#unlessBroken(() => eraseBodies(this.#directory, entries))
  }

  /** Not synced: the open of the log takes those that a power cut brings back for dropped, and erases them like others. */
  drop(segments: ReadonlyArray<number>): void {
    this.#unlessBroken(() => {
      for (const segment of segments) rmSync(segmentPath(this.#directory, segment), { force: true })
    })
  }

  close(): void {
    if (this.#open !== undefined) closeSync(this.#open.file)
    this.#open = undefined
  }

  #unlessBroken<A>(step: () => A): A {
    if (this.#fault !== undefined) throw this.#fault
    try {
      return step()
    } catch (cause) {
      this.#fault = cause
      this.close()
      throw cause
    }
  }

  /** Records of one segment, at most `buffersMax`. */
  #endOfRun(records: ReadonlyArray<PlacedRecord>, from: number): number {
    const { segment } = records[from]!.place
    let to = from + 1
    while (to < records.length && to - from < buffersMax && records[to]!.place.segment === segment) to++
    return to
  }

  #fileOf(segment: number, bytesMin: number): number {
    if (this.#open?.segment === segment) return this.#open.file
    if (this.#open !== undefined) fdatasyncSync(this.#open.file)
    this.close()
    const path = segmentPath(this.#directory, segment)
    const spare = sparePath(this.#directory)
    // On a full disk a start continues a segment.
    if (existsSync(path)) {
      this.#open = { segment, file: openSync(path, "r+") }
      return this.#open.file
    }
    if (existsSync(spare) && bytesMin <= this.#segmentBytes) {
      renameSync(spare, path)
      syncDirectory(this.#directory)
    } else {
      createZeros(this.#directory, path, Math.max(this.#segmentBytes, bytesMin))
    }
    this.#open = { segment, file: openSync(path, "r+") }
    return this.#open.file
  }
}

/** One call may write fewer bytes than it was given. */
const writeAllFully = (file: number, buffers: ReadonlyArray<Uint8Array>, at: number): void => {
  const written = writevSync(file, [...buffers], at)
  const bytes = buffers.reduce((sum, { length }) => sum + length, 0)
  if (written < bytes) writeFully(file, Buffer.concat(buffers).subarray(written), at + written)
}

/**
 * Erases the bodies of these records in place: they become zeros, in every segment that has one. Returns how many were not
 * erased before.
 *
 * Invariant: a body is touched only after its header says, durably, that it was erased. A power cut between the two
 * leaves records whose bodies are not looked at any more; doing it again finishes it.
 */
export const eraseBodies = (directory: string, entries: ReadonlyArray<LogEntry>): number => {
  let count = 0
  eachSegment(directory, entries, (file, { place }) => {
    const header = Buffer.alloc(headerBytes)
    readSync(file, header, 0, headerBytes, place.offset)
    const fields = readHeader(header, 0)
    if (fields === undefined) return
    if (!isErased(fields)) {
      writeHeader(header, 0, { ...fields, flags: fields.flags | recordFlags.erased, bodySum: 0, textBytes: 0 })
      count++
    }
    // Also one that says it already: a sync that failed may have lost what is read back here.
    writeFully(file, header, place.offset)
  })
  eachSegment(directory, entries, (file, { place: { length, offset } }) =>
    writeFully(file, Buffer.alloc(length - headerBytes), offset + headerBytes)
  )
  return count
}

/** Visits the records, segment by segment, and syncs each segment. */
const eachSegment = (
  directory: string,
  entries: ReadonlyArray<LogEntry>,
  visit: (file: number, entry: LogEntry) => void
): void => {
  for (const [segment, records] of Map.groupBy(entries, ({ place }) => place.segment)) {
    const file = openSync(segmentPath(directory, segment), "r+")
    try {
      for (const entry of records) visit(file, entry)
      fdatasyncSync(file)
    } finally {
      closeSync(file)
    }
  }
}
