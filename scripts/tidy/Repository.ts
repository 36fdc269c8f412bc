/**
 * Rules for the tree as a whole: a README in every package, versions pinned exactly, and in no tracked file a path of
 * one machine or the host of a package registry (mirrors and proxies are the user's own configuration).
 */
import type { Finding } from "./Finding.ts"

export interface TextFile {
  readonly path: string
  readonly text: string
}

/** With another name in front: the same package in two versions. A folder of this repository needs no version. */
const exactVersion = /^(?:(?:npm:[@\w./-]+@)?\d+\.\d+\.\d+(?:-[\w.-]+)?|file:scripts\/absent)$/
const adapters = "packages/adapters/"
const dependencyFields = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"] as const

/** Home directories, work directories and Windows drives; a letter before the slash makes it part of a URL or a word. */
const machinePath = /(?<![\w.}~/-])(?:\/(?:home|Users|root|work|srv|mnt)\/[\w.-]+|[A-Z]:\\\w+)/
/** Usual host names of registries and their mirrors, by their form. */
const registryHost =
  /\b(?:registry|npm|pypi|repo\d?|maven|proxy|mirrors?)(?:\.[a-z0-9-]+)+\.(?:org|com|io|net|dev)\b|\bpypi\.[a-z]{2,}\b/i

export const manifestFindings = ({ path, text }: TextFile): ReadonlyArray<Finding> => {
  const manifest: unknown = JSON.parse(text)
  // An adapter that pinned its framework could not be installed beside another version of it.
  const fields = dependencyFields.filter((field) => field !== "peerDependencies" || !path.startsWith(adapters))
  return fields.flatMap((field) =>
    Object.entries(recordOf(recordOf(manifest)[field])).flatMap(([name, version]) =>
      typeof version === "string" && exactVersion.test(version)
        ? []
        : [{ path, line: 0, rule: "pins", message: `${name} ${String(version)} is not an exact version` }]
    )
  )
}

export const textFindings = ({ path, text }: TextFile): ReadonlyArray<Finding> =>
  text.split("\n").flatMap((line, index) =>
    (
      [
        ["machine-path", machinePath, "a path of one machine"],
        ["registry-host", registryHost, "the host of a registry"]
      ] as const
    ).flatMap(([rule, pattern, what]) => {
      const found = pattern.exec(line)?.[0]
      return found === undefined ? [] : [{ path, line: index + 1, rule, message: `${what}: ${found}` }]
    })
  )

/** `paths` are all files of the tree. */
export const readmeFindings = (paths: ReadonlyArray<string>): ReadonlyArray<Finding> => {
  const packages = new Set(paths.flatMap((path) => /^packages\/[^/]+(?=\/package\.json$)/.exec(path) ?? []))
  const present = new Set(paths)
  return [...packages]
    .filter((folder) => !present.has(`${folder}/README.md`))
    .map((folder) => ({ path: folder, line: 0, rule: "readme", message: "a package has a README.md" }))
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {}
