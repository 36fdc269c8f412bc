/** The commit log in files against the suite that every log of namespaces has to pass. */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { openFileLog } from "@muniment/engine/log/FileLog"
import { LogDamaged } from "@muniment/engine/log/LogError"
import { RecordReader } from "@muniment/engine/log/RecordReader"
import { listSegments, segmentPath } from "@muniment/engine/log/segmentFiles"
import { logTag, smallLog } from "../../../support/CommitLogs.ts"
import { editSegment } from "../../../support/HandMadeLog.ts"
import { logConformance, type LogPlace } from "../../../support/logConformance.ts"
import { temporaryDirectory } from "../../sqlite/TemporaryDirectory.ts"

logConformance("the log in files", (): LogPlace => {
  const directory = temporaryDirectory()
  return {
    open: Effect.gen(function* () {
      const log = yield* openFileLog(smallLog(directory))
      const reader = yield* Effect.acquireRelease(
        Effect.sync(() => new RecordReader(directory)),
        (open) => Effect.sync(() => open.close())
      )
      return {
        log,
        enter: (number, state) => log.attach(logTag(number), state),
        read: (number, after) =>
          Effect.flatMap(log.tail(logTag(number), after), (entries) =>
            Effect.try({
              try: () => entries.map((entry) => ({ ordinal: entry.ordinal, record: reader.read(entry) })),
              catch: (cause) => (cause instanceof LogDamaged ? cause : new LogDamaged({ reason: String(cause) }))
            })
          )
      }
    }),
    edit: (number, ordinal, change) =>
      Effect.scoped(
        Effect.gen(function* () {
          const log = yield* openFileLog(smallLog(directory))
          const entries = yield* log.tail(logTag(number), ordinal - 1)
          const { length, offset, segment } = entries[0]!.place
          editSegment(directory, segment, (bytes) => change(bytes.subarray(offset, offset + length)))
        })
      ),
    piecesWith: (text) =>
      Effect.sync(
        () =>
          listSegments(directory).filter((segment) => readFileSync(segmentPath(directory, segment)).includes(text))
            .length
      )
  }
})
