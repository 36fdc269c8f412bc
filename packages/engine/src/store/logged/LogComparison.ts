/**
 * Compares a namespace's file, open or not, with the commit log, if the log has all of its commits: a snapshot of the
 * file with a file that is made from the log up to the snapshot's last record.
 *
 * Invariant: says nothing of a file for which the log lacks a record, because it was dropped or erased, or is older
 * than the log; neither the file nor the log is changed.
 */
import { join } from "node:path"
import { Effect } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { CommitLogShape, LogEntry } from "../../log/CommitLog.ts"
import type { Pace } from "../NamespaceStore.ts"
import type { FileChecks } from "../sqlite/CheckThread.ts"
import { filesEnding, removeDatabase } from "../sqlite/namespaceFiles.ts"
import { guarded } from "../sqlite/storeErrorOf.ts"
import type { StoreError } from "../StoreError.ts"
import { logged } from "./CopyLine.ts"

/** Records that one step of the thread takes. */
const recordsPerStep = 64

const endings = [".snapshot", ".expected"] as const

/** `directory`: that of the namespaces' files. Returns the differences. */
export const compareWithLog = (
  { checks, directory, log }: { readonly checks: FileChecks; readonly directory: string; readonly log: CommitLogShape },
  tag: NamespaceTag,
  pace: Pace
): Effect.Effect<ReadonlyArray<string>, StoreError> => {
  const [snapshot, expected] = endings.map((ending) => join(directory, `${tag}${ending}`)) as [string, string]
  const compared = Effect.gen(function* () {
    // A snapshot is as large as the file: most that the log cannot compare are spared one.
    if ((yield* logged(log.tail(tag, 0))).length === 0) return []
    yield* clear
    const { ordinal } = yield* checks.snapshot(join(directory, `${tag}.db`), snapshot)
    const entries = (yield* logged(log.tail(tag, 0))).filter((entry) => entry.ordinal <= ordinal)
    for (let at = 0; at < entries.length; at += recordsPerStep) {
      const some = entries.slice(at, at + recordsPerStep)
      yield* checks.expect(expected, some)
      yield* pace(bytesOf(some))
    }
    return entries.length === 0 ? [] : yield* checks.differences(snapshot, expected)
  })
  const clear = guarded(() => {
    removeDatabase(snapshot)
    removeDatabase(expected)
  })
  return compared.pipe(
    Effect.catchTag("StoreDamaged", ({ reason }) =>
      Effect.as(Effect.logDebug("the commit log cannot say what a file must hold", { namespace: tag, reason }), [])
    ),
    Effect.ensuring(Effect.ignore(clear))
  )
}

/** What a killed process left of its comparisons. */
export const removeComparisons = (directory: string): void => {
  for (const name of filesEnding(directory, ...endings)) removeDatabase(join(directory, name))
}

const bytesOf = (entries: ReadonlyArray<LogEntry>): number => entries.reduce((sum, { place }) => sum + place.length, 0)
