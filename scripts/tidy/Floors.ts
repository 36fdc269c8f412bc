/**
 * The floor plan (architecture): imports point down only, never sideways unless drawn here. Tests,
 * benches and scripts may import anything.
 */
import { posix } from "node:path"
import type { Finding } from "./Finding.ts"
import { type Import, importsOf, type SourceFile } from "./SourceFile.ts"

export const floors: Readonly<Record<string, number>> = {
  domain: 0,
  client: 0,
  console: 0,
  python: 0,
  worker: 0,
  trust: 1,
  sqlite: 1,
  schemas: 1,
  language: 1,
  backup: 2,
  cluster: 2,
  engine: 2,
  models: 2,
  control: 2,
  payments: 2,
  insight: 2,
  server: 3,
  cli: 4
}

/** Sideways imports that the plan draws, or the folder that may be imported; a client loads nothing of the contract at run time. */
const drawn: Readonly<Record<string, "types" | "all" | `${string}/`>> = {
  "client -> domain": "types",
  "console -> domain": "types",
  "worker -> domain": "all",
  "cluster -> backup": "all",
  "cluster -> control": "all",
  "cluster -> engine": "all",
  "payments -> control": "all",
  "insight -> engine": "vectors/arena/",
  "insight -> models": "all"
}

/** A package as its package.json declares it. */
export interface Manifest {
  readonly dependencies: ReadonlySet<string>
}

export const floorFindings = (file: SourceFile, manifest: Manifest | undefined): ReadonlyArray<Finding> => {
  const { packageName } = file
  if (packageName === undefined) return []
  if (floors[packageName] === undefined) {
    return [{ path: file.path, line: 0, rule: "floors", message: `package ${packageName} is not in the floor plan` }]
  }
  return importsOf(file).flatMap((entry) => {
    const message = entry.specifier.startsWith(".")
      ? relativeFault(file.path, packageName, entry.specifier)
      : (floorFault(packageName, entry) ?? dependencyFault(entry, manifest))
    return message === undefined ? [] : [{ path: file.path, line: entry.line, rule: "floors", message }]
  })
}

const relativeFault = (path: string, packageName: string, specifier: string): string | undefined =>
  posix.join(posix.dirname(path), specifier).startsWith(`packages/${packageName}/`)
    ? undefined
    : `${specifier} leaves the package; import @muniment/<package>/<File>`

const floorFault = (from: string, entry: Import): string | undefined => {
  const to = /^@muniment\/([^/]+)/.exec(entry.specifier)?.[1]
  if (to === undefined) return undefined
  if (to === from) return `${entry.specifier} is this package; import it by a relative path`
  const [fromFloor, toFloor] = [floors[from], floors[to]]
  if (toFloor === undefined) return `package ${to} is not in the floor plan`
  const arrow = `${from} -> ${to}`
  const kind = drawn[arrow] ?? (fromFloor !== undefined && toFloor < fromFloor ? "all" : "none")
  if (kind === "all" || (kind === "types" && entry.isTypeOnly)) return undefined
  if (kind === "types") return `${arrow} may import types only`
  if (kind === "none") return `${arrow} does not point down the floor plan`
  return entry.specifier.startsWith(`@muniment/${to}/${kind}`) ? undefined : `${arrow} may import ${kind} only`
}

const dependencyFault = (entry: Import, manifest: Manifest | undefined): string | undefined => {
  if (manifest === undefined || entry.isTypeOnly || entry.specifier.startsWith("node:")) return undefined
  const name = entry.specifier.split("/", entry.specifier.startsWith("@") ? 2 : 1).join("/")
  return manifest.dependencies.has(name) ? undefined : `${name} is not a dependency in the package's package.json`
}
