/**
 * Files of the log's directory: `<12 digits>.log`, written with zeros and synced before the first record, and `spare`,
 * which becomes the next one.
 */
import { closeSync, fsyncSync, openSync, readdirSync, writeSync } from "node:fs"
import { join } from "node:path"

/** Folder of the log in the data directory. */
export const logFolder = "log"
/** A log at rest keeps two of them, with what was written in ten minutes. */
export const segmentBytesDefault = 2_097_152
/** Free space that a segment leaves to the copies and to erasures. */
export const reserveBytesDefault = 16_777_216

const namePattern = /^(\d{12})\.log$/
const zeros = Buffer.alloc(1_048_576)

export const segmentPath = (directory: string, segment: number): string =>
  join(directory, `${String(segment).padStart(12, "0")}.log`)

export const sparePath = (directory: string): string => join(directory, "spare")

/** Numbers of the segments that are there, ascending. */
export const listSegments = (directory: string): ReadonlyArray<number> =>
  readdirSync(directory)
    .flatMap((name) => namePattern.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)

/** Makes a file of zeros that is durable under its name. */
export const createZeros = (directory: string, path: string, bytes: number): void => {
  const file = openSync(path, "wx", 0o600)
  try {
    for (let at = 0; at < bytes; at += zeros.length)
      writeFully(file, zeros.subarray(0, Math.min(zeros.length, bytes - at)), at)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  syncDirectory(directory)
}

/** Writes all bytes: one call may write fewer. */
export const writeFully = (file: number, bytes: Uint8Array, at: number): void => {
  for (let written = 0; written < bytes.length;)
    written += writeSync(file, bytes, written, bytes.length - written, at + written)
}

export const syncDirectory = (directory: string): void => {
  const file = openSync(directory, "r")
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
