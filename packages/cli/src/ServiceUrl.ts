/** Which service a command calls: by a flag, `MUNIMENT_URL`, a profile, or as the service of this machine. */
import { Config, Effect, FileSystem, Option, Schema } from "effect"
import { dirname, join } from "node:path"
import { CommandFailed, commandFailed } from "./CommandFailed.ts"

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
  const { ServiceAddress } = yield* Effect.promise(() => import("@muniment/server/Config"))
  const { localOrigin } = yield* Effect.promise(() => import("@muniment/server/identity/ClientAddress"))
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

/**
 * Services by name, with the keys for them: `profiles.json` in the user's configuration directory. `MUNIMENT_PROFILE`
 * chooses one; `default` is used where nothing else names a service.
 *
 * Invariants: the file is its owner's alone (mode 600), and a key goes to the service of its own profile only.
 */
const Profile = Schema.Struct({ url: Schema.String, apiKey: Schema.optionalKey(Schema.String) })
type Profile = typeof Profile.Type

const ProfileFile = Schema.fromJsonString(Schema.Struct({ profiles: Schema.Record(Schema.String, Profile) }))

const defaultName = "default"
const ownerOnly = 0o600
const folderOwnerOnly = 0o700

/** Undefined when the settings name no directory of a user, as for a service. */
const profilesPath = Effect.gen(function* () {
  const named = yield* setting("MUNIMENT_PROFILES")
  if (named !== undefined) return named
  const configuration = yield* setting("XDG_CONFIG_HOME")
  if (configuration !== undefined) return join(configuration, "muniment", "profiles.json")
  const home = (yield* setting("HOME")) ?? (yield* setting("USERPROFILE"))
  return home === undefined ? undefined : join(home, ".config", "muniment", "profiles.json")
})

/** A setting; undefined where it is not given, or empty. */
export const setting = (name: string) =>
  Config.option(Config.String(name)).pipe(
    Effect.map((value) => Option.getOrUndefined(Option.filter(value, (text) => text !== ""))),
    Effect.mapError(commandFailed)
  )

export const readProfiles = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const path = yield* profilesPath
  if (path === undefined || !(yield* files.exists(path))) return {}
  const text = yield* files.readFileString(path)
  return yield* Schema.decodeEffect(ProfileFile)(text).pipe(
    Effect.map(({ profiles }) => profiles),
    // Not the text, which holds keys.
    Effect.mapError(() => new CommandFailed({ reason: `${path} is not a file of profiles.` }))
  )
}).pipe(Effect.mapError(commandFailed))

/** The profile that `MUNIMENT_PROFILE` names, which has to be there; else the default one, if there is one. */
const currentProfile = Effect.gen(function* () {
  const name = yield* setting("MUNIMENT_PROFILE")
  const profiles: Readonly<Record<string, Profile>> = yield* readProfiles
  const profile = Object.hasOwn(profiles, name ?? defaultName) ? profiles[name ?? defaultName] : undefined
  if (profile === undefined && name !== undefined) {
    return yield* new CommandFailed({
      reason: `There is no profile ${name}; "npm run muniment -- profile list" shows them.`
    })
  }
  return profile
})

/** Replaces the file by one rename, so that another command reads the old or the new one. */
export const writeProfiles = Effect.fnUntraced(function* (profiles: Readonly<Record<string, Profile>>) {
  const files = yield* FileSystem.FileSystem
  const path = yield* profilesPath
  if (path === undefined) {
    return yield* new CommandFailed({ reason: "No directory for profiles: set HOME or MUNIMENT_PROFILES." })
  }
  const text = yield* Schema.encodeEffect(ProfileFile)({ profiles })
  yield* files.makeDirectory(dirname(path), { recursive: true, mode: folderOwnerOnly })
  const fresh = `${path}.new`
  yield* files.remove(fresh, { force: true })
  yield* files.writeFileString(fresh, `${text}\n`, { flag: "wx", mode: ownerOnly })
  yield* files.rename(fresh, path)
  return path
}, Effect.mapError(commandFailed))
