/**
 * `muniment serve`: runs the service until SIGTERM; configured by environment variables only. With `--fetch-model` the
 * embedding model is fetched meanwhile where it is missing.
 */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { bootBox } from "../BootBox.ts"
import { fetchMissingModel } from "../DefaultModel.ts"
import { withoutSecrets } from "../StartSecrets.ts"
import { withStartFailure } from "../StartFailure.ts"
import { flags } from "./flags.ts"

export const serve = Command.make(
  "serve",
  {
    fetchModel: Flag.Boolean("fetch-model").pipe(
      Flag.withDescription("Fetch the embedding model if it is not there; the service answers meanwhile"),
      Flag.withDefault(false)
    ),
    json: flags.json
  },
  ({ fetchModel, json }) =>
    Effect.gen(function* () {
      const { checkStart } = yield* Effect.promise(() => import("@muniment/server/StartChecks"))
      yield* checkStart
      if (fetchModel) {
        yield* fetchMissingModel.pipe(
          Effect.catch(({ message }) => Console.error(`Search is by words alone: ${message}`)),
          Effect.forkChild
        )
      }
      const { runServer } = yield* Effect.promise(() => import("@muniment/server/App"))
      return yield* runServer({
        onReady: Effect.fnUntraced(function* (report) {
          const shown = process.stdout.isTTY ? report : yield* withoutSecrets(report)
          yield* Console.log(json ? JSON.stringify(shown) : bootBox(shown))
        })
      })
    }).pipe(Effect.catchCause((cause) => Effect.failCause(withStartFailure(cause))))
).pipe(
  Command.withDescription(
    "Run the service. It is configured by environment variables (MUNIMENT_*); SIGTERM finishes open requests and stops it."
  )
)
