/** Commits and small logs for the tests of the commit log. */
import { Effect } from "effect"
import type { CommitLogShape, LogEntry, NewCommit } from "@muniment/engine/log/CommitLog"
import type { FileLogOptions } from "@muniment/engine/log/FileLog"

/** Segments of 64 KiB. A busy machine lets marks take ordinals between commits: tests go by what `append` returned. */
export const smallLog = (directory: string): FileLogOptions => ({
  directory,
  segmentBytes: 65_536,
  reserveBytes: 65_536
})

/** Tag of the namespace of this number. */
export const logTag = (number: number): string => number.toString(16).padStart(12, "0")

/** The commit of one change after `fromSeq` by the owner of epoch 1. */
export const logCommit = (number: number, fromSeq: number, text = `text ${fromSeq} of ${number}`): NewCommit => ({
  tag: logTag(number),
  epoch: 1,
  fromSeq,
  changes: 1,
  isClaim: false,
  atMillis: 1_000 + fromSeq,
  isErasure: false,
  body: { text, vectors: [Float32Array.of(fromSeq)] }
})

/** `rounds` commits of each of these namespaces, one round after the other, all synced. */
export const fillLog = Effect.fnUntraced(function* (
  log: CommitLogShape,
  numbers: ReadonlyArray<number>,
  rounds: number,
  textOf: (number: number, fromSeq: number) => string = (number, fromSeq) => `text ${fromSeq} of ${number}`
) {
  const entries: Array<LogEntry> = []
  for (const number of numbers) yield* log.attach(logTag(number), { epoch: 1, seq: 0 })
  for (let seq = 0; seq < rounds; seq++)
    for (const number of numbers) entries.push(yield* log.append(logCommit(number, seq, textOf(number, seq))))
  yield* log.whenSynced(entries.at(-1)?.ordinal ?? 0)
  return entries
})
