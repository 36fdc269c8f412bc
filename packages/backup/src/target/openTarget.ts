/** A target by what `--to` and `--from` say: a path, or `s3://bucket/prefix` with the usual variables of AWS tools. */
import { Config, Data, Effect, Option, Redacted } from "effect"
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join, relative, resolve, sep } from "node:path"
import { makePrivateDirectory, replacePrivateFile } from "@muniment/trust/PrivateFile"
import { type BackupTarget, TargetFailed } from "../BackupStore.ts"

/** A target that cannot be used as it is named. */
class BadTarget extends Data.TaggedError("BadTarget")<{ readonly message: string }> {}

const s3Pattern = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/
const prefixPattern = /^[\w.\-/]*$/

/** Read from the environment, as other tools do: never from arguments, which other processes see. */
const credentials = Config.all({
  accessKeyId: Config.String("AWS_ACCESS_KEY_ID").pipe(Config.option),
  secretAccessKey: Config.Redacted("AWS_SECRET_ACCESS_KEY").pipe(Config.option),
  sessionToken: Config.Redacted("AWS_SESSION_TOKEN").pipe(Config.option),
  region: Config.String("AWS_REGION").pipe(Config.withDefault("us-east-1")),
  endpoint: Config.String("AWS_ENDPOINT_URL").pipe(Config.option)
})

export const openTarget = Effect.fnUntraced(function* (text: string) {
  if (!/^\w+:\/\//.test(text)) {
    return text === "" ? yield* new BadTarget({ message: "the name of the directory is empty" }) : directoryTarget(text)
  }
  const [, bucket, path = ""] = s3Pattern.exec(text) ?? []
  const prefix = path.replace(/^\/+|\/+$/g, "")
  if (bucket === undefined || !prefixPattern.test(prefix) || prefix.includes("//")) {
    return yield* new BadTarget({
      message: `"${text}" is neither a path nor s3://bucket/prefix; a prefix has letters, digits and ._-/`
    })
  }
  const { accessKeyId, endpoint, region, secretAccessKey, sessionToken } = yield* Effect.mapError(
    credentials,
    (error) => new BadTarget({ message: `a variable of AWS is wrong: ${error.message}` })
  )
  if (Option.isNone(accessKeyId) || Option.isNone(secretAccessKey)) {
    return yield* new BadTarget({
      message: `${text} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment`
    })
  }
  const url = Option.getOrUndefined(endpoint)
  if (url !== undefined && (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))) {
    return yield* new BadTarget({ message: "AWS_ENDPOINT_URL is no http or https URL" })
  }
  const { s3Target } = yield* Effect.promise(() => import("./S3Target.ts"))
  return s3Target({
    bucket,
    prefix,
    endpoint: url === undefined ? undefined : new URL(url).origin,
    region,
    accessKeyId: accessKeyId.value,
    secretAccessKey: Redacted.value(secretAccessKey.value),
    sessionToken: Option.getOrUndefined(Option.map(sessionToken, Redacted.value))
  }) satisfies BackupTarget
})

/** Suffix of a file that is being written; a kill leaves it behind. */
const asideSuffix = ".new"

/**
 * A backup in a directory that only its owner can read. A file is written aside, synced and renamed, so that a kill or a
 * power cut leaves all of it or nothing.
 */
export const directoryTarget = (path: string): BackupTarget => {
  const root = resolve(path)
  const attempt = <A>(name: string, step: () => A): Effect.Effect<A, TargetFailed> =>
    Effect.try({
      try: step,
      catch: (cause) =>
        new TargetFailed({ target: root, object: name, reason: cause instanceof Error ? cause.message : String(cause) })
    })
  return {
    description: root,
    isShared: false,
    put: (name, bytes) =>
      attempt(name, () => {
        const file = join(root, name)
        makePrivateDirectory(dirname(file))
        replacePrivateFile(file, bytes, `${file}${asideSuffix}`)
      }),
    get: (name) => attempt(name, () => bytesOf(join(root, name))),
    list: (prefix) => attempt(prefix, () => namesBelow(root, prefix)),
    remove: (name) => attempt(name, () => rmSync(join(root, name), { force: true }))
  }
}

/** Undefined: there is no such file; another process may have removed it this moment. */
const bytesOf = (path: string): Uint8Array | undefined => {
  try {
    return readFileSync(path)
  } catch (cause) {
    if (isMissing(cause)) return undefined
    throw cause
  }
}

const isMissing = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT"

/** Names in the folder of the prefix, so that a list of manifests does not read all objects. */
const namesBelow = (root: string, prefix: string): ReadonlyArray<string> => {
  const folder = join(root, prefix.slice(0, prefix.lastIndexOf("/") + 1))
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(asideSuffix))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((name) => name.startsWith(prefix))
    .toSorted()
}
