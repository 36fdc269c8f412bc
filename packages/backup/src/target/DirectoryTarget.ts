/**
 * A backup in a directory that only its owner can read. A file is written aside, synced and renamed, so that a kill or a
 * power cut leaves all of it or nothing.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join, relative, resolve, sep } from "node:path"
import { Effect } from "effect"
import { makePrivateDirectory, replacePrivateFile } from "@muniment/trust/PrivateFile"
import { type BackupTarget, TargetFailed } from "./BackupTarget.ts"

/** Suffix of a file that is being written; a kill leaves it behind. */
const asideSuffix = ".new"

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

/** Of the folder that the prefix names, so that a list of manifests does not read all objects. */
const namesBelow = (root: string, prefix: string): ReadonlyArray<string> => {
  const folder = join(root, prefix.slice(0, prefix.lastIndexOf("/") + 1))
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(asideSuffix))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((name) => name.startsWith(prefix))
    .toSorted()
}
