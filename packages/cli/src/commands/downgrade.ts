/** `muniment downgrade`: leaves the commit log. No service is started, and none may run on the directory. */
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { CommandFailed } from "../CommandFailed.ts"
import { withStartFailure } from "../StartFailure.ts"
import { flags } from "./flags.ts"

export const downgrade = Command.make(
  "downgrade",
  { json: flags.json },
  Effect.fn("downgrade")(function* ({ json }) {
    const { leaveCommitLog } = yield* Effect.promise(() => import("@muniment/server/operator/leaveCommitLog"))
    const { changed, path } = yield* leaveCommitLog.pipe(
      Effect.catchTag("StoreDamaged", ({ reason }) => new CommandFailed({ reason: `${reason}; the log stays.` })),
      Effect.catchCause((cause) => Effect.failCause(withStartFailure(cause)))
    )
    if (json) return yield* Console.log(JSON.stringify({ path, changed }))
    yield* Console.log(
      `${path} has no commit log any more (${changed} files changed). Start it with MUNIMENT_COMMIT_LOG=off, or with the release from before the log.`
    )
  })
).pipe(
  Command.withDescription(
    "Leave the commit log: the files of the agents get all of its commits, and releases from before it open them"
  )
)
