/** `muniment serve`: runs the service until SIGTERM; configured by environment variables only. */
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import { bootBox } from "../BootBox.ts"
import { withStartFailure } from "../StartFailure.ts"

export const serve = Command.make("serve", {}, () =>
  Effect.gen(function* () {
    const { checkStart } = yield* Effect.promise(() => import("@muniment/server/StartChecks"))
    yield* checkStart
    const { runServer } = yield* Effect.promise(() => import("@muniment/server/App"))
    return yield* runServer({ onReady: (report) => Console.log(bootBox(report)) })
  }).pipe(Effect.catchCause((cause) => Effect.failCause(withStartFailure(cause))))
).pipe(
  Command.withDescription(
    "Run the service. It is configured by environment variables (MUNIMENT_*); SIGTERM finishes open requests and stops it."
  )
)
