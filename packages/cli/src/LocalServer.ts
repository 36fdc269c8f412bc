/**
 * The server that a command talks to: the one that runs on the data directory, else one that is
 * started in this process on a free loopback port for as long as the command needs it. One process
 * owns the files, so no command opens them itself.
 */
import { Cause, ConfigProvider, Context, Effect, FileSystem, Layer } from "effect"
import { CommandFailed, commandFailed } from "./CommandFailed.ts"

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

/**
 * Reason of a failed start as one sentence for the operator. Only failures with a known cause get a sentence; others are
 * defects and keep their stack trace.
 */

/** Depth to which causes of causes are read. */
const chainMax = 8

/** Fields that failures have in common; not all of them are an `Error`. */
interface Failure {
  readonly _tag?: unknown
  readonly message?: unknown
  readonly reason?: unknown
  readonly cause?: unknown
  readonly syscall?: unknown
}

/** The cause with a sentence for the terminal where there is one; other causes unchanged. */
export const withStartFailure = <E>(cause: Cause.Cause<E>): Cause.Cause<E | CommandFailed> => {
  const failure = Cause.hasInterruptsOnly(cause) ? undefined : startFailure(Cause.squash(cause))
  return failure === undefined ? cause : Cause.fail(failure)
}

export const startFailure = (error: unknown): CommandFailed | undefined => {
  for (let at: unknown = error, depth = 0; isFailure(at) && depth < chainMax; depth++) {
    const text = textOf(at)
    if (text !== undefined) return new CommandFailed({ reason: text })
    at = isFailure(at.reason) ? at.reason : at.cause
  }
  return undefined
}

const textOf = ({ _tag, message, reason, cause, syscall }: Failure): string | undefined => {
  switch (_tag) {
    case "DirectoryInUse":
    case "DirectoryUnusable":
    case "RestoreUnfinished":
    case "InstallationAbsent":
    case "DirectoryMoved":
    case "ClusterMoved":
    case "NodeAbsent":
    case "SecretUnreadable":
    case "AddressUnusable":
    case "NewerDatabase":
    case "LogFault":
    case "ControlDatabaseBehind":
    case "ControlDatabaseDamaged":
    case "ChangeLogUnusable":
      return sentence(String(message))
    case "KeyFileFault":
      return String(message)
    case "PaymentsMisconfigured":
    case "LanguageModelMisconfigured":
    case "SignUpMisconfigured":
    case "ClusterMisconfigured":
    case "ConsoleExposed":
    case "ContractWalletsMisconfigured":
    case "WebhookMisconfigured":
    case "BootstrapKeyRefused":
      return sentence(`A setting is wrong: ${String(message)}`)
    case "ConfigError":
      return sentence(`A setting is wrong: ${settingText(messageOf(cause))}`)
    case "ServeError":
      return `The service cannot listen: ${messageOf(cause)}.`
    case "SqliteError":
      return `A file of the data directory cannot be used: ${String(message)}.${remedy(reason)}`
    case undefined:
      // An error of the file system, such as a folder where a file should be.
      return typeof syscall === "string"
        ? sentence(`A file of the service cannot be used: ${String(message)}`)
        : undefined
    default:
      return undefined
  }
}

const sentence = (text: string): string =>
  `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`

/** `Expected a port\n  at ["MUNIMENT_PORT"]` -> `MUNIMENT_PORT: expected a port`; the value may be a secret. */
const settingText = (text: string): string => {
  const [, reason = text, name] = /^(.*?)\s+at \["(\w+)"\]/s.exec(text) ?? []
  return name === undefined ? reason : `${name}: ${reason.slice(0, 1).toLowerCase()}${reason.slice(1)}`
}

const isFailure = (value: unknown): value is Failure => typeof value === "object" && value !== null

const messageOf = (value: unknown): string => (isFailure(value) ? String(value.message) : String(value))

const remedy = (reason: unknown): string => {
  if (reason === "corrupt") return " It is damaged: restore it from a backup, then start again."
  if (reason === "full") return " The disk is full: make room, then start again."
  return ""
}
