/**
 * The server that a command talks to: the one that runs on the data directory, else one that is
 * started in this process on a free loopback port for as long as the command needs it. One process
 * owns the files, so no command opens them itself.
 */
import { ConfigProvider, Context, Effect, Layer } from "effect"
import { CommandFailed } from "./CommandFailed.ts"
import { withStartFailure } from "./StartFailure.ts"

export interface ServerEndpoint {
  readonly url: string
  /** Operator token of the data directory. */
  readonly token: string
}

/** A model takes a while to load; a server that is started for a command without need of it starts without it. */
export type ModelNeed = "withModel" | "withoutModel"

export class LocalServer extends Context.Service<
  LocalServer,
  {
    readonly use: <A, E, R>(
      program: (endpoint: ServerEndpoint) => Effect.Effect<A, E, R>,
      need: ModelNeed
    ) => Effect.Effect<A, E | CommandFailed, R>
  }
>()("muniment/cli/LocalServer") {
  /** The server package is loaded only when a command needs it: help and version answer at once. */
  static readonly layer = Layer.succeed(this, {
    use: Effect.fnUntraced(function* <A, E, R>(
      program: (endpoint: ServerEndpoint) => Effect.Effect<A, E, R>,
      need: ModelNeed
    ) {
      const configured = yield* ConfigProvider.ConfigProvider
      const services = yield* Effect.context<R>()
      const { withLocalServer } = yield* Effect.promise(() => import("@muniment/server/App"))
      // The program's outcome travels as a value, so that the server's own failures stay apart from it.
      const outcome = yield* withLocalServer((endpoint: ServerEndpoint) =>
        Effect.exit(program(endpoint)).pipe(Effect.provideContext(services))
      ).pipe(
        Effect.provideService(
          ConfigProvider.ConfigProvider,
          need === "withModel" ? configured : ConfigProvider.orElse(withoutModel, configured)
        ),
        Effect.catchCause((cause) => Effect.failCause(withStartFailure(cause))),
        Effect.mapError((cause) =>
          cause instanceof CommandFailed
            ? cause
            : new CommandFailed({ reason: `No server can be used: ${String(cause)}` })
        )
      )
      return yield* outcome
    })
  })

  /** A server that already runs somewhere; used by tests. */
  static readonly layerOf = (endpoint: ServerEndpoint) => Layer.succeed(this, { use: (program) => program(endpoint) })
}

const withoutModel = ConfigProvider.fromUnknown({ MUNIMENT_EMBEDDING_MODEL: "none" })
