/** Segments of a commit log made record by record, so that a test can say what a crash has left of them. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { emptyBody, recordBytesMax, recordKinds, type RecordFields, writeRecord } from "@muniment/engine/log/logFormat"
import { segmentPath } from "@muniment/engine/log/segmentFiles"
import { logTag } from "./CommitLogs.ts"

export interface HandMadeRecord extends Partial<RecordFields> {
  readonly text?: string
}

/** Writes a segment of 16 KiB; returns where each record begins. */
export const writeSegment = (
  directory: string,
  segment: number,
  records: ReadonlyArray<HandMadeRecord>
): ReadonlyArray<number> => {
  mkdirSync(directory, { recursive: true })
  const bytes = Buffer.alloc(16_384)
  const offsets: Array<number> = []
  let at = 0
  for (const { text, ...fields } of records) {
    offsets.push(at)
    const body = text === undefined ? emptyBody : { text, vectors: [] }
    const target = Buffer.alloc(recordBytesMax(body))
    const length = writeRecord(target, 0, body, { ...commitFields, ...fields })
    target.copy(bytes, at, 0, length)
    at += length
  }
  writeFileSync(segmentPath(directory, segment), bytes)
  return offsets
}

/** Commits with these ordinals, one sync each; the text and the namespace follow from the ordinal. */
export const commits = (from: number, to: number): ReadonlyArray<HandMadeRecord> =>
  Array.from({ length: to - from + 1 }, (_, at) => ({
    ordinal: from + at,
    tag: logTag((from + at) % 3),
    text: `text ${from + at} `.repeat(8)
  }))

export const editSegment = (directory: string, segment: number, edit: (bytes: Buffer) => void): void => {
  const bytes = readFileSync(segmentPath(directory, segment))
  edit(bytes)
  writeFileSync(segmentPath(directory, segment), bytes)
}

const commitFields: RecordFields = {
  kind: recordKinds.commit,
  flags: 0,
  tag: logTag(1),
  epoch: 1,
  changes: 1,
  fromSeq: 0,
  atMillis: 1_000,
  ordinal: 1,
  unsynced: 0
}
