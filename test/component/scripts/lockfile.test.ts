/** The lockfile names the packages of every platform: `npm ci` refuses one that leaves some out. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { repository } from "../../support/TestServer.ts"

interface Locked {
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const { packages } = JSON.parse(readFileSync(join(repository, "package-lock.json"), "utf8")) as {
  readonly packages: Readonly<Record<string, Locked>>
}

/** Where Node finds `name` from the package at `from`: beside it, or beside one of those around it. */
const isFound = (name: string, from: string): boolean => {
  for (let place = from; ; place = place.slice(0, Math.max(0, place.lastIndexOf("/node_modules/")))) {
    if (packages[`${place === "" ? "" : `${place}/`}node_modules/${name}`] !== undefined) return true
    if (!place.includes("/node_modules/")) return packages[`node_modules/${name}`] !== undefined
  }
}

it("lists every optional package of every package", () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).flatMap((name) => (isFound(name, path) ? [] : [`${name} of ${path}`]))
  )
  expect(missing).toEqual([])
})
