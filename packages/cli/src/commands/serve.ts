/** `muniment serve`: runs the service until it is told to stop; configured by the environment only. */
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import { bootBox } from "../BootBox.ts"
import type { CommandFailed } from "../CommandFailed.ts"
import { startFailure } from "../StartFailure.ts"

/** A failure that has a text for the person at the terminal; any other cause as it is. */
const told = <E>(cause: Cause.Cause<E>): Cause.Cause<E | CommandFailed> => {
  const failure = Cause.hasInterruptsOnly(cause) ? undefined : startFailure(Cause.squash(cause))
  return failure === undefined ? cause : Cause.fail(failure)
}

export const serve = Command.make("serve", {}, () =>
  Effect.gen(function* () {
    const { runServer } = yield* Effect.promise(() => import("@muniment/server/App"))
    return yield* runServer({ onReady: (report) => Console.log(bootBox(report)) }).pipe(
      Effect.catchCause((cause) => Effect.failCause(told(cause)))
    )
  })
).pipe(
  Command.withDescription(
    "Run the service. It is configured by environment variables (MUNIMENT_*); SIGTERM finishes what is under way and ends it."
  )
)
