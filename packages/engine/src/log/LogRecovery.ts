/**
 * Recovery of the log when it is opened, before anything is appended or applied: writes again and syncs what may not be
 * on the disk, overwrites a torn tail so that no text stays there, finishes erasures that were cut short, and keeps a
 * segment that was never written as the spare.
 */
import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, renameSync, rmSync, statSync } from "node:fs"
import { eraseBodies } from "./SegmentWriter.ts"
import { areZeros, type LogScanned, scanLog, zeroBytes } from "./LogScan.ts"
import { listSegments, segmentPath, sparePath, syncDirectory, writeFully } from "./segmentFiles.ts"

export const recoverLog = (directory: string): LogScanned => {
  const scanned = scanLog(directory)
  for (const segment of scanned.emptySegments) keepOrDelete(directory, segment)
  syncDirectory(directory)
  const kept = listSegments(directory)
  // Older ones were synced before the newest was begun.
  const newest = kept.at(-1)
  if (newest !== undefined) writeAgain(segmentPath(directory, newest))
  if (scanned.tornAt !== undefined) {
    const { offset, segment } = scanned.tornAt
    overwriteFrom(segmentPath(directory, segment), offset)
    for (const later of kept.filter((one) => one > segment)) overwriteFrom(segmentPath(directory, later), 0)
  }
  eraseBodies(directory, scanned.unfinishedErasures)
  return scanned
}

/** Unit of `blocks` in what the system says of a file. */
const statBlockBytes = 512

/** A segment without a record is a spare: a full disk has no room for another one. */
const keepOrDelete = (directory: string, segment: number): void => {
  const path = segmentPath(directory, segment)
  const { blocks, size } = statSync(path)
  const isAllocated = blocks * statBlockBytes >= size
  if (isAllocated && !existsSync(sparePath(directory))) renameSync(path, sparePath(directory))
  else rmSync(path)
}

/**
 * After a sync that failed the system may hold pages for written that are not: they are read back and never written.
 * Written again they are, with the bytes that were read.
 */
const writeAgain = (path: string): void => {
  const bytes = readFileSync(path)
  let used = bytes.length
  // By blocks: a byte at a time takes 80 ms of a start, as most of a segment is zeros.
  while (used > 0 && areZeros(bytes, Math.max(0, used - zeroBytes), used)) used = Math.max(0, used - zeroBytes)
  const file = openSync(path, "r+")
  try {
    writeFully(file, bytes.subarray(0, used), 0)
    fdatasyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Writes zeros from `offset` to the end of the file, and syncs it. */
const overwriteFrom = (path: string, offset: number): void => {
  const file = openSync(path, "r+")
  try {
    const bytes = statSync(path).size - offset
    if (bytes > 0) writeFully(file, Buffer.alloc(bytes), offset)
    fdatasyncSync(file)
  } finally {
    closeSync(file)
  }
}
