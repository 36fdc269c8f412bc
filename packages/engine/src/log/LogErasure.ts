/**
 * Erasure in place: bodies of records become zeros, in every segment that has one.
 *
 * Invariant: a body is touched only after its header says, durably, that it was erased. A power cut between the two
 * leaves records whose bodies are not looked at any more; doing it again finishes it.
 */
import { closeSync, fdatasyncSync, openSync, readSync } from "node:fs"
import type { LogEntry } from "./CommitLog.ts"
import { headerBytes, isErased, readHeader, recordFlags, writeHeader } from "./logFormat.ts"
import { segmentPath, writeFully } from "./segmentFiles.ts"

/** Erases the bodies of these records; returns how many were not erased before. */
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
