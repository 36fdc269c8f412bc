/**
 * URL of the service, for commands that call it as a user: `MUNIMENT_URL`, a profile, or the service of this machine,
 * which is at the address that the process on the configured data directory noted, if it answers there; else at the
 * configured host and port.
 */
import { Effect, Option } from "effect"
import { CommandFailed, commandFailed } from "./CommandFailed.ts"
import { currentProfile, setting } from "./Profiles.ts"

const probeMillisMax = 2_000

/** Origin from `--url`, else from the settings, without a slash at its end. */
export const serviceUrl = (given: Option.Option<string>) => Effect.map(servicePlace(given), ({ url }) => url)

/** The same with the key of the profile that names it. */
export const servicePlace = Effect.fnUntraced(function* (given: Option.Option<string>) {
  const named = Option.getOrUndefined(given) ?? (yield* setting("MUNIMENT_URL"))
  if (named !== undefined) return { url: withoutSlash(named), apiKey: undefined }
  const profile = yield* currentProfile
  if (profile !== undefined) return { url: withoutSlash(profile.url), apiKey: profile.apiKey }
  return { url: yield* ownService, apiKey: undefined }
})

const withoutSlash = (url: string): string => url.replace(/\/+$/, "")

/** `scheme://host[:port]` of a service's URL. */
export const originOf = (url: string): Effect.Effect<string, CommandFailed> =>
  URL.canParse(url) && /^https?:/.test(url)
    ? Effect.succeed(new URL(url).origin)
    : Effect.fail(new CommandFailed({ reason: `${url} is no http or https URL` }))

/** Whether a service answers that uses the configured data directory. */
export const serviceIsRunning = Effect.gen(function* () {
  const { ServiceAddress } = yield* Effect.promise(() => import("@muniment/server/Config"))
  const { readLockNote } = yield* Effect.promise(() => import("@muniment/server/DataDirectory"))
  const { dataDirectory } = yield* ServiceAddress
  const note = yield* Effect.try({ try: () => readLockNote(dataDirectory), catch: commandFailed })
  return note !== undefined && (yield* answers(note.url))
}).pipe(Effect.mapError(commandFailed))

/** Fails where no service runs, for commands that start none. */
export const demandService = Effect.filterOrFail(
  serviceIsRunning,
  (isRunning) => isRunning,
  () => new CommandFailed({ reason: "No service is running on this data directory: start it with `npm start`." })
)

const ownService = Effect.gen(function* () {
  const { localOrigin, ServiceAddress } = yield* Effect.promise(() => import("@muniment/server/Config"))
  const { readLockNote } = yield* Effect.promise(() => import("@muniment/server/DataDirectory"))
  const { dataDirectory, host, port } = yield* ServiceAddress
  const note = yield* Effect.try({ try: () => readLockNote(dataDirectory), catch: commandFailed })
  if (note !== undefined && (yield* answers(note.url))) return note.url
  return localOrigin(host, port)
}).pipe(Effect.mapError(commandFailed))

const answers = (url: string) =>
  Effect.tryPromise((signal) => fetch(`${url}/health/live`, { signal })).pipe(
    Effect.timeout(probeMillisMax),
    Effect.match({ onSuccess: (response) => response.ok, onFailure: () => false })
  )
