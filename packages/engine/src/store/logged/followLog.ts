/** A copy that is behind its log, and is not open, carries out the records that it lacks. */
import { Clock, Effect } from "effect"
import type { NamespaceTag } from "@muniment/domain/Ids"
import type { NamespaceLog } from "../../log/CommitLog.ts"
import type { CommitThread, FollowedEntry, Refusal } from "../sqlite/CommitThread.ts"
import type { CopyContent } from "../sqlite/namespaceMeta.ts"
import { StoreDamaged, type StoreError } from "../StoreError.ts"
import { logged } from "./CopyLine.ts"

export interface FollowParts {
  readonly log: NamespaceLog<FollowedEntry>
  readonly thread: CommitThread
  readonly tag: NamespaceTag
  readonly filename: string
}

/** Records that one step takes. */
const followedTogetherMax = 256

/** `entries`: all that the copy lacks, of a copy that holds `before`; -> what it holds then. */
export const followLog = Effect.fnUntraced(function* (
  parts: FollowParts,
  before: CopyContent,
  entries: ReadonlyArray<FollowedEntry>
): Effect.fn.Return<CopyContent, StoreError> {
  let content = before
  for (let at = 0; at < entries.length; at += followedTogetherMax) {
    const followed = yield* parts.thread.follow(parts.filename, entries.slice(at, at + followedTogetherMax))
    content = followed.content
    if (followed.refused !== undefined) yield* refuse(parts, followed.refused, entries.at(-1)!.ordinal)
  }
  return content
})

/** Only a last commit, whose caller was told nothing, can be refused: its process ended before it said so. */
const refuse = Effect.fnUntraced(function* (
  { log, tag }: FollowParts,
  { ordinal, reason }: Refusal,
  lastOrdinal: number
): Effect.fn.Return<void, StoreError> {
  const told = `the file refuses record ${ordinal} of the log: ${reason}`
  if (ordinal !== lastOrdinal) return yield* Effect.fail(new StoreDamaged({ reason: told, cause: undefined }))
  yield* Effect.logWarning(told, { namespace: tag })
  yield* logged(log.refuse(tag, ordinal, yield* Clock.currentTimeMillis))
})
