/** `muniment downgrade`, with the directory held so that no service runs on it. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { CommitLog } from "@muniment/engine/log/CommitLog"
import { fileLogLayer } from "@muniment/engine/log/RunningLog"
import { logFolder } from "@muniment/engine/log/segmentFiles"
import { namespaceFolder } from "@muniment/engine/store/sqlite/namespaceFiles"
import { leaveLog } from "@muniment/engine/store/logged/leaveLog"
import { loggedControl } from "../CommitLogs.ts"
import { ServiceAddress } from "../Config.ts"
import { DataDirectory, DirectoryUnusable } from "../DataDirectory.ts"

export const leaveCommitLog = Effect.gen(function* () {
  const { dataDirectory: path } = yield* ServiceAddress
  if (!existsSync(join(path, namespaceFolder)))
    return yield* new DirectoryUnusable({ path, cause: new Error("it holds no data of a service") })
  const held = DataDirectory.layer({ path, operatorToken: undefined })
  const changed = yield* Effect.provide(Effect.andThen(followedByControl(path), leaveLog(path)), held)
  return { path, changed }
})

/** `control.db` gets what only the log has. */
const followedByControl = (path: string) => {
  const directory = join(path, logFolder)
  if (!existsSync(directory)) return Effect.void
  const follow = Effect.gen(function* () {
    const log = yield* (yield* CommitLog).current
    if ((yield* log.newestLedger) !== undefined) yield* Layer.build(loggedControl(path))
  })
  return Effect.scoped(follow).pipe(Effect.provide(fileLogLayer({ directory })))
}
