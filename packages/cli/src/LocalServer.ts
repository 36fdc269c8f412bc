/**
 * The server that a command talks to: the one that runs on the data directory, else one that is
 * started in this process on a free loopback port for as long as the command needs it. One process
 * owns the files, so no command opens them itself.
 */
import { ConfigProvider, Context, Effect, FileSystem, Layer } from "effect"
import { CommandFailed, commandFailed } from "./CommandFailed.ts"
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
      return yield* usedBy(
        program,
        "running",
        need === "withModel" ? configured : ConfigProvider.orElse(withoutModel, configured)
      )
    })
  })

  /** One of this process with `settings` alone, on a directory that is removed afterwards. */
  static readonly layerScratch = (settings: Readonly<Record<string, string>>) =>
    Layer.effect(
      this,
      Effect.map(FileSystem.FileSystem, (files) => ({
        use: <A, E, R>(program: (endpoint: ServerEndpoint) => Effect.Effect<A, E, R>) =>
          files.makeTempDirectoryScoped({ prefix: "muniment-" }).pipe(
            Effect.mapError(commandFailed),
            Effect.flatMap((directory) =>
              usedBy(program, "own", ConfigProvider.fromUnknown({ ...settings, MUNIMENT_DATA_DIR: directory }))
            ),
            Effect.scoped
          )
      }))
    )

  /** A server that already runs somewhere; used by tests. */
  static readonly layerOf = (endpoint: ServerEndpoint) => Layer.succeed(this, { use: (program) => program(endpoint) })
}

const usedBy = Effect.fnUntraced(function* <A, E, R>(
  program: (endpoint: ServerEndpoint) => Effect.Effect<A, E, R>,
  whose: "running" | "own",
  configured: ConfigProvider.ConfigProvider
) {
  const services = yield* Effect.context<R>()
  const { withLocalServer, withOwnServer } = yield* Effect.promise(() => import("@muniment/server/App"))
  // The program's outcome travels as a value, so that the server's own failures stay apart from it.
  const use = (endpoint: ServerEndpoint) => Effect.exit(program(endpoint)).pipe(Effect.provideContext(services))
  const outcome = yield* (whose === "own" ? withOwnServer(use) : withLocalServer(use)).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, configured),
    Effect.catchCause((cause) => Effect.failCause(withStartFailure(cause))),
    Effect.mapError((cause) =>
      cause instanceof CommandFailed ? cause : new CommandFailed({ reason: `No server can be used: ${String(cause)}` })
    )
  )
  return yield* outcome
})

const withoutModel = ConfigProvider.fromUnknown({ MUNIMENT_EMBEDDING_MODEL: "none" })
