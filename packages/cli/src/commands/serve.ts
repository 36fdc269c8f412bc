/** `muniment serve`: runs the service until it is told to stop; configured by the environment only. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import { bootBox } from "../BootBox.ts"

export const serve = Command.make("serve", {}, () =>
  Effect.gen(function* () {
    const { runServer } = yield* Effect.promise(() => import("@muniment/server/App"))
    return yield* runServer({ onReady: (report) => Console.log(bootBox(report)) })
  })
).pipe(
  Command.withDescription(
    "Run the service. It is configured by environment variables (MUNIMENT_*); SIGTERM finishes what is under way and ends it."
  )
)
